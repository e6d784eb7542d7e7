//! What a generic struct needs beyond its own bounds to have these attributes.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Generics;

use super::array::Array;
use crate::model::generics;

/// The predicates on types that mention a parameter, each once. Other types are checked where the spec
/// is made.
pub(crate) fn of_attributes(
    all: &Generics,
    arrays: &[Array],
    private: &TokenStream,
) -> Vec<TokenStream> {
    let values = arrays.iter().flat_map(|array| {
        let fields = array.fields.iter().map(|field| &field.ty);
        fields.map(|ty| (ty, quote!(AttributeValue)))
    });
    let rests = arrays.iter().filter_map(|array| array.rest.as_ref());
    let rests = rests.map(|rest| (&rest.ty, quote!(AttributeRest)));
    let mut bounds: Vec<(String, TokenStream)> = Vec::new();
    for (ty, name) in values.chain(rests) {
        if !generics::mentions_any(all, ty) {
            continue;
        }
        let bound = quote!(#ty: #private::#name);
        let text = bound.to_string();
        if bounds.iter().all(|(other, _)| *other != text) {
            bounds.push((text, bound));
        }
    }
    bounds.into_iter().map(|(_, bound)| bound).collect()
}

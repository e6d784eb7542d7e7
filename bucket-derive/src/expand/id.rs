//! `TradeBucketId`: the name of the model's id type.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::GenericParam;

use crate::expand::{Expand, docs};

/// The alias. Bounds on its parameters would not be checked there and are left out.
pub(super) fn alias(cx: &Expand<'_>) -> TokenStream {
    let private = &cx.private;
    let record = cx.record_ty();
    let vis = &cx.model.record.vis;
    let attrs = cx.type_attrs();
    let alias = format_ident!("{}Id", cx.bucket);
    let doc = docs::id(cx.model);
    let mut generics = cx.model.record.generics.clone();
    for param in &mut generics.params {
        if let GenericParam::Type(param) = param {
            param.colon_token = None;
            param.bounds.clear();
        }
    }
    quote! {
        #doc
        #attrs
        #vis type #alias #generics = #private::BucketId<#record>;
    }
}

//! The spec of an array, as data.

use proc_macro2::TokenStream;
use quote::quote;

use super::array::Array;
use crate::{syntax::attribute_array::Index, typed_path};

pub(crate) fn spec(array: &Array, private: &TokenStream) -> TokenStream {
    let Array { name, k, v, .. } = array;
    let option = |value: Option<TokenStream>| {
        value.map_or_else(
            || quote!(::core::option::Option::None),
            |value| quote!(::core::option::Option::Some(#value)),
        )
    };
    let u = option(array.u.as_ref().map(|u| quote!(#u)));
    let fields = array.fields.iter().map(|field| {
        let (name, k, ty, text) = (&field.name, field.k.value(), &field.ty, field.text);
        let null = field.null;
        let u = option(field.u.as_ref().map(|u| {
            let u = u.value();
            quote!(#u)
        }));
        let kind = typed_path::of(ty, private, "AttributeValue", "KIND");
        quote! {
            #private::AttributeField { name: #name, k: #k, u: #u, kind: #kind, text: #text, null: #null }
        }
    });
    let rest = option(array.rest.as_ref().map(|rest| {
        let (name, ty) = (&rest.name, &rest.ty);
        let kind = typed_path::of(ty, private, "AttributeRest", "KIND");
        quote!(#private::Rest::of(#name, #kind))
    }));
    let index = match array.index {
        Index::KeyUnitValue => quote!(KeyUnitValue),
        Index::KeyValueUnit => quote!(KeyValueUnit),
        Index::Whole => quote!(Whole),
        Index::Wildcard => quote!(Wildcard),
        Index::None => quote!(None),
    };
    quote! {
        #private::AttributeArray::new(
            #name,
            #private::EntryNames { k: #k, v: #v, u: #u },
            &[#(#fields),*],
            #rest,
        )
        .with_index(#private::AttributeIndex::#index)
    }
}

//! `impl Attributed`: the spec of a struct with attributes, as data.

use proc_macro2::{Literal, TokenStream};
use quote::{quote, quote_spanned};
use syn::{ext::IdentExt, spanned::Spanned};

use super::{
    convert,
    filters::{self, Asked},
    model::{Array, Attributed},
};
use crate::attrs::attribute::Index;

/// A struct without errors.
pub(crate) fn full(model: &Attributed) -> TokenStream {
    let ident = &model.ident;
    let krate = &model.krate;
    let private = quote!(#krate::__private);
    let vis = &model.vis;
    let asked = asked(model, &private);
    let filters = filters::types(&asked);
    let (name, collection) = (ident.unraw().to_string(), &model.collection);
    let arrays = model
        .arrays
        .iter()
        .map(|array| self::array(array, &private));
    let methods = filters::methods(&asked);
    let conversions = convert::methods(&asked);
    quote! {
        #filters
        const _: () = {
            #[automatically_derived]
            impl #private::Attributed for #ident {
                const SPEC: &'static #private::DocumentSpec = &Self::SPEC;
            }

            #[allow(dead_code)]
            impl #ident {
                /// The document model of this struct.
                #vis const SPEC: #private::DocumentSpec = #private::DocumentSpec::__new(
                    #name,
                    #collection,
                    &[#(#arrays),*],
                );
                /// The collection of the documents.
                #vis const COLLECTION: &'static ::core::primitive::str = #collection;
                #methods
                #conversions
            }
        };
    }
}

/// A struct with errors: what is generated exists, so that its uses report nothing. It is never run.
pub(crate) fn fallback(model: &Attributed) -> TokenStream {
    if model.generic {
        return TokenStream::new();
    }
    let (ident, krate, vis) = (&model.ident, &model.krate, &model.vis);
    let private = quote!(#krate::__private);
    let mut asked = asked(model, &private);
    if !model.arrays_are_sound {
        asked.arrays = &[];
    }
    let filters = filters::types(&asked);
    let (methods, conversions) = (filters::methods(&asked), convert::methods(&asked));
    quote! {
        #filters
        const _: () = {
            impl #private::Attributed for #ident {
                const SPEC: &'static #private::DocumentSpec = &Self::SPEC;
            }

            #[allow(dead_code)]
            impl #ident {
                #vis const SPEC: #private::DocumentSpec = #private::DocumentSpec::__new("", "", &[]);
                #vis const COLLECTION: &'static ::core::primitive::str = "";
                #methods
                #conversions
            }
        };
    }
}

fn asked<'a>(model: &'a Attributed, private: &'a TokenStream) -> Asked<'a> {
    let ident = &model.ident;
    Asked {
        ident,
        vis: &model.vis,
        private,
        specs: quote!(<#ident as #private::Attributed>::SPEC.arrays()),
        arrays: &model.arrays,
    }
}

/// The spec of an array.
pub(crate) fn array(array: &Array, private: &TokenStream) -> TokenStream {
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
        // The span of the user's type: that is where a type that is no value is reported.
        let kind = quote_spanned!(ty.span()=> <#ty as #private::AttributeValue>::KIND);
        quote! {
            #private::AttributeField { name: #name, k: #k, u: #u, kind: #kind, text: #text, null: #null }
        }
    });
    let rest = option(array.rest.as_ref().map(|rest| {
        let (name, ty) = (&rest.name, &rest.ty);
        let kind = quote_spanned!(ty.span()=> <#ty as #private::AttributeRest>::KIND);
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

/// A factor as it stands in emitted code.
pub(super) fn number(factor: f64) -> Literal {
    Literal::f64_suffixed(factor)
}

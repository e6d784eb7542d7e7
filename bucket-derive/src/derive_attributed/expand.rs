//! `impl Attributed`: the spec of a struct with attributes, as data.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;

use super::model::Attributed;
use crate::attribute_arrays::{Asked, convert, filters, spec};

/// A struct without errors.
pub(crate) fn full(model: &Attributed) -> TokenStream {
    let ident = &model.ident;
    let krate = &model.krate;
    let private = quote!(#krate::__private);
    let vis = &model.vis;
    let asked = asked(model, &private);
    let filters = filters::types(&asked);
    let (name, collection) = (ident.unraw().to_string(), &model.collection);
    let arrays = model.arrays.iter().map(|array| spec(array, &private));
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

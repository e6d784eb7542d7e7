//! `impl Attributed`: the spec of a struct with attributes, as data.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;

use super::model::Attributed;
use crate::{
    attribute_arrays::{Asked, convert, filters, spec},
    model::generics::where_clause,
};

/// A struct without errors.
pub(crate) fn full(model: &Attributed) -> TokenStream {
    let private = private(model);
    let asked = asked(model, &private);
    let name = model.ident.unraw().to_string();
    let arrays = model.arrays.iter().map(|array| spec(array, &private));
    implement(&asked, &name, &model.collection, &quote!(#(#arrays),*))
}

/// A struct with errors: the generated items exist, so their uses report nothing. They never run.
pub(crate) fn fallback(model: &Attributed) -> TokenStream {
    let private = private(model);
    let mut asked = asked(model, &private);
    if !model.arrays_are_sound {
        asked.arrays = &[];
    }
    implement(&asked, "", "", &TokenStream::new())
}

/// The filters and the impls.
fn implement(asked: &Asked<'_>, name: &str, collection: &str, arrays: &TokenStream) -> TokenStream {
    let Asked {
        vis,
        private,
        generics,
        ..
    } = asked;
    let filters = filters::types(asked);
    let (methods, conversions) = (filters::methods(asked), convert::methods(asked));
    let ty = asked.ty();
    let (params, _, _) = generics.split_for_impl();
    let own = where_clause(generics, &asked.bounds());
    let stored = where_clause(generics, &storage_bounds(asked));
    quote! {
        #filters
        #[allow(unused_qualifications)]
        const _: () = {
            #[automatically_derived]
            impl #params #private::Attributed for #ty #stored {
                const SPEC: &'static #private::DocumentSpec = &Self::SPEC;
                const __DERIVED: #private::Derived = #private::Derived;
            }

            #[allow(dead_code)]
            impl #params #ty #own {
                /// The document model of this struct.
                #vis const SPEC: #private::DocumentSpec = #private::DocumentSpec::__new(
                    #name,
                    #collection,
                    &[#arrays],
                );
                /// The collection of the documents.
                #vis const COLLECTION: &'static ::core::primitive::str = #collection;
                #methods
                #conversions
            }
        };
    }
}

/// What a generic struct needs beyond its own bounds to be stored and read.
fn storage_bounds(asked: &Asked<'_>) -> Vec<TokenStream> {
    if asked.generics.params.is_empty() {
        return Vec::new();
    }
    let (ty, private) = (asked.ty(), asked.private);
    let mut bounds = vec![quote! {
        #ty: #private::serde::Serialize + #private::serde::de::DeserializeOwned
            + ::core::marker::Send + ::core::marker::Sync + 'static
    }];
    bounds.extend(asked.bounds());
    bounds
}

fn private(model: &Attributed) -> TokenStream {
    let krate = &model.krate;
    quote!(#krate::__private)
}

fn asked<'a>(model: &'a Attributed, private: &'a TokenStream) -> Asked<'a> {
    let (ident, generics) = (&model.ident, &model.generics);
    let (_, args, _) = generics.split_for_impl();
    Asked {
        ident,
        generics,
        vis: &model.vis,
        private,
        specs: quote!(<#ident #args as #private::Attributed>::SPEC.arrays()),
        has_specs: quote!(#private::Attributed),
        arrays: &model.arrays,
    }
}

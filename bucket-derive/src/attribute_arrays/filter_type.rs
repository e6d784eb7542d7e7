//! `BottleSpecs`: a type without values of its own, whose methods are filters.

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::asked::Asked;
use crate::{locals, model::generics::where_clause};

/// The type with its methods. It is `Copy` for all parameters of the struct.
pub(super) fn declared(
    model: &Asked<'_>,
    ident: &Ident,
    doc: &str,
    methods: &TokenStream,
) -> TokenStream {
    let (vis, generics) = (model.vis, model.generics);
    let (params, _, own) = generics.split_for_impl();
    let ty = model.with_args(ident);
    let (derives, content, traits) = if model.is_generic() {
        let record = model.ty();
        let content = quote!(::core::marker::PhantomData<fn() -> #record>);
        (TokenStream::new(), content, traits(model, ident))
    } else {
        let derives = quote! {
            #[derive(::core::fmt::Debug, ::core::clone::Clone, ::core::marker::Copy)]
        };
        (derives, quote!(()), TokenStream::new())
    };
    let bounds = where_clause(generics, &bounds(model));
    let kept_free = locals::kept_free(&quote!(#traits #methods));
    quote! {
        #[doc = #doc]
        #[allow(dead_code)]
        #derives
        #vis struct #ident #generics (#content) #own;
        #[allow(dead_code, unused_qualifications)]
        const _: () = {
            #kept_free
            #traits
            impl #params #ty #bounds {
                #methods
            }
        };
    }
}

/// Its only field's value.
pub(super) fn nothing(model: &Asked<'_>) -> TokenStream {
    if model.is_generic() {
        quote!(::core::marker::PhantomData)
    } else {
        quote!(())
    }
}

/// A generic struct has specs only where it can be stored.
fn bounds(model: &Asked<'_>) -> Vec<TokenStream> {
    if !model.is_generic() {
        return Vec::new();
    }
    let (record, has_specs) = (model.ty(), &model.has_specs);
    let mut bounds = vec![quote!(#record: #has_specs)];
    bounds.extend(model.bounds());
    bounds
}

/// The traits of a generic type: derived ones would depend on its parameters.
fn traits(model: &Asked<'_>, ident: &Ident) -> TokenStream {
    let (params, _, own) = model.generics.split_for_impl();
    let (ty, name) = (model.with_args(ident), ident.to_string());
    quote! {
        #[automatically_derived]
        impl #params ::core::fmt::Debug for #ty #own {
            fn fmt(&self, __f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                ::core::fmt::Formatter::write_str(__f, #name)
            }
        }
        #[automatically_derived]
        impl #params ::core::clone::Clone for #ty #own {
            fn clone(&self) -> Self {
                *self
            }
        }
        #[automatically_derived]
        impl #params ::core::marker::Copy for #ty #own {}
    }
}

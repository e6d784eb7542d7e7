//! `Debug`, `Clone` and `PartialEq` that exist exactly when the field types have them.
//!
//! The record need not have these traits, so they cannot be derived. A predicate with a
//! higher-ranked lifetime is checked where the impl is used, even if it names a concrete type.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::Generics;

use crate::expand::where_clause;

/// A struct and what its traits depend on.
pub(super) struct Conditional<'a> {
    pub(super) ident: &'a Ident,
    pub(super) generics: &'a Generics,
    pub(super) members: Vec<&'a Ident>,
    /// The types that must have the trait.
    pub(super) types: Vec<TokenStream>,
    /// Further predicates.
    pub(super) bounds: Vec<TokenStream>,
}

impl Conditional<'_> {
    pub(super) fn impls(&self) -> TokenStream {
        let Self { ident, members, .. } = self;
        let name = ident.to_string();
        let labels = members
            .iter()
            .map(|member| syn::ext::IdentExt::unraw(*member).to_string());
        // Calls by path: the user's blanket traits may have methods of these names.
        let debug = self.one(
            &quote!(::core::fmt::Debug),
            &quote! {
                fn fmt(&self, __f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                    let mut __fields = ::core::fmt::Formatter::debug_struct(__f, #name);
                    #(::core::fmt::DebugStruct::field(&mut __fields, #labels, &self.#members);)*
                    ::core::fmt::DebugStruct::finish(&mut __fields)
                }
            },
        );
        let clone = self.one(
            &quote!(::core::clone::Clone),
            &quote! {
                fn clone(&self) -> Self {
                    Self { #(#members: ::core::clone::Clone::clone(&self.#members)),* }
                }
            },
        );
        let equal = if members.is_empty() {
            quote!(true)
        } else {
            quote!(#(::core::cmp::PartialEq::eq(&self.#members, &__other.#members))&&*)
        };
        let partial_eq = self.one(
            &quote!(::core::cmp::PartialEq),
            &quote! {
                fn eq(&self, __other: &Self) -> ::core::primitive::bool {
                    #equal
                }
            },
        );
        quote!(#debug #clone #partial_eq)
    }

    fn one(&self, name: &TokenStream, body: &TokenStream) -> TokenStream {
        let Self {
            ident,
            generics,
            types,
            ..
        } = self;
        let (params, args, _) = generics.split_for_impl();
        let mut bounds = self.bounds.clone();
        let mut seen: Vec<String> = Vec::new();
        for ty in types {
            let text = ty.to_string();
            if !seen.contains(&text) {
                seen.push(text);
                bounds.push(quote!(for<'__a> #ty: #name));
            }
        }
        let bounds = where_clause(generics, &bounds);
        quote! {
            #[automatically_derived]
            impl #params #name for #ident #args #bounds {
                #body
            }
        }
    }
}

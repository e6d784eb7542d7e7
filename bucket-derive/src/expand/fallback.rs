//! The impls of a model with errors. They are never run: the build has failed already.

use proc_macro2::TokenStream;
use quote::quote;

use crate::expand::{Expand, bucket, where_clause};

pub(super) fn impls(cx: &Expand<'_>) -> TokenStream {
    let key = key(cx);
    let item = item(cx);
    let record = record(cx);
    let document = document(cx);
    let serde = serde(cx);
    let serialize = cx.model.serde.broken.then(|| serialize(cx));
    let never = quote!(loop {});
    let methods = bucket::signatures(cx, &never, &never);
    quote!(#key #item #record #document #serde #serialize #methods)
}

/// The traits that a key must have, whatever its fields are.
fn key(cx: &Expand<'_>) -> TokenStream {
    let private = &cx.private;
    let ty = cx.key_ty();
    let (params, _, _) = cx.key_generics.split_for_impl();
    let bounds = where_clause(&cx.key_generics, &super::key::bounds(cx));
    let (_, _, own) = cx.key_generics.split_for_impl();
    quote! {
        impl #params ::core::fmt::Debug for #ty #own {
            fn fmt(&self, _: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                loop {}
            }
        }
        impl #params ::core::clone::Clone for #ty #own {
            fn clone(&self) -> Self {
                loop {}
            }
        }
        impl #params ::core::cmp::PartialEq for #ty #own {
            fn eq(&self, _: &Self) -> ::core::primitive::bool {
                loop {}
            }
        }
        impl #params ::core::cmp::Eq for #ty #own {}
        impl #params ::core::hash::Hash for #ty #own {
            fn hash<__H: ::core::hash::Hasher>(&self, _: &mut __H) {
                loop {}
            }
        }
        impl #params #private::RecordKey for #ty #bounds {
            fn visit(&self, _: &mut dyn #private::KeySink) {
                loop {}
            }
            fn read(
                _: &mut dyn #private::KeySource,
            ) -> ::core::result::Result<Self, #private::KeyError> {
                loop {}
            }
        }
    }
}

fn item(cx: &Expand<'_>) -> TokenStream {
    never_serde(cx, &cx.item_ty(), &cx.item_generics, &[])
}

fn serde(cx: &Expand<'_>) -> TokenStream {
    never_serde(
        cx,
        &cx.bucket_ty(),
        &cx.model.record.generics,
        &cx.storage_bounds(),
    )
}

fn never_serde(
    cx: &Expand<'_>,
    ty: &TokenStream,
    generics: &syn::Generics,
    bounds: &[TokenStream],
) -> TokenStream {
    let private = &cx.private;
    let (params, _, _) = generics.split_for_impl();
    let mut de_generics = generics.clone();
    de_generics.params.insert(0, syn::parse_quote!('__de));
    let (de_params, _, _) = de_generics.split_for_impl();
    let bounds = where_clause(generics, bounds);
    quote! {
        impl #params #private::serde::Serialize for #ty #bounds {
            fn serialize<__S: #private::serde::Serializer>(
                &self,
                _: __S,
            ) -> ::core::result::Result<__S::Ok, __S::Error> {
                loop {}
            }
        }
        impl #de_params #private::serde::Deserialize<'__de> for #ty #bounds {
            fn deserialize<__D: #private::serde::Deserializer<'__de>>(
                _: __D,
            ) -> ::core::result::Result<Self, __D::Error> {
                loop {}
            }
        }
    }
}

/// Stands in for the impl that serde's own derive could not make.
fn serialize(cx: &Expand<'_>) -> TokenStream {
    let (private, record) = (&cx.private, cx.record_ty());
    let (params, _, bounds) = cx.model.record.generics.split_for_impl();
    quote! {
        impl #params #private::serde::Serialize for #record #bounds {
            fn serialize<__S: #private::serde::Serializer>(
                &self,
                _: __S,
            ) -> ::core::result::Result<__S::Ok, __S::Error> {
                loop {}
            }
        }
    }
}

fn record(cx: &Expand<'_>) -> TokenStream {
    let private = &cx.private;
    let (record, key, item, bucket) = (cx.record_ty(), cx.key_ty(), cx.item_ty(), cx.bucket_ty());
    let stats = cx.stats_ty();
    let generics = &cx.model.record.generics;
    let (params, _, _) = generics.split_for_impl();
    let bounds = where_clause(generics, &cx.storage_bounds());
    quote! {
        impl #params #private::Record for #record #bounds {
            const SPEC: &'static #private::BucketSpec = &Self::SPEC;
            type Key = #key;
            type Item = #item;
            type Bucket = #bucket;
            type Stats = #stats;
            const __DERIVED: #private::Derived = #private::Derived;
            fn visit_key(&self, _: &mut dyn #private::KeySink) {
                loop {}
            }
            fn key(&self) -> #key {
                loop {}
            }
            fn time(&self) -> #private::bson::DateTime {
                loop {}
            }
            fn assemble(_: #key, _: #item) -> Self {
                loop {}
            }
        }
    }
}

fn document(cx: &Expand<'_>) -> TokenStream {
    let private = &cx.private;
    let (record, bucket) = (cx.record_ty(), cx.bucket_ty());
    let generics = &cx.model.record.generics;
    let (params, _, _) = generics.split_for_impl();
    let bounds = where_clause(generics, &cx.storage_bounds());
    quote! {
        impl #params #private::BucketDocument for #bucket #bounds {
            type Record = #record;
            fn from_parts(_: #private::BucketParts<#record>) -> Self {
                loop {}
            }
            fn into_parts(self) -> #private::BucketParts<#record> {
                loop {}
            }
            fn as_ref(&self) -> #private::BucketRef<'_, #record> {
                loop {}
            }
        }
    }
}

//! `impl Record for Trade`.

use proc_macro2::TokenStream;
use quote::quote;

use crate::{
    expand::{Expand, aggregates, key, where_clause},
    model::field::Role,
    typed_path,
};

/// The contract between the record and the library.
pub(super) fn record(cx: &Expand<'_>) -> TokenStream {
    let Expand {
        model,
        private,
        key,
        ..
    } = cx;
    let (record, key_ty, item_ty, bucket_ty) =
        (cx.record_ty(), cx.key_ty(), cx.item_ty(), cx.bucket_ty());
    let stats_ty = cx.stats_ty();
    let (params, _, _) = model.record.generics.split_for_impl();
    let bounds = where_clause(&model.record.generics, &cx.storage_bounds());
    let visits = key::visits(cx);
    let record_id = model.unique().map(|field| {
        let is_key = typed_path::of(&field.ty, private, "BucketKey", "to_key");
        quote!(let _ = #is_key;)
    });
    let keys = model.keys().map(|field| {
        let ident = &field.ident;
        let clone = typed_path::of(&field.ty, private, "BucketKey", "__clone");
        quote!(#ident: #clone(&self.#ident))
    });
    let time = model.time().map(|field| {
        let ident = &field.ident;
        let call = typed_path::of(&field.ty, private, "BucketTime", "to_bson_date");
        quote!(#call(&self.#ident))
    });
    let replaces = replaces(cx);
    let visit_inputs = aggregates::visit(cx);
    let assembled = model.fields.iter().map(|field| {
        let ident = &field.ident;
        match field.role {
            Role::Key => quote!(#ident: __key.#ident),
            Role::Time | Role::Plain => quote!(#ident: __item.#ident),
        }
    });
    quote! {
        #[automatically_derived]
        impl #params #private::Record for #record #bounds {
            const SPEC: &'static #private::BucketSpec = &Self::SPEC;
            type Key = #key_ty;
            type Item = #item_ty;
            type Bucket = #bucket_ty;
            type Stats = #stats_ty;
            const __DERIVED: #private::Derived = #private::Derived;
            #replaces

            fn visit_key(&self, __sink: &mut dyn #private::KeySink) {
                #record_id
                #visits
            }

            fn key(&self) -> #key_ty {
                #key { #(#keys),* }
            }

            fn time(&self) -> #private::bson::DateTime {
                #time
            }

            #visit_inputs

            fn assemble(__key: #key_ty, __item: #item_ty) -> Self {
                Self { #(#assembled),* }
            }
        }
    }
}

/// Whether a record replaces the one that is stored under its id.
fn replaces(cx: &Expand<'_>) -> Option<TokenStream> {
    let private = &cx.private;
    let replaces = match cx.model.version() {
        _ if !cx.model.replaces => return None,
        None => quote!(|_, _| true),
        Some(field) => {
            let ident = &field.ident;
            let is_later = typed_path::of(&field.ty, private, "RecordVersion", "is_later");
            quote!(|__stored, __new| #is_later(&__new.#ident, &__stored.#ident))
        }
    };
    Some(quote! {
        const REPLACES: ::core::option::Option<#private::Replaces<Self>> =
            ::core::option::Option::Some(#replaces);
    })
}

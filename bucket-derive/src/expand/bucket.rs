//! `TradeBucket`: the typed document, and its conversion to the parts that the library works with.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};

use crate::{
    expand::{
        Expand, conditional::Conditional, docs, marker::of_nothing, own_fields, where_clause,
    },
    model::{field::Field, types},
    typed_path,
};

/// The struct.
pub(super) fn declaration(cx: &Expand<'_>) -> TokenStream {
    let Expand {
        model,
        private,
        bucket,
        ..
    } = cx;
    let vis = &model.record.vis;
    let attrs = cx.type_attrs();
    let doc = docs::bucket(model);
    let (record, item) = (cx.record_ty(), cx.item_ty());
    let all = &model.record.generics;
    let bounds = bounds(cx);
    let keys = model.bucket_keys().map(|field| {
        let Field { ident, ty, .. } = field;
        let doc = docs::key_field(field);
        quote!(#doc #vis #ident: #ty)
    });
    let own = own_fields::declarations(cx);
    let stats = has_stats(cx).then(|| {
        let (doc, stats) = (docs::stats_field(model), super::ty(&cx.stats, all));
        quote!(#doc #vis stats: #stats,)
    });
    let (id_doc, count_doc, items_doc) = (
        docs::id_field(),
        docs::count_field(model),
        docs::items(model),
    );
    let items = &model.items.ident;
    quote! {
        #doc
        #attrs
        #vis struct #bucket #all #bounds {
            #id_doc
            #vis id: #private::BucketId<#record>,
            #(#keys,)*
            #own
            #stats
            #count_doc
            #vis count: ::core::primitive::u32,
            #items_doc
            #vis #items: ::std::vec::Vec<#item>,
        }
    }
}

/// Models without aggregates have no stats.
fn has_stats(cx: &Expand<'_>) -> bool {
    !cx.model.aggregates.is_empty()
}

/// A bucket of a generic record exists only if the record can be stored.
fn record_bound(cx: &Expand<'_>) -> Vec<TokenStream> {
    let (private, record) = (&cx.private, cx.record_ty());
    if cx.is_generic() {
        vec![quote!(#record: #private::Record)]
    } else {
        Vec::new()
    }
}

/// The `where` clause of the struct.
pub(super) fn bounds(cx: &Expand<'_>) -> TokenStream {
    where_clause(&cx.model.record.generics, &record_bound(cx))
}

/// `Debug`, `Clone` and `PartialEq` if the item has them. Every key type has them; one that has not is
/// reported elsewhere.
pub(super) fn conditional(cx: &Expand<'_>) -> TokenStream {
    let all = &cx.model.record.generics;
    let keys = cx
        .model
        .keys()
        .filter(|key| !types::is_primitive_key(&key.ty));
    let types = keys
        .map(|key| key.ty.to_token_stream())
        .chain([cx.item_ty()]);
    let [id, stats, count] = ["id", "stats", "count"].map(|name| format_ident!("{name}"));
    let keys = cx.model.bucket_keys().map(|field| &field.ident);
    let own: Vec<_> = own_fields::of(cx).map(|field| field.role.ident()).collect();
    let members = [&id].into_iter().chain(keys).chain(&own);
    let members = members.chain(has_stats(cx).then_some(&stats));
    Conditional {
        ident: &cx.bucket,
        generics: all,
        members: members.chain([&count, &cx.model.items.ident]).collect(),
        types: types.collect(),
        bounds: record_bound(cx),
    }
    .impls()
}

/// The conversion to the parts and back.
pub(super) fn document(cx: &Expand<'_>) -> TokenStream {
    let Expand {
        model,
        private,
        key,
        ..
    } = cx;
    let (record, bucket) = (cx.record_ty(), cx.bucket_ty());
    let (params, _, _) = model.record.generics.split_for_impl();
    let bounds = where_clause(&model.record.generics, &cx.storage_bounds());
    let keys: Vec<_> = model.keys().map(|field| &field.ident).collect();
    let items = &model.items.ident;
    let (from_parts, fields) = (own_fields::from_parts(cx), own_fields::to_parts(cx));
    let of = of_nothing(cx);
    let stats = &cx.stats;
    let (from_stats, into_stats, as_stats) = if has_stats(cx) {
        (
            Some(quote!(stats: #stats { parts: __parts.stats, #of },)),
            quote!(self.stats.parts),
            quote!(&self.stats.parts),
        )
    } else {
        let empty = quote!(#private::StoredStats::empty());
        (None, quote!(::core::clone::Clone::clone(#empty)), empty)
    };
    quote! {
        #[automatically_derived]
        impl #params #private::BucketDocument for #bucket #bounds {
            type Record = #record;

            fn from_parts(__parts: #private::BucketParts<#record>) -> Self {
                Self {
                    id: __parts.id,
                    #(#keys: __parts.key.#keys,)*
                    #from_parts
                    #from_stats
                    count: __parts.count,
                    #items: __parts.items,
                }
            }

            fn into_parts(self) -> #private::BucketParts<#record> {
                #private::BucketParts {
                    fields: #fields,
                    id: self.id,
                    key: #key { #(#keys: self.#keys),* },
                    count: self.count,
                    stats: #into_stats,
                    items: self.#items,
                }
            }

            fn as_ref(&self) -> #private::BucketRef<'_, #record> {
                #private::BucketRef {
                    id: &self.id,
                    key: Self::key(self),
                    count: self.count,
                    fields: #fields,
                    stats: #as_stats,
                    items: &self.#items,
                }
            }
        }
    }
}

/// Serde's traits, so that the bucket works with the plain driver too.
pub(super) fn serde(cx: &Expand<'_>) -> TokenStream {
    let private = &cx.private;
    let bucket = cx.bucket_ty();
    let all = &cx.model.record.generics;
    let (params, _, _) = all.split_for_impl();
    let mut de_generics = all.clone();
    de_generics.params.insert(0, syn::parse_quote!('__de));
    let (de_params, _, _) = de_generics.split_for_impl();
    let bounds = where_clause(all, &cx.storage_bounds());
    quote! {
        #[automatically_derived]
        impl #params #private::serde::Serialize for #bucket #bounds {
            fn serialize<__S>(&self, __serializer: __S) -> ::core::result::Result<__S::Ok, __S::Error>
            where
                __S: #private::serde::Serializer,
            {
                #private::serialize_bucket(self, __serializer)
            }
        }

        #[automatically_derived]
        impl #de_params #private::serde::Deserialize<'__de> for #bucket #bounds {
            fn deserialize<__D>(__deserializer: __D) -> ::core::result::Result<Self, __D::Error>
            where
                __D: #private::serde::Deserializer<'__de>,
            {
                #private::deserialize_bucket(__deserializer)
            }
        }
    }
}

/// The methods of the typed bucket.
pub(super) fn methods(cx: &Expand<'_>) -> TokenStream {
    let (key, private) = (&cx.key, &cx.private);
    let keys = cx.model.keys().map(|field| {
        let ident = &field.ident;
        let clone = typed_path::of(&field.ty, private, "BucketKey", "__clone");
        quote!(#ident: #clone(&self.#ident))
    });
    let key = quote!(#key { #(#keys),* });
    signatures(cx, &key, &quote!(#private::assemble_records(self)))
}

/// The methods with these bodies.
pub(super) fn signatures(cx: &Expand<'_>, key: &TokenStream, records: &TokenStream) -> TokenStream {
    let vis = &cx.model.record.vis;
    let (bucket, record, key_ty) = (cx.bucket_ty(), cx.record_ty(), cx.key_ty());
    let (params, _, _) = cx.model.record.generics.split_for_impl();
    let bounds = where_clause(&cx.model.record.generics, &cx.storage_bounds());
    quote! {
        impl #params #bucket #bounds {
            /// The key that all records of this bucket share.
            #[must_use]
            #vis fn key(&self) -> #key_ty {
                #key
            }

            /// The records of this bucket, in their order of arrival.
            #[must_use]
            #vis fn into_records(self) -> ::std::vec::Vec<#record> {
                #records
            }
        }
    }
}

//! Which `#[serde(..)]` entries a generated item inherits, and in which form.

use proc_macro2::TokenStream;
use quote::quote;

use crate::{
    model::{
        Model,
        field::{Field, Role},
        generics,
        serde_names::{ContainerDefault, SerdeStruct},
    },
    symbol::serde,
    syntax::{crate_path::CratePath, entry::Entry},
};

/// The container attribute of the item.
pub(crate) fn item_container(model: &Model, generics: &syn::Generics) -> TokenStream {
    let krate = format!("{}::__private::serde", model.krate.text());
    let entries = &model.record.serde;
    let bounds = bounds(&model.serde, &model.record.generics, generics);
    let default = match model.serde.default {
        ContainerDefault::None => None,
        // Both forms use the item's own `Default`, which calls the record's.
        ContainerDefault::Trait | ContainerDefault::Path(_) => Some(quote!(, default)),
    };
    quote!(#[serde(crate = #krate #(, #entries)* #bounds #default)])
}

/// The attributes of one field of the item.
pub(crate) fn item_field(
    field: &Field,
    krate: &CratePath,
    item: &TokenStream,
    generics: &syn::Generics,
) -> TokenStream {
    let mut entries: Vec<TokenStream> = forwarded(field).map(|entry| quote!(#entry)).collect();
    if field.role == Role::Time {
        // Not `with`: each of its functions would report a type that is not a time.
        let of_item = format!("<{item} as {}::__private::ItemTime>", krate.text());
        let serialize = format!("{of_item}::serialize_time");
        let deserialize = format!("{of_item}::deserialize_time");
        entries.push(quote!(serialize_with = #serialize, deserialize_with = #deserialize));
        if generics::mentions_any(generics, &field.ty) {
            let ty = crate::model::field::printed_type(&field.ty);
            let bound = format!("{ty}: {}::__private::BucketTime", krate.text());
            entries.push(quote!(bound = #bound));
        }
    }
    if entries.is_empty() {
        TokenStream::new()
    } else {
        quote!(#[serde(#(#entries),*)])
    }
}

/// The time is always stored as a BSON date: serde attributes about its value are left out.
fn forwarded(field: &Field) -> impl Iterator<Item = &Entry> {
    let value_keys = [
        serde::WITH,
        serde::SERIALIZE_WITH,
        serde::DESERIALIZE_WITH,
        serde::DEFAULT,
        serde::BOUND,
    ];
    field.serde.iter().filter(move |entry| {
        field.role != Role::Time || !value_keys.iter().any(|key| entry.is(*key))
    })
}

/// The user's `bound`s that mention only the item's parameters.
fn bounds(container: &SerdeStruct, all: &syn::Generics, kept: &syn::Generics) -> TokenStream {
    let mut dropped = all.clone();
    dropped.params = all
        .params
        .iter()
        .filter(|param| {
            let name = generics::param_name(param);
            !kept
                .params
                .iter()
                .any(|kept| generics::param_name(kept) == name)
        })
        .cloned()
        .collect();
    let text = |predicates: &[syn::WherePredicate]| {
        let kept = predicates
            .iter()
            .filter(|p| !generics::mentions_any(&dropped, p));
        quote!(#(#kept),*).to_string()
    };
    let serialize = container
        .ser_bound
        .as_deref()
        .map(text)
        .map(|b| quote!(serialize = #b));
    let deserialize = container
        .de_bound
        .as_deref()
        .map(text)
        .map(|b| quote!(deserialize = #b));
    let bounds: Vec<TokenStream> = serialize.into_iter().chain(deserialize).collect();
    if bounds.is_empty() {
        TokenStream::new()
    } else {
        quote!(, bound(#(#bounds),*))
    }
}

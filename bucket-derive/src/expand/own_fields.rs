//! The fields of the typed bucket that its form requires, and their conversion to the parts.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use crate::{
    expand::{Expand, docs},
    model::{own_field::OwnField, own_role::OwnRole},
};

/// The fields except the count, which comes after the stats.
pub(super) fn of<'a>(cx: &'a Expand<'_>) -> impl Iterator<Item = &'a OwnField> {
    let all = cx.model.own_fields.iter();
    all.filter(|field| field.role != OwnRole::Count)
}

/// Their declarations.
pub(super) fn declarations(cx: &Expand<'_>) -> TokenStream {
    let vis = &cx.model.record.vis;
    let fields = of(cx).map(|field| {
        let doc = docs::own_field(cx.model, field);
        let (ident, ty) = (field.role.ident(), ty(&cx.private, field.role));
        quote!(#doc #vis #ident: #ty,)
    });
    quote!(#(#fields)*)
}

fn ty(private: &TokenStream, role: OwnRole) -> TokenStream {
    match role {
        OwnRole::Start | OwnRole::End => quote!(#private::bson::DateTime),
        OwnRole::Closed | OwnRole::Late | OwnRole::Full => quote!(::core::primitive::bool),
        OwnRole::Number | OwnRole::Bytes => quote!(::core::primitive::u64),
        OwnRole::Size | OwnRole::Count => quote!(::core::primitive::u32),
        OwnRole::CreatedAt | OwnRole::ExpireFrom => {
            quote!(::core::option::Option<#private::bson::DateTime>)
        }
    }
}

/// Reads them from `parts`, in a struct literal.
pub(super) fn from_parts(cx: &Expand<'_>) -> TokenStream {
    let fields = of(cx).map(|field| {
        let (ident, part) = (field.role.ident(), part(field.role));
        quote!(#ident: __parts.fields.#part,)
    });
    quote!(#(#fields)*)
}

/// Collects those of `self`, as an expression.
pub(super) fn to_parts(cx: &Expand<'_>) -> TokenStream {
    let private = &cx.private;
    let default = quote!(<#private::BucketFields as ::core::default::Default>::default());
    if of(cx).next().is_none() {
        return default;
    }
    // It is non-exhaustive: a literal is impossible.
    let fields = of(cx).map(|field| {
        let (ident, part) = (field.role.ident(), part(field.role));
        quote!(__fields.#part = self.#ident;)
    });
    quote!({
        let mut __fields = #default;
        #(#fields)*
        __fields
    })
}

/// The field of `BucketFields`.
fn part(role: OwnRole) -> proc_macro2::Ident {
    let name = match role {
        OwnRole::Start => "start",
        OwnRole::End => "end",
        OwnRole::Closed => "is_closed",
        OwnRole::Late => "is_late",
        OwnRole::Number => "number",
        OwnRole::Size => "size",
        OwnRole::Full => "is_full",
        OwnRole::Bytes => "bytes",
        OwnRole::CreatedAt => "created_at",
        OwnRole::ExpireFrom => "expire_from",
        OwnRole::Count => "count",
    };
    format_ident!("{name}")
}

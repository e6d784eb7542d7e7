//! The fields that a bucket has beside its id, its keys, its aggregates and its items.

use proc_macro2::{Ident, Span, TokenStream};
use quote::ToTokens;
use syn::LitStr;

use crate::{
    attrs::{container::ContainerAttrs, name::Named, slot::Slot},
    model::form::Form,
    symbol::{
        BYTES, CLOSED, COUNT, CREATED_AT, END, EXPIRE_FROM, FULL, LATE, NUMBERED, SIZE, START,
        Symbol,
    },
};

/// One of them, in a model that has it.
pub(crate) struct OwnField {
    pub(crate) role: OwnRole,
    /// The stored name.
    pub(crate) name: String,
    /// The tokens that give the name, where it is not the default.
    pub(crate) given: Option<TokenStream>,
}

/// What a bucket's own field is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnRole {
    Start,
    End,
    Closed,
    Late,
    Number,
    Size,
    Full,
    Bytes,
    CreatedAt,
    ExpireFrom,
    Count,
}

impl OwnRole {
    /// The field of the typed bucket, which is the stored name by default.
    pub(crate) const fn rust_name(self) -> &'static str {
        match self {
            Self::Start => "bucket_start",
            Self::End => "bucket_end",
            Self::Closed => "is_closed",
            Self::Late => "is_late",
            Self::Number => "bucket_number",
            Self::Size => "bucket_size",
            Self::Full => "is_full",
            Self::Bytes => "bytes",
            Self::CreatedAt => "created_at",
            Self::ExpireFrom => "expire_from",
            Self::Count => "count",
        }
    }

    /// The attribute key that gives its stored name.
    pub(crate) const fn key(self) -> Symbol {
        match self {
            Self::Start => START,
            Self::End => END,
            Self::Closed => CLOSED,
            Self::Late => LATE,
            Self::Number => NUMBERED,
            Self::Size => SIZE,
            Self::Full => FULL,
            Self::Bytes => BYTES,
            Self::CreatedAt => CREATED_AT,
            Self::ExpireFrom => EXPIRE_FROM,
            Self::Count => COUNT,
        }
    }

    pub(crate) fn ident(self) -> Ident {
        Ident::new(self.rust_name(), Span::call_site())
    }

    /// What the field is, for messages and docs.
    pub(crate) const fn what(self) -> &'static str {
        match self {
            Self::Start => "the start of the bucket",
            Self::End => "the end of the bucket",
            Self::Closed => "whether the bucket is closed",
            Self::Late => "whether the bucket holds late records",
            Self::Number => "the number of the bucket",
            Self::Size => "the capacity of the bucket",
            Self::Full => "whether the bucket is full",
            Self::Bytes => "the size of the items",
            Self::CreatedAt => "the time at which the bucket was opened",
            Self::ExpireFrom => "the time from which the age of the bucket counts",
            Self::Count => "the number of items",
        }
    }
}

/// The fields in the order in which the typed bucket has them.
pub(crate) fn read(form: Form, max_bytes: Option<u32>, attrs: &ContainerAttrs) -> Vec<OwnField> {
    let names = &attrs.names;
    let own = form.own_roles().iter().map(|role| match role {
        OwnRole::Start => field(*role, &names.start),
        OwnRole::End => field(*role, &names.end),
        OwnRole::Closed => field(*role, &names.closed),
        OwnRole::Number => named(*role, attrs.numbered.get()),
        OwnRole::Size => field(*role, &names.size),
        OwnRole::Full => field(*role, &names.full),
        _ => field(*role, &Slot::default()),
    });
    let mut fields: Vec<OwnField> = own.collect();
    if max_bytes.is_some() {
        fields.push(field(OwnRole::Bytes, &names.bytes));
    }
    if attrs.created_at.given().is_some() {
        fields.push(named(OwnRole::CreatedAt, attrs.created_at.get()));
    }
    if !form.has_span() && attrs.expire_after.given().is_some() {
        fields.push(field(OwnRole::ExpireFrom, &names.expire_from));
    }
    fields.push(field(OwnRole::Count, &names.count));
    fields
}

fn field(role: OwnRole, name: &Slot<LitStr>) -> OwnField {
    let name = name.get();
    OwnField {
        role,
        name: name.map_or_else(|| role.rust_name().to_owned(), LitStr::value),
        given: name.map(ToTokens::to_token_stream),
    }
}

fn named(role: OwnRole, named: Option<&Named>) -> OwnField {
    let name = named.and_then(Named::given);
    OwnField {
        role,
        name: name.unwrap_or_else(|| role.rust_name().to_owned()),
        given: named.and_then(|named| named.name.as_ref().map(ToTokens::to_token_stream)),
    }
}

//! The roles of the fields that a bucket has besides its id, keys, aggregates and items.

use proc_macro2::{Ident, Span};

use crate::symbol::{
    BYTES, CLOSED, COUNT, CREATED_AT, END, EXPIRE_FROM, FULL, LATE, NUMBERED, SIZE, START, Symbol,
};

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

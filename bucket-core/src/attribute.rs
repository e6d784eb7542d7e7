//! The attribute pattern: many similar fields of a record as one array of key, value and unit, under
//! one index.
//!
//! A record stays an ordinary struct with its own serde form, its *many fields*: `{_id: 1,
//! volume_ml: 500, height_inches: 8}`. `fold` turns it into the stored form, `{_id: 1, specs:
//! [{k: "volume", v: 500, u: "ml"}, {k: "height", v: 8, u: "inches"}]}`, and `unfold` turns that
//! back into the many fields. Both convert bytes to bytes, so every serde attribute of the struct
//! works as usual.

pub(crate) mod convert;
mod document;
mod fault;
mod filter;
mod fold;
mod index_keys;
mod migrate;
mod rest;
mod same_record;
mod unfold;
mod value;

pub use self::{
    document::{Attributed, DocumentError, DocumentFault, DocumentSpec},
    filter::{Attribute, AttributeFilter, TextAttribute, Unit},
    rest::{AttributeRest, OtherEntries},
    value::AttributeValue,
};
#[doc(hidden)]
pub use self::{
    document::{decode, encode},
    filter::RecordFilter,
    fold::fold,
    migrate::{DocumentForm, FormBatch, FormChange, FormReply, Migration, Sampled},
    unfold::unfold,
};
pub(crate) use self::{
    fold::fold_item,
    unfold::{SharedArray, unfold_with},
};
pub use crate::{
    error::{AttributeError, AttributeFault},
    model::attribute_array::{
        ArrayPlace, AttributeArray, AttributeField, AttributeIndex, EntryNames, Rest, ValueKind,
    },
};

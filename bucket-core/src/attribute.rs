//! The attribute pattern: many similar fields of a record as one array of key, value and unit, under
//! one index.
//!
//! A record stays an ordinary struct with serde's own form, its *many fields*:
//! `{_id: 1, volume_ml: 500, height_inches: 8}`. [`fold`] makes the stored form of it,
//! `{_id: 1, specs: [{k: "volume", v: 500, u: "ml"}, {k: "height", v: 8, u: "inches"}]}`, and
//! [`unfold`] the many fields again. Both go from bytes to bytes, so that every serde attribute of the
//! struct means what it means elsewhere.

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

pub(crate) use self::unfold::{SharedArray, unfold_with};
pub use self::{
    document::{Attributed, DocumentError, DocumentFault, DocumentSpec, decode, encode},
    filter::{Attribute, AttributeFilter, TextAttribute, Unit},
    fold::fold,
    migrate::{DocumentForm, FormBatch, FormChange, FormReply, Migration, Sampled},
    rest::{AttributeRest, OtherEntries},
    unfold::unfold,
    value::AttributeValue,
};
pub use crate::{
    error::{AttributeError, AttributeFault},
    model::attribute_array::{
        ArrayPlace, AttributeArray, AttributeField, AttributeIndex, EntryNames, Rest, ValueKind,
    },
};

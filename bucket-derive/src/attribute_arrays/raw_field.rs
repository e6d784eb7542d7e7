//! A field before its array is known.

use proc_macro2::Ident;
use syn::Type;

use crate::{
    model::{serde_names::SerdeField, types},
    symbol::serde,
    syntax::{
        attribute_array::AttributeAttr,
        entry::{Entry, Syntax},
    },
};

/// A field with its raw attribute and its serde form.
pub(crate) struct RawField<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) ty: &'a Type,
    pub(crate) attr: Option<&'a AttributeAttr>,
    pub(crate) serde: Vec<Entry>,
    pub(crate) stored: SerdeField,
}

impl RawField<'_> {
    /// Whether serde reads a missing field as null: an `Option` without another default.
    pub(super) fn reads_missing_as_null(&self) -> bool {
        let entry = |key| self.serde.iter().find(|entry| entry.is(key));
        let by_hand = entry(serde::WITH)
            .or(entry(serde::DESERIALIZE_WITH))
            .is_some();
        match entry(serde::DEFAULT) {
            _ if !types::is_literally(self.ty, "Option") => false,
            Some(default) => matches!(default.form, Syntax::Word),
            None => !by_hand && !self.stored.has_container_default,
        }
    }
}

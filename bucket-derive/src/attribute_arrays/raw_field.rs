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

/// A field with its raw attribute and what serde makes of it.
pub(crate) struct RawField<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) ty: &'a Type,
    pub(crate) attr: Option<&'a AttributeAttr>,
    pub(crate) serde: Vec<Entry>,
    pub(crate) stored: SerdeField,
}

impl RawField<'_> {
    /// Whether serde takes the field for null where it is missing: an `Option`, and nothing else is said.
    pub(super) fn reads_missing_as_null(&self) -> bool {
        let entry = |key| self.serde.iter().find(|entry| entry.is(key));
        let by_hand = entry(serde::WITH)
            .or(entry(serde::DESERIALIZE_WITH))
            .is_some();
        match entry(serde::DEFAULT) {
            _ if !types::is_literally(self.ty, "Option") => false,
            Some(default) => matches!(default.form, Syntax::Word),
            // That of the struct.
            None => !by_hand && !self.stored.has_container_default,
        }
    }
}

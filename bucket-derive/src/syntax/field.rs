//! `#[bucket(key)]`, `#[bucket(time)]`, `#[bucket(unique)]`, `#[bucket(version)]`, `#[bucket(attribute(..))]`
//! and aggregates on a field.

use quote::ToTokens;
use syn::Attribute;

use crate::{
    diagnostics::{Diagnostics, did_you_mean, list, suggest},
    symbol::{ATTRIBUTE, BUCKET, CONTAINER_KEYS, FIELD_KEYS, KEY, TIME, UNIQUE, VERSION, names},
    syntax::{
        aggregate::AggregateAttrs,
        attribute_array::AttributeAttr,
        container::is_bare,
        entry::{self, Entry},
        slot::Slot,
        value,
    },
};

/// The raw keys of a field's attribute.
#[derive(Default)]
pub(crate) struct FieldAttrs {
    pub(crate) key: Slot<()>,
    pub(crate) time: Slot<()>,
    pub(crate) unique: Slot<()>,
    pub(crate) version: Slot<()>,
    pub(crate) attribute: Slot<AttributeAttr>,
    pub(crate) aggregates: AggregateAttrs,
    /// Some part was too broken to show which role it gives.
    pub(crate) unclear: bool,
}

impl FieldAttrs {
    /// Reads all `#[bucket(..)]` of a field.
    pub(crate) fn parse(cx: &mut Diagnostics, attrs: &[Attribute]) -> Self {
        let mut this = Self::default();
        for attr in attrs.iter().filter(|attr| entry::is(attr, BUCKET)) {
            if is_bare(attr) {
                cx.error(
                    attr,
                    "`#[bucket]` on a field expects `key`, `time`, `unique` or aggregates such as `sum`",
                    "#[bucket(key)]",
                );
                this.unclear = true;
            }
        }
        for entry in entry::entries(attrs, BUCKET) {
            if entry.is(KEY) {
                value::word(cx, &entry, KEY);
                this.key.fill(cx, &entry, Some(()));
            } else if entry.is(TIME) {
                value::word(cx, &entry, TIME);
                this.time.fill(cx, &entry, Some(()));
            } else if entry.is(UNIQUE) {
                value::word(cx, &entry, UNIQUE);
                this.unique.fill(cx, &entry, Some(()));
            } else if entry.is(VERSION) {
                value::word(cx, &entry, VERSION);
                this.version.fill(cx, &entry, Some(()));
            } else if entry.is(ATTRIBUTE) {
                let attribute = AttributeAttr::parse(cx, &entry);
                this.attribute.fill(cx, &entry, attribute);
            } else if !this.aggregates.take(cx, &entry) {
                this.take_unknown(cx, &entry);
            }
        }
        this
    }

    /// Reports the entry; a misspelt key counts as the role that it most likely means.
    fn take_unknown(&mut self, cx: &mut Diagnostics, entry: &Entry) {
        match unknown(cx, entry) {
            Some(meant) if meant == KEY.as_str() => self.key.presume(entry),
            Some(meant) if meant == TIME.as_str() => self.time.presume(entry),
            Some(_) => {}
            None => self.unclear = true,
        }
    }
}

/// Reports an unknown entry and returns the key that it resembles.
fn unknown(cx: &mut Diagnostics, entry: &Entry) -> Option<&'static str> {
    if let Some(symbol) = CONTAINER_KEYS.iter().find(|key| entry.is(**key)) {
        let message = format!("`{symbol}` belongs on the struct, not on a field");
        let moved = entry.to_token_stream().to_string().replace(" :: ", "::");
        cx.error(
            entry,
            message,
            format_args!("#[bucket({moved})] above the struct"),
        );
        return None;
    }
    let keys = list(&names(&FIELD_KEYS));
    let valid = format!("the keys of a field are {keys}");
    let key = entry.key.as_ref().map(ToString::to_string);
    let meant = key.and_then(|key| did_you_mean(&key, names(&FIELD_KEYS)));
    let fixed = match meant {
        Some(meant) if meant != KEY.as_str() && meant != TIME.as_str() => entry.renamed(meant),
        _ => meant.unwrap_or(KEY.as_str()).to_owned(),
    };
    let help = format!("#[bucket({fixed})]");
    let message = suggest(&entry.unknown(), meant, &valid);
    cx.error(entry.key_tokens(), message, help);
    meant
}

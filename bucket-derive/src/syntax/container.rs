//! `#[bucket(collection, items, capacity, ..)]` on a record struct.

mod keys;
mod required;
mod unknown;

use proc_macro2::Ident;
use syn::{Attribute, Meta};

pub(crate) use self::keys::ContainerAttrs;
use self::{
    keys::EXAMPLE,
    unknown::{meant_as, unknown},
};
use crate::{
    diagnostics::Diagnostics,
    symbol::{
        ATTRIBUTES, BUCKET, BUCKET_ARRAY_KEYS, BYTES, CAPACITY, CLOSED, COLLECTION, COMPRESSION,
        COUNT, CRATE, CREATED_AT, END, EXPIRE_AFTER, EXPIRE_FROM, FULL, ID, ITEMS, KEEP_STATS,
        LATE, MAX_BYTES, MAX_DURATION, MERGE, MERGE_STATS, NUMBERED, OBJECT_IDS, ON_CONFLICT,
        PARTS, RAISED_FROM, SEAL_AFTER, SIZE, START, STATS, WINDOW,
    },
    syntax::{
        attribute_array::ArrayAttr,
        bytes, choice,
        crate_path::CratePath,
        duration,
        entry::{self, Entry},
        name, value,
    },
};

impl ContainerAttrs {
    /// Reads all `#[bucket(..)]` of a record struct.
    pub(crate) fn parse(cx: &mut Diagnostics, attrs: &[Attribute], record: &Ident) -> Self {
        let mut this = Self::default();
        let mut all_given = true;
        for attr in attrs.iter().filter(|attr| entry::is(attr, BUCKET)) {
            if is_bare(attr) {
                let message = "`#[bucket]` on a record struct expects `collection`, `items` and \
                               `capacity`";
                cx.error(attr, message, EXAMPLE);
                all_given = false;
            }
        }
        let entries: Vec<Entry> = entry::entries(attrs, BUCKET).collect();
        for entry in &entries {
            if !this.take(cx, entry) && !this.take_form(cx, entry) && !this.take_name(cx, entry) {
                this.take_unknown(cx, entry);
            }
        }
        if all_given {
            required::check(cx, &this, attrs, &entries, record);
        }
        this
    }

    fn take(&mut self, cx: &mut Diagnostics, entry: &Entry) -> bool {
        if entry.is(COLLECTION) {
            let value = value::collection(cx, entry);
            self.collection.fill(cx, entry, value);
        } else if entry.is(ITEMS) {
            let value = value::items(cx, entry);
            self.items.fill(cx, entry, value);
        } else if entry.is(CAPACITY) {
            let value = value::capacity(cx, entry, CAPACITY);
            self.capacity.fill(cx, entry, value);
        } else if entry.is(RAISED_FROM) {
            let value = value::capacity(cx, entry, RAISED_FROM);
            self.raised_from.fill(cx, entry, value);
        } else if entry.is(OBJECT_IDS) {
            value::word(cx, entry, OBJECT_IDS);
            self.object_ids.fill(cx, entry, Some(()));
        } else if entry.is(ID) {
            let value = value::string(cx, entry, "id = \"{customer_id}_{date:s}\"");
            self.id.fill(cx, entry, value);
        } else if entry.is(CRATE) {
            let value = CratePath::parse(cx, entry);
            self.krate.fill(cx, entry, value);
        } else if entry.is(MAX_BYTES) {
            let value = bytes::max_bytes(cx, entry);
            self.max_bytes.fill(cx, entry, value);
        } else if entry.is(COMPRESSION) {
            let value = choice::parse(cx, entry, COMPRESSION, &choice::COMPRESSION);
            self.compression.fill(cx, entry, value);
        } else if entry.is(EXPIRE_AFTER) {
            let value = duration::expire_after(cx, entry);
            self.expire_after.fill(cx, entry, value);
        } else if entry.is(KEEP_STATS) {
            let value = duration::keep_stats(cx, entry);
            self.keep_stats.fill(cx, entry, value);
        } else if entry.is(SEAL_AFTER) {
            let value = duration::seal_after(cx, entry);
            self.seal_after.fill(cx, entry, value);
        } else if entry.is(MERGE) {
            let value = duration::merge(cx, entry);
            self.merge.fill(cx, entry, value);
        } else if entry.is(MERGE_STATS) {
            let value = duration::merge_stats(cx, entry);
            self.merge_stats.fill(cx, entry, value);
        } else if entry.is(ON_CONFLICT) {
            let value = choice::parse(cx, entry, ON_CONFLICT, &choice::ON_CONFLICT);
            self.on_conflict.fill(cx, entry, value);
        } else if entry.is(ATTRIBUTES) {
            self.arrays
                .extend(ArrayAttr::parse(cx, entry, &BUCKET_ARRAY_KEYS));
        } else {
            return false;
        }
        true
    }

    fn take_form(&mut self, cx: &mut Diagnostics, entry: &Entry) -> bool {
        if entry.is(WINDOW) {
            let value = duration::window(cx, entry);
            self.window.fill(cx, entry, value);
        } else if entry.is(MAX_DURATION) {
            let value = duration::max_duration(cx, entry);
            self.max_duration.fill(cx, entry, value);
        } else if entry.is(NUMBERED) {
            let value = name::optional(cx, entry, "bucket_number");
            self.numbered.fill(cx, entry, value);
        } else if entry.is(LATE) {
            let value = choice::parse(cx, entry, LATE, &choice::LATE);
            self.late.fill(cx, entry, value);
            return true;
        } else if entry.is(PARTS) {
            value::word(cx, entry, PARTS);
            self.parts.fill(cx, entry, Some(()));
            return true;
        } else {
            return false;
        }
        self.forms.extend(entry.key.clone());
        true
    }

    fn take_name(&mut self, cx: &mut Diagnostics, entry: &Entry) -> bool {
        let names = &mut self.names;
        let slots = [
            (COUNT, &mut names.count, "n"),
            (START, &mut names.start, "from"),
            (END, &mut names.end, "to"),
            (SIZE, &mut names.size, "size"),
            (FULL, &mut names.full, "full"),
            (CLOSED, &mut names.closed, "closed"),
            (BYTES, &mut names.bytes, "size"),
            (EXPIRE_FROM, &mut names.expire_from, "dated"),
        ];
        if let Some((_, slot, example)) = slots.into_iter().find(|(key, ..)| entry.is(*key)) {
            let value = name::top_level(cx, entry, example);
            slot.fill(cx, entry, value);
        } else if entry.is(CREATED_AT) {
            let value = name::optional(cx, entry, "created_at");
            self.created_at.fill(cx, entry, value);
        } else if entry.is(STATS) {
            let value = name::prefix(cx, entry);
            self.stats.fill(cx, entry, value);
        } else {
            return false;
        }
        true
    }

    /// Reports the entry; a misspelt key counts as the form that it most likely means.
    fn take_unknown(&mut self, cx: &mut Diagnostics, entry: &Entry) {
        unknown(cx, entry);
        match meant_as(entry) {
            Some(meant) if meant == WINDOW.as_str() => self.window.presume(entry),
            Some(meant) if meant == MAX_DURATION.as_str() => self.max_duration.presume(entry),
            Some(meant) if meant == NUMBERED.as_str() => self.numbered.presume(entry),
            Some(meant) if meant == PARTS.as_str() => self.parts.presume(entry),
            Some(meant) if meant == MAX_BYTES.as_str() => self.max_bytes.presume(entry),
            Some(meant) if meant == EXPIRE_AFTER.as_str() => self.expire_after.presume(entry),
            Some(meant) if meant == KEEP_STATS.as_str() => self.keep_stats.presume(entry),
            Some(meant) if meant == SEAL_AFTER.as_str() => self.seal_after.presume(entry),
            Some(meant) if meant == MERGE.as_str() => self.merge.presume(entry),
            Some(meant) if meant == MERGE_STATS.as_str() => self.merge_stats.presume(entry),
            Some(meant) if meant == ON_CONFLICT.as_str() => self.on_conflict.presume(entry),
            _ => {}
        }
    }
}

/// Whether an attribute is `#[bucket]`, `#[bucket()]` or `#[bucket = ..]`.
pub(crate) fn is_bare(attr: &Attribute) -> bool {
    match &attr.meta {
        Meta::List(list) => list.tokens.is_empty(),
        Meta::Path(_) | Meta::NameValue(_) => true,
    }
}

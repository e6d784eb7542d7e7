//! `#[bucket(collection, items, capacity, ..)]` on a record struct.

use proc_macro2::Ident;
use syn::{Attribute, LitStr, Meta};

use crate::{
    attrs::{
        attribute::ArrayAttr,
        bytes,
        choice::{self, Late},
        crate_path::CratePath,
        duration::{self, Window},
        entry::{self, Entry},
        name::{self, Named},
        required::{self, EXAMPLE},
        slot::Slot,
        value,
    },
    diagnostics::{Diagnostics, did_you_mean, list, suggest},
    symbol::{
        ATTRIBUTE, ATTRIBUTES, BUCKET, BUCKET_ARRAY_KEYS, BYTES, CAPACITY, CLOSED, COLLECTION,
        COMPRESSION, CONTAINER_KEYS, COUNT, CRATE, CREATED_AT, END, EXPIRE_AFTER, EXPIRE_FROM,
        FIELD_KEYS, FULL, ID, ITEMS, KEY, LATE, MAX_BYTES, MAX_DURATION, NUMBERED, OBJECT_IDS,
        RAISED_FROM, SIZE, START, STATS, TIME, UNIQUE, WINDOW, names,
    },
};

/// The raw keys of the container attribute.
#[derive(Default)]
pub(crate) struct ContainerAttrs {
    pub(crate) collection: Slot<String>,
    pub(crate) items: Slot<LitStr>,
    pub(crate) capacity: Slot<u32>,
    pub(crate) id: Slot<LitStr>,
    pub(crate) krate: Slot<CratePath>,
    pub(crate) window: Slot<Window>,
    /// In seconds.
    pub(crate) max_duration: Slot<u32>,
    pub(crate) late: Slot<Late>,
    pub(crate) numbered: Slot<Named>,
    pub(crate) max_bytes: Slot<u32>,
    pub(crate) object_ids: Slot<()>,
    pub(crate) raised_from: Slot<u32>,
    pub(crate) compression: Slot<&'static str>,
    /// In seconds.
    pub(crate) expire_after: Slot<u32>,
    pub(crate) created_at: Slot<Named>,
    pub(crate) stats: Slot<LitStr>,
    pub(crate) names: NameAttrs,
    pub(crate) arrays: Vec<ArrayAttr>,
    /// The keys that choose a form, in their order.
    pub(crate) forms: Vec<Ident>,
}

/// The stored names of a bucket's own fields.
#[derive(Default)]
pub(crate) struct NameAttrs {
    pub(crate) count: Slot<LitStr>,
    pub(crate) start: Slot<LitStr>,
    pub(crate) end: Slot<LitStr>,
    pub(crate) size: Slot<LitStr>,
    pub(crate) full: Slot<LitStr>,
    pub(crate) closed: Slot<LitStr>,
    pub(crate) bytes: Slot<LitStr>,
    pub(crate) expire_from: Slot<LitStr>,
}

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

    /// Reports the entry; a struct has the form that a misspelt key most likely meant.
    fn take_unknown(&mut self, cx: &mut Diagnostics, entry: &Entry) {
        unknown(cx, entry);
        match meant_as(entry) {
            Some(meant) if meant == WINDOW.as_str() => self.window.presume(entry),
            Some(meant) if meant == MAX_DURATION.as_str() => self.max_duration.presume(entry),
            Some(meant) if meant == NUMBERED.as_str() => self.numbered.presume(entry),
            Some(meant) if meant == MAX_BYTES.as_str() => self.max_bytes.presume(entry),
            Some(meant) if meant == EXPIRE_AFTER.as_str() => self.expire_after.presume(entry),
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

/// The known key that an unknown one resembles.
pub(crate) fn meant_as(entry: &Entry) -> Option<&'static str> {
    let is_known = |keys: &[_]| keys.iter().any(|key| entry.is(*key));
    let key = entry.key.as_ref()?;
    if is_known(&CONTAINER_KEYS) || is_known(&FIELD_KEYS) {
        return None;
    }
    did_you_mean(&key.to_string(), names(&CONTAINER_KEYS))
}

fn unknown(cx: &mut Diagnostics, entry: &Entry) {
    if let Some(symbol) = FIELD_KEYS.iter().find(|key| entry.is(**key)) {
        let message = format!("`{symbol}` belongs on a field, not on the struct");
        let field = match *symbol {
            TIME => "date: DateTime",
            KEY => "customer_id: i64",
            UNIQUE => "order: i64",
            ATTRIBUTE => "volume_ml: Option<i32>",
            _ => "price: f64",
        };
        let help = format!("#[bucket({})] {field}", entry.printed());
        cx.error(entry, message, help);
        return;
    }
    let keys = list(&names(&CONTAINER_KEYS));
    let message = format!(
        "{}: the keys of a record struct are {keys}",
        entry.unknown()
    );
    let meant = meant_as(entry);
    let help = meant.map_or_else(|| EXAMPLE.to_owned(), |meant| entry.renamed(meant));
    cx.error(entry.key_tokens(), suggest(&message, meant), help);
}

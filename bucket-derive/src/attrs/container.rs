//! `#[bucket(collection, items, capacity, id, crate)]` on a record struct.

use proc_macro2::{Ident, TokenStream};
use syn::{Attribute, LitStr, Meta};

use crate::{
    attrs::{
        crate_path::CratePath,
        entry::{self, Entry, Form},
        slot::Slot,
        value,
    },
    diagnostics::{Diagnostics, did_you_mean, list, suggest},
    symbol::{
        BUCKET, CAPACITY, COLLECTION, CONTAINER_KEYS, CRATE, FIELD_KEYS, ID, ITEMS, Symbol, TIME,
        names,
    },
};

/// The line that a record struct needs.
pub(crate) const EXAMPLE: &str =
    "#[bucket(collection = \"trades\", items = \"history\", capacity = 10)]";

/// The raw keys of the container attribute.
#[derive(Default)]
pub(crate) struct ContainerAttrs {
    pub(crate) collection: Slot<String>,
    pub(crate) items: Slot<LitStr>,
    pub(crate) capacity: Slot<u32>,
    pub(crate) id: Slot<LitStr>,
    pub(crate) krate: Slot<CratePath>,
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
            this.take(cx, entry);
        }
        if all_given {
            this.check_required(cx, attrs, &entries, record);
        }
        this
    }

    /// Reads the `#[bucket(..)]` of a key type, which knows `crate` alone.
    pub(crate) fn parse_key_type(cx: &mut Diagnostics, attrs: &[Attribute]) -> CratePath {
        let mut krate = Slot::default();
        for attr in attrs.iter().filter(|attr| entry::is(attr, BUCKET)) {
            if is_bare(attr) {
                let message = "`#[bucket]` on a key type expects `crate`";
                cx.error(attr, message, "#[bucket(crate = ::bucket_mongo)]");
            }
        }
        for entry in entry::entries(attrs, BUCKET) {
            if entry.is(CRATE) {
                let path = CratePath::parse(cx, &entry);
                krate.fill(cx, &entry, path);
            } else {
                let given = entry.unknown();
                let message = format!("{given}: the only key of a key type is `crate`");
                cx.error(entry, message, "#[bucket(crate = ::bucket_mongo)]");
            }
        }
        krate.get().cloned().unwrap_or_default()
    }

    fn take(&mut self, cx: &mut Diagnostics, entry: &Entry) {
        if entry.is(COLLECTION) {
            let value = value::collection(cx, entry);
            self.collection.fill(cx, entry, value);
        } else if entry.is(ITEMS) {
            let value = value::items(cx, entry);
            self.items.fill(cx, entry, value);
        } else if entry.is(CAPACITY) {
            let value = value::capacity(cx, entry);
            self.capacity.fill(cx, entry, value);
        } else if entry.is(ID) {
            let value = value::string(cx, entry, "id = \"{customer_id}_{date:s}\"");
            self.id.fill(cx, entry, value);
        } else if entry.is(CRATE) {
            let value = CratePath::parse(cx, entry);
            self.krate.fill(cx, entry, value);
        } else {
            unknown(cx, entry);
        }
    }

    fn check_required(
        &self,
        cx: &mut Diagnostics,
        attrs: &[Attribute],
        entries: &[Entry],
        record: &Ident,
    ) {
        let required = [
            (self.collection.given(), COLLECTION),
            (self.items.given(), ITEMS),
            (self.capacity.given(), CAPACITY),
        ];
        let missing = required.iter().filter(|(given, _)| given.is_none());
        let missing: Vec<&str> = missing.map(|(_, symbol)| symbol.as_str()).collect();
        let Some(attr) = attrs.iter().find(|attr| entry::is(attr, BUCKET)) else {
            let message = format_args!("`{record}` has no `#[bucket(..)]`");
            cx.error(record, message, EXAMPLE);
            return;
        };
        // An unknown key is most likely a misspelt required one, a bare value one whose key was
        // left out: its own error says which.
        let is_meant = |name: &&str| {
            entries.iter().any(|entry| {
                entry.key.is_none() || meant_as(entry).is_some_and(|meant| meant == *name)
            })
        };
        if missing.iter().all(is_meant) {
            return;
        }
        let names: Vec<&str> = missing.into_iter().filter(|name| !is_meant(name)).collect();
        let message = format_args!("missing {} of `#[bucket(..)]`", list(&names));
        cx.error(attr, message, completed(entries));
    }
}

/// The attribute with what is missing.
fn completed(entries: &[Entry]) -> String {
    let entry = |symbol: &Symbol| entries.iter().find(|entry| entry.is(*symbol)).map(printed);
    let keys = CONTAINER_KEYS
        .iter()
        .filter_map(|symbol| match (entry(symbol), *symbol) {
            (Some(given), _) => Some(given),
            (None, COLLECTION) => Some("collection = \"trades\"".to_owned()),
            (None, ITEMS) => Some("items = \"history\"".to_owned()),
            (None, CAPACITY) => Some("capacity = 10".to_owned()),
            (None, _) => None,
        });
    format!("#[bucket({})]", keys.collect::<Vec<_>>().join(", "))
}

/// Whether an attribute is `#[bucket]`, `#[bucket()]` or `#[bucket = ..]`.
pub(crate) fn is_bare(attr: &Attribute) -> bool {
    match &attr.meta {
        Meta::List(list) => list.tokens.is_empty(),
        Meta::Path(_) | Meta::NameValue(_) => true,
    }
}

fn is_known(entry: &Entry) -> bool {
    CONTAINER_KEYS.iter().any(|key| entry.is(*key))
}

/// The known key that an unknown one resembles.
fn meant_as(entry: &Entry) -> Option<&'static str> {
    let key = entry.key.as_ref().filter(|_| !is_known(entry))?;
    did_you_mean(&key.to_string(), names(&CONTAINER_KEYS))
}

fn unknown(cx: &mut Diagnostics, entry: &Entry) {
    if let Some(symbol) = FIELD_KEYS.iter().find(|key| entry.is(**key)) {
        let message = format_args!("`{symbol}` belongs on a field, not on the struct");
        let help = match *symbol {
            TIME => "#[bucket(time)] date: DateTime",
            _ => "#[bucket(key)] customer_id: i64",
        };
        cx.error(entry, message, help);
        return;
    }
    let keys = list(&names(&CONTAINER_KEYS));
    let message = format!(
        "{}: the keys of a record struct are {keys}",
        entry.unknown()
    );
    let meant = meant_as(entry);
    let help = meant.map_or_else(|| EXAMPLE.to_owned(), |meant| renamed(entry, meant));
    cx.error(entry.key_tokens(), suggest(&message, meant), help);
}

/// The entry under another key.
fn renamed(entry: &Entry, key: &str) -> String {
    match &entry.form {
        Form::Value(value) => format!("{key} = {}", plain(value)),
        Form::Word | Form::List | Form::Malformed => key.to_owned(),
    }
}

fn printed(entry: &Entry) -> String {
    let key = entry
        .key
        .as_ref()
        .map(ToString::to_string)
        .unwrap_or_default();
    renamed(entry, &key)
}

/// Tokens without the spaces that printing puts around `::`.
fn plain(tokens: &TokenStream) -> String {
    tokens
        .to_string()
        .replace(" :: ", "::")
        .replace(":: ", "::")
}

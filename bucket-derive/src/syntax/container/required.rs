//! The required keys of a record struct.

use proc_macro2::Ident;
use syn::Attribute;

use super::{
    keys::{ContainerAttrs, EXAMPLE},
    unknown::meant_as,
};
use crate::{
    diagnostics::{Diagnostics, list},
    symbol::{BUCKET, CAPACITY, COLLECTION, CONTAINER_KEYS, ITEMS, WINDOW},
    syntax::entry::{self, Entry},
};

/// Reports all missing keys in one error.
pub(super) fn check(
    cx: &mut Diagnostics,
    given: &ContainerAttrs,
    attrs: &[Attribute],
    entries: &[Entry],
    record: &Ident,
) {
    // A window closes its buckets without a capacity; what needs a window and has none is an error of its own.
    let capacity = given.window.given().or(given.capacity.given());
    let capacity = capacity.or(given.parts.given());
    let capacity = capacity.or(given.merge.given().filter(|_| needs_window(given)));
    let required = [
        (given.collection.given(), COLLECTION),
        (given.items.given(), ITEMS),
        (capacity, CAPACITY),
    ];
    let missing = required.iter().filter(|(given, _)| given.is_none());
    let missing: Vec<&str> = missing.map(|(_, symbol)| symbol.as_str()).collect();
    let Some(attr) = attrs.iter().find(|attr| entry::is(attr, BUCKET)) else {
        let message = format!("`{record}` has no `#[bucket(..)]`");
        cx.error(record, message, EXAMPLE);
        return;
    };
    // An unknown key is most likely a misspelt required one, a bare value one whose key was
    // left out: its own error says which.
    let is_meant = |name: &&str| {
        entries
            .iter()
            .any(|entry| entry.key.is_none() || meant_as(entry).is_some_and(|meant| meant == *name))
    };
    if missing.iter().all(is_meant) {
        return;
    }
    let names: Vec<&str> = missing.into_iter().filter(|name| !is_meant(name)).collect();
    let message = format!("missing {} of `#[bucket(..)]`", list(&names));
    cx.error(attr, message, completed(given, entries));
}

/// Whether a capacity would not be enough of a form for what else is given.
fn needs_window(given: &ContainerAttrs) -> bool {
    let forms = [
        given.window.given(),
        given.max_duration.given(),
        given.numbered.given(),
    ];
    let needs = given.parts.given().or(given.merge.given());
    needs.is_some() && forms.iter().all(Option::is_none)
}

/// The attribute with what is missing.
fn completed(given: &ContainerAttrs, entries: &[Entry]) -> String {
    let needs_window = needs_window(given);
    let keys = CONTAINER_KEYS.iter().filter_map(|symbol| {
        let entry = entries.iter().find(|entry| entry.is(*symbol));
        match (entry.map(Entry::printed), *symbol) {
            (Some(given), _) => Some(given),
            (None, COLLECTION) => Some("collection = \"trades\"".to_owned()),
            (None, ITEMS) => Some("items = \"history\"".to_owned()),
            (None, WINDOW) if needs_window => Some("window = \"1h\"".to_owned()),
            (None, CAPACITY) if given.window.given().is_none() && !needs_window => {
                Some("capacity = 10".to_owned())
            }
            (None, _) => None,
        }
    });
    format!("#[bucket({})]", keys.collect::<Vec<_>>().join(", "))
}

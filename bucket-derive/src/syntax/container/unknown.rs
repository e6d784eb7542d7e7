//! Keys that a record struct does not have.

use super::keys::EXAMPLE;
use crate::{
    diagnostics::{Diagnostics, did_you_mean, list, suggest},
    symbol::{ATTRIBUTE, CONTAINER_KEYS, FIELD_KEYS, KEY, TIME, UNIQUE, VERSION, names},
    syntax::entry::Entry,
};

/// The known key that an unknown one resembles.
pub(super) fn meant_as(entry: &Entry) -> Option<&'static str> {
    let is_known = |keys: &[_]| keys.iter().any(|key| entry.is(*key));
    let key = entry.key.as_ref()?;
    if is_known(&CONTAINER_KEYS) || is_known(&FIELD_KEYS) {
        return None;
    }
    did_you_mean(&key.to_string(), names(&CONTAINER_KEYS))
}

/// Reports the key and the one that it most likely means.
pub(super) fn unknown(cx: &mut Diagnostics, entry: &Entry) {
    if let Some(symbol) = FIELD_KEYS.iter().find(|key| entry.is(**key)) {
        let message = format!("`{symbol}` belongs on a field, not on the struct");
        let field = match *symbol {
            TIME => "date: DateTime",
            KEY => "customer_id: i64",
            UNIQUE => "order: i64",
            VERSION => "version: i64",
            ATTRIBUTE => "volume_ml: Option<i32>",
            _ => "price: f64",
        };
        let help = format!("#[bucket({})] {field}", entry.printed());
        cx.error(entry, message, help);
        return;
    }
    let keys = list(&names(&CONTAINER_KEYS));
    let valid = format!("the keys of a record struct are {keys}");
    let meant = meant_as(entry);
    let help = meant.map_or_else(|| EXAMPLE.to_owned(), |meant| entry.renamed(meant));
    let message = suggest(&entry.unknown(), meant, &valid);
    cx.error(entry.key_tokens(), message, help);
}

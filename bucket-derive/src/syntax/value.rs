//! Typed values of attribute keys: strings, the collection, the items array, the capacity.

use std::fmt::Display;

use syn::{Lit, LitStr};

use crate::{
    diagnostics::Diagnostics,
    symbol::{COLLECTION, ITEMS, Symbol},
    syntax::entry::{Entry, Syntax},
};

/// The largest capacity: the tutorial's safe maximum, `(16 MiB - 500 bytes) / 100 bytes`.
pub(crate) const MAX_CAPACITY: u32 = 167_767;

/// The value of `key = "text"`.
pub(crate) fn string(cx: &mut Diagnostics, entry: &Entry, example: &str) -> Option<LitStr> {
    match literal(entry) {
        Some(Lit::Str(text)) if text.suffix().is_empty() => Some(text),
        _ => {
            wrong_kind(cx, entry, "a string", example);
            None
        }
    }
}

/// The value of `capacity = 10` or of another key that is one.
pub(crate) fn capacity(cx: &mut Diagnostics, entry: &Entry, symbol: Symbol) -> Option<u32> {
    let Some(Lit::Int(number)) = literal(entry).filter(|literal| literal.suffix().is_empty())
    else {
        wrong_kind(cx, entry, "an integer", format!("{symbol} = 10"));
        return None;
    };
    match number.base10_parse::<u32>() {
        Ok(0) => {
            let message = "a capacity of 0 leaves no room for a record";
            cx.error(
                entry.value_or_self(),
                message,
                format_args!("{symbol} = 10"),
            );
            None
        }
        Ok(capacity @ 1..=MAX_CAPACITY) => Some(capacity),
        _ if number.base10_digits().starts_with('-') => {
            let message = format!("a capacity is a number from 1 to {MAX_CAPACITY}");
            cx.error(
                entry.value_or_self(),
                message,
                format_args!("{symbol} = 10"),
            );
            None
        }
        _ => {
            let message = format!(
                "a capacity above {MAX_CAPACITY} is not safe: a document is limited to 16 MiB, \
                 and (16 MiB - 500 bytes) / 100 bytes a record is {MAX_CAPACITY}"
            );
            cx.error(
                entry.value_or_self(),
                message,
                format_args!("{symbol} = 1000"),
            );
            None
        }
    }
}

/// The value of `collection = "trades"`.
pub(crate) fn collection(cx: &mut Diagnostics, entry: &Entry) -> Option<String> {
    let name = string(cx, entry, "collection = \"trades\"")?;
    let text = name.value();
    let reason = if text.is_empty() {
        "it is empty"
    } else if text.contains('$') {
        "it contains `$`"
    } else if text.contains('\0') {
        "it contains a NUL"
    } else if text.starts_with('.') {
        "it starts with `.`"
    } else if text.starts_with("system.") {
        "names that start with `system.` belong to the server"
    } else if text == "bucket_models" {
        "it has the descriptions of all collections of buckets"
    } else {
        return Some(text);
    };
    let message = invalid(&text, "the name of a collection", reason);
    cx.error(name, message, format_args!("{COLLECTION} = \"trades\""));
    None
}

/// The value of `items = "history"`.
pub(crate) fn items(cx: &mut Diagnostics, entry: &Entry) -> Option<LitStr> {
    let name = string(cx, entry, "items = \"history\"")?;
    let text = name.value();
    let Some(reason) = bad_field_name(&text).or_else(|| reserved(&text)) else {
        return Some(name);
    };
    let message = invalid(&text, "the name of the items array", reason);
    cx.error(name, message, format_args!("{ITEMS} = \"history\""));
    None
}

/// The message about a text that cannot be `what`.
pub(crate) fn invalid(text: &str, what: &str, reason: &str) -> String {
    if text.is_empty() {
        format!("{what} cannot be empty")
    } else {
        format!("`{}` cannot be {what}: {reason}", text.escape_debug())
    }
}

/// Why a text cannot be a field's name in a stored document.
pub(crate) fn bad_field_name(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        Some("it is empty")
    } else if name.contains('.') {
        Some("it contains `.`, which separates the parts of a path")
    } else if name.contains('\0') {
        Some("it contains a NUL")
    } else if name.starts_with('$') {
        Some("it starts with `$`, which marks operators")
    } else {
        None
    }
}

/// Why a text cannot be the name of a field of an item.
pub(crate) fn bad_item_name(name: &str) -> Option<&'static str> {
    // `items.3` is the fourth item, or that field of each.
    let is_number = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    if name == "_removed" {
        return Some("`_removed` marks removed records");
    }
    is_number.then_some("a number is a position in the array of items")
}

/// Why a text cannot be a user's name at the top level of any bucket.
pub(crate) fn reserved(name: &str) -> Option<&'static str> {
    match name {
        "_id" => Some("`_id` is the id of the bucket"),
        "_edits" => Some("`_edits` counts the edits of the bucket"),
        "_sealed" => Some("`_sealed` says that the bucket is sealed"),
        "_merged" => Some("`_merged` says which buckets a merged one was made of"),
        "_bucket" => Some("`_bucket` names the bucket in its copy of an archive"),
        _ => None,
    }
}

/// Reports a bare word's value: `key = true` or `key(..)`.
pub(crate) fn word(cx: &mut Diagnostics, entry: &Entry, symbol: Symbol) {
    if !matches!(entry.form, Syntax::Word) {
        let help = format!("#[bucket({symbol})]");
        cx.error(entry, format_args!("`{symbol}` takes no value"), help);
    }
}

/// The literal of `key = literal`.
pub(crate) fn literal(entry: &Entry) -> Option<Lit> {
    match &entry.form {
        Syntax::Value(value) => syn::parse2(value.clone()).ok(),
        Syntax::Word | Syntax::List(_) | Syntax::Malformed => None,
    }
}

/// Reports a value of another kind than the key expects.
pub(crate) fn wrong_kind(cx: &mut Diagnostics, entry: &Entry, kind: &str, example: impl Display) {
    let key = entry
        .key
        .as_ref()
        .map(ToString::to_string)
        .unwrap_or_default();
    let message = format!("`{key}` expects {kind}");
    cx.error(entry.value_or_self(), message, example);
}

#[cfg(test)]
mod tests {
    use super::{bad_field_name, reserved};

    #[test]
    fn names_that_mongodb_reads_otherwise_are_refused() {
        for name in ["", "a.b", "$a", "a\0b"] {
            assert!(bad_field_name(name).is_some(), "{name:?}");
        }
        for name in ["a", "a$b", "history", "\u{e9}t\u{e9}", "a b"] {
            assert!(bad_field_name(name).is_none(), "{name:?}");
        }
        assert!(reserved("_id").is_some() && reserved("id").is_none());
    }
}

//! One of several strings: `late = "merge"`.

use crate::{
    diagnostics::{Diagnostics, did_you_mean, list, suggest},
    symbol::Symbol,
    syntax::{entry::Entry, value},
};

/// What happens to a record that is older than the open bucket of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Late {
    Merge,
    Side,
    Reject,
}

/// What happens to NaN and infinities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NonFinite {
    Reject,
    Skip,
}

/// The values of `late`; the first is the default.
pub(crate) const LATE: [(&str, Late); 3] = [
    ("merge", Late::Merge),
    ("side", Late::Side),
    ("reject", Late::Reject),
];

/// The values of `non_finite`; the first is the default.
pub(crate) const NON_FINITE: [(&str, NonFinite); 2] =
    [("reject", NonFinite::Reject), ("skip", NonFinite::Skip)];

/// What a record does whose id is stored with other data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnConflict {
    Report,
    Replace,
}

/// The values of `on_conflict`.
pub(crate) const ON_CONFLICT: [(&str, OnConflict); 2] = [
    ("replace", OnConflict::Replace),
    ("report", OnConflict::Report),
];

/// The values of `compression`.
pub(crate) const COMPRESSION: [(&str, &str); 4] = [
    ("zstd", "zstd"),
    ("snappy", "snappy"),
    ("zlib", "zlib"),
    ("none", "none"),
];

/// Where an array of attributes is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Store {
    Item,
    Bucket,
}

/// The values of `store`; the first is the default.
pub(crate) const STORE: [(&str, Store); 2] = [("item", Store::Item), ("bucket", Store::Bucket)];

/// The meaning of `key = "one of these"`.
pub(crate) fn parse<T: Copy>(
    cx: &mut Diagnostics,
    entry: &Entry,
    symbol: Symbol,
    choices: &[(&'static str, T)],
) -> Option<T> {
    let first = choices.first().map_or("", |(name, _)| name);
    let given = value::string(cx, entry, &format!("{symbol} = \"{first}\""))?;
    let text = given.value();
    if let Some((_, meaning)) = choices.iter().find(|(name, _)| *name == text) {
        return Some(*meaning);
    }
    let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
    let wrong = format!("unknown value `{}` of `{symbol}`", text.escape_debug());
    let valid = format!("its values are {}", list(&names));
    let meant = did_you_mean(&text, names);
    let help = format!("{symbol} = \"{}\"", meant.unwrap_or(first));
    cx.error(given, suggest(&wrong, meant, &valid), help);
    None
}

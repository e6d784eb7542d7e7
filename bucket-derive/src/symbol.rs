//! Every attribute key, once. Other files compare with these constants and never spell a key.

use proc_macro2::Ident;

/// An attribute key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Symbol(&'static str);

impl Symbol {
    pub(crate) const fn as_str(self) -> &'static str {
        self.0
    }
}

pub(crate) const BUCKET: Symbol = Symbol("bucket");
pub(crate) const COLLECTION: Symbol = Symbol("collection");
pub(crate) const ITEMS: Symbol = Symbol("items");
pub(crate) const CAPACITY: Symbol = Symbol("capacity");
pub(crate) const ID: Symbol = Symbol("id");
pub(crate) const CRATE: Symbol = Symbol("crate");

pub(crate) const WINDOW: Symbol = Symbol("window");
pub(crate) const MAX_DURATION: Symbol = Symbol("max_duration");
pub(crate) const LATE: Symbol = Symbol("late");
pub(crate) const NUMBERED: Symbol = Symbol("numbered");
pub(crate) const PARTS: Symbol = Symbol("parts");
pub(crate) const MAX_BYTES: Symbol = Symbol("max_bytes");
pub(crate) const OBJECT_IDS: Symbol = Symbol("object_ids");
pub(crate) const RAISED_FROM: Symbol = Symbol("raised_from");
pub(crate) const COMPRESSION: Symbol = Symbol("compression");
pub(crate) const EXPIRE_AFTER: Symbol = Symbol("expire_after");
pub(crate) const KEEP_STATS: Symbol = Symbol("keep_stats");
pub(crate) const SEAL_AFTER: Symbol = Symbol("seal_after");
pub(crate) const MERGE: Symbol = Symbol("merge");
pub(crate) const MERGE_STATS: Symbol = Symbol("merge_stats");
pub(crate) const ON_CONFLICT: Symbol = Symbol("on_conflict");

pub(crate) const COUNT: Symbol = Symbol("count");
pub(crate) const START: Symbol = Symbol("start");
pub(crate) const END: Symbol = Symbol("end");
pub(crate) const SIZE: Symbol = Symbol("size");
pub(crate) const FULL: Symbol = Symbol("full");
pub(crate) const CLOSED: Symbol = Symbol("closed");
pub(crate) const BYTES: Symbol = Symbol("bytes");
pub(crate) const CREATED_AT: Symbol = Symbol("created_at");
pub(crate) const EXPIRE_FROM: Symbol = Symbol("expire_from");
pub(crate) const STATS: Symbol = Symbol("stats");

pub(crate) const KEY: Symbol = Symbol("key");
pub(crate) const TIME: Symbol = Symbol("time");
pub(crate) const UNIQUE: Symbol = Symbol("unique");
pub(crate) const VERSION: Symbol = Symbol("version");

pub(crate) const MIN: Symbol = Symbol("min");
pub(crate) const MAX: Symbol = Symbol("max");
pub(crate) const SUM: Symbol = Symbol("sum");
pub(crate) const SUM_OF_SQUARES: Symbol = Symbol("sum_of_squares");
pub(crate) const AVG: Symbol = Symbol("avg");
pub(crate) const STD_DEV: Symbol = Symbol("std_dev");
pub(crate) const FIRST: Symbol = Symbol("first");
pub(crate) const LAST: Symbol = Symbol("last");
pub(crate) const PERCENTILES: Symbol = Symbol("percentiles");
pub(crate) const COUNT_IF: Symbol = Symbol("count_if");
pub(crate) const TALLY: Symbol = Symbol("tally");
pub(crate) const NON_FINITE: Symbol = Symbol("non_finite");

/// Keys inside `percentiles(..)`.
pub(crate) const ERROR: Symbol = Symbol("error");
pub(crate) const NAME: Symbol = Symbol("name");

pub(crate) const ATTRIBUTE: Symbol = Symbol("attribute");
pub(crate) const ATTRIBUTES: Symbol = Symbol("attributes");

/// Keys inside `attribute(..)` and `attributes(..)`.
pub(crate) const ARRAY: Symbol = Symbol("array");
pub(crate) const K: Symbol = Symbol("k");
pub(crate) const V: Symbol = Symbol("v");
pub(crate) const U: Symbol = Symbol("u");
pub(crate) const TEXT: Symbol = Symbol("text");
pub(crate) const FACTOR: Symbol = Symbol("factor");
pub(crate) const REST: Symbol = Symbol("rest");
pub(crate) const INDEX: Symbol = Symbol("index");
pub(crate) const STORE: Symbol = Symbol("store");
pub(crate) const ATTRIBUTE_KEYS: [Symbol; 6] = [ARRAY, K, U, TEXT, FACTOR, REST];
pub(crate) const ARRAY_KEYS: [Symbol; 5] = [ARRAY, K, V, U, INDEX];
/// The same for a record struct, whose buckets can store an array for their items.
pub(crate) const BUCKET_ARRAY_KEYS: [Symbol; 6] = [ARRAY, K, V, U, INDEX, STORE];

/// Keys of `#[bucket(..)]` on a struct with attributes.
pub(crate) const DOCUMENT_KEYS: [Symbol; 3] = [COLLECTION, ATTRIBUTES, CRATE];

/// Keys of `#[bucket(..)]` on a record struct.
pub(crate) const CONTAINER_KEYS: [Symbol; 31] = [
    COLLECTION,
    ITEMS,
    CAPACITY,
    ID,
    CRATE,
    WINDOW,
    MAX_DURATION,
    LATE,
    NUMBERED,
    PARTS,
    MAX_BYTES,
    OBJECT_IDS,
    RAISED_FROM,
    COMPRESSION,
    EXPIRE_AFTER,
    KEEP_STATS,
    SEAL_AFTER,
    MERGE,
    MERGE_STATS,
    ON_CONFLICT,
    CREATED_AT,
    STATS,
    COUNT,
    START,
    END,
    SIZE,
    FULL,
    CLOSED,
    BYTES,
    EXPIRE_FROM,
    ATTRIBUTES,
];
/// Keys of `#[bucket(..)]` on a field.
pub(crate) const FIELD_KEYS: [Symbol; 18] = [
    KEY,
    TIME,
    UNIQUE,
    VERSION,
    MIN,
    MAX,
    SUM,
    AVG,
    STD_DEV,
    SUM_OF_SQUARES,
    COUNT,
    FIRST,
    LAST,
    COUNT_IF,
    TALLY,
    PERCENTILES,
    NON_FINITE,
    ATTRIBUTE,
];

pub(crate) const ALLOW: Symbol = Symbol("allow");
pub(crate) const DEPRECATED: Symbol = Symbol("deprecated");
pub(crate) const DOC: Symbol = Symbol("doc");
pub(crate) const SERDE: Symbol = Symbol("serde");

/// Keys of `#[serde(..)]` that the rules use.
pub(crate) mod serde {
    use super::Symbol;

    pub(crate) const BOUND: Symbol = Symbol("bound");
    pub(crate) const DEFAULT: Symbol = Symbol("default");
    pub(crate) const DENY_UNKNOWN_FIELDS: Symbol = Symbol("deny_unknown_fields");
    pub(crate) const DESERIALIZE_WITH: Symbol = Symbol("deserialize_with");
    pub(crate) const EXPECTING: Symbol = Symbol("expecting");
    pub(crate) const FLATTEN: Symbol = Symbol("flatten");
    pub(crate) const FROM: Symbol = Symbol("from");
    pub(crate) const INTO: Symbol = Symbol("into");
    pub(crate) const OTHER: Symbol = Symbol("other");
    pub(crate) const REMOTE: Symbol = Symbol("remote");
    pub(crate) const RENAME: Symbol = Symbol("rename");
    pub(crate) const RENAME_ALL: Symbol = Symbol("rename_all");
    pub(crate) const SERIALIZE_WITH: Symbol = Symbol("serialize_with");
    pub(crate) const SKIP: Symbol = Symbol("skip");
    pub(crate) const SKIP_DESERIALIZING: Symbol = Symbol("skip_deserializing");
    pub(crate) const SKIP_SERIALIZING: Symbol = Symbol("skip_serializing");
    pub(crate) const SKIP_SERIALIZING_IF: Symbol = Symbol("skip_serializing_if");
    pub(crate) const TAG: Symbol = Symbol("tag");
    pub(crate) const TRANSPARENT: Symbol = Symbol("transparent");
    pub(crate) const TRY_FROM: Symbol = Symbol("try_from");
    pub(crate) const UNTAGGED: Symbol = Symbol("untagged");
    pub(crate) const WITH: Symbol = Symbol("with");
}

impl PartialEq<Symbol> for Ident {
    fn eq(&self, symbol: &Symbol) -> bool {
        self == symbol.0
    }
}

impl std::fmt::Display for Symbol {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

/// The keys as plain text, for lists and suggestions.
pub(crate) fn names(symbols: &[Symbol]) -> Vec<&'static str> {
    symbols.iter().map(|symbol| symbol.as_str()).collect()
}

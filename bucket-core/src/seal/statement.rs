//! The statements: the bucket as it was read, and what its items become.

use bson::{DateTime, RawDocument, RawDocumentBuf};

use crate::{
    bucket::{
        archived::EXPIRED_ITEMS,
        edits::EDITS,
        record::Record,
        sealed::{
            ARCHIVED, AT, COPIED, EXPIRED, FIRST, LAST, PACKED, SEALED, archived_path, expired_path,
        },
    },
    codec::raw::{
        RawWriter, elements,
        kind::{ARRAY, UNDEFINED},
    },
    model::spec::{BucketSpec, ID, ID_INDEX},
    read::key_elements,
};

/// A statement that seals or unseals one bucket.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SealStatement {
    statement: RawDocumentBuf,
    /// The number of its items, with the marks of removed records.
    pub records: u64,
    /// The size of the items before it, in bytes.
    pub before: u64,
    /// The size after it.
    pub after: u64,
}

/// What the items become.
pub(crate) enum Change<'a> {
    Seal {
        rows: &'a [u8],
        packed: &'a [u8],
        ends: (DateTime, DateTime),
        /// Where sealed buckets are merged later: since when it is sealed.
        at: Option<DateTime>,
    },
    Unseal {
        packed: &'a [u8],
        rows: &'a [u8],
    },
    /// The items are in the archive from now on.
    Archive {
        packed: &'a [u8],
        reference: &'a [u8],
        ends: (DateTime, DateTime),
        at: DateTime,
        /// From this time of the server on it changes nothing: the copy may be gone.
        until: Option<DateTime>,
    },
    Restore {
        reference: &'a [u8],
        packed: &'a [u8],
        ends: (DateTime, DateTime),
    },
    /// The items are gone from now on, whatever they are: their number and that of the edits say that they are the same.
    Expire {
        bytes: u64,
        ends: (DateTime, DateTime),
        at: DateTime,
        /// Since when they are in the archive, if they are.
        copied: Option<DateTime>,
    },
}

impl SealStatement {
    pub(crate) fn new<T: Record>(
        key: &T::Key,
        stored: &RawDocument,
        count: u32,
        change: &Change<'_>,
    ) -> Self {
        let key = key_elements::<T>(key);
        Self::of(T::SPEC, count, change, |writer| {
            write_state(T::SPEC, stored, &key, count, writer);
        })
    }

    /// The same for a bucket whose key or count cannot be read.
    pub(crate) fn of_damaged(spec: &BucketSpec, stored: &RawDocument, change: &Change<'_>) -> Self {
        let is_kept = |name: &str| {
            let mut keys = spec.keys().iter().map(|key| key.path.split('.').next());
            name == ID || name == spec.names().count || keys.any(|key| key == Some(name))
        };
        Self::of(spec, 0, change, |writer| {
            for element in elements(stored).map_while(Result::ok) {
                if is_kept(element.name) && element.kind != UNDEFINED {
                    let same = writer.begin_document(element.name);
                    writer.raw(element.kind, "$eq", element.bytes);
                    writer.end(same);
                }
            }
        })
    }

    /// A statement for the bucket that this filter describes, and whose items are those before the change.
    fn of(
        spec: &BucketSpec,
        count: u32,
        change: &Change<'_>,
        filter: impl FnOnce(&mut RawWriter),
    ) -> Self {
        let statement = RawWriter::build(|writer| {
            let query = writer.begin_document("q");
            filter(writer);
            change.write_before(spec, writer);
            writer.end(query);
            let update = writer.begin_document("u");
            let set = writer.begin_document("$set");
            change.write_after(spec, writer);
            writer.end(set);
            writer.end(update);
            writer.string("hint", ID_INDEX);
        });
        let (before, after) = change.sizes();
        Self {
            statement,
            records: u64::from(count),
            before,
            after,
        }
    }

    /// Its size in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.statement.as_bytes().len()
    }
}

/// Its id, its key, its count and the state of its edits.
fn write_state(
    spec: &BucketSpec,
    stored: &RawDocument,
    key: &[u8],
    count: u32,
    writer: &mut RawWriter,
) {
    let mut has_edits = false;
    for element in elements(stored).map_while(Result::ok) {
        if element.name == ID || (element.name == EDITS && element.kind != UNDEFINED) {
            let same = writer.begin_document(element.name);
            writer.raw(element.kind, "$eq", element.bytes);
            writer.end(same);
        }
        has_edits |= element.name == EDITS;
    }
    writer.elements(key);
    writer.integer(spec.names().count, i64::from(count));
    if !has_edits {
        let none = writer.begin_document(EDITS);
        writer.bool("$exists", false);
        writer.end(none);
    }
}

impl Change<'_> {
    fn write_before(&self, spec: &BucketSpec, writer: &mut RawWriter) {
        match self {
            Self::Seal { rows, .. } => {
                let same = writer.begin_document(spec.items());
                writer.raw(ARRAY, "$eq", rows);
                writer.end(same);
            }
            Self::Unseal { packed, .. } => writer.binary(spec.items(), PACKED, packed),
            Self::Archive { packed, until, .. } => {
                writer.binary(spec.items(), PACKED, packed);
                if let Some(until) = until {
                    write_until(*until, writer);
                }
            }
            Self::Restore { reference, .. } => writer.binary(spec.items(), PACKED, reference),
            Self::Expire { copied, .. } => {
                let absent = |path: &str, writer: &mut RawWriter| {
                    let none = writer.begin_document(path);
                    writer.bool("$exists", false);
                    writer.end(none);
                };
                absent(&expired_path(), writer);
                // What it says of the archive afterwards is what it says now.
                match copied {
                    Some(at) => writer.date(&archived_path(), at.timestamp_millis()),
                    None => absent(&archived_path(), writer),
                }
            }
        }
    }

    fn write_after(&self, spec: &BucketSpec, writer: &mut RawWriter) {
        match self {
            Self::Seal {
                packed, ends, at, ..
            } => write_packed(spec, packed, *ends, &[(AT, *at)], writer),
            Self::Restore { packed, ends, .. } => write_packed(spec, packed, *ends, &[], writer),
            Self::Archive {
                reference,
                ends,
                at,
                ..
            } => write_packed(spec, reference, *ends, &[(ARCHIVED, Some(*at))], writer),
            Self::Expire {
                ends, at, copied, ..
            } => {
                let since = [(EXPIRED, Some(*at)), (COPIED, *copied)];
                write_packed(spec, EXPIRED_ITEMS, *ends, &since, writer);
            }
            Self::Unseal { rows, .. } => {
                writer.raw(ARRAY, spec.items(), rows);
                // It takes no more records: later ones may be in the bucket after it.
                let sealed = writer.begin_document(SEALED);
                writer.end(sealed);
            }
        }
    }

    fn sizes(&self) -> (u64, u64) {
        let bytes = |bytes: &[u8]| u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        match self {
            Self::Seal { rows, packed, .. } => (bytes(rows), bytes(packed)),
            Self::Unseal { packed, rows } => (bytes(packed), bytes(rows)),
            Self::Archive {
                packed, reference, ..
            } => (bytes(packed), bytes(reference)),
            Self::Restore {
                reference, packed, ..
            } => (bytes(reference), bytes(packed)),
            Self::Expire { bytes: before, .. } => (*before, bytes(EXPIRED_ITEMS)),
        }
    }
}

/// The condition for the server's time to be before this one.
fn write_until(until: DateTime, writer: &mut RawWriter) {
    let condition = writer.begin_document("$expr");
    let before = writer.begin_array("$lt");
    writer.string("0", "$$NOW");
    writer.date("1", until.timestamp_millis());
    writer.end(before);
    writer.end(condition);
}

/// Packed items or a reference to them, and what a sealed bucket says of itself.
pub(super) fn write_packed(
    spec: &BucketSpec,
    packed: &[u8],
    ends: (DateTime, DateTime),
    since: &[(&str, Option<DateTime>)],
    writer: &mut RawWriter,
) {
    writer.binary(spec.items(), PACKED, packed);
    let sealed = writer.begin_document(SEALED);
    writer.date(FIRST, ends.0.timestamp_millis());
    writer.date(LAST, ends.1.timestamp_millis());
    for (what, at) in since {
        if let Some(at) = at {
            writer.date(what, at.timestamp_millis());
        }
    }
    writer.end(sealed);
}

/// The command of these statements. Each is about another bucket, so one that another writer came before does not
/// stop the others.
#[must_use]
#[expect(
    single_use_lifetimes,
    reason = "anonymous ones in `impl Trait` are unstable"
)]
pub fn command<'s>(
    spec: &BucketSpec,
    statements: impl IntoIterator<Item = &'s SealStatement>,
) -> RawDocumentBuf {
    RawWriter::build(|writer| {
        writer.string("update", spec.collection());
        writer.bool("ordered", false);
        let updates = writer.begin_array("updates");
        for (index, statement) in statements.into_iter().enumerate() {
            writer.element(index, statement.statement.as_bytes());
        }
        writer.end(updates);
    })
}

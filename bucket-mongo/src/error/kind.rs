//! The kinds of errors.

use std::fmt;

use bucket_core::{
    DamagedBucket, EncodeError, SumOverflow, TokenError, attribute::DocumentError, index::Drift,
    text::Shortened, write::may_be_read_again,
};
use mongodb::bson::{Bson, DateTime};

/// What went wrong.
///
/// ```
/// use bucket_mongo::ErrorKind;
///
/// fn missing_index(kind: &ErrorKind) -> Option<&str> {
///     match kind {
///         // Kinds and their fields may be added: `..`.
///         ErrorKind::MissingIndex { name, .. } => Some(name),
///         _ => None,
///     }
/// }
/// assert_eq!(missing_index(&ErrorKind::ShutDown), None);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An argument is invalid, such as page 0; nothing was sent.
    #[non_exhaustive]
    InvalidArgument {
        /// What is wrong with it.
        message: String,
    },
    /// A cursor token cannot be used here; nothing was sent.
    InvalidToken(TokenError),
    /// A bucket covers a longer time than the handle had seen, so the read may have missed records. The
    /// handle has learned the length: read again, or set it in advance with
    /// [`Buckets::with_longest_span`](crate::Buckets::with_longest_span).
    #[non_exhaustive]
    LongerBucket {
        /// The time that the bucket covers, in seconds.
        seconds: i64,
    },
    /// A read has met an archived bucket whose items were changed or removed before it came to them. Read again; in a
    /// snapshot session or a transaction, in a new one.
    #[non_exhaustive]
    Overtaken {
        /// What has happened to the bucket, and what to do.
        message: String,
    },
    /// Statistics cannot be exact: a bound cuts a bucket whose records have expired, of which only the statistics are kept
    /// (`#[bucket(keep_stats = "5y")]`). Let the range or the step contain the bucket, or leave it out.
    #[non_exhaustive]
    Partial {
        /// Bounds on the times that the records of the bucket had: the first, and the last.
        span: Option<(DateTime, DateTime)>,
    },
    /// A record cannot be encoded or is too large; nothing was sent.
    Encode(EncodeError),
    /// A document of the collection is not a bucket of the model.
    Damaged(DamagedBucket),
    /// A document with attributes cannot be encoded, or a stored document does not fit the model.
    Document(DocumentError),
    /// The sum of an aggregate over a time range exceeds 64 bits.
    Overflow(SumOverflow),
    /// An index of the model is missing; nothing was stored. Call `ensure()`.
    #[non_exhaustive]
    MissingIndex {
        /// The name of the index.
        name: String,
    },
    /// An index that writes depend on is still being built; nothing was stored. Call `ensure()`, which waits
    /// for it, then try again.
    #[non_exhaustive]
    UnfinishedIndex {
        /// The name of the index.
        name: String,
    },
    /// The collection does not match the model: it has a collation, is not a plain collection, belongs to another
    /// model, or has an index with one of the model's names and another definition. Nothing was stored or read.
    Drift(Box<Drift>),
    /// A unique index of your own refused the record or document, which is not stored.
    #[non_exhaustive]
    DuplicateKey {
        /// The name of the index.
        index: String,
        /// What the server says.
        message: String,
    },
    /// The id of the record (`#[bucket(unique)]`) is already stored under its key with other data; the record
    /// is not stored.
    #[non_exhaustive]
    Conflict {
        /// The id, as text.
        id: String,
    },
    /// The record was edited or replaced since its reference was read; nothing was changed. Read it again.
    Changed,
    /// An edit changes the record id, or moves the record to another bucket where that cannot be done: on a
    /// standalone server, or with a stored field that the model does not know. Nothing was changed. Insert the
    /// new record, then remove the old one.
    #[non_exhaustive]
    Moves {
        /// What the edit changes.
        message: String,
    },
    /// This version of the model does not know all that is stored, and the edit would lose or miscount it: an `update`
    /// changes an array so that the place of a field that the model does not know is not clear, or an edit changes an
    /// aggregate of a bucket whose records the model reads as less than they are. Nothing was changed. Add what is missing
    /// to the model.
    #[non_exhaustive]
    UnknownField {
        /// The path of the field in the stored record; in the bucket, if it is about an aggregate.
        path: String,
    },
    /// An index on open buckets that belongs to another capacity refused the record; nothing was stored. Drop
    /// the index once no writer uses that capacity.
    #[non_exhaustive]
    OtherCapacity {
        /// The name of that index.
        index: String,
    },
    /// The call gave up after repeated write conflicts with other writers of the key; nothing was stored.
    #[non_exhaustive]
    Contention {
        /// The number of attempts.
        attempts: u32,
    },
    /// In a transaction, a record of a [source](crate::action::InsertMany::from_source) met a bulk load of its key,
    /// which is under way or has ended early; the record was not sent. The transaction would not see what the load
    /// stores. Abort it and run it again. If the load has ended early, write once to the key outside of a
    /// transaction first.
    Reserved,
    /// An earlier record of the same key and [source](crate::action::InsertMany::from_source) may not be
    /// stored; this one was not sent. Send both again, the earlier one first.
    #[non_exhaustive]
    HeldBack {
        /// The position of this record.
        position: i64,
        /// The position of the first record that may not be stored.
        failed: i64,
    },
    /// The buffer of an ingestor is full; the record was not taken.
    #[non_exhaustive]
    Overloaded {
        /// The capacity of the buffer, in bytes.
        limit: usize,
    },
    /// The ingestor was shut down: it takes no more records, or returned this one before it was sent. The
    /// record is not stored.
    ShutDown,
    /// A watch cannot go on: the server's oplog no longer has its place, or the collection was dropped or renamed.
    /// Read what is stored, and watch anew.
    #[non_exhaustive]
    HistoryLost {
        /// When the last event happened that the watch has given, to the second and by the clock of the server:
        /// everything since then has to be read.
        since: DateTime,
        /// What took the place away.
        message: String,
    },
    /// No server could be reached; nothing was stored.
    #[non_exhaustive]
    Unreachable {
        /// What the driver says.
        message: String,
    },
    /// A read took longer than its [`deadline`](crate::action::RangeQuery::deadline) or
    /// [`max_time`](crate::action::RangeQuery::max_time); a read stores nothing.
    #[non_exhaustive]
    TimedOut {
        /// What the server says, or that it said nothing.
        message: String,
    },
    /// The server does not accept the credentials or does not permit the operation; nothing was
    /// stored.
    #[non_exhaustive]
    Unauthorized {
        /// What the server says.
        message: String,
    },
    /// The server refused the operation; nothing was stored.
    #[non_exhaustive]
    Server {
        /// The server's error code.
        code: i32,
        /// What the server says.
        message: String,
    },
    /// The connection was lost, or the write concern was not met, after the records were sent. They may or
    /// may not be stored.
    #[non_exhaustive]
    OutcomeUnknown {
        /// What the driver or the server says.
        message: String,
    },
    /// A full bucket would exceed the largest document that the server stores; nothing was created.
    #[non_exhaustive]
    BucketTooLarge {
        /// The size of a full bucket, in bytes.
        bytes: usize,
        /// The size of the largest document, in bytes.
        limit: usize,
    },
    /// An index cannot be built, because stored documents violate it.
    #[non_exhaustive]
    IndexBuild {
        /// The name of the index.
        name: String,
        /// What the server says.
        message: String,
    },
    /// The migration of a collection to another form was stopped. Migrated documents stay migrated: start the
    /// migration again, or continue after `after` with
    /// [`MigrateDocuments::after`](crate::documents::MigrateDocuments::after).
    #[non_exhaustive]
    Interrupted {
        /// Documents up to this `_id` are migrated; `None` if the first batch was not finished.
        after: Option<Box<Bson>>,
        /// What stopped the migration.
        cause: Box<ErrorKind>,
    },
    /// A removal of many records was stopped after some of them were removed, by
    /// [`delete_range`](crate::Buckets::delete_range), [`delete_where`](crate::Buckets::delete_where) or
    /// [`delete_key`](crate::Buckets::delete_key). Call it again to remove the rest.
    #[non_exhaustive]
    RemovedInPart {
        /// What stopped the removal.
        cause: Box<ErrorKind>,
    },
    /// A [backfill](crate::Buckets::backfill_from) was stopped. What it has stored stays, each document once: call it again, and
    /// it goes on where it was.
    #[non_exhaustive]
    BackfilledInPart {
        /// The number of documents that it has settled, in all its runs: their records are stored, or they are rejects.
        read: u64,
        /// What stopped it.
        cause: Box<ErrorKind>,
    },
    /// Another worker goes on with the [backfill](crate::Buckets::backfill_from) of this one, which stores nothing more.
    #[non_exhaustive]
    TakenOver {
        /// The name of the job.
        job: String,
    },
    /// Any other error of the driver.
    #[non_exhaustive]
    Driver {
        /// What the driver says.
        message: String,
    },
}

impl ErrorKind {
    pub(super) fn is_outcome_unknown(&self) -> bool {
        match self {
            Self::OutcomeUnknown { .. } => true,
            Self::Interrupted { cause, .. }
            | Self::RemovedInPart { cause }
            | Self::BackfilledInPart { cause, .. } => cause.is_outcome_unknown(),
            _ => false,
        }
    }

    pub(super) fn is_retryable(&self) -> bool {
        match self {
            Self::Contention { .. }
            | Self::Reserved
            | Self::UnfinishedIndex { .. }
            | Self::HeldBack { .. }
            | Self::Overloaded { .. }
            | Self::Unreachable { .. }
            | Self::TimedOut { .. }
            | Self::LongerBucket { .. }
            | Self::Overtaken { .. } => true,
            // Nothing was stored, so that writes may be made again after the same codes.
            Self::Server { code, .. } => may_be_read_again(*code),
            // A repeated migration skips documents that are already migrated, a repeated removal finds only the rest, and a
            // repeated backfill knows what is stored.
            Self::Interrupted { cause, .. }
            | Self::RemovedInPart { cause }
            | Self::BackfilledInPart { cause, .. } => {
                cause.is_retryable() || cause.is_outcome_unknown()
            }
            _ => false,
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidArgument { message }
            | Self::Driver { message }
            | Self::Overtaken { message }
            | Self::Moves { message } => f.write_str(message),
            Self::UnknownField { path } => write!(
                f,
                "this version of the model does not know all that is stored in `{path}`, and the edit would lose it or \
                 count it wrong: add what is missing to the model"
            ),
            Self::Changed => f.write_str(
                "the record was edited or replaced since its reference was read: read it again",
            ),
            Self::InvalidToken(source) => source.fmt(f),
            Self::LongerBucket { seconds } => write!(
                f,
                "a bucket covers {seconds} seconds, longer than the read assumed: read again, or set \
                 `with_longest_span`"
            ),
            Self::Partial { span } => partial(f, *span),
            Self::Encode(source) => source.fmt(f),
            Self::Damaged(source) => source.fmt(f),
            Self::Document(source) => source.fmt(f),
            Self::Overflow(source) => source.fmt(f),
            Self::MissingIndex { name } => {
                write!(
                    f,
                    "the index `{name}` is missing, or hidden: call `ensure()` to create it, or `ensure().replace_indexes()` to \
                     show it, then try again"
                )
            }
            Self::UnfinishedIndex { name } => write!(
                f,
                "the index `{name}` is still being built: call `ensure()` to wait for it, then try again"
            ),
            Self::Drift(drift) => {
                write!(f, "{drift}{}", advice(drift))
            }
            Self::DuplicateKey { index, message } => {
                write!(
                    f,
                    "the unique index `{index}` refused the record: {message}"
                )
            }
            Self::Conflict { id } => {
                let id = Shortened(id);
                write!(f, "the record id {id} is already stored with other data")
            }
            Self::OtherCapacity { index } => write!(
                f,
                "the index `{index}` belongs to another capacity or another model and refused the record: \
                 `ensure()` says which, drop it once no writer uses that"
            ),
            Self::Contention { attempts } => {
                write!(
                    f,
                    "gave up after {attempts} write conflicts on this key: try again"
                )
            }
            Self::Reserved => f.write_str(
                "a bulk load of this key is under way or has ended early: run the transaction again, or write \
                 once outside of it",
            ),
            Self::HeldBack { position, failed } => write!(
                f,
                "position {position} of the source was not sent, because position {failed} may not be \
                 stored: send again from position {failed}"
            ),
            Self::Overloaded { limit } => {
                write!(
                    f,
                    "the buffer of {limit} bytes is full and did not take the record: try again later"
                )
            }
            Self::ShutDown => f.write_str("the ingestor was shut down: the record is not stored"),
            Self::HistoryLost { since, message } => history_lost(f, *since, message),
            Self::Unreachable { message } => write!(f, "no server could be reached: {message}"),
            Self::TimedOut { message } => write!(f, "the read took too long: {message}"),
            Self::Unauthorized { message } => write!(f, "not authorised: {message}"),
            Self::Server { code, message } => write!(
                f,
                "the server refused the operation (code {code}): {message}"
            ),
            Self::OutcomeUnknown { message } => {
                write!(f, "the records may or may not be stored: {message}")
            }
            Self::Interrupted { after, cause } => interrupted(f, after.as_ref(), cause),
            Self::RemovedInPart { cause } => removed_in_part(f, cause),
            Self::BackfilledInPart { read, cause } => backfilled(f, *read, cause),
            Self::TakenOver { job } => taken_over(f, job),
            Self::BucketTooLarge { bytes, limit } => write!(
                f,
                "a full bucket would take {bytes} bytes, but a document holds at most {limit}: lower the capacity"
            ),
            Self::IndexBuild { name, message } => {
                write!(f, "the index `{name}` cannot be built: {message}")
            }
        }
    }
}

fn backfilled(f: &mut fmt::Formatter<'_>, read: u64, cause: &ErrorKind) -> fmt::Result {
    write!(
        f,
        "the backfill was stopped after {read} documents: {cause}; call it again, and it goes on after these"
    )
}

fn taken_over(f: &mut fmt::Formatter<'_>, job: &str) -> fmt::Result {
    write!(
        f,
        "another worker goes on with the backfill of `{job}`, and this one stores nothing more: let only one of them run"
    )
}

fn partial(f: &mut fmt::Formatter<'_>, span: Option<(DateTime, DateTime)>) -> fmt::Result {
    f.write_str("a bound cuts a bucket whose records have expired, of which only the statistics are kept: let a range or a step contain ")?;
    match span {
        Some((first, last)) => write!(f, "all from {first} to {last}, or nothing of it"),
        None => f.write_str("all of it, or nothing"),
    }
}

fn interrupted(
    f: &mut fmt::Formatter<'_>,
    after: Option<&impl fmt::Display>,
    cause: &ErrorKind,
) -> fmt::Result {
    write!(f, "{cause}; ")?;
    match after {
        Some(id) => write!(f, "documents up to {id} are migrated")?,
        None => f.write_str("finished batches stay migrated")?,
    }
    f.write_str(": start the migration again")
}

fn removed_in_part(f: &mut fmt::Formatter<'_>, cause: &ErrorKind) -> fmt::Result {
    write!(
        f,
        "only some of the records were removed: {cause}; call it again to remove the rest"
    )
}

fn history_lost(f: &mut fmt::Formatter<'_>, since: DateTime, message: &str) -> fmt::Result {
    write!(
        f,
        "the watch cannot go on, because {message}: read what was stored since {since}, and watch anew"
    )
}

/// What to do about a drift, where the drift itself does not say it.
fn advice(drift: &Drift) -> &'static str {
    match drift {
        Drift::Collation { .. } => ": copy the buckets into a collection that has no collation",
        Drift::Index { .. } => ": call `ensure().replace_indexes()` to replace it",
        Drift::Kind { .. } => ": use another collection name",
        _ => "",
    }
}

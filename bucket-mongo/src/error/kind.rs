//! The kinds of errors.

use std::fmt;

use bucket_core::{
    DamagedBucket, EncodeError, SumOverflow, TokenError, attribute::DocumentError, index::Drift,
    text::Shortened, write::is_transient,
};
use mongodb::bson::Bson;

/// What went wrong.
///
/// ```
/// use bucket_mongo::ErrorKind;
///
/// let kind = ErrorKind::InvalidArgument { message: "pages are counted from 1".into() };
/// assert_eq!(kind.to_string(), "pages are counted from 1");
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An argument makes no sense, such as page 0; nothing was sent.
    InvalidArgument {
        /// What is wrong with it.
        message: String,
    },
    /// A cursor token cannot be used here; nothing was sent.
    InvalidToken(TokenError),
    /// A bucket covers a longer span of time than any that the handle knew of, so that the read may
    /// have missed records. The handle has learnt it: read again, or say it beforehand with
    /// [`Buckets::with_longest_span`](crate::Buckets::with_longest_span).
    LongerBucket {
        /// The span of time of that bucket, in seconds.
        seconds: i64,
    },
    /// A record cannot be encoded or is too large; nothing was sent.
    Encode(EncodeError),
    /// A document of the collection is no bucket of the model.
    Damaged(DamagedBucket),
    /// A document with attributes cannot be encoded, or one of the collection is none of the model.
    Document(DocumentError),
    /// The sum of an aggregate over a span of time passes 64 bits.
    Overflow(SumOverflow),
    /// An index of the model is missing; nothing was stored. Call `ensure()`.
    MissingIndex {
        /// The name of the index.
        name: String,
    },
    /// An index that writes rest on is still being built; nothing was stored. Try again once it is there:
    /// `ensure()` waits for it.
    UnfinishedIndex {
        /// The name of the index.
        name: String,
    },
    /// The collection is not as the model needs it: it has a collation, is none, or has an index of the
    /// model's name that does something else. Nothing was stored or read.
    Drift(Box<Drift>),
    /// A unique index that is not of the model refused the record or document, which is not stored.
    DuplicateKey {
        /// The name of the index.
        index: String,
        /// What the server says.
        message: String,
    },
    /// The id of the record (`#[bucket(unique)]`) is stored under its key with other data; the record is
    /// not stored.
    Conflict {
        /// The id, as text.
        id: String,
    },
    /// An index on open buckets of another capacity refused the record; nothing was stored. It is
    /// to be dropped once no writer of that capacity is left.
    OtherCapacity {
        /// The name of that index.
        index: String,
    },
    /// Other writers of the same key were faster again and again; nothing was stored.
    Contention {
        /// How often it was tried.
        attempts: u32,
    },
    /// An earlier record of the same key and [source](crate::action::InsertMany::from_source) is not
    /// known to be stored; nothing of this one was sent. Send both again, the earlier one first.
    HeldBack {
        /// The position of this record.
        position: i64,
        /// The position of the first record that is not known to be stored.
        failed: i64,
    },
    /// The buffer of an ingestor is full; the record was not taken.
    Overloaded {
        /// How much it may hold, in bytes.
        limit: usize,
    },
    /// An ingestor takes nothing more, or gave the record back before it was sent; it is not
    /// stored.
    ShutDown,
    /// No server could be reached; nothing was stored.
    Unreachable {
        /// What the driver says.
        message: String,
    },
    /// A read took longer than its [`deadline`](crate::action::RangeQuery::deadline) or
    /// [`max_time`](crate::action::RangeQuery::max_time); a read stores nothing.
    TimedOut {
        /// What the server says, or that it said nothing.
        message: String,
    },
    /// The server does not accept the credentials or does not permit the operation; nothing was
    /// stored.
    Unauthorized {
        /// What the server says.
        message: String,
    },
    /// The server refused the operation; nothing was stored.
    Server {
        /// The server's error code.
        code: i32,
        /// What the server says.
        message: String,
    },
    /// The connection was lost, or the write concern was not met, after the records were sent:
    /// they may be stored or not.
    OutcomeUnknown {
        /// What the driver or the server says.
        message: String,
    },
    /// A full bucket would pass the largest document; nothing was created.
    BucketTooLarge {
        /// The size of a full bucket, in bytes.
        bytes: usize,
        /// The largest document, in bytes.
        limit: usize,
    },
    /// An index cannot be built, because the collection holds what it forbids.
    IndexBuild {
        /// The name of the index.
        name: String,
        /// What the server says.
        message: String,
    },
    /// The move of a collection to another form was stopped. What was done stays: start the move again,
    /// or let it go on behind `after`
    /// ([`MigrateDocuments::after`](crate::documents::MigrateDocuments::after)).
    Interrupted {
        /// Documents up to this `_id` are done; none if not even the first batch is.
        after: Option<Box<Bson>>,
        /// What stopped it.
        cause: Box<ErrorKind>,
    },
    /// Any other error of the driver.
    Driver {
        /// What the driver says.
        message: String,
    },
}

impl ErrorKind {
    pub(super) fn is_outcome_unknown(&self) -> bool {
        match self {
            Self::OutcomeUnknown { .. } => true,
            Self::Interrupted { cause, .. } => cause.is_outcome_unknown(),
            _ => false,
        }
    }

    pub(super) fn is_retryable(&self) -> bool {
        match self {
            Self::Contention { .. }
            | Self::UnfinishedIndex { .. }
            | Self::HeldBack { .. }
            | Self::Overloaded { .. }
            | Self::Unreachable { .. }
            | Self::TimedOut { .. }
            | Self::LongerBucket { .. } => true,
            Self::Server { code, .. } => is_transient(*code),
            // What may have been done is not done twice.
            Self::Interrupted { cause, .. } => cause.is_retryable() || cause.is_outcome_unknown(),
            _ => false,
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidArgument { message } | Self::Driver { message } => f.write_str(message),
            Self::InvalidToken(source) => source.fmt(f),
            Self::LongerBucket { seconds } => write!(
                f,
                "a bucket covers {seconds} seconds, more than was known of: read again, or call \
                 `with_longest_span`"
            ),
            Self::Encode(source) => source.fmt(f),
            Self::Damaged(source) => source.fmt(f),
            Self::Document(source) => source.fmt(f),
            Self::Overflow(source) => source.fmt(f),
            Self::MissingIndex { name } => {
                write!(
                    f,
                    "the index `{name}` is missing: call `ensure()` before writing"
                )
            }
            Self::UnfinishedIndex { name } => {
                write!(
                    f,
                    "the index `{name}` is still being built: try again once it is there"
                )
            }
            Self::Drift(drift) => {
                write!(f, "{drift}")?;
                f.write_str(match &**drift {
                    Drift::Collation { .. } => {
                        ": copy the buckets into a collection that was created without a collation"
                    }
                    Drift::Index { .. } => {
                        ": `ensure().replace_indexes()` makes it the one that the model needs"
                    }
                    Drift::Kind { .. } => ": use a collection of another name",
                    _ => "",
                })
            }
            Self::DuplicateKey { index, message } => {
                write!(
                    f,
                    "the unique index `{index}` refused the record: {message}"
                )
            }
            Self::Conflict { id } => {
                let id = Shortened(id);
                write!(f, "the record id {id} has other data already")
            }
            Self::OtherCapacity { index } => write!(
                f,
                "the index `{index}` of another capacity refused the record: drop it once no \
                 writer of that capacity is left"
            ),
            Self::Contention { attempts } => {
                write!(f, "other writers of this key were faster {attempts} times")
            }
            Self::HeldBack { position, failed } => write!(
                f,
                "position {position} of the source was not sent, because position {failed} is not known \
                 to be stored: go on from there"
            ),
            Self::Overloaded { limit } => {
                write!(f, "the buffer is full: {limit} bytes wait to be stored")
            }
            Self::ShutDown => f.write_str("the ingestor was shut down"),
            Self::Unreachable { message } => write!(f, "no server could be reached: {message}"),
            Self::TimedOut { message } => write!(f, "the read took too long: {message}"),
            Self::Unauthorized { message } => write!(f, "not authorised: {message}"),
            Self::Server { code, message } => write!(f, "the server refused ({code}): {message}"),
            Self::OutcomeUnknown { message } => {
                write!(
                    f,
                    "it is not known whether the records were stored: {message}"
                )
            }
            Self::Interrupted { after, cause } => {
                write!(f, "{cause}; ")?;
                match after {
                    Some(id) => write!(f, "documents up to {id} are done and stay so")?,
                    None => f.write_str("what was done stays")?,
                }
                f.write_str(": start it again")
            }
            Self::BucketTooLarge { bytes, limit } => {
                write!(
                    f,
                    "a full bucket would take {bytes} bytes, a document at most {limit}"
                )
            }
            Self::IndexBuild { name, message } => {
                write!(f, "the index `{name}` cannot be built: {message}")
            }
        }
    }
}

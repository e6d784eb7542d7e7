//! What can go wrong, typed: the kind, the operation, the key, and whether trying again is safe.

mod classify;
mod kind;
mod not_known;
mod read_fault;

use std::{fmt, sync::Arc};

use bucket_core::{
    Attributed, BucketSpec, CursorToken, DamagedBucket, Record,
    read::{Placed, Tokens},
    write::HeldBack,
};
use mongodb::bson::Bson;

pub use self::kind::ErrorKind;
pub(crate) use self::{not_known::NotKnown, read_fault::ReadFault};

/// The result of every operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of an operation on buckets.
///
/// ```
/// use bucket_mongo::{Error, ErrorKind};
///
/// fn explain(error: &Error) -> &'static str {
///     match error.kind() {
///         ErrorKind::MissingIndex { .. } => "call `ensure()` once at start",
///         _ if error.is_retryable() => "nothing was stored, try again",
///         _ if error.is_outcome_unknown() => "look before you try again",
///         _ => "give up",
///     }
/// }
/// ```
#[derive(Clone)]
pub struct Error {
    inner: Arc<Inner>,
}

struct Inner {
    kind: ErrorKind,
    operation: &'static str,
    collection: &'static str,
    key: Option<String>,
    driver: Option<mongodb::error::Error>,
    continue_after: Option<CursorToken>,
}

/// Where an error happened.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    pub(crate) operation: &'static str,
    pub(crate) collection: &'static str,
    /// None for documents that are no buckets.
    pub(crate) spec: Option<&'static BucketSpec>,
    pub(crate) key: Option<String>,
}

impl Context {
    /// An operation on one key.
    pub(crate) fn of<T: Record>(operation: &'static str, key: &T::Key) -> Self {
        Self {
            key: Some(T::SPEC.key_text(key)),
            ..Self::of_all::<T>(operation)
        }
    }

    /// An operation on all keys.
    pub(crate) fn of_all<T: Record>(operation: &'static str) -> Self {
        Self::of_spec(operation, T::SPEC)
    }

    /// An operation on all keys of this model.
    pub(crate) fn of_spec(operation: &'static str, spec: &'static BucketSpec) -> Self {
        Self {
            operation,
            collection: spec.collection(),
            spec: Some(spec),
            key: None,
        }
    }

    /// An operation on documents with attributes; on the one of this `_id`, if it is about one.
    pub(crate) fn of_documents<T: Attributed>(operation: &'static str, id: Option<String>) -> Self {
        Self {
            operation,
            collection: T::SPEC.collection(),
            spec: None,
            key: id,
        }
    }
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, context: &Context) -> Self {
        Self::with_driver(kind, context, None)
    }

    pub(crate) fn with_driver(
        kind: ErrorKind,
        context: &Context,
        driver: Option<mongodb::error::Error>,
    ) -> Self {
        let Context {
            operation,
            collection,
            key,
            ..
        } = context.clone();
        Self {
            inner: Arc::new(Inner {
                kind,
                operation,
                collection,
                key,
                driver,
                continue_after: None,
            }),
        }
    }

    /// A bucket that is none of the model, met on a walk.
    pub(crate) fn damaged(
        placed: Placed<DamagedBucket>,
        tokens: Option<Tokens>,
        context: &Context,
    ) -> Self {
        let Context {
            operation,
            collection,
            key,
            ..
        } = context.clone();
        let continue_after = tokens.map(|tokens| tokens.of(&placed));
        Self {
            inner: Arc::new(Inner {
                kind: ErrorKind::Damaged(placed.record),
                operation,
                collection,
                key,
                driver: None,
                continue_after,
            }),
        }
    }

    /// The error of a record of a source that was not sent because of an earlier one.
    pub(crate) fn held_back(held: &HeldBack, context: &Context) -> Self {
        let HeldBack {
            position, failed, ..
        } = *held;
        Self::new(ErrorKind::HeldBack { position, failed }, context)
    }

    /// The error of a move that is done up to this `_id`.
    pub(crate) fn interrupted(&self, after: Option<&Bson>, context: &Context) -> Self {
        let after = after.cloned().map(Box::new);
        let cause = Box::new(self.kind().clone());
        let kind = ErrorKind::Interrupted { after, cause };
        Self::with_driver(kind, context, self.inner.driver.clone())
    }

    /// The kind.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.inner.kind
    }

    /// The operation, such as `insert`.
    #[must_use]
    pub fn operation(&self) -> &'static str {
        self.inner.operation
    }

    /// The collection.
    #[must_use]
    pub fn collection(&self) -> &'static str {
        self.inner.collection
    }

    /// The key that the operation was about, as text for messages, where it was about one:
    /// `{ customerId: 1 }`, by the stored names. It is one line, and long texts are cut.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        self.inner.key.as_deref()
    }

    /// Whether the same call can be made again without storing anything twice, and may succeed.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.inner.kind.is_retryable()
    }

    /// Whether a unique index of your own refused the record.
    #[must_use]
    pub fn is_duplicate_key(&self) -> bool {
        matches!(self.inner.kind, ErrorKind::DuplicateKey { .. })
    }

    /// Whether the id of the record (`#[bucket(unique)]`) is stored with other data.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        matches!(self.inner.kind, ErrorKind::Conflict { .. })
    }

    /// Whether it is not known if the records were stored. In every other error they were not.
    #[must_use]
    pub fn is_outcome_unknown(&self) -> bool {
        self.inner.kind.is_outcome_unknown()
    }

    /// Where a walk over the records of a key goes on after a damaged bucket, in the direction in which
    /// it went: what to give to [`after`](crate::action::RecordsQuery::after), or to
    /// [`before`](crate::action::RecordsQuery::before) where the page was one before a token. Everything that
    /// stands before the bucket can be read without it.
    ///
    /// None of other errors, and of reads in the order of time, which have no tokens.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, CursorToken, ErrorKind, Result};
    /// /// Every record that can be read, and the damaged buckets.
    /// async fn salvage<T: Bucketed>(buckets: &Buckets<T>, key: T::Key) -> Result<(Vec<T>, Vec<String>)> {
    ///     let (mut records, mut damaged) = (Vec::new(), Vec::new());
    ///     let mut token: Option<CursorToken> = None;
    ///     loop {
    ///         match buckets.records(key.clone()).after(token.clone()).await {
    ///             Ok(page) => {
    ///                 token = page.next().cloned();
    ///                 records.extend(page);
    ///             }
    ///             Err(error) => {
    ///                 let ErrorKind::Damaged(bucket) = error.kind() else { return Err(error) };
    ///                 damaged.push(bucket.id().to_owned());
    ///                 token = error.continue_after().cloned();
    ///             }
    ///         }
    ///         if token.is_none() {
    ///             return Ok((records, damaged));
    ///         }
    ///     }
    /// }
    /// ```
    #[must_use]
    pub fn continue_after(&self) -> Option<&CursorToken> {
        self.inner.continue_after.as_ref()
    }

    /// Whether the driver's error carries this label, such as `TransientTransactionError`.
    #[must_use]
    pub fn contains_label(&self, label: &str) -> bool {
        self.inner
            .driver
            .as_ref()
            .is_some_and(|driver| driver.contains_label(label))
    }

    /// The driver's error, if one is behind this error.
    #[must_use]
    pub fn driver(&self) -> Option<&mongodb::error::Error> {
        self.inner.driver.as_ref()
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.inner.kind)
            .field("operation", &self.inner.operation)
            .field("collection", &self.collection())
            .field("key", &self.inner.key)
            .field("driver", &self.inner.driver)
            .finish()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on `{}`", self.inner.operation, self.collection())?;
        if let Some(key) = &self.inner.key {
            write!(f, " for {key}")?;
        }
        write!(f, ": {}", self.inner.kind)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match (&self.inner.driver, &self.inner.kind) {
            (Some(driver), _) => Some(driver),
            (None, ErrorKind::Encode(source)) => Some(source),
            (None, ErrorKind::Damaged(source)) => Some(source),
            (None, ErrorKind::Document(source)) => Some(source),
            (None, ErrorKind::InvalidToken(source)) => Some(source),
            (None, ErrorKind::Overflow(source)) => Some(source),
            _ => None,
        }
    }
}

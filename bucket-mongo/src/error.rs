//! What can go wrong, typed: the kind, the operation, the key, and whether trying again is safe.

mod classify;
mod code;
mod kind;
mod not_known;
mod predicates;
mod read_fault;
mod redacted;
#[cfg(test)]
mod samples;

use std::{
    collections::{BTreeSet, HashSet},
    fmt,
    sync::Arc,
};

use bucket_core::{
    Attributed, BucketSpec, CursorToken, Record,
    read::{Placed, Tokens},
    write::HeldBack,
};
use mongodb::bson::Bson;

use self::code::code_of;
#[doc(inline)]
pub use bucket_core::{
    Drift, Removal, TokenError,
    attribute::{DocumentError, DocumentFault},
    error::{
        AttributeError, AttributeFault, Damage, DamagedBucket, EncodeError, IdError, IntervalError,
        KeyError, SumOverflow,
    },
};

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
    /// Outside of the rest, which records of many keys and calls share.
    operation: &'static str,
    key: Option<Arc<str>>,
}

struct Inner {
    kind: ErrorKind,
    collection: &'static str,
    code: Option<i32>,
    /// Those of the driver's error, where it is left out.
    labels: HashSet<String>,
    driver: Option<mongodb::error::Error>,
    continue_after: Option<CursorToken>,
}

/// Where an error happened.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    pub(crate) operation: &'static str,
    pub(crate) collection: &'static str,
    /// `None` for documents that are not buckets.
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

    /// An operation on documents with attributes, or on the one with this `_id`.
    pub(crate) fn of_documents<T: Attributed>(operation: &'static str, id: Option<String>) -> Self {
        Self {
            operation,
            collection: T::SPEC.collection(),
            spec: None,
            key: id,
        }
    }
}

impl Inner {
    fn new(kind: ErrorKind, context: &Context) -> Self {
        Self {
            kind,
            collection: context.collection,
            code: None,
            labels: HashSet::new(),
            driver: None,
            continue_after: None,
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
        let code = code_of(&kind, driver.as_ref());
        let inner = Inner {
            code,
            driver,
            ..Inner::new(kind, context)
        };
        Self::of(inner, context)
    }

    /// An error that the server gave this code, where the kind does not hold it.
    pub(crate) fn with_code(kind: ErrorKind, context: &Context, code: i32) -> Self {
        let code = code_of(&kind, None).or(Some(code));
        let inner = Inner {
            code,
            ..Inner::new(kind, context)
        };
        Self::of(inner, context)
    }

    /// A document, found on a walk, that is not a bucket of the model.
    pub(crate) fn damaged(
        placed: Placed<DamagedBucket>,
        tokens: Option<Tokens>,
        context: &Context,
    ) -> Self {
        let continue_after = tokens.map(|tokens| tokens.of(&placed));
        let inner = Inner {
            continue_after,
            ..Inner::new(ErrorKind::Damaged(placed.record), context)
        };
        Self::of(inner, context)
    }

    fn of(inner: Inner, context: &Context) -> Self {
        Self {
            inner: Arc::new(inner),
            operation: context.operation,
            key: context.key.as_deref().map(Arc::from),
        }
    }

    /// The same error about a record of this key, unless it already names one.
    pub(crate) fn for_key(&self, key: Option<&Arc<str>>) -> Self {
        Self {
            key: self.key.as_ref().or(key).cloned(),
            ..self.clone()
        }
    }

    /// Names the operation whose record a command of several calls has failed to store.
    pub(crate) fn set_operation(&mut self, operation: &'static str) {
        self.operation = operation;
    }

    /// The error of a record of a source that an earlier record held back.
    pub(crate) fn held_back(held: &HeldBack, context: &Context) -> Self {
        let HeldBack {
            position, failed, ..
        } = *held;
        Self::new(ErrorKind::HeldBack { position, failed }, context)
    }

    /// The error of a migration that is done up to this `_id`.
    pub(crate) fn interrupted(&self, after: Option<&Bson>, context: &Context) -> Self {
        let after = after.cloned().map(Box::new);
        let cause = Box::new(self.kind().clone());
        let inner = Inner {
            code: self.inner.code,
            driver: self.inner.driver.clone(),
            ..Inner::new(ErrorKind::Interrupted { after, cause }, context)
        };
        Self::of(inner, context)
    }

    /// The error of a removal that has removed some records before this one.
    pub(crate) fn removed_in_part(&self, context: &Context) -> Self {
        let cause = Box::new(self.kind().clone());
        let inner = Inner {
            code: self.inner.code,
            driver: self.inner.driver.clone(),
            ..Inner::new(ErrorKind::RemovedInPart { cause }, context)
        };
        Self::of(inner, context)
    }

    /// The error of a backfill that has settled this number of documents.
    pub(crate) fn backfilled_in_part(&self, read: u64, context: &Context) -> Self {
        let cause = Box::new(self.kind().clone());
        let inner = Inner {
            code: self.inner.code,
            driver: self.inner.driver.clone(),
            ..Inner::new(ErrorKind::BackfilledInPart { read, cause }, context)
        };
        Self::of(inner, context)
    }

    /// The kind.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.inner.kind
    }

    /// The operation, such as `insert`.
    #[must_use]
    pub fn operation(&self) -> &'static str {
        self.operation
    }

    /// The collection.
    #[must_use]
    pub fn collection(&self) -> &'static str {
        self.inner.collection
    }

    /// The key as text for messages, if the error is about one key or one record: `{ customerId: 1 }`, with
    /// the stored names. It is one line; long texts are cut.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// The server's code, where the server refused something. Those of its texts that programs need have
    /// methods: a code is for logs, and for what this library knows nothing of.
    ///
    /// `None` where a missing index was found by a refusal: that code says only that a hint was wrong.
    ///
    /// ```
    /// use bucket_mongo::Error;
    ///
    /// /// The user has no space left on this cluster.
    /// fn is_over_quota(error: &Error) -> bool {
    ///     error.code() == Some(8_000)
    /// }
    /// ```
    #[must_use]
    pub fn code(&self) -> Option<i32> {
        self.inner.code
    }

    /// Where a walk over the records of a key continues after a damaged bucket, in the direction of the walk.
    /// Pass it to [`after`](crate::action::RecordsQuery::after), or to
    /// [`before`](crate::action::RecordsQuery::before) if the page was read with `before`. Everything before
    /// the bucket can be read without it.
    ///
    /// `None` for other errors, and for reads in time order, which have no tokens.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, CursorToken, ErrorKind, Result};
    /// /// Returns every readable record and the ids of the damaged buckets.
    /// async fn salvage<T: Bucketed>(buckets: &Buckets<T>, key: T::Key) -> Result<(Vec<T>, Vec<String>)> {
    ///     let (mut records, mut damaged) = (Vec::new(), Vec::new());
    ///     let mut token: Option<CursorToken> = None;
    ///     loop {
    ///         match buckets.records(key.clone()).after(token.clone()).await {
    ///             Ok(page) => {
    ///                 token = page.next_token().cloned();
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
    ///
    /// ```
    /// fn run_transaction_again(error: &bucket_mongo::Error) -> bool {
    ///     error.contains_label("TransientTransactionError")
    /// }
    /// ```
    #[must_use]
    pub fn contains_label(&self, label: &str) -> bool {
        let driver = self.inner.driver.as_ref();
        self.inner.labels.contains(label) || driver.is_some_and(|error| error.contains_label(label))
    }

    /// The driver's error, if it caused this one.
    #[must_use]
    pub fn driver(&self) -> Option<&mongodb::error::Error> {
        self.inner.driver.as_ref()
    }

    fn labels(&self) -> impl Iterator<Item = &str> {
        let driver = self
            .inner
            .driver
            .iter()
            .flat_map(mongodb::error::Error::labels);
        self.inner.labels.iter().chain(driver).map(String::as_str)
    }
}

/// With the text of `Display` first: a `main` that returns an error prints this, and only that text says what
/// to do. It holds what the kind holds, so the kind is given by its name. The driver's error would add the
/// whole reply of the server: [`driver`](Error::driver) has it.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Error");
        shown
            .field("message", &self.to_string())
            .field("kind", &Name(&self.inner.kind))
            .field("operation", &self.operation)
            .field("collection", &self.collection());
        if let Some(key) = &self.key {
            shown.field("key", key);
        }
        if let Some(code) = self.inner.code {
            shown.field("code", &code);
        }
        let labels: BTreeSet<&str> = self.labels().collect();
        if !labels.is_empty() {
            shown.field("labels", &labels);
        }
        shown.finish()
    }
}

/// The name of a kind, with which its `Debug` text begins.
struct Name<'a>(&'a ErrorKind);

impl fmt::Debug for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{:?}", self.0);
        let end = text.find(|character: char| !character.is_ascii_alphanumeric());
        f.write_str(end.and_then(|end| text.get(..end)).unwrap_or(&text))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on `{}`", self.operation, self.collection())?;
        if let Some(key) = &self.key {
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

#[cfg(test)]
mod tests {
    use mongodb::bson::{Document, doc};

    use super::{
        Context, Error, ErrorKind,
        samples::{kinds, place},
    };

    #[test]
    fn debug_begins_with_what_display_says() {
        let context = Context {
            operation: "insert",
            collection: "trades",
            spec: None,
            key: Some("{ customerId: \"a\" }".to_owned()),
        };
        for kind in kinds("quoted") {
            let error = Error::new(kind, &context);
            let shown = format!("{error:?}");
            let expected = format!("Error {{ message: {:?}, kind: ", error.to_string());
            assert!(shown.starts_with(&expected), "{shown}");
        }
    }

    #[test]
    fn debug_names_the_kind_and_leaves_the_reply_of_the_server_out() {
        let context = Context {
            operation: "stats",
            collection: "trades",
            spec: None,
            key: None,
        };
        let reply: Document = doc! { "errmsg": "x".repeat(2_000) };
        for kind in kinds("quoted") {
            let name = super::samples::NAMES[place(&kind)];
            let driver = mongodb::error::Error::custom(reply.to_string());
            let error = Error::with_driver(kind, &context, Some(driver));
            let shown = format!("{error:?}");
            assert!(
                shown.contains(&format!(", kind: {name}, operation: ")),
                "{shown}"
            );
            assert!(shown.len() < error.to_string().len() + 300, "{shown}");
        }
        let kind = ErrorKind::MissingIndex {
            name: "bucket_pages".to_owned(),
        };
        let shown = format!("{:?}", Error::new(kind, &context));
        assert_eq!(
            shown,
            "Error { message: \"stats on `trades`: the index `bucket_pages` is missing, or hidden: call `ensure()` to create \
             it, or `ensure().replace_indexes()` to show it, then try again\", kind: MissingIndex, operation: \"stats\", collection: \"trades\" }"
        );
    }
}

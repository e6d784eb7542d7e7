//! An error of every kind, for tests.

use bucket_core::{
    Damage, DamagedBucket, EncodeError, SumOverflow, TokenError,
    attribute::{AttributeArray, Attributed, DocumentError, DocumentSpec, decode, encode},
    index::Drift,
};
use mongodb::bson::{Bson, DateTime, doc, rawdoc};
use serde::{Deserialize, Serialize, ser::Error as _};

use super::ErrorKind;

/// A document that never fits, whose errors quote this text.
#[derive(Serialize, Deserialize)]
struct Never {
    #[serde(serialize_with = "refuse")]
    text: u64,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn refuse<S: serde::Serializer>(_: &u64, _: S) -> Result<S::Ok, S::Error> {
    SECRET.with_borrow(|secret| Err(S::Error::custom(secret)))
}

thread_local! {
    static SECRET: std::cell::RefCell<String> = const { std::cell::RefCell::new(String::new()) };
}

impl Attributed for Never {
    const SPEC: &'static DocumentSpec = {
        const NO_ARRAYS: &[AttributeArray] = &[];
        &DocumentSpec::__new("Never", "things", NO_ARRAYS)
    };
    const __DERIVED: bucket_core::__private::Derived = bucket_core::__private::Derived;
}

/// The error of a document that cannot be stored, and of one that cannot be read.
fn documents(secret: &str) -> [DocumentError; 2] {
    SECRET.set(secret.to_owned());
    let not_stored = encode(&Never { text: 0 }).err();
    let not_read = decode::<Never>(&rawdoc! { "_id": secret, "text": secret }).err();
    [not_stored, not_read].map(|error| error.unwrap_or_else(|| unreachable!("it never fits")))
}

/// An error of every kind; where a kind can quote something, it quotes this.
pub(super) fn kinds(secret: &str) -> Vec<ErrorKind> {
    let message = || secret.to_owned();
    let name = || "bucket_pages".to_owned();
    let [not_stored, not_read] = documents(secret);
    vec![
        ErrorKind::InvalidArgument { message: message() },
        ErrorKind::InvalidToken(TokenError::Malformed),
        ErrorKind::LongerBucket { seconds: 7 },
        ErrorKind::Overtaken {
            message: "an archived bucket was changed".to_owned(),
        },
        ErrorKind::Partial {
            span: Some((DateTime::MIN, DateTime::MAX)),
        },
        ErrorKind::Encode(EncodeError::RepeatedName { name: message() }),
        ErrorKind::Damaged(DamagedBucket::new(secret, Damage::__refused(message()))),
        ErrorKind::Document(not_stored),
        ErrorKind::Document(not_read),
        ErrorKind::Overflow(SumOverflow::new("stats.sum")),
        ErrorKind::MissingIndex { name: name() },
        ErrorKind::UnfinishedIndex { name: name() },
        ErrorKind::Drift(Box::new(Drift::__collation("de"))),
        ErrorKind::Drift(Box::new(Drift::__index(
            name(),
            doc! { "key": { "owner": 1 } },
            doc! { "key": { "owner": 1 }, "partialFilterExpression": { "owner": secret } },
        ))),
        ErrorKind::DuplicateKey {
            index: name(),
            message: message(),
        },
        ErrorKind::Conflict { id: message() },
        ErrorKind::Changed,
        ErrorKind::Moves { message: message() },
        ErrorKind::UnknownField { path: message() },
        ErrorKind::OtherCapacity { index: name() },
        ErrorKind::Contention { attempts: 9 },
        ErrorKind::Reserved,
        ErrorKind::HeldBack {
            position: 8,
            failed: 7,
        },
        ErrorKind::Overloaded { limit: 6 },
        ErrorKind::ShutDown,
        ErrorKind::HistoryLost {
            since: DateTime::from_millis(0),
            message: "its oplog does not reach back so far".to_owned(),
        },
        ErrorKind::Unreachable { message: message() },
        ErrorKind::TimedOut { message: message() },
        ErrorKind::Unauthorized { message: message() },
        ErrorKind::Server {
            code: 121,
            message: message(),
        },
        ErrorKind::OutcomeUnknown { message: message() },
        ErrorKind::BucketTooLarge { bytes: 5, limit: 4 },
        ErrorKind::IndexBuild {
            name: name(),
            message: message(),
        },
        ErrorKind::Interrupted {
            after: Some(Box::new(Bson::String(message()))),
            cause: Box::new(ErrorKind::OutcomeUnknown { message: message() }),
        },
        ErrorKind::RemovedInPart {
            cause: Box::new(ErrorKind::OutcomeUnknown { message: message() }),
        },
        ErrorKind::BackfilledInPart {
            read: 7,
            cause: Box::new(ErrorKind::OutcomeUnknown { message: message() }),
        },
        ErrorKind::TakenOver {
            job: "shop.trades".to_owned(),
        },
        ErrorKind::Driver { message: message() },
    ]
}

macro_rules! places {
    ($($kind:ident)*) => {
        /// A number for the kind: a new kind does not compile until it has a sample.
        pub(super) fn place(kind: &ErrorKind) -> usize {
            let name = match kind {
                $(ErrorKind::$kind { .. } => stringify!($kind),)*
            };
            NAMES.iter().position(|other| *other == name).unwrap_or_default()
        }

        /// The names of all kinds.
        pub(super) const NAMES: &[&str] = &[$(stringify!($kind)),*];
    };
}

places! {
    InvalidArgument InvalidToken LongerBucket Overtaken Partial Encode Damaged Document Overflow MissingIndex UnfinishedIndex Drift
    DuplicateKey Conflict Changed Moves UnknownField OtherCapacity Contention Reserved HeldBack Overloaded ShutDown HistoryLost Unreachable TimedOut Unauthorized Server
    OutcomeUnknown BucketTooLarge IndexBuild Interrupted RemovedInPart BackfilledInPart TakenOver Driver
}

/// The number of kinds.
pub(super) fn count() -> usize {
    NAMES.len()
}

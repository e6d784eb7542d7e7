//! Errors without what they quote: for logs that may not hold the data of users.

use std::sync::Arc;

use bucket_core::text::REDACTED;
use mongodb::bson::Bson;

use super::{Error, ErrorKind, Inner};

impl Error {
    /// The same error without the data of users: what to log where keys and values may not be logged.
    ///
    /// It has the same kind, operation, collection, [`code`](Self::code) and labels, so every `is_..` method
    /// answers the same. It has no key, no record or document id, no time of a record, no token and no text of
    /// the server or the driver, which often quotes values. It has no [`driver`](Self::driver) error and no
    /// `source()` that could show them. Names that the model or an index defines stay, and so do counts and
    /// sizes. Of an index that is not the model's, values in its options are left out
    /// ([`Drift::redacted`](bucket_core::Drift::redacted)).
    ///
    /// The redacted error holds nothing of this, so `kind()` cannot show it either. Texts are `REDACTED` there,
    /// and an [`EncodeError`](crate::error::EncodeError) that holds a value of the record becomes
    /// [`EncodeError::Redacted`](crate::error::EncodeError::Redacted).
    ///
    /// ```
    /// use bucket_mongo::Error;
    ///
    /// fn log(error: &Error) {
    ///     // insert on `trades`: the record id REDACTED has other data already
    ///     tracing::warn!(code = error.code(), "{}", error.redacted());
    /// }
    /// ```
    #[must_use]
    pub fn redacted(&self) -> Self {
        let Self {
            inner,
            operation,
            key: _,
        } = self;
        let Inner {
            kind,
            collection,
            code,
            labels: _,
            driver: _,
            continue_after: _,
        } = &**inner;
        let inner = Inner {
            kind: kind.redacted(),
            collection,
            code: *code,
            labels: self.labels().map(str::to_owned).collect(),
            driver: None,
            continue_after: None,
        };
        Self {
            inner: Arc::new(inner),
            operation,
            key: None,
        }
    }
}

impl ErrorKind {
    /// No arm for all others: a new kind has to say what it quotes.
    fn redacted(&self) -> Self {
        let message = REDACTED.to_owned();
        match self {
            // The names of indexes and options are the model's or the operator's.
            Self::InvalidToken(_)
            | Self::LongerBucket { .. }
            | Self::Overtaken { .. }
            | Self::Overflow(_)
            | Self::MissingIndex { .. }
            | Self::UnfinishedIndex { .. }
            | Self::OtherCapacity { .. }
            | Self::Changed
            | Self::Contention { .. }
            | Self::Reserved
            | Self::HeldBack { .. }
            | Self::Overloaded { .. }
            | Self::ShutDown
            // Its job has the name that the operator gave.
            | Self::TakenOver { .. }
            | Self::BucketTooLarge { .. } => self.clone(),
            Self::Partial { span: _ } => Self::Partial { span: None },
            Self::Drift(drift) => Self::Drift(Box::new(drift.redacted())),
            Self::Moves { message: _ } => Self::Moves { message },
            // The names of fields may come from a map.
            Self::UnknownField { path: _ } => Self::UnknownField { path: message },
            Self::InvalidArgument { message: _ } => Self::InvalidArgument { message },
            Self::Encode(source) => Self::Encode(source.redacted()),
            Self::Damaged(source) => Self::Damaged(source.redacted()),
            Self::Document(source) => Self::Document(source.redacted()),
            Self::DuplicateKey { index, message: _ } => Self::DuplicateKey {
                index: index.clone(),
                message,
            },
            Self::Conflict { id: _ } => Self::Conflict { id: message },
            // A second of the server's clock, and a text of this library.
            Self::HistoryLost { since, message } => Self::HistoryLost {
                since: *since,
                message: message.clone(),
            },
            Self::Unreachable { message: _ } => Self::Unreachable { message },
            Self::TimedOut { message: _ } => Self::TimedOut { message },
            Self::Unauthorized { message: _ } => Self::Unauthorized { message },
            Self::Server { code, message: _ } => Self::Server {
                code: *code,
                message,
            },
            Self::OutcomeUnknown { message: _ } => Self::OutcomeUnknown { message },
            Self::IndexBuild { name, message: _ } => Self::IndexBuild {
                name: name.clone(),
                message,
            },
            Self::Interrupted { after, cause } => Self::Interrupted {
                after: after
                    .as_ref()
                    .map(|_| Box::new(Bson::String(message.clone()))),
                cause: Box::new(cause.redacted()),
            },
            Self::RemovedInPart { cause } => Self::RemovedInPart {
                cause: Box::new(cause.redacted()),
            },
            Self::BackfilledInPart { read, cause } => Self::BackfilledInPart {
                read: *read,
                cause: Box::new(cause.redacted()),
            },
            Self::Driver { message: _ } => Self::Driver { message },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use mongodb::bson::oid::ObjectId;

    use super::*;
    use crate::error::{
        Context,
        samples::{count, kinds, place},
    };

    fn context(secret: &str) -> Context {
        Context {
            operation: "insert",
            collection: "trades",
            spec: None,
            key: Some(format!("{{ customerId: \"{secret}\" }}")),
        }
    }

    /// Everything that a log can show of an error, and of what it gives to a program.
    fn shown(error: &Error) -> String {
        let kind = error.kind();
        let values = (error.key(), error.driver(), error.continue_after());
        let mut shown = format!("{error} {error:?} {error:#?} {kind} {kind:?} {values:?}");
        let mut source = error.source();
        while let Some(error) = source {
            shown = format!("{shown} {error} {error:?}");
            source = error.source();
        }
        shown
    }

    #[test]
    fn a_redacted_error_of_any_kind_quotes_nothing() {
        // Words, so that none of them is in a text by chance; and hostile ones.
        for _ in 0..100 {
            let id = ObjectId::new().to_hex();
            for secret in [
                id.clone(),
                format!("\"{id}\" }}\n"),
                format!("{id} index: bucket_open_ dup key"),
            ] {
                for kind in kinds(&secret) {
                    let driver = mongodb::error::Error::custom(secret.clone());
                    let error = Error::with_driver(kind, &context(&secret), Some(driver));
                    assert!(shown(&error).contains(&id), "{error:?}");
                    let redacted = error.redacted();
                    assert!(!shown(&redacted).contains(&id), "{redacted:?}");
                }
            }
        }
    }

    #[test]
    fn a_redacted_error_answers_every_question_as_before() {
        let answers = |error: &Error| {
            (
                [
                    error.is_retryable(),
                    error.is_outcome_unknown(),
                    error.is_invalid_input(),
                    error.is_duplicate_key(),
                    error.is_conflict(),
                    error.is_damaged(),
                    error.needs_ensure(),
                    error.is_drift(),
                    error.is_unreachable(),
                    error.is_unauthorized(),
                    error.is_overloaded(),
                    error.is_shut_down(),
                    error.contains_label("TransientTransactionError"),
                    error.contains_label("secret"),
                ],
                (error.code(), error.operation(), error.collection()),
                place(error.kind()),
            )
        };
        for kind in kinds("secret") {
            let context = context("secret");
            let inner = Inner {
                code: Some(13),
                labels: ["TransientTransactionError".to_owned()].into(),
                ..Inner::new(kind, &context)
            };
            let error = Error::of(inner, &context);
            let redacted = error.redacted();
            assert_eq!(answers(&redacted), answers(&error), "{error:?}");
            assert!(answers(&redacted).0[12]);
            // Once more changes nothing.
            assert_eq!(
                format!("{:?}", redacted.redacted()),
                format!("{redacted:?}")
            );
        }
    }

    #[test]
    fn every_kind_is_among_the_samples() {
        let places: std::collections::BTreeSet<usize> = kinds("").iter().map(place).collect();
        assert_eq!(places, (0..count()).collect());
    }
}

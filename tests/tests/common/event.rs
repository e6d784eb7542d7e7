//! The model of the tests for errors.
#![allow(unreachable_pub, missing_docs)]

use bucket_mongo::{Bucketed, Error, bson::DateTime};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "events", items = "events", capacity = 3)]
pub struct Event {
    #[bucket(key)]
    pub source: i32,
    #[bucket(time)]
    pub at: DateTime,
    pub text: String,
}

pub fn event(source: i32, text: &str) -> Event {
    Event {
        source,
        at: DateTime::from_millis(1_698_335_223_000),
        text: text.into(),
    }
}

pub fn assert_not_stored(error: &Error) {
    assert!(!error.is_outcome_unknown(), "{error:?}");
    assert_eq!(error.collection(), "events");
    let source = std::error::Error::source(error);
    assert!(error.driver().is_none() || source.is_some());
}

//! The models of the tests without random records.

use bucket_mongo::{Bucketed, Buckets, bson::DateTime};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "readings",
    items = "readings",
    window = "1h",
    capacity = 3
)]
pub(crate) struct Reading {
    #[bucket(key)]
    pub(crate) device: String,
    #[bucket(key)]
    pub(crate) sensor: String,
    #[bucket(time)]
    pub(crate) at: DateTime,
    pub(crate) value: i64,
}

/// The model of [`Reading`] before its windows were made shorter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "readings",
    items = "readings",
    window = "day",
    capacity = 3
)]
pub(crate) struct DailyReading {
    #[bucket(key)]
    pub(crate) device: String,
    #[bucket(key)]
    pub(crate) sensor: String,
    #[bucket(time)]
    pub(crate) at: DateTime,
    pub(crate) value: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "calls", items = "calls", capacity = 3, numbered)]
pub(crate) struct Call {
    #[bucket(key)]
    pub(crate) region: i32,
    #[bucket(key)]
    pub(crate) service: String,
    #[bucket(key)]
    pub(crate) is_internal: bool,
    #[bucket(time)]
    pub(crate) at: DateTime,
    pub(crate) number: i64,
}

pub(crate) fn reading(device: &str, sensor: &str, minute: i64) -> Reading {
    Reading {
        device: device.to_owned(),
        sensor: sensor.to_owned(),
        at: DateTime::from_millis(minute * 60_000),
        value: minute,
    }
}

/// As a stream, whose commands run side by side; one after the other, in a session, it finds as much.
pub(crate) async fn latest<T: Bucketed>(buckets: &Buckets<T>) -> Vec<T> {
    let found = buckets.latest_per_key().stream();
    let found: Vec<T> = found.try_collect().await.unwrap();
    let mut session = buckets.database().client().start_session().await.unwrap();
    let in_session = buckets.latest_per_key().session(&mut session);
    assert_eq!(in_session.await.unwrap().len(), found.len());
    found
}

//! The library's models of the generated readings: one for each way to close a bucket.
//!
//! `Hourly` is the one that the headline figures are about.

use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

use crate::reading::Reading;

/// The array of a bucket, in all of these models.
pub(crate) const ITEMS: &str = "readings";

/// A model of the generated readings.
pub(crate) trait Model: Bucketed {
    /// What closes a bucket, for the tables.
    const NAME: &'static str;

    /// A reading as a record of the model.
    fn of(reading: &Reading) -> Self;

    /// The reading that a record stands for.
    fn reading(self) -> Reading;
}

/// All readings as records of a model.
pub(crate) fn records<M: Model>(readings: &[Reading]) -> Vec<M> {
    readings.iter().map(M::of).collect()
}

/// The manual's form at the manual's capacity: many small buckets.
#[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "count_10", items = "readings", capacity = 10)]
pub(crate) struct Count10 {
    #[bucket(key)]
    sensor_id: String,
    #[bucket(time)]
    ts: DateTime,
    v: f64,
    q: f64,
}

/// The manual's form with buckets of some 9 KB.
#[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "count_200", items = "readings", capacity = 200)]
pub(crate) struct Count200 {
    #[bucket(key)]
    sensor_id: String,
    #[bucket(time)]
    ts: DateTime,
    v: f64,
    q: f64,
}

/// The manual's form with buckets of some 44 KB.
#[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "count_1000", items = "readings", capacity = 1_000)]
pub(crate) struct Count1000 {
    #[bucket(key)]
    sensor_id: String,
    #[bucket(time)]
    ts: DateTime,
    v: f64,
    q: f64,
}

/// A bucket for each hour: 360 readings.
#[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "hourly",
    items = "readings",
    window = "1h",
    capacity = 1_000
)]
pub(crate) struct Hourly {
    #[bucket(key)]
    sensor_id: String,
    #[bucket(time)]
    ts: DateTime,
    v: f64,
    q: f64,
}

/// Ten readings, as many as the manual has in a bucket.
#[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "numbered_10",
    items = "readings",
    capacity = 10,
    numbered
)]
pub(crate) struct Numbered10 {
    #[bucket(key)]
    sensor_id: String,
    #[bucket(time)]
    ts: DateTime,
    v: f64,
    q: f64,
}

/// Ten readings of an hour at the most.
#[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "hour_or_10",
    items = "readings",
    window = "1h",
    capacity = 10
)]
pub(crate) struct HourOr10 {
    #[bucket(key)]
    sensor_id: String,
    #[bucket(time)]
    ts: DateTime,
    v: f64,
    q: f64,
}

/// Buckets of some 4 KB.
#[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "hour_or_100",
    items = "readings",
    window = "1h",
    capacity = 100
)]
pub(crate) struct HourOr100 {
    #[bucket(key)]
    sensor_id: String,
    #[bucket(time)]
    ts: DateTime,
    v: f64,
    q: f64,
}

/// A bucket for each hour, with aggregates.
#[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "hourly_stats",
    items = "readings",
    window = "1h",
    capacity = 1_000
)]
pub(crate) struct HourlyStats {
    #[bucket(key)]
    sensor_id: String,
    #[bucket(time)]
    ts: DateTime,
    #[bucket(min, max, sum, avg)]
    v: f64,
    q: f64,
}

macro_rules! models {
    ($($model:ident: $name:literal),+ $(,)?) => {$(
        impl Model for $model {
            const NAME: &'static str = $name;

            fn of(reading: &Reading) -> Self {
                let Reading { sensor_id, ts, v, q } = reading.clone();
                Self { sensor_id, ts, v, q }
            }

            fn reading(self) -> Reading {
                let Self { sensor_id, ts, v, q } = self;
                Reading { sensor_id, ts, v, q }
            }
        }
    )+};
}

models! {
    Count10: "10 a bucket",
    Count200: "200 a bucket",
    Count1000: "1,000 a bucket",
    Hourly: "an hour a bucket",
    Numbered10: "numbered, 10 a bucket",
    HourOr10: "an hour or 10 a bucket",
    HourOr100: "an hour or 100 a bucket",
    HourlyStats: "an hour a bucket with min, max and sum",
}

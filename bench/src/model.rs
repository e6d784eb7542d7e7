//! The library's models of the generated readings: one for each way to close a bucket.
//!
//! `Hourly` is the model of the headline figures.

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

    /// The reading of a record.
    fn reading(self) -> Reading;
}

/// All readings as records of a model.
pub(crate) fn records<M: Model>(readings: &[Reading]) -> Vec<M> {
    readings.iter().map(M::of).collect()
}

/// Each model has a way to close a bucket, a name for the tables, and optionally aggregates.
macro_rules! models {
    ($($(#[$bucket:meta])+ $model:ident: $name:literal $(, $aggregates:meta)?;)+) => {$(
        $(#[$bucket])+
        #[derive(Debug, Clone, Serialize, Deserialize)]
        pub(crate) struct $model {
            #[bucket(key)]
            sensor_id: String,
            #[bucket(time)]
            ts: DateTime,
            $(#[$aggregates])?
            v: f64,
            q: f64,
        }

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
    /// The manual's form at the manual's capacity: many small buckets.
    #[derive(Bucketed)]
    #[bucket(collection = "count_10", items = "readings", capacity = 10)]
    Count10: "10 a bucket";

    /// The manual's form with five times as many buckets.
    #[derive(Bucketed)]
    #[bucket(collection = "count_2", items = "readings", capacity = 2)]
    Count2: "2 a bucket";

    /// The manual's form with buckets of some 9 KB.
    #[derive(Bucketed)]
    #[bucket(collection = "count_200", items = "readings", capacity = 200)]
    Count200: "200 a bucket";

    /// The manual's form with buckets of some 44 KB.
    #[derive(Bucketed)]
    #[bucket(collection = "count_1000", items = "readings", capacity = 1_000)]
    Count1000: "1,000 a bucket";

    /// A bucket for each hour: 360 readings.
    #[derive(Bucketed)]
    #[bucket(collection = "hourly", items = "readings", window = "1h", capacity = 1_000)]
    Hourly: "an hour a bucket";

    /// A bucket for what a batch has of an hour.
    #[derive(Bucketed)]
    #[bucket(collection = "hourly_parts", items = "readings", window = "1h", capacity = 1_000, parts)]
    HourlyParts: "an hour in parts";

    /// The same, and merged for each day.
    #[derive(Bucketed)]
    #[bucket(collection = "merged_parts", items = "readings", window = "1h", capacity = 1_000, parts, seal_after = "1h", merge = "day")]
    MergedParts: "an hour in parts, merged by day";

    /// A bucket for what a batch has of an hour, with aggregates.
    #[derive(Bucketed)]
    #[bucket(collection = "parts_stats", items = "readings", window = "1h", capacity = 1_000, parts)]
    PartsStats: "an hour in parts with min, max and sum", bucket(min, max, sum, avg);

    /// The same, and merged for each day.
    #[derive(Bucketed)]
    #[bucket(collection = "merged_parts_stats", items = "readings", window = "1h", capacity = 1_000, parts, seal_after = "1h", merge = "day")]
    MergedPartsStats: "an hour in parts with min, max and sum, merged by day", bucket(min, max, sum, avg);

    /// Ten readings, as many as the manual has in a bucket.
    #[derive(Bucketed)]
    #[bucket(collection = "numbered_10", items = "readings", capacity = 10, numbered)]
    Numbered10: "numbered, 10 a bucket";

    /// At most ten readings of an hour.
    #[derive(Bucketed)]
    #[bucket(collection = "hour_or_10", items = "readings", window = "1h", capacity = 10)]
    HourOr10: "an hour or 10 a bucket";

    /// Buckets of some 4 KB.
    #[derive(Bucketed)]
    #[bucket(collection = "hour_or_100", items = "readings", window = "1h", capacity = 100)]
    HourOr100: "an hour or 100 a bucket";

    /// A bucket for each hour, with aggregates.
    #[derive(Bucketed)]
    #[bucket(collection = "hourly_stats", items = "readings", window = "1h", capacity = 1_000)]
    HourlyStats: "an hour a bucket with min, max and sum", bucket(min, max, sum, avg);

    /// The manual's form with buckets of some 44 KB, which are sealed once they are full.
    #[derive(Bucketed)]
    #[bucket(collection = "sealed_1000", items = "readings", capacity = 1_000, seal_after = "1h")]
    Sealed1000: "1,000 a bucket, sealed";

    /// A sealed bucket for each hour.
    #[derive(Bucketed)]
    #[bucket(collection = "sealed_hourly", items = "readings", window = "1h", capacity = 1_000, seal_after = "1h")]
    SealedHourly: "an hour a bucket, sealed";

    /// A sealed bucket for each hour. The items of half of them are archived.
    #[derive(Bucketed)]
    #[bucket(collection = "half_archived", items = "readings", window = "1h", capacity = 1_000, seal_after = "1h")]
    HalfArchived: "an hour a bucket, sealed and half archived";

    /// The same, archived in files.
    #[derive(Bucketed)]
    #[bucket(collection = "half_in_files", items = "readings", window = "1h", capacity = 1_000, seal_after = "1h")]
    HalfInFiles: "an hour a bucket, sealed and half in files";

    /// A sealed bucket for each hour, with aggregates.
    #[derive(Bucketed)]
    #[bucket(collection = "sealed_hourly_stats", items = "readings", window = "1h", capacity = 1_000, seal_after = "1h")]
    SealedHourlyStats: "an hour a bucket with min, max and sum, sealed", bucket(min, max, sum, avg);
}

//! The model: one struct, from which the derive makes the bucket, its key, its items and its
//! aggregates.

use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

/// A reading of one sensor of a device, stored with the other readings of its time.
///
/// The stored names are those of the tutorial. The window and the capacity are the defaults for
/// sensors of no special type; see [`limits`](crate::limits) for the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "iot_buckets",
    items = "readings",
    window = "1h",
    capacity = 100,
    stats = "stats",
    created_at,
    compression = "zstd",
    seal_after = "7d"
)]
pub(crate) struct Reading {
    #[bucket(key)]
    pub(crate) device_id: String,
    /// Any text: unknown types get the default limits, as in the tutorial.
    #[bucket(key)]
    pub(crate) sensor_type: String,
    #[bucket(time)]
    #[serde(rename = "ts")]
    pub(crate) timestamp: DateTime,
    #[bucket(min, max, sum, avg)]
    #[serde(rename = "v")]
    pub(crate) value: f64,
    /// From 0 to 1. A quality of 0 is a value and not a missing one.
    #[serde(rename = "q", default = "full_quality")]
    pub(crate) quality: f64,
}

/// The quality of a reading that does not give one.
pub(crate) fn full_quality() -> f64 {
    1.0
}

//! The readings of the bucket tutorial, in hours of at most 60.
#![allow(unreachable_pub, missing_docs)]

use bucket_mongo::{Bucketed, bson::DateTime};
use bucket_tests::date;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "iot_buckets",
    items = "readings",
    window = "1h",
    capacity = 60,
    stats = "stats"
)]
pub struct Iot {
    #[bucket(key)]
    pub device_id: String,
    #[bucket(time)]
    pub ts: DateTime,
    #[bucket(min, max, sum, avg)]
    #[serde(rename = "v")]
    pub value: f64,
}

pub const DEVICE: &str = "device_001";

pub fn iot(at: DateTime, value: f64) -> Iot {
    Iot {
        device_id: DEVICE.to_owned(),
        ts: at,
        value,
    }
}

/// This many minutes after the first midnight.
pub fn at(minutes: i64) -> DateTime {
    let start = date("2026-01-30T00:00:00Z").timestamp_millis();
    DateTime::from_millis(start + minutes * 60_000)
}

//! The tutorial's buckets of a device's sensors: short stored names and the clock of the writer.

use bucket_core::spec::Names;
use bucket_mongo::{
    Bucketed,
    bson::{self, DateTime, doc},
};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "iot_buckets",
    items = "readings",
    window = "1h",
    capacity = 60,
    stats = "stats",
    created_at
)]
struct Reading {
    #[bucket(key)]
    device_id: String,
    #[bucket(key)]
    sensor_type: String,
    #[bucket(time)]
    ts: DateTime,
    #[bucket(min, max, sum, avg)]
    #[serde(rename = "v")]
    value: f64,
    #[serde(rename = "q")]
    quality: f64,
}

#[test]
fn compiles_and_keeps_its_promises() {
    let names = Names {
        created_at: Some("created_at"),
        ..Names::DEFAULT
    };
    assert_eq!(Reading::SPEC.names(), &names);
    let paths: Vec<&str> = Reading::SPEC
        .aggregates()
        .iter()
        .map(|kept| kept.path)
        .collect();
    assert_eq!(paths, ["stats.min", "stats.max", "stats.sum"]);
    assert_eq!(Reading::SPEC.inputs().len(), 1);

    let start = DateTime::from_millis(1_698_332_400_000);
    let stored = doc! {
        "_id": "d1_vibration_1698332400",
        "device_id": "d1",
        "sensor_type": "vibration",
        "bucket_start": start,
        "bucket_end": DateTime::from_millis(1_698_336_000_000),
        "created_at": start,
        "count": 2,
        "stats": { "min": 1.0, "max": 3.0, "sum": 4.0 },
        "readings": [{ "ts": start, "v": 1.0, "q": 1.0 }, { "ts": start, "v": 3.0, "q": 0.0 }],
    };
    let bucket: ReadingBucket = bson::deserialize_from_document(stored.clone()).unwrap();
    assert_eq!(bucket.created_at, Some(start));
    let value = bucket.stats().value();
    assert_eq!(
        (value.min(), value.max(), value.sum()),
        (Some(1.0), Some(3.0), Some(4.0))
    );
    assert_eq!((value.avg(), bucket.stats().avg()), (Some(2.0), Some(2.0)));
    assert_eq!(bson::serialize_to_document(&bucket).unwrap(), stored);
}

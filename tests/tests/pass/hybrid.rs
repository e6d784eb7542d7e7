//! The tutorial's hybrid buckets: closed by number or by time.

use bucket_core::spec::{IdSegment, TimeUnit};
use bucket_mongo::{
    Bucketed, Form, LatePolicy,
    bson::{self, DateTime, doc},
};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "hybrid_buckets",
    items = "readings",
    capacity = 200,
    max_duration = "1h",
    late = "merge"
)]
struct Reading {
    #[bucket(key)]
    device_id: String,
    #[bucket(time)]
    timestamp: DateTime,
    #[bucket(min = "min_value", max = "max_value")]
    value: f64,
    #[serde(rename = "type")]
    kind: String,
}

#[test]
fn compiles_and_keeps_its_promises() {
    assert_eq!(
        Reading::SPEC.form(),
        Form::Hybrid {
            capacity: 200,
            max_duration: 3_600_000,
            late: LatePolicy::Merge
        }
    );
    assert_eq!(
        Reading::SPEC.id().last(),
        Some(&IdSegment::Time(TimeUnit::Millis))
    );
    assert_eq!(ReadingBucket::FIELDS.bucket_end.as_str(), "bucket_end");
    assert_eq!(ReadingStats::FIELDS.value_min.as_str(), "stats.min_value");

    let at = DateTime::from_millis(1_698_335_223_434);
    let stored = doc! {
        "_id": "d1_1698335223434",
        "device_id": "d1",
        "bucket_start": at,
        "bucket_end": at,
        "is_closed": true,
        "is_late": true,
        "count": 1,
        "stats": { "min_value": 20.5, "max_value": 20.5 },
        "readings": [{ "timestamp": at, "value": 20.5, "type": "temperature" }],
    };
    let bucket: ReadingBucket = bson::deserialize_from_document(stored.clone()).unwrap();
    assert!(bucket.is_closed && bucket.is_late);
    assert_eq!(bucket.stats().max(), Some(20.5));
    assert_eq!(bucket.clone(), bucket);
    assert_eq!(bson::serialize_to_document(&bucket).unwrap(), stored);
}

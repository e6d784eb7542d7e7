//! The tutorial's numbered buckets: tallies, conditions, and the first and the last time.

use bucket_core::spec::{IdSegment, Names};
use bucket_mongo::{
    Bucketed, Form,
    bson::{self, DateTime, doc},
    model::AggregateKind,
};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "request_metrics_buckets",
    items = "requests",
    capacity = 100,
    numbered,
    stats = "stats"
)]
struct Request {
    #[bucket(key)]
    service_name: String,
    #[bucket(key)]
    endpoint: String,
    #[bucket(time, first = "first_timestamp", last = "last_timestamp")]
    timestamp: DateTime,
    #[bucket(
        sum = "total_duration_ms",
        min = "min_duration_ms",
        max = "max_duration_ms"
    )]
    duration_ms: i64,
    #[bucket(tally = "status_codes", count_if("error_count", |code| *code >= 500))]
    status_code: i32,
    request_id: String,
}

#[test]
fn compiles_and_keeps_its_promises() {
    let spec = Request::SPEC;
    assert_eq!(spec.form(), Form::Numbered { capacity: 100 });
    assert_eq!(spec.names(), &Names::DEFAULT);
    assert_eq!(spec.id().last(), Some(&IdSegment::Number));
    let kept: Vec<_> = spec
        .aggregates()
        .iter()
        .map(|kept| (kept.path, kept.kind))
        .collect();
    assert_eq!(
        kept,
        [
            ("first_timestamp", AggregateKind::FirstTime),
            ("last_timestamp", AggregateKind::LastTime),
            ("stats.min_duration_ms", AggregateKind::Min),
            ("stats.max_duration_ms", AggregateKind::Max),
            ("stats.total_duration_ms", AggregateKind::Sum),
            ("stats.error_count", AggregateKind::CountIf),
            ("stats.status_codes", AggregateKind::Tally),
        ]
    );
    assert_eq!(
        RequestStats::FIELDS.duration_ms_sum.as_str(),
        "stats.total_duration_ms"
    );
    assert_eq!(
        RequestStats::FIELDS.status_code_error_count.as_str(),
        "stats.error_count"
    );
    assert_eq!(
        RequestStats::FIELDS.first_timestamp.as_str(),
        "first_timestamp"
    );

    let at = DateTime::from_millis(1_698_335_223_434);
    let stored = doc! {
        "_id": "shop_/pay_1",
        "service_name": "shop",
        "endpoint": "/pay",
        "bucket_number": 1_i64,
        "bucket_size": 100,
        "is_full": false,
        "count": 1,
        "first_timestamp": at,
        "last_timestamp": at,
        "stats": {
            "min_duration_ms": 7_i64,
            "max_duration_ms": 7_i64,
            "total_duration_ms": 7_i64,
            "error_count": 1,
            "status_codes": { "503": 1 },
        },
        "requests": [{
            "timestamp": at, "duration_ms": 7_i64, "status_code": 503, "request_id": "r1",
        }],
    };
    let bucket: RequestBucket = bson::deserialize_from_document(stored).unwrap();
    assert_eq!(
        (bucket.bucket_number, bucket.bucket_size, bucket.is_full),
        (1, 100, false)
    );
    let stats = bucket.stats();
    assert_eq!(
        (stats.first_timestamp(), stats.last_timestamp()),
        (Some(at), Some(at))
    );
    let duration: RequestDurationMsStats<'_> = stats.duration_ms();
    assert_eq!(
        (duration.min(), duration.max(), duration.sum()),
        (Some(7), Some(7), Some(7))
    );
    assert_eq!(stats.status_code().error_count(), 1);
    assert_eq!(stats.status_code().status_codes(), [(503, 1)]);
}

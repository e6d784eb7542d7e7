//! The tutorial's buckets by time: a window, and aggregates under names of their own.

use bucket_mongo::{
    Bucketed, Form, Window,
    bson::{self, DateTime, doc},
    model::AggregateKind,
};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "temperature_buckets",
    items = "measurements",
    window = "1h",
    capacity = 3600,
    stats = "aggregates"
)]
struct Temperature {
    #[bucket(key)]
    sensor_id: String,
    #[bucket(time)]
    timestamp: DateTime,
    #[bucket(min = "min_temp", max = "max_temp", sum = "sum_temp", avg = "avg_temp")]
    value: f64,
    unit: String,
}

#[test]
fn compiles_and_keeps_its_promises() {
    let spec = Temperature::SPEC;
    let window = Window::hours(1);
    assert_eq!(
        spec.form(),
        Form::Window {
            window,
            capacity: Some(3_600),
            parts: false,
        }
    );
    assert_eq!((Temperature::CAPACITY, spec.max_bytes()), (3_600, None));
    let paths: Vec<&str> = spec
        .aggregates()
        .iter()
        .map(|aggregate| aggregate.path)
        .collect();
    assert_eq!(
        paths,
        ["min_temp", "max_temp", "sum_temp", "avg_temp"].map(|name| format!("aggregates.{name}"))
    );
    assert_eq!(
        spec.aggregates()[3].kind,
        AggregateKind::Avg {
            sum: 2,
            count: None
        }
    );
    assert_eq!(
        TemperatureStats::FIELDS.value_avg.as_str(),
        "aggregates.avg_temp"
    );

    let start = DateTime::from_millis(1_698_332_400_000);
    let end = DateTime::from_millis(1_698_336_000_000);
    let item = |value: f64| doc! { "timestamp": start, "value": value, "unit": "C" };
    let stored = doc! {
        "_id": "s1_1698332400",
        "sensor_id": "s1",
        "bucket_start": start,
        "bucket_end": end,
        "count": 2,
        "aggregates": { "min_temp": 1.0, "max_temp": 2.0, "sum_temp": 3.0, "avg_temp": 1.5 },
        "measurements": [item(1.0), item(2.0)],
    };
    let bucket: TemperatureBucket = bson::deserialize_from_document(stored.clone()).unwrap();
    assert_eq!((bucket.bucket_start, bucket.bucket_end), (start, end));
    let stats = bucket.stats();
    assert_eq!((stats.min(), stats.max()), (Some(1.0), Some(2.0)));
    assert_eq!((stats.value().sum(), stats.avg()), (Some(3.0), Some(1.5)));
    assert_eq!(bson::serialize_to_document(&bucket).unwrap(), stored);
}

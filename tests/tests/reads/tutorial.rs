//! The four schemas of the bucket tutorial, exactly: fields, names, indexes.

use bucket_mongo::{
    Bucketed, Buckets,
    bson::{Bson, DateTime, Document, doc},
    testing::TestDatabase,
};
use bucket_tests::{database, date, documents};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "temperature_buckets",
    items = "measurements",
    window = "1h",
    capacity = 3600,
    stats = "aggregates",
    object_ids
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "request_metrics_buckets",
    items = "requests",
    capacity = 3,
    numbered,
    stats = "stats",
    object_ids
)]
#[expect(
    clippy::struct_field_names,
    reason = "the tutorial calls it `request_id`"
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "hybrid_buckets",
    items = "readings",
    capacity = 200,
    max_duration = "1h"
)]
struct Hybrid {
    #[bucket(key)]
    device_id: String,
    #[bucket(time)]
    timestamp: DateTime,
    #[bucket(min = "min_value", max = "max_value")]
    value: f64,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "iot_buckets",
    items = "readings",
    window = "1h",
    capacity = 60,
    stats = "stats",
    created_at
)]
struct Iot {
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

async fn store<T: Bucketed>(records: &[T]) -> (TestDatabase, Buckets<T>) {
    let database = database().await;
    let buckets = T::buckets(&database);
    buckets.ensure().await.unwrap();
    // The first by itself, the others together: both ways of writing.
    let (first, rest) = records.split_first().unwrap();
    buckets.insert(first).await.unwrap();
    let report = buckets.insert_many(rest).await.unwrap();
    report.into_result().unwrap();
    (database, buckets)
}

/// The stored documents without their ids, with fields in any order.
async fn stored<T: Bucketed>(records: &[T]) -> Vec<Document> {
    let (database, buckets) = store(records).await;
    let mut found = documents(&database, buckets.spec().collection()).await;
    for document in &mut found {
        document.remove("_id");
    }
    found
}

/// The names and keys of the indexes other than that on `_id`, and which of them are unique.
async fn indexes<T: Bucketed>() -> Vec<(String, Document, bool)> {
    let database = database().await;
    let buckets = T::buckets(&database);
    let created = buckets.ensure().await.unwrap().created_indexes;
    let again = buckets.ensure().await.unwrap();
    assert!(
        again.drift.is_empty() && again.created_indexes.is_empty(),
        "{again}"
    );
    let command = doc! { "listIndexes": buckets.spec().collection() };
    let reply = database.run_command(command).await.unwrap();
    let found = reply
        .get_document("cursor")
        .unwrap()
        .get_array("firstBatch")
        .unwrap();
    let found = found.iter().map(|index| index.as_document().unwrap());
    let all = found.map(|index| {
        let name = index.get_str("name").unwrap().to_owned();
        let unique = index.get_bool("unique").unwrap_or(false);
        (name, index.get_document("key").unwrap().clone(), unique)
    });
    let mut all: Vec<_> = all.filter(|(name, ..)| name != "_id_").collect();
    all.sort_by_key(|(name, ..)| created.iter().position(|other| other == name));
    all
}

fn same(found: &Document, expected: &Document) -> bool {
    found.len() == expected.len()
        && expected
            .iter()
            .all(|(name, value)| match (found.get(name), value) {
                (Some(Bson::Document(found)), Bson::Document(expected)) => same(found, expected),
                (found, value) => found == Some(value),
            })
}

fn assert_same(found: &Document, expected: &Document) {
    assert!(same(found, expected), "{found:#}\nis not\n{expected:#}");
}

fn temperature(at: &str, value: f64) -> Temperature {
    Temperature {
        sensor_id: "sensor_001".into(),
        timestamp: date(at),
        value,
        unit: "celsius".into(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_temperature_bucket_is_the_tutorials() {
    let found = stored(&[
        temperature("2026-01-30T10:00:00Z", 20.5),
        temperature("2026-01-30T10:01:00Z", 20.75),
        temperature("2026-01-30T10:59:59.999Z", 18.25),
    ])
    .await;
    assert_eq!(found.len(), 1);
    let item =
        |at: &str, value: f64| doc! { "timestamp": date(at), "value": value, "unit": "celsius" };
    assert_same(
        &found[0],
        &doc! {
            "sensor_id": "sensor_001",
            "bucket_start": date("2026-01-30T10:00:00Z"),
            "bucket_end": date("2026-01-30T11:00:00Z"),
            "count": 3,
            "aggregates": {
                "min_temp": 18.25,
                "max_temp": 20.75,
                "avg_temp": 59.5 / 3.0,
                "sum_temp": 59.5,
            },
            "measurements": [
                item("2026-01-30T10:00:00Z", 20.5),
                item("2026-01-30T10:01:00Z", 20.75),
                item("2026-01-30T10:59:59.999Z", 18.25),
            ],
        },
    );
    let (database, _) = store(&[temperature("2026-01-30T10:00:00Z", 1.0)]).await;
    let found = documents(&database, "temperature_buckets").await;
    assert!(matches!(found[0].get("_id"), Some(Bson::ObjectId(_))));
}

fn request(at: &str, duration_ms: i64, status_code: i32, request_id: &str) -> Request {
    Request {
        service_name: "api-gateway".into(),
        endpoint: "/api/v1/users".into(),
        timestamp: date(at),
        duration_ms,
        status_code,
        request_id: request_id.into(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_metrics_bucket_is_the_tutorials() {
    let found = stored(&[
        request("2026-01-30T10:15:23Z", 45, 200, "req_abc123"),
        request("2026-01-30T10:18:47Z", 12, 500, "req_abc124"),
        request("2026-01-30T10:16:00Z", 234, 200, "req_abc125"),
        request("2026-01-30T10:20:00Z", 7, 404, "req_abc126"),
    ])
    .await;
    assert_eq!(found.len(), 2);
    let item = |at: &str, duration: i64, code: i32, id: &str| {
        doc! { "timestamp": date(at), "duration_ms": duration, "status_code": code, "request_id": id }
    };
    assert_same(
        &found[0],
        &doc! {
            "service_name": "api-gateway",
            "endpoint": "/api/v1/users",
            "bucket_number": 1,
            "bucket_size": 3,
            "count": 3,
            "is_full": true,
            "first_timestamp": date("2026-01-30T10:15:23Z"),
            "last_timestamp": date("2026-01-30T10:18:47Z"),
            "stats": {
                "total_duration_ms": 291_i64,
                "min_duration_ms": 12_i64,
                "max_duration_ms": 234_i64,
                "error_count": 1,
                "status_codes": { "200": 2, "500": 1 },
            },
            "requests": [
                item("2026-01-30T10:15:23Z", 45, 200, "req_abc123"),
                item("2026-01-30T10:18:47Z", 12, 500, "req_abc124"),
                item("2026-01-30T10:16:00Z", 234, 200, "req_abc125"),
            ],
        },
    );
    assert_eq!(found[1].get_i32("bucket_number").unwrap(), 2);
    assert!(!found[1].get_bool("is_full").unwrap());
    assert_eq!(
        found[1]
            .get_document("stats")
            .unwrap()
            .get_i32("error_count")
            .unwrap(),
        0
    );
}

fn hybrid(at: &str, value: f64) -> Hybrid {
    Hybrid {
        device_id: "device_001".into(),
        timestamp: date(at),
        value,
        kind: "temperature".into(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hybrid_bucket_is_the_tutorials() {
    let found = stored(&[
        hybrid("2026-01-30T10:20:00Z", 3.0),
        hybrid("2026-01-30T11:19:59Z", 1.0),
        hybrid("2026-01-30T11:20:00Z", 2.0),
    ])
    .await;
    assert_eq!(found.len(), 2);
    let item = |at: &str, value: f64| doc! { "timestamp": date(at), "value": value, "type": "temperature" };
    assert_same(
        &found[0],
        &doc! {
            "device_id": "device_001",
            "bucket_start": date("2026-01-30T10:20:00Z"),
            "bucket_end": date("2026-01-30T11:19:59Z"),
            "count": 2,
            "is_closed": true,
            "stats": { "min_value": 1.0, "max_value": 3.0 },
            "readings": [item("2026-01-30T10:20:00Z", 3.0), item("2026-01-30T11:19:59Z", 1.0)],
        },
    );
    assert!(!found[1].get_bool("is_closed").unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_iot_bucket_is_the_tutorials_and_a_quality_of_0_is_kept() {
    let before = DateTime::now();
    let reading = |at: &str, value: f64, quality: f64| Iot {
        device_id: "device_001".into(),
        sensor_type: "temperature".into(),
        ts: date(at),
        value,
        quality,
    };
    let mut found = stored(&[
        reading("2026-01-30T10:00:00Z", 23.5, 1.0),
        reading("2026-01-30T10:30:00Z", 24.5, 0.0),
    ])
    .await;
    assert_eq!(found.len(), 1);
    let Some(Bson::DateTime(created)) = found[0].remove("created_at") else {
        panic!("{}", found[0]);
    };
    assert!(before <= created && created <= DateTime::now());
    assert_same(
        &found[0],
        &doc! {
            "device_id": "device_001",
            "sensor_type": "temperature",
            "bucket_start": date("2026-01-30T10:00:00Z"),
            "bucket_end": date("2026-01-30T11:00:00Z"),
            "count": 2,
            "stats": { "sum": 48.0, "min": 23.5, "max": 24.5 },
            "readings": [
                { "ts": date("2026-01-30T10:00:00Z"), "v": 23.5, "q": 1.0 },
                { "ts": date("2026-01-30T10:30:00Z"), "v": 24.5, "q": 0.0 },
            ],
        },
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn typed_buckets_read_back_what_was_stored_and_write_it_again() {
    let records = [
        request("2026-01-30T10:15:23Z", 45, 200, "a"),
        request("2026-01-30T10:18:47Z", 12, 503, "b"),
    ];
    let (database, buckets) = store(&records).await;
    let key = || ("api-gateway".to_owned(), "/api/v1/users".to_owned());
    let page = buckets.page(key(), 1).await.unwrap();
    assert_eq!(page.records(), records);
    let bucket = page.into_bucket().unwrap();
    assert_eq!(
        (bucket.bucket_number, bucket.bucket_size, bucket.is_full),
        (1, 3, false)
    );
    let stats = bucket.stats();
    assert_eq!(stats.first_timestamp(), Some(date("2026-01-30T10:15:23Z")));
    assert_eq!(stats.duration_ms().sum(), Some(57));
    assert_eq!(stats.duration_ms().min(), Some(12));
    assert_eq!(stats.status_code().error_count(), 1);
    assert_eq!(stats.status_code().status_codes(), [(200, 1), (503, 1)]);
    let found = documents(&database, "request_metrics_buckets").await;
    let written = bucket_mongo::bson::serialize_to_document(&bucket).unwrap();
    assert_same(&written, &found[0]);
    assert_eq!(buckets.page_count(key()).await.unwrap(), 1);
    assert_eq!(buckets.count(key()).await.unwrap(), 2);

    let (database, buckets) = store(&[temperature("2026-01-30T10:00:00Z", 20.5)]).await;
    let bucket = buckets.page("sensor_001".to_owned(), 1).await.unwrap();
    let bucket = bucket.into_bucket().unwrap();
    assert_eq!(bucket.stats().avg(), Some(20.5));
    assert_eq!(bucket.bucket_end, date("2026-01-30T11:00:00Z"));
    let found = documents(&database, "temperature_buckets").await;
    let written = bucket_mongo::bson::serialize_to_document(&bucket).unwrap();
    assert_same(&written, &found[0]);
    let again: TemperatureBucket = bucket_mongo::bson::deserialize_from_document(written).unwrap();
    assert_eq!(again, bucket);
}

#[tokio::test(flavor = "multi_thread")]
async fn ensure_creates_the_tutorials_indexes_and_those_of_pages_and_of_windows() {
    let temperature = doc! { "sensor_id": 1, "bucket_start": 1, "bucket_part": 1 };
    let times = doc! { "bucket_end": 1, "bucket_start": 1 };
    assert_eq!(
        indexes::<Temperature>().await,
        [
            ("sensor_time_idx".to_owned(), temperature, true),
            ("bucket_times".to_owned(), times.clone(), false),
        ]
    );
    let full = doc! { "service_name": 1, "endpoint": 1, "is_full": 1 };
    let order = doc! { "service_name": 1, "endpoint": 1, "bucket_number": -1 };
    assert_eq!(
        indexes::<Request>().await,
        [
            ("service_endpoint_full_idx".to_owned(), full, true),
            ("service_endpoint_order_idx".to_owned(), order, true),
        ]
    );
    let closed = doc! { "device_id": 1, "is_closed": 1, "bucket_start": 1 };
    assert_eq!(
        indexes::<Hybrid>().await,
        [
            ("device_open_idx".to_owned(), doc! { "device_id": 1 }, true),
            (
                "bucket_pages".to_owned(),
                doc! { "device_id": 1, "_id": 1 },
                false
            ),
            ("device_closed_time_idx".to_owned(), closed, false),
        ]
    );
    let pages = doc! { "device_id": 1, "sensor_type": 1, "_id": 1 };
    let time = doc! { "device_id": 1, "sensor_type": 1, "bucket_start": 1 };
    assert_eq!(
        indexes::<Iot>().await,
        [
            ("bucket_pages".to_owned(), pages, false),
            ("device_sensor_type_time_idx".to_owned(), time, false),
            ("bucket_times".to_owned(), times, false),
        ]
    );
}

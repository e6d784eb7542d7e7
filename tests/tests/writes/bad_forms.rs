//! Bad input and bad documents in all forms except the manual's: typed errors, nothing
//! half-written.

use bucket_core::EncodeError;
use bucket_mongo::{
    Bucketed, Buckets, ErrorKind, Limits, Window,
    bson::{Bson, DateTime, Document, doc},
    testing::TestDatabase,
};
use bucket_tests::{Load, database, date, documents};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "readings",
    items = "readings",
    window = "1h",
    capacity = 100
)]
struct Reading {
    #[bucket(key)]
    device: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(min, max, sum, avg)]
    value: f64,
    #[bucket(sum = "total")]
    ticks: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "events", items = "events", capacity = 3, numbered)]
struct Event {
    #[bucket(key)]
    source: String,
    #[bucket(time)]
    at: DateTime,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "strict",
    items = "items",
    capacity = 3,
    max_duration = "1m",
    late = "reject"
)]
struct Strict {
    #[bucket(key)]
    source: String,
    #[bucket(time)]
    at: DateTime,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "blobs",
    items = "blobs",
    window = "day",
    max_bytes = "4KB"
)]
struct Blob {
    #[bucket(key)]
    source: String,
    #[bucket(time)]
    at: DateTime,
    text: String,
}

fn reading(value: f64, ticks: i64) -> Reading {
    Reading {
        device: "d".into(),
        at: date("2026-01-30T10:20:00Z"),
        value,
        ticks,
    }
}

async fn set_up<T: Bucketed>() -> (TestDatabase, Buckets<T>) {
    let database = database().await;
    let buckets = T::buckets(&database);
    buckets.ensure().await.unwrap();
    (database, buckets)
}

async fn put(database: &TestDatabase, collection: &str, bucket: Document) {
    let collection = database.collection::<Document>(collection);
    collection.insert_one(bucket).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn values_that_are_not_finite_are_refused_before_anything_is_sent() {
    let (database, readings) = set_up::<Reading>().await;
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let error = readings.insert(&reading(value, 0)).await.unwrap_err();
        let refused = matches!(
            error.kind(),
            ErrorKind::Encode(EncodeError::NonFinite { field: "value", .. })
        );
        assert!(refused, "{error}");
    }
    let batch = [reading(1.0, 0), reading(f64::NAN, 0), reading(3.0, 0)];
    let report = readings.insert_many(batch).await.unwrap();
    assert_eq!((report.stored(), report.failed().len()), (2, 1));
    assert_eq!(report.failed()[0].index, 1);
    let found = documents(&database, "readings").await;
    let stats = found[0].get_document("stats").unwrap();
    assert_eq!(stats.get("sum"), Some(&Bson::Double(4.0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_integer_that_could_overflow_a_sum_is_refused_before_anything_is_sent() {
    let (database, readings) = set_up::<Reading>().await;
    let most = i64::MAX / 100;
    let full = vec![reading(0.0, most); 100];
    readings
        .insert_many(full)
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let found = documents(&database, "readings").await;
    let stats = found[0].get_document("stats").unwrap();
    assert_eq!(stats.get_i64("total").unwrap(), most * 100);
    for ticks in [most + 1, i64::MAX, i64::MIN] {
        let error = readings.insert(&reading(0.0, ticks)).await.unwrap_err();
        let refused = matches!(
            error.kind(),
            ErrorKind::Encode(EncodeError::Overflow { field: "ticks", .. })
        );
        assert!(refused, "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_limits_are_refused_before_anything_is_sent() {
    let (database, readings) = set_up::<Reading>().await;
    for limits in [
        Limits::new().window(Window::seconds(0)),
        Limits::new().window(Window::hours(24 * 366 + 1)),
        Limits::new().capacity(0),
        Limits::new().max_duration(5),
    ] {
        let limited = readings.clone().with_limits(move |_| limits);
        let error = limited.insert(&reading(1.0, 1)).await.unwrap_err();
        let refused = matches!(error.kind(), ErrorKind::Encode(EncodeError::Limits { .. }));
        assert!(refused, "{error}");
    }
    assert_eq!(documents(&database, "readings").await, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_aggregate_that_is_not_a_number_is_a_typed_error_and_the_bucket_does_not_change() {
    let (database, readings) = set_up::<Reading>().await;
    readings.insert(&reading(1.0, 1)).await.unwrap();
    let collection = database.collection::<Document>("readings");
    let broken = doc! { "$set": { "stats.sum": "much" } };
    collection.update_one(doc! {}, broken).await.unwrap();
    let before = documents(&database, "readings").await;
    let error = readings.insert(&reading(2.0, 1)).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Damaged(_)), "{error}");
    assert_eq!(documents(&database, "readings").await, before);
    let error = readings.page("d".to_owned(), 1).await.unwrap_err();
    assert!(error.to_string().contains("stats.sum"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn late_records_are_refused_if_the_model_says_so() {
    let (database, strict) = set_up::<Strict>().await;
    let at = |second: i64| Strict {
        source: "s".into(),
        at: DateTime::from_millis(second * 1_000),
    };
    strict.insert(&at(100)).await.unwrap();
    let error = strict.insert(&at(99)).await.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Encode(EncodeError::Late { .. })),
        "{error}"
    );
    let report = strict
        .insert_many([at(101), at(50), at(200), at(170)])
        .await
        .unwrap();
    // One call takes its records in time order: 170 opens a bucket before 200 is reached.
    let failed: Vec<usize> = report.failed().iter().map(|failed| failed.index).collect();
    assert_eq!((report.stored(), failed), (3, vec![1]));
    assert_eq!(documents(&database, "strict").await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_that_another_tool_left_unmarked_is_marked_and_skipped() {
    let (database, events) = set_up::<Event>().await;
    let event = Event {
        source: "s".into(),
        at: date("2026-01-30T10:00:00Z"),
    };
    let item = doc! { "at": event.at };
    put(
        &database,
        "events",
        doc! {
            "_id": "s_0000000001", "source": "s", "bucket_number": 1, "bucket_size": 2, "count": 2,
            "is_full": false, "events": [item.clone(), item],
        },
    )
    .await;
    events.insert(&event).await.unwrap();
    let found = documents(&database, "events").await;
    assert_eq!(found.len(), 2);
    assert!(found[0].get_bool("is_full").unwrap());
    assert_eq!(found[1].get_i32("bucket_number").unwrap(), 2);
    assert_eq!(found[1].get_i32("bucket_size").unwrap(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_that_are_not_buckets_are_typed_errors() {
    let (database, events) = set_up::<Event>().await;
    let event = |source: &str| Event {
        source: source.into(),
        at: date("2026-01-30T10:00:00Z"),
    };
    let bucket = |source: &str| {
        doc! {
            "_id": format!("{source}_0000000001"), "source": source, "bucket_number": 1,
            "bucket_size": 3, "count": 1, "is_full": false, "events": [{ "at": DateTime::now() }],
        }
    };
    let mut with_object_id = bucket("object");
    with_object_id.remove("_id");
    let mut with_text_size = bucket("size");
    with_text_size.insert("bucket_size", "three");
    let mut with_wrong_count = bucket("count");
    with_wrong_count.insert("events", vec![doc! { "at": DateTime::now() }; 3]);
    let mut of_another_key = bucket("taken");
    of_another_key.insert("source", "other");
    for bucket in [
        with_object_id,
        with_text_size,
        with_wrong_count,
        of_another_key,
    ] {
        put(&database, "events", bucket).await;
    }
    let before = documents(&database, "events").await;
    for source in ["object", "size", "count", "taken"] {
        let error = events.insert(&event(source)).await.unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Damaged(_)),
            "{source}: {error}"
        );
        assert!(!error.is_outcome_unknown());
    }
    assert_eq!(documents(&database, "events").await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_closes_by_bytes_for_items_of_any_size() {
    let (database, blobs) = set_up::<Blob>().await;
    let blob = |bytes: usize| Blob {
        source: "s".into(),
        at: date("2026-01-30T10:00:00Z"),
        text: "x".repeat(bytes),
    };
    let sizes = [
        10, 1_000, 3_000, 10, 500_000, 7_000_000, 10, 2_000, 2_000, 2_000,
    ];
    for bytes in sizes {
        blobs.insert(&blob(bytes)).await.unwrap();
    }
    let batch = sizes.map(blob);
    blobs
        .insert_many(&batch)
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let error = blobs.insert(&blob(7_400_000)).await.unwrap_err();
    assert!(
        matches!(
            error.kind(),
            ErrorKind::Encode(EncodeError::TooLarge { .. })
        ),
        "{error}"
    );
    assert_eq!(blobs.count("s".to_owned()).await.unwrap(), 20);
    let found = documents(&database, "blobs").await;
    for bucket in &found {
        let size = bucket_mongo::bson::serialize_to_vec(bucket).unwrap().len();
        let bytes = bucket.get_i64("bytes").unwrap();
        assert!(size < 8 * 1024 * 1024, "a bucket of {size} bytes");
        assert!(
            usize::try_from(bytes).unwrap() <= size && size < usize::try_from(bytes).unwrap() + 500
        );
    }
    let open = found
        .iter()
        .filter(|bucket| bucket.get_i64("bytes").unwrap() < 4_096);
    assert!(open.count() <= 1);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "large", items = "items", capacity = 1000, numbered)]
struct Large {
    #[bucket(key)]
    source: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(sum = "total", avg = "mean")]
    ticks: i64,
    #[bucket(min, max, last)]
    nanos: i64,
    text: String,
}

fn large(ticks: i64, bytes: usize) -> Large {
    Large {
        source: "s".into(),
        at: date("2026-01-30T10:00:00Z"),
        ticks,
        nanos: 1_769_767_200_000_000_000,
        text: "x".repeat(bytes),
    }
}

/// A bucket that was opened with a larger capacity than the writer's own.
#[tokio::test(flavor = "multi_thread")]
async fn a_sum_that_would_overflow_closes_its_bucket_and_stays_exact() {
    let (database, large_ones) = set_up::<Large>().await;
    large_ones.insert(&large(1, 1)).await.unwrap();
    let ten = large_ones
        .clone()
        .with_limits(|_| Limits::new().capacity(10));
    let most = i64::MAX / 10;
    ten.insert_many(vec![large(most, 1); 20])
        .await
        .unwrap()
        .into_result()
        .unwrap();
    for _ in 0..15 {
        ten.insert(&large(most, 1)).await.unwrap();
    }
    let mut stored = 0;
    for bucket in documents(&database, "large").await {
        let items = bucket.get_array("items").unwrap();
        let ticks = items
            .iter()
            .map(|item| item.as_document().unwrap().get_i64("ticks").unwrap());
        let total: i64 = ticks.sum();
        assert_eq!(
            bucket
                .get_document("stats")
                .unwrap()
                .get_i64("total")
                .unwrap(),
            total
        );
        stored += items.len();
    }
    assert_eq!(stored, 36);
}

/// As many records as the capacity allows would exceed 16 MB.
#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_that_cannot_grow_is_closed_and_the_next_one_is_opened() {
    let (database, large_ones) = set_up::<Large>().await;
    large_ones.insert(&large(1, 1)).await.unwrap();
    let four = large_ones
        .clone()
        .with_limits(|_| Limits::new().capacity(4));
    for _ in 0..6 {
        four.insert(&large(1, 4_100_000)).await.unwrap();
    }
    let found = documents(&database, "large").await;
    let counts: Vec<i32> = found
        .iter()
        .map(|bucket| bucket.get_i32("count").unwrap())
        .collect();
    assert_eq!(counts, [5, 2]);
    assert!(found[0].get_bool("is_full").unwrap());

    let (database, blobs) = set_up::<Reading>().await;
    let four = blobs.clone().with_limits(|_| Limits::new().capacity(4));
    let big = |bytes: usize| Reading {
        device: "x".repeat(bytes),
        ..reading(1.0, 1)
    };
    // A key that fills the document by itself is refused, and not retried for ever.
    let error = four.insert(&big(3_000_000)).await.unwrap_err();
    assert!(!error.is_retryable(), "{error}");
    assert_eq!(documents(&database, "readings").await, []);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "tagged",
    items = "items",
    capacity = 5,
    numbered,
    object_ids
)]
struct Tagged {
    #[bucket(key)]
    source: String,
    #[bucket(time)]
    at: DateTime,
}

/// The ids of such buckets are the server's.
#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_that_refuses_what_it_has_room_for_is_named_by_its_own_id() {
    let (database, tagged) = set_up::<Tagged>().await;
    let record = Tagged {
        source: "a".to_owned(),
        at: DateTime::from_millis(0),
    };
    tagged.load(vec![record.clone(); 3]).await;
    let stored = database.collection::<Document>("tagged");
    let fewer = doc! { "$set": { "count": 1 } };
    stored.update_one(doc! {}, fewer).await.unwrap();
    let id = stored.find_one(doc! {}).await.unwrap().unwrap();
    let id = id.get_object_id("_id").unwrap().to_hex();
    let report = tagged.insert_many(vec![record; 2]).await.unwrap();
    let error = report.into_result().unwrap_err();
    assert!(error.is_damaged(), "{error}");
    assert!(error.to_string().contains(&id), "{id}: {error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_that_was_deleted_in_between_is_not_opened_again_in_its_middle() {
    let (database, events) = set_up::<Event>().await;
    let event = Event {
        source: "s".into(),
        at: date("2026-01-30T10:00:00Z"),
    };
    let mut batch = bucket_core::write::Batch::of::<Event>();
    batch.push(0, &event).unwrap();
    let seen = bucket_mongo::bson::rawdoc! {
        "_id": "s_0000000002", "source": "s", "bucket_number": 2, "bucket_size": 3, "count": 2,
        "is_full": false,
    };
    batch.chains_mut()[0].saw(&seen).unwrap();
    let round = batch.rounds(None).remove(0);
    let reply = database
        .run_raw_command(round.command().body().to_owned())
        .await
        .unwrap();
    let settled = batch.settle(&round, &reply, bucket_core::write::Certainty::Full);
    assert_eq!(
        (settled.missed, settled.stored.len(), settled.failed.len()),
        (1, 0, 0),
        "{reply}"
    );
    assert_eq!(documents(&database, "events").await, []);
    events.insert(&event).await.unwrap();
    assert_eq!(
        documents(&database, "events").await[0]
            .get_i32("bucket_number")
            .unwrap(),
        1
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_document_after_a_full_bucket_is_named_and_not_taken_for_a_race() {
    let (database, events) = set_up::<Event>().await;
    let event = Event {
        source: "s".into(),
        at: date("2026-01-30T10:00:00Z"),
    };
    events
        .insert_many(vec![event.clone(); 3])
        .await
        .unwrap()
        .into_result()
        .unwrap();
    put(
        &database,
        "events",
        doc! { "_id": "s_0000000002", "source": "other" },
    )
    .await;
    let error = events.insert(&event).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Damaged(_)), "{error}");
    assert!(error.to_string().contains("s_0000000002"), "{error}");
}

//! The pipelines of ranges: of several keys, of none, of an empty span, with some fields of each
//! item.

use bucket_core::read::Walk;
use bucket_mongo::{
    Bucketed, Buckets,
    bson::{Bson, DateTime, Document},
    testing::TestDatabase,
};
use bucket_tests::{Load, database};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

use crate::common::explained;

macro_rules! models {
    ($($name:ident: [$($attributes:tt)*];)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "readings", items = "items", $($attributes)*)]
        struct $name {
            #[bucket(key)]
            device: String,
            #[bucket(key)]
            sensor: i32,
            #[bucket(time)]
            at: DateTime,
            value: i64,
            wide: String,
        }

        impl Reading for $name {
            fn of(device: &str, sensor: i32, millis: i64) -> Self {
                let (device, at) = (device.to_owned(), DateTime::from_millis(millis));
                Self { device, sensor, at, value: millis, wide: "wide".into() }
            }

            fn key_of(device: &str, sensor: i32) -> Self::Key {
                (device.to_owned(), sensor).into()
            }
        }
    )*};
}

trait Reading: Bucketed + Clone {
    fn of(device: &str, sensor: i32, millis: i64) -> Self;
    fn key_of(device: &str, sensor: i32) -> Self::Key;
}

models! {
    Counted: [capacity = 3];
    Windowed: [window = "1m", capacity = 3];
    WindowedObjects: [window = "1m", capacity = 3, object_ids];
    Hybrid: [capacity = 3, max_duration = "1m"];
    Numbered: [capacity = 3, numbered];
}

async fn filled<T: Reading>() -> (TestDatabase, Buckets<T>) {
    let database = database().await;
    let readings = T::buckets(&database);
    readings.ensure().await.unwrap();
    let keys = [("a", 1), ("a", 2), ("b", 1)];
    let records: Vec<T> = keys
        .iter()
        .flat_map(|(device, sensor)| (0..10).map(|n| T::of(device, *sensor, n * 20_000)))
        .collect();
    let report = readings.insert_many(records).await.unwrap();
    report.into_result().unwrap();
    (database, readings)
}

/// The items that a pipeline returns, bucket by bucket.
async fn items<T: Reading>(readings: &Buckets<T>, pipeline: Vec<Document>) -> Vec<Document> {
    let collection = readings.collection::<Document>();
    let found = collection.aggregate(pipeline).await.unwrap();
    let found: Vec<Document> = found.try_collect().await.unwrap();
    let items = found.iter().flat_map(|bucket| {
        assert!(bucket.contains_key("device") && bucket.contains_key("sensor"));
        bucket.get_array("items").unwrap()
    });
    items
        .map(|item| item.as_document().unwrap().clone())
        .collect()
}

async fn check<T: Reading>() {
    let (_database, readings) = filled::<T>().await;
    let date = DateTime::from_millis;
    let span = || date(40_000)..date(100_000);
    let keys = || [T::key_of("a", 1), T::key_of("b", 1), T::key_of("c", 1)];
    let both = items(
        &readings,
        readings.range_many(keys(), span()).pipeline().unwrap(),
    )
    .await;
    assert_eq!(both.len(), 6);
    assert!(both.iter().all(|item| item.len() == 3), "{both:?}");

    let none: [T::Key; 0] = [];
    let pipeline = readings.range_many(none, span()).pipeline().unwrap();
    assert_eq!(items(&readings, pipeline).await, []);
    for empty in [date(40_000)..date(40_000), date(200_000)..date(300_000)] {
        let pipeline = readings
            .range_many(keys(), empty.clone())
            .pipeline()
            .unwrap();
        assert_eq!(items(&readings, pipeline).await, []);
        let pipeline = readings.range(T::key_of("a", 1), empty).pipeline().unwrap();
        assert_eq!(items(&readings, pipeline).await, []);
    }
    let value = bucket_mongo::FieldPath::new("items.value");
    let select = readings
        .range_many(keys(), span())
        .select::<Document>([value]);
    let some = items(&readings, select.pipeline().unwrap()).await;
    assert_eq!(some.len(), 6);
    for item in some {
        assert_eq!(item.keys().collect::<Vec<_>>(), ["at", "value"], "{item}");
    }
}

#[tokio::test]
async fn they_return_the_items_of_the_span_and_keys_in_every_form() {
    check::<Counted>().await;
    check::<Windowed>().await;
    check::<WindowedObjects>().await;
    check::<Hybrid>().await;
    check::<Numbered>().await;
}

/// A model whose aggregates have the names of the figures of a span.
#[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "visits",
    items = "visits",
    window = "1m",
    count = "visit_count",
    stats = ""
)]
struct Visit {
    #[bucket(key)]
    page: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(sum = "count", max = "count_")]
    count: i64,
    #[bucket(sum = "buckets")]
    buckets: i64,
    #[bucket(max = "most_opened")]
    opened: i64,
}

#[tokio::test]
async fn figures_of_the_model_keep_their_names_next_to_those_of_the_span() {
    let database = database().await;
    let visits = Visit::buckets(&database);
    visits.ensure().await.unwrap();
    let at = DateTime::from_millis;
    let records = (0..12).map(|n| Visit {
        page: "p".to_owned(),
        at: at(n * 20_000),
        count: 100 + n,
        buckets: 1_000,
        opened: n,
    });
    visits.load(records.collect::<Vec<_>>()).await;
    let range = || at(20_000)..at(220_000);
    let pipeline = visits.stats("p", range()).pipeline().unwrap();
    let collection = visits.collection::<Document>();
    let found = collection.aggregate(pipeline).await;
    let found: Vec<Document> = found.unwrap().try_collect().await.unwrap();
    let number = |name: &str| match found[0].get(name) {
        Some(Bson::Int32(number)) => i64::from(*number),
        Some(Bson::Int64(number)) => *number,
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!((number("count"), number("count_")), (1_055, 110));
    assert_eq!((number("count__"), number("buckets")), (10, 10_000));
    assert_eq!((number("buckets_"), number("most_opened")), (4, 10));
    // The figures of the handle are identified by their position.
    let stats = visits.stats("p", range()).await.unwrap().unwrap();
    assert_eq!((stats.count(), stats.buckets()), (10, 4));
    assert_eq!(stats.stats().count().sum(), Some(1_055));
    assert_eq!(stats.stats().buckets().sum(), Some(10_000));
    assert_eq!(stats.stats().opened().max(), Some(10));
}

async fn with_key_fields<T: Reading>() {
    #[derive(Debug, PartialEq, Deserialize)]
    struct Point {
        device: String,
        value: i64,
    }
    let (_database, readings) = filled::<T>().await;
    let fields = ["device", "items.value"].map(bucket_mongo::FieldPath::new);
    let points = readings.records(T::key_of("b", 1)).select::<Point>(fields);
    let points = points.collect().await.unwrap();
    assert_eq!(points.len(), 10);
    assert!(points.iter().all(|point| point.device == "b"));
    let keys = [T::key_of("a", 1), T::key_of("b", 1)];
    let points = readings.range_many(keys, ..).select::<Point>(fields);
    let points = points.await.unwrap();
    let of_a = points.iter().filter(|point| point.device == "a").count();
    assert_eq!((points.len(), of_a), (20, 10));
}

#[tokio::test]
async fn fields_of_the_key_can_be_selected_with_those_of_the_items() {
    with_key_fields::<Counted>().await;
    with_key_fields::<Windowed>().await;
    with_key_fields::<WindowedObjects>().await;
    with_key_fields::<Hybrid>().await;
    with_key_fields::<Numbered>().await;
}

async fn many_keys<T: Reading>() {
    const KEYS: i32 = 450;
    let database = database().await;
    let readings = T::buckets(&database);
    readings.ensure().await.unwrap();
    let mut records: Vec<T> = (0..KEYS)
        .flat_map(|sensor| (0..5).map(move |n| T::of("a", sensor, n * 50_000 + i64::from(sensor))))
        .collect();
    readings
        .insert_many(&records)
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let keys = || (0..KEYS).map(|sensor| T::key_of("a", sensor));
    let time = |record: &T| record.time();
    records.sort_by_key(time);
    let times: Vec<DateTime> = records.iter().map(time).collect();
    let found = readings.range_many(keys(), ..).await.unwrap();
    assert_eq!(found.iter().map(time).collect::<Vec<_>>(), times);
    let newest = readings
        .range_many(keys(), ..)
        .newest_first()
        .await
        .unwrap();
    let newest: Vec<DateTime> = newest.iter().rev().map(time).collect();
    assert_eq!(newest, times);
    let streamed: Vec<T> = readings
        .range_many(keys(), ..)
        .stream()
        .try_collect()
        .await
        .unwrap();
    assert_eq!(streamed.iter().map(time).collect::<Vec<_>>(), times);
    let mut session = database.client().start_session().await.unwrap();
    let in_session = readings.range_many(keys(), ..).session(&mut session);
    assert_eq!(in_session.await.unwrap().len(), times.len());
    // The server sorts nothing: it might not have enough memory.
    let walk = Walk::<T>::new(keys().collect(), 60_000);
    let plans = walk.finds();
    assert!(plans.len() > 1);
    for plan in plans {
        let command = explained::find(T::SPEC.collection(), plan);
        let explained = explained::explain(&database, command).await;
        assert!(!explained.plan.contains("\"SORT\""), "{}", explained.plan);
    }
}

#[tokio::test]
async fn many_keys_are_merged_without_a_sort_on_the_server() {
    many_keys::<Windowed>().await;
    many_keys::<WindowedObjects>().await;
    many_keys::<Hybrid>().await;
    many_keys::<Counted>().await;
}

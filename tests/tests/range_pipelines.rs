//! The pipelines of ranges: of several keys, of none, of a span that holds nothing, with some fields of
//! each item.

use bucket_mongo::{
    Bucketed, Buckets,
    bson::{DateTime, Document},
    testing::TestDatabase,
};
use bucket_tests::database;
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

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

/// The items that a pipeline gives, bucket by bucket.
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
        readings.range_of(keys(), span()).pipeline().unwrap(),
    )
    .await;
    assert_eq!(both.len(), 6);
    assert!(both.iter().all(|item| item.len() == 3), "{both:?}");

    let none: [T::Key; 0] = [];
    let pipeline = readings.range_of(none, span()).pipeline().unwrap();
    assert_eq!(items(&readings, pipeline).await, []);
    for empty in [date(40_000)..date(40_000), date(200_000)..date(300_000)] {
        let pipeline = readings.range_of(keys(), empty.clone()).pipeline().unwrap();
        assert_eq!(items(&readings, pipeline).await, []);
        let pipeline = readings.range(T::key_of("a", 1), empty).pipeline().unwrap();
        assert_eq!(items(&readings, pipeline).await, []);
    }
    let value = bucket_mongo::FieldPath::new("items.value");
    let select = readings
        .range_of(keys(), span())
        .select::<Document>([value]);
    let some = items(&readings, select.pipeline().unwrap()).await;
    assert_eq!(some.len(), 6);
    for item in some {
        assert_eq!(item.keys().collect::<Vec<_>>(), ["at", "value"], "{item}");
    }
}

#[tokio::test]
async fn they_give_the_items_of_the_span_and_keys_in_every_form() {
    check::<Counted>().await;
    check::<Windowed>().await;
    check::<WindowedObjects>().await;
    check::<Hybrid>().await;
    check::<Numbered>().await;
}

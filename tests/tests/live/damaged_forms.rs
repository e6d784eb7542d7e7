//! Damaged buckets of every form, in every read: the readable records, or an error that names the
//! bucket. The server never refuses a read, and no read returns a record that is not stored.

use std::fmt::Debug;

use bucket_core::Form;
use bucket_mongo::{
    Bucketed, Buckets, Error, ErrorKind, FieldPath, Fill, Interval, IntoTimeRange, RangeStats,
    Rollup, RollupRow, TimeRange,
    bson::{Bson, DateTime, Decimal128, Document, doc, oid::ObjectId},
};
use bucket_tests::database;
use futures_util::{StreamExt, TryStreamExt};
use serde::{Deserialize, Serialize};

trait Event: Bucketed + Clone + Debug {
    fn of(device: &str, sensor: i32, at: DateTime, number: i64) -> Self;
    fn number(&self) -> i64;
    fn device(&self) -> &str;
    fn key_of(device: &str) -> Self::Key;
}

macro_rules! models {
    ($($test:ident $name:ident: [$($attributes:tt)*];)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "events", items = "items", stats = "stats", $($attributes)*)]
        struct $name {
            #[bucket(key)]
            device: String,
            #[bucket(key)]
            sensor: i32,
            #[bucket(time, first, last)]
            at: DateTime,
            #[bucket(sum, min)]
            number: i64,
        }

        impl Event for $name {
            fn of(device: &str, sensor: i32, at: DateTime, number: i64) -> Self {
                Self { device: device.to_owned(), sensor, at, number }
            }

            fn number(&self) -> i64 {
                self.number
            }

            fn device(&self) -> &str {
                &self.device
            }

            fn key_of(device: &str) -> Self::Key {
                (device.to_owned(), 1).into()
            }
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn $test() {
            every_damage_is_named::<$name>().await;
        }
    )*};
}

models! {
    of_counted_buckets Counted: [capacity = 3];
    of_counted_buckets_with_a_limit Aging: [capacity = 3, expire_after = "20000d", max_bytes = "4KB"];
    of_windows Windowed: [window = "1m", capacity = 3];
    of_windows_with_a_limit AgingWindows: [window = "1m", capacity = 3, expire_after = "20000d"];
    of_windows_with_object_ids WindowedObjects: [window = "1m", capacity = 3, object_ids];
    of_hybrid_buckets Hybrid: [capacity = 3, max_duration = "1m"];
    of_numbered_buckets Numbered: [capacity = 3, numbered];
    of_numbered_buckets_with_a_limit AgingNumbers: [capacity = 3, numbered, object_ids, expire_after = "20000d"];
}

/// What is set in the newest bucket of a key, or removed from it.
fn damages() -> Vec<Document> {
    let odd: [Bson; 8] = [
        Bson::Null,
        Bson::Double(f64::NAN),
        Bson::String("$$ROOT".into()),
        Bson::Document(doc! { "$gt": "" }),
        Bson::Array(vec![]),
        Bson::Array(vec![Bson::Array(vec![Bson::Null]), Bson::Int32(1)]),
        Bson::Decimal128("NaN".parse::<Decimal128>().unwrap()),
        Bson::MaxKey,
    ];
    let fields = [
        "count",
        "items",
        "items.0",
        "items.1.at",
        "items.1.number",
        "bucket_start",
        "bucket_end",
        "bucket_number",
        "bucket_size",
        "is_full",
        "is_closed",
        "bytes",
        "expire_from",
        "stats",
        "stats.sum",
        "stats.min",
        "first_timestamp",
        "last_timestamp",
        "sensor",
    ];
    let mut damages = Vec::new();
    for field in fields {
        damages.push(doc! { "$unset": { field: 1 } });
        for value in &odd {
            damages.push(doc! { "$set": { field: value.clone() } });
        }
    }
    damages
}

const MINUTE: i64 = 60_000;

async fn every_damage_is_named<T: Event>() {
    let database = database().await;
    let events = T::buckets(&database);
    events.ensure().await.unwrap();
    let start = 1_698_335_220_000;
    let records: Vec<T> = (0..12)
        .flat_map(|n| {
            let at = DateTime::from_millis(start + n * 10_000);
            ["bad", "good"].map(|device| T::of(device, 1, at, n))
        })
        .collect();
    events
        .insert_many(records)
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let collection = database.collection::<Document>("events");
    let bad = collection.find(doc! { "device": "bad" }).await.unwrap();
    let bad: Vec<Document> = bad.try_collect().await.unwrap();
    let number = |bucket: &Document| {
        let item = bucket.get_array("items").unwrap()[0].as_document().unwrap();
        item.get_i64("number").unwrap()
    };
    let newest = bad
        .iter()
        .max_by_key(|bucket| number(bucket))
        .unwrap()
        .clone();
    let id = newest.get("_id").unwrap().clone();
    let span =
        (DateTime::from_millis(start)..DateTime::from_millis(start + 2 * MINUTE)).into_time_range();
    for damage in damages() {
        let (operator, change) = damage.iter().next().unwrap();
        let (field, value) = change.as_document().unwrap().iter().next().unwrap();
        let has = field
            .split_once('.')
            .map_or(field.as_str(), |(first, _)| first);
        if !newest.contains_key(has) {
            continue;
        }
        let filter = doc! { "_id": id.clone() };
        // A pipeline cannot address positions in arrays, an update no names that begin with `$`.
        let updated = if operator == "$set" && !field.starts_with("items.") {
            let set = doc! { "$set": { field: { "$literal": value } } };
            collection.update_one(filter.clone(), vec![set]).await
        } else {
            collection.update_one(filter.clone(), damage.clone()).await
        };
        if updated.is_err() {
            // No two buckets have the same number.
            continue;
        }
        check(&events, span, &damage, &id.to_string()).await;
        collection
            .replace_one(filter, newest.clone())
            .await
            .unwrap();
    }
    // Another type of id.
    for odd in [
        Bson::Int32(7),
        Bson::ObjectId(ObjectId::new()),
        Bson::String("?".into()),
        Bson::Null,
    ] {
        collection
            .delete_one(doc! { "_id": id.clone() })
            .await
            .unwrap();
        let mut other = newest.clone();
        other.insert("_id", odd.clone());
        collection.insert_one(other).await.unwrap();
        check(
            &events,
            span,
            &doc! { "_id": odd.clone() },
            &odd.to_string(),
        )
        .await;
        collection.delete_one(doc! { "_id": odd }).await.unwrap();
        collection.insert_one(newest.clone()).await.unwrap();
    }
    check(&events, span, &doc! {}, "nothing").await;
}

#[derive(Debug, Deserialize)]
struct Point {
    #[serde(rename = "number")]
    _number: i64,
}

/// Whether the damage concerns the fields that locate a bucket, or removes its items.
fn is_about_its_place<T: Event>(damage: &Document) -> bool {
    let fields = damage.values().filter_map(Bson::as_document);
    let mut fields = fields.flat_map(Document::iter);
    damage.contains_key("_id")
        || fields.any(|(field, value)| match field.as_str() {
            "sensor" => true,
            "bucket_start" => T::SPEC.object_ids(),
            "items" => *value == Bson::Array(vec![]),
            _ => false,
        })
}

async fn check<T: Event>(events: &Buckets<T>, span: TimeRange, damage: &Document, id: &str) {
    let key = || T::key_of("bad");
    let look = |read: &str, error: Option<Error>| match error {
        None => {}
        Some(error) => match error.kind() {
            ErrorKind::Damaged(bucket) => assert_eq!(bucket.id(), id, "{read}: {damage}"),
            other => panic!("{read}: {damage}: {other:?}"),
        },
    };
    // A read that succeeds leaves nothing out, unless the damage concerns the lookup of the bucket.
    let is_found = !is_about_its_place::<T>(damage);
    let all_of = |read: &str, found: bucket_mongo::Result<Vec<T>>| match found {
        Err(error) => look(read, Some(error)),
        Ok(found) if is_found => {
            let mut found: Vec<i64> = found.iter().map(T::number).collect();
            found.sort_unstable();
            assert!(
                found.iter().copied().eq(0..12),
                "{read}: {damage}: {found:?}"
            );
        }
        Ok(_) => {}
    };
    let counted = |read: &str, found: bucket_mongo::Result<u64>| match found {
        Err(error) => look(read, Some(error)),
        Ok(found) => assert!(found == 12 || !is_found, "{read}: {damage}: {found}"),
    };
    all_of("records", events.records(key()).collect().await);
    all_of(
        "newest",
        events.records(key()).newest_first().collect().await,
    );
    all_of(
        "between",
        events.records(key()).between(span).collect().await,
    );
    all_of("range", events.range(key(), span).await);
    all_of("range without bounds", events.range(key(), ..).await);
    all_of("latest_n", events.latest_n(key(), 100).await);
    for range in [span, TimeRange::ALL] {
        let stats = events.stats(key(), range).await;
        counted(
            "stats",
            stats.map(|stats| stats.as_ref().map_or(0, RangeStats::count)),
        );
    }
    for every in [Interval::seconds(15), Interval::hours(1)] {
        let rollup = events.rollup(key(), span, every).fill(Fill::Previous).await;
        let count = |rollup: Rollup<T>| rollup.rows().iter().map(RollupRow::count).sum();
        counted("rollup", rollup.map(count));
    }
    look(
        "page of records",
        events.records(key()).limit(100).await.err(),
    );
    look(
        "range_many",
        events
            .range_many([key(), T::key_of("good")], span)
            .await
            .err(),
    );
    let select = events
        .range(key(), span)
        .select::<Point>([FieldPath::new("items.number")]);
    look("select", select.await.err());
    look("latest", events.latest(key()).await.err());
    look("count", events.count(key()).await.err());
    look("page_count", events.page_count(key()).await.err());
    for number in 1..6 {
        look("page", events.page(key(), number).await.err());
    }
    let pages = events.pages(key()).stream();
    look("pages", pages.try_collect::<Vec<_>>().await.err());
    // The others are as they were.
    let newest: Vec<_> = events.latest_per_key().stream().collect().await;
    let good = |record: &&bucket_mongo::Result<T>| {
        record
            .as_ref()
            .is_ok_and(|record| record.device() == "good")
    };
    assert_eq!(newest.iter().filter(good).count(), 1, "{damage}");
    for found in newest {
        look("latest_per_key", found.err());
    }
    if let Form::Window { .. } = T::SPEC.form() {
        let all: Vec<_> = events.range_all_keys(span).stream().collect().await;
        let of_good = all.iter().filter(good).count();
        assert_eq!(of_good, 12, "{damage}");
        for found in all {
            look("range_all_keys", found.err());
        }
    }
    let good = events.range(T::key_of("good"), ..).await.unwrap();
    assert!(good.iter().map(T::number).eq(0..12), "{damage}");
}

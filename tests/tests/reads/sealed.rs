//! Sealed and archived buckets: every read gives what it gave before.

use std::{collections::BTreeMap, fmt::Debug};

use bucket_mongo::{
    Bucketed, Buckets, FieldPath, Fill, Interval, Result, TimeRange, Which,
    bson::{
        Binary, Bson, DateTime, Document, RawDocument, RawDocumentBuf, doc, spec::BinarySubtype,
    },
    testing::TestDatabase,
};
use bucket_tests::database;
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

trait Event: Bucketed + Clone + Debug {
    fn of(device: &str, number: i64) -> Self;
    fn key_of(device: &str) -> Self::Key;
}

macro_rules! models {
    ($($test:ident $name:ident [$($attributes:tt)*] [$($held:tt)*];)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "events", items = "items", $($attributes)*)]
        struct $name {
            #[bucket(key)]
            device: String,
            #[bucket(key)]
            sensor: i32,
            #[bucket(time, first, last)]
            at: DateTime,
            #[bucket(sum, min, max, avg)]
            number: i64,
            #[bucket(attribute(array = "specs", k = "weight", u = "kg"))]
            weight: Option<f64>,
            note: Option<String>,
            $($held)*
        }

        impl Event for $name {
            fn of(device: &str, number: i64) -> Self {
                Self {
                    device: device.to_owned(),
                    sensor: 1,
                    at: date(number),
                    number,
                    weight: (number % 3 > 0).then_some(f64::from(i32::try_from(number).unwrap()) * 0.5),
                    note: (number % 4 == 0).then(|| format!("note {number}")),
                }
            }

            fn key_of(device: &str) -> Self::Key {
                (device.to_owned(), 1).into()
            }
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn $test() {
            every_read_is_the_same::<$name>().await;
        }
    )*};
}

models! {
    counted_buckets Counted [capacity = 7] [];
    counted_buckets_of_few_bytes Bytes [capacity = 20, max_bytes = "1KB"] [];
    windows Windowed [window = "1m", capacity = 5] [];
    windows_with_object_ids Objects [window = "1m", object_ids] [];
    hybrid_buckets Hybrid [capacity = 7, max_duration = "2m", late = "side"] [];
    numbered_buckets Numbered [capacity = 7, numbered] [];
    numbered_buckets_with_object_ids NumberedObjects [capacity = 7, numbered, object_ids] [];
}

const START: i64 = 1_698_335_220_000;
const RECORDS: i64 = 40;

fn date(number: i64) -> DateTime {
    DateTime::from_millis(START + number * 10_000)
}

/// Packs the items of all buckets but the newest one of each key.
async fn seal(database: &TestDatabase) -> usize {
    let collection = database.collection::<RawDocumentBuf>("events");
    let found = collection
        .find(doc! {})
        .sort(doc! { "bucket_start": 1, "_id": 1 });
    let buckets: Vec<RawDocumentBuf> = found.await.unwrap().try_collect().await.unwrap();
    let mut newest = BTreeMap::new();
    for (place, bucket) in buckets.iter().enumerate() {
        let device = bucket.get_str("device").unwrap().to_owned();
        newest.insert(device, place);
    }
    let mut sealed = 0;
    for (place, bucket) in buckets.iter().enumerate() {
        let items = bucket.get_array("items").unwrap();
        let items: Vec<&RawDocument> = items
            .into_iter()
            .map(|item| item.unwrap().as_document().unwrap())
            .collect();
        let left = |item: &&&RawDocument| item.get("_removed").unwrap().is_none();
        let times: Vec<DateTime> = items
            .iter()
            .filter(left)
            .map(|item| item.get_datetime("at").unwrap())
            .collect();
        if newest.values().any(|newest| *newest == place) || times.is_empty() {
            continue;
        }
        let bytes = bucket_columns::pack(items).unwrap();
        let packed = Binary {
            subtype: BinarySubtype::UserDefined(128),
            bytes,
        };
        let ends =
            doc! { "first": times.iter().min().unwrap(), "last": times.iter().max().unwrap() };
        let id = Bson::try_from(bucket.get("_id").unwrap().unwrap()).unwrap();
        let of_it = doc! { "$set": { "items": packed, "_sealed": ends } };
        let collection = database.collection::<Document>("events");
        let updated = collection
            .update_one(doc! { "_id": id }, of_it)
            .await
            .unwrap();
        assert_eq!(updated.modified_count, 1);
        sealed += 1;
    }
    sealed
}

#[derive(Debug, Deserialize)]
#[allow(dead_code, reason = "shown")]
struct Point {
    number: i64,
    weight: Option<f64>,
}

fn shown<R: Debug>(of: &mut BTreeMap<String, String>, read: String, found: Result<R>) {
    let found = found.unwrap_or_else(|error| panic!("{read}: {error:?}"));
    assert!(of.insert(read, format!("{found:?}")).is_none());
}

/// What every read gives.
async fn all_reads<T: Event>(events: &Buckets<T>) -> BTreeMap<String, String> {
    let mut reads = BTreeMap::new();
    let of = &mut reads;
    let key = || T::key_of("a");
    let both = || [key(), T::key_of("b")];
    let cut = TimeRange::new(Some(date(4)), Some(date(29)));
    for (name, span) in [("all", TimeRange::ALL), ("cut", cut)] {
        let of_name = |read: &str| format!("{read} {name}");
        shown(of, of_name("range"), events.range(key(), span).await);
        shown(
            of,
            of_name("newest"),
            events.range(key(), span).newest_first().await,
        );
        let fields = ["items.number", "items.specs"].map(FieldPath::new);
        let points = events.range(key(), span).select::<Point>(fields).await;
        shown(of, of_name("select"), points);
        shown(
            of,
            of_name("range_many"),
            events.range_many(both(), span).await,
        );
        shown(of, of_name("stats"), events.stats(key(), span).await);
        for newest_first in [false, true] {
            let mut token = None;
            for page in 0.. {
                let query = events.records(key()).between(span).limit(3).after(token);
                let query = if newest_first {
                    query.newest_first()
                } else {
                    query
                };
                let found = query.with_refs().await;
                let found = found.unwrap_or_else(|error| panic!("{error:?}"));
                token = found.next_token().cloned();
                let read = of_name(&format!("records {newest_first} {page}"));
                shown(of, read, Ok(found.into_records()));
                if token.is_none() {
                    break;
                }
            }
        }
        let large = FieldPath::new("items.number").gte(20);
        let matching = events.range(key(), span).matching(large).await;
        shown(of, of_name("matching"), matching);
    }
    for every in [Interval::seconds(15), Interval::minutes(2)] {
        let name = format!("rollup {every:?}");
        let rollup = events.rollup(key(), cut, every).fill(Fill::Previous).await;
        shown(of, name, rollup.map(|rollup| rollup.rows().to_vec()));
    }
    for number in 1..8 {
        let page = events.page(key(), number).await;
        let page = page.map(bucket_mongo::Page::into_records);
        shown(of, format!("page {number}"), page);
    }
    shown(of, "page_count".to_owned(), events.page_count(key()).await);
    shown(of, "count".to_owned(), events.count(key()).await);
    shown(of, "latest".to_owned(), events.latest(key()).await);
    shown(of, "latest_n".to_owned(), events.latest_n(key(), 25).await);
    let latest = events
        .latest_per_key()
        .stream()
        .try_collect::<Vec<T>>()
        .await;
    let latest = latest.map(|mut latest| {
        latest.sort_by_key(|record| format!("{record:?}"));
        latest
    });
    shown(of, "latest_per_key".to_owned(), latest);
    let keys = events
        .keys()
        .summaries()
        .stream()
        .try_collect::<Vec<_>>()
        .await;
    // They come in no order.
    let keys = keys.map(|mut keys| {
        keys.sort_by_key(|of| of.records);
        keys
    });
    shown(of, "keys".to_owned(), keys);
    let fill = events.fill().await;
    let fill = fill.map(|fill| {
        (
            fill.buckets,
            fill.records,
            fill.removed,
            fill.damaged,
            fill.by_records,
        )
    });
    shown(of, "fill".to_owned(), fill);
    let report = events.verify().await.unwrap();
    assert!(report.is_clean(), "{report} {:?}", report.findings);
    shown(of, "verify".to_owned(), Ok(report.records));
    reads
}

async fn every_read_is_the_same<T: Event>() {
    let database = database().await;
    let events = T::buckets(&database);
    events.ensure().await.unwrap();
    let records: Vec<T> = (0..RECORDS)
        .flat_map(|number| ["a", "b"].map(|device| T::of(device, number)))
        .collect();
    let report = events.insert_many(records).await.unwrap();
    report.into_result().unwrap();
    // Some were removed.
    let all = events
        .records(T::key_of("a"))
        .with_refs()
        .collect()
        .await
        .unwrap();
    for index in [0, 5, 6, 17] {
        let which = Which::from(&all[index].reference);
        events.delete(T::key_of("a"), which).await.unwrap();
    }
    let before = all_reads(&events).await;
    assert!(seal(&database).await > 4);
    for events in [T::buckets(&database), events.clone()] {
        let after = all_reads(&events).await;
        for (read, found) in &after {
            assert_eq!(Some(found), before.get(read), "{read}");
        }
        assert_eq!(after.len(), before.len());
    }
    // Their items elsewhere, of half of them and of all.
    let archive = database.collection::<Document>("archive");
    for span in [TimeRange::new(None, Some(date(20))), TimeRange::ALL] {
        let moved = events.archive_to(&archive).between(span).await.unwrap();
        assert!(moved.buckets > 0, "{moved}");
        for events in [T::buckets(&database), events.clone()] {
            let after = all_reads(&events.with_archive(&archive)).await;
            for (read, found) in &after {
                assert_eq!(Some(found), before.get(read), "{read}");
            }
            assert_eq!(after.len(), before.len());
        }
    }
}

//! Windows in parts are merged as they are: rows that take no more records.

use std::time::Duration;

use bucket_mongo::{
    Bucketed, Buckets, RecordChange as Of, VerifyReport, Which,
    bson::{DateTime, Document, doc},
};
use bucket_tests::{Load, database};
use futures_util::{StreamExt, TryStreamExt};
use serde::{Deserialize, Serialize};

use super::{START, date};

macro_rules! models {
    ($($name:ident: [$($attributes:tt)*];)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "parts", items = "items", window = "1h", seal_after = "1h", merge = "day", $($attributes)*)]
        struct $name {
            #[bucket(key)]
            sensor: i32,
            #[bucket(time)]
            at: DateTime,
            #[bucket(sum, min, max)]
            value: i64,
        }

        impl $name {
            /// Two an hour.
            fn of(value: i64) -> Self {
                Self { sensor: 1, at: date(START + value * 1_800_000), value }
            }
        }
    )*};
}

models! {
    Part: [parts];
    Whole: [capacity = 100];
}

/// A day of parts with one record each.
async fn day(database: &bucket_mongo::testing::TestDatabase) -> Buckets<Part> {
    let parts = Part::buckets(database);
    parts.ensure().await.unwrap();
    for value in 0..48 {
        parts.insert(&Part::of(value)).await.unwrap();
    }
    parts
}

async fn documents<T: Bucketed>(buckets: &Buckets<T>) -> Vec<Document> {
    let collection = buckets.collection::<Document>();
    let found = collection.find(doc! {}).sort(doc! { "_id": 1 });
    found.await.unwrap().try_collect().await.unwrap()
}

async fn values(parts: &Buckets<Part>) -> Vec<i64> {
    let all = parts.range(1, ..).await.unwrap();
    all.iter().map(|part| part.value).collect()
}

async fn sound<T: Bucketed>(buckets: &Buckets<T>) {
    let report = buckets.verify().await.unwrap();
    assert!(report.is_clean(), "{report}");
}

/// The one in the middle of a window cannot be read, or ends in another window.
#[tokio::test]
async fn a_damaged_part_stays_where_it_can_be_repaired() {
    const HOUR: i64 = 3_600_000;
    let damages: [(&str, Document); 3] = [
        ("count", doc! { "count": "x" }),
        ("start", doc! { "bucket_start": "x" }),
        ("end", doc! { "bucket_end": date(START + 60 * HOUR) }),
    ];
    for (name, damage) in damages {
        let database = database().await;
        let parts = Part::buckets(&database);
        parts.ensure().await.unwrap();
        for value in (0..48).chain(0..48).chain(0..48) {
            parts.insert(&Part::of(value)).await.unwrap();
        }
        let before = values(&parts).await;
        let stored = documents(&parts).await;
        // The third of six in the window of 02:00.
        let start = date(START + 2 * HOUR);
        let window = stored.iter().filter(|bucket| {
            bucket
                .get_datetime("bucket_start")
                .is_ok_and(|of| *of == start)
        });
        let id = window.clone().nth(2).unwrap().get("_id").unwrap();
        let collection = parts.collection::<Document>();
        let change = collection.update_one(doc! { "_id": id }, doc! { "$set": damage });
        change.await.unwrap();
        let report = parts.verify().await.unwrap();
        assert!(!report.is_clean());
        let merged = parts.merge().settled(Duration::ZERO).await.unwrap();
        // It stays, and the three after it in its window.
        assert_eq!(merged.buckets, 144 - 4, "{name}: {merged}");
        let again = parts.verify().await.unwrap();
        let harm = |report: &VerifyReport| {
            let text = report.to_string();
            let lines = text.lines().filter(|line| line.contains("harmful"));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(harm(&again), harm(&report), "{name}");
        if name != "end" {
            parts.insert(&Part::of(5)).await.unwrap();
            let repaired = parts.repair(&again).await.unwrap();
            assert_eq!(
                (repaired.mended, repaired.quarantined),
                (1, 0),
                "{name}: {repaired}"
            );
            sound(&parts).await;
            let mut expected = before.clone();
            expected.push(5);
            expected.sort_unstable();
            let mut found = values(&parts).await;
            found.sort_unstable();
            assert_eq!(found, expected, "{name}");
            let merged = parts.merge().settled(Duration::ZERO).await.unwrap();
            assert!(merged.buckets > 4, "{name}: {merged}");
            sound(&parts).await;
        }
    }
}

#[tokio::test]
async fn what_a_call_brings_is_a_bucket_that_takes_no_more() {
    let database = database().await;
    let parts = Part::buckets(&database);
    parts.ensure().await.unwrap();
    parts.load([Part::of(0), Part::of(0), Part::of(1)]).await;
    parts.load([Part::of(1)]).await;
    let stored = documents(&parts).await;
    let counts: Vec<i32> = stored
        .iter()
        .map(|it| it.get_i32("count").unwrap())
        .collect();
    assert_eq!(counts, [3, 1]);
    for bucket in &stored {
        let since = bucket.get_document("_sealed").unwrap().get_datetime("at");
        assert!(since.is_ok(), "{bucket}");
    }
    // A model without the word adds nothing to them.
    let whole = Whole::buckets(&database);
    whole.insert(&Whole::of(1)).await.unwrap();
    assert_eq!(documents(&parts).await.len(), 3);
    sound(&whole).await;
    sound(&parts).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_are_merged_once_they_are_old_enough() {
    let database = database().await;
    let parts = day(&database).await;
    // A slow writer may take any of them for the last one of its window.
    let merged = parts.merge().await.unwrap();
    assert_eq!((merged.buckets, merged.dated), (0, 0), "{merged}");
    let two_hours_ago = DateTime::from_millis(DateTime::now().timestamp_millis() - 7_200_000);
    let old = doc! { "$set": { "_sealed.at": two_hours_ago } };
    let stored = parts.collection::<Document>();
    stored.update_many(doc! {}, old).await.unwrap();
    let merged = parts.merge().await.unwrap();
    assert_eq!((merged.buckets, merged.merged), (48, 1), "{merged}");
    assert_eq!(values(&parts).await, (0..48).collect::<Vec<_>>());
    sound(&parts).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_that_has_lost_its_records_is_merged_with_the_others() {
    let database = database().await;
    let parts = day(&database).await;
    let all = parts.range(1, ..).with_refs().await.unwrap();
    for place in [0, 17, 47] {
        let which = Which::from(all[place].reference.clone());
        parts.delete(1, &which).await.unwrap();
    }
    let merged = parts.merge().settled(Duration::ZERO).await.unwrap();
    assert_eq!((merged.buckets, merged.stay), (48, 0), "{merged}");
    let left: Vec<i64> = (0..48)
        .filter(|value| ![0, 17, 47].contains(value))
        .collect();
    assert_eq!(values(&parts).await, left);
    sound(&parts).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn buckets_from_before_the_model_had_parts_take_no_more_and_are_merged() {
    let database = database().await;
    let whole = Whole::buckets(&database);
    whole.ensure().await.unwrap();
    whole.load((0..48).map(Whole::of)).await;
    let parts = Part::buckets(&database);
    let mut events = parts.watch().await.unwrap();
    let dated = parts.merge().settled(Duration::ZERO).await.unwrap();
    assert_eq!((dated.buckets, dated.dated), (0, 24), "{dated}");
    whole.insert(&Whole::of(5)).await.unwrap();
    let merged = parts.merge().settled(Duration::ZERO).await.unwrap();
    assert_eq!(merged.buckets, 24, "{merged}");
    // Followers have seen the record and nothing else.
    parts.insert(&Part::of(100)).await.unwrap();
    for expected in [5, 100] {
        let event = events.next().await.unwrap().unwrap();
        let Of::Stored { record, .. } = &event.change else {
            panic!("{event:?}");
        };
        assert_eq!(record.value, expected);
    }
    assert_eq!(values(&parts).await.len(), 50);
    sound(&parts).await;
    // A bucket that counts its bytes, and those from before.
    let merged = parts.merge().settled(Duration::ZERO).await.unwrap();
    assert_eq!(merged.buckets, 2, "{merged}");
    sound(&parts).await;
}

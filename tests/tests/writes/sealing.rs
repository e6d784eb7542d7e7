//! Sealing changes how a bucket is stored and nothing else: reads, writes, edits and `verify` go on as before.

use std::{collections::BTreeMap, fmt::Debug, time::Duration};

use bucket_core::index::Drift;
use bucket_mongo::{
    Bucketed, Buckets, ErrorKind, RecordChange as Of, SealReport, VerifyReport, Which,
    bson::{Bson, DateTime, doc, spec::BinarySubtype},
    testing::TestDatabase,
};
use bucket_tests::{database, documents};
use futures_util::{StreamExt, TryStreamExt};
use serde::{Deserialize, Serialize};

trait Event: Bucketed + Clone + Debug + PartialEq + Send + Sync + Unpin {
    fn of(device: &str, number: i64) -> Self;
    fn number(&self) -> i64;
    fn value(&mut self) -> &mut f64;
    fn key_of(device: &str) -> Self::Key;

    /// A record of the time of another one.
    fn late(device: &str, number: i64, of: i64) -> Self;
}

macro_rules! models {
    ($($module:ident [$($attributes:tt)*] $([$($average:tt)*])?;)*) => {$(
        mod $module {
            use super::*;

            #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
            #[bucket(collection = "events", items = "items", seal_after = "1h", $($attributes)*)]
            pub(super) struct Record {
                #[bucket(key)]
                device: String,
                #[bucket(time, first, last)]
                at: DateTime,
                #[bucket(sum, min, max)]
                number: i64,
                #[bucket(sum = "value_sum" $(, $($average)*)?)]
                value: f64,
                note: Option<String>,
            }

            impl Event for Record {
                fn of(device: &str, number: i64) -> Self {
                    Self {
                        device: device.to_owned(),
                        at: date(number),
                        number,
                        value: f64::from(i32::try_from(number).unwrap()) * 0.5,
                        note: (number % 4 == 0).then(|| format!("note {number}")),
                    }
                }

                fn number(&self) -> i64 {
                    self.number
                }

                fn value(&mut self) -> &mut f64 {
                    &mut self.value
                }

                fn key_of(device: &str) -> Self::Key {
                    device.to_owned().into()
                }

                fn late(device: &str, number: i64, of: i64) -> Self {
                    Self { at: date(of), ..Self::of(device, number) }
                }
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn every_call_goes_on_as_before() {
                super::every_call_goes_on_as_before::<Record>().await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn writers_editors_and_sealers_disturb_nobody() {
                super::writers_editors_and_sealers_disturb_nobody::<Record>().await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn a_handle_that_has_not_seen_the_last_bucket_sealed_stores_its_records() {
                super::a_handle_that_has_not_seen_the_last_bucket_sealed_stores_its_records::<Record>()
                    .await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn a_follower_sees_each_change_once() {
                super::a_follower_sees_each_change_once::<Record>().await;
            }
        }
    )*};
}

models! {
    counted [capacity = 20];
    // A stored average makes each write a pipeline, which meets packed items in its own way.
    counted_with_a_stored_average [capacity = 20] [avg = "value_avg"];
    counted_of_few_bytes [capacity = 100, max_bytes = "1KB"];
    windows [window = "1m"];
    windows_of_parts [window = "2m", capacity = 9];
    windows_with_a_stored_average [window = "2m", capacity = 9] [avg = "value_avg"];
    windows_with_object_ids [window = "2m", capacity = 15, object_ids];
    hybrid_merging [capacity = 20, max_duration = "3m", late = "merge"];
    hybrid_beside [capacity = 20, max_duration = "3m", late = "side"];
    numbered [capacity = 20, numbered];
    numbered_with_object_ids [capacity = 20, numbered, object_ids];
}

const START: i64 = 1_698_335_220_000;

fn date(number: i64) -> DateTime {
    DateTime::from_millis(START + number * 5_000)
}

/// What is stored, by the numbers of the records.
type Ledger<T> = BTreeMap<i64, T>;

async fn stored<T: Event>(events: &Buckets<T>, device: &str) -> Ledger<T> {
    let records: Vec<T> = events
        .records(T::key_of(device))
        .stream()
        .try_collect()
        .await
        .unwrap();
    let number = records.len();
    let ledger: Ledger<T> = records.into_iter().map(|it| (it.number(), it)).collect();
    assert_eq!(ledger.len(), number, "a record is there twice");
    ledger
}

async fn is_sound<T: Event>(events: &Buckets<T>) -> VerifyReport {
    let report = events.verify().await.unwrap();
    assert!(report.is_clean(), "{report}");
    report
}

async fn seal<T: Event>(events: &Buckets<T>) -> SealReport {
    let report = events.seal().after(Duration::ZERO).await.unwrap();
    assert_eq!((report.damaged, report.changed), (0, 0), "{report}");
    report
}

async fn sealed(database: &TestDatabase) -> usize {
    let all = documents(database, "events").await;
    let is_packed = |items: &Bson| matches!(items, Bson::Binary(packed) if packed.subtype == BinarySubtype::UserDefined(128));
    all.iter()
        .filter(|bucket| bucket.get("items").is_some_and(is_packed))
        .count()
}

/// The numbers of records that reads of stored figures give.
async fn statistics_are_those_of<T: Event>(events: &Buckets<T>, device: &str, ledger: &Ledger<T>) {
    let number = u64::try_from(ledger.len()).unwrap();
    let stats = events.stats(T::key_of(device), ..).await.unwrap();
    assert_eq!(stats.unwrap().count(), number);
    assert_eq!(events.count(T::key_of(device)).await.unwrap(), number);
    let keys = events.keys().summaries().await.unwrap();
    let of_key = keys.iter().find(|it| it.records == number);
    assert!(of_key.is_some(), "{number} records in none of {keys:?}");
}

/// The records of the second page.
async fn page_two<T: Event>(events: &Buckets<T>) -> Vec<T> {
    let page = events.page(T::key_of("a"), 2).await.unwrap();
    page.into_records()
}

/// Each record with a reference to it.
async fn references<T: Event>(events: &Buckets<T>, device: &str) -> Vec<(Which, T)> {
    let found = events
        .range(T::key_of(device), ..)
        .with_refs()
        .await
        .unwrap();
    let found = found.into_iter();
    found
        .map(|it| (Which::from(it.reference), it.record))
        .collect()
}

async fn every_call_goes_on_as_before<T: Event>() {
    let database = database().await;
    let events = T::buckets(&database);
    events.ensure().await.unwrap();
    let mut ledger: Ledger<T> = (0..200)
        .map(|number| (number, T::of("a", number)))
        .collect();
    let records: Vec<T> = ledger.values().cloned().collect();
    events.insert_many(&records).await.unwrap();
    events
        .insert_many((0..50).map(|number| T::of("b", number)))
        .await
        .unwrap();
    let references_before = references(&events, "a").await;
    let page = page_two(&events).await;

    let none_is_due = events
        .seal()
        .after(Duration::from_secs(100 * 365 * 86_400))
        .await
        .unwrap();
    assert_eq!(none_is_due.buckets, 0);
    let would = events.seal().dry_run().await.unwrap();
    assert_eq!(sealed(&database).await, 0);
    let report = events.seal().await.unwrap();
    assert!(report.buckets > 5, "{report}");
    assert_eq!(
        (report.buckets, report.bytes_after),
        (would.buckets, would.bytes_after)
    );
    assert_eq!(
        sealed(&database).await,
        usize::try_from(report.buckets).unwrap()
    );
    assert!(report.bytes_after < report.bytes_before, "{report}");
    assert_eq!(seal(&events).await.buckets, 0);

    assert_eq!(stored(&events, "a").await, ledger);
    assert_eq!(page_two(&events).await, page);
    assert_eq!(references(&events, "a").await, references_before);
    statistics_are_those_of(&events, "a", &ledger).await;
    is_sound(&events).await;

    edits_go_on_as_before(&events, &references_before, &mut ledger).await;

    // Late and new records.
    for number in 1_000..1_020 {
        let late = T::late("a", number, (number - 1_000) * 7);
        events.insert(&late).await.unwrap();
        ledger.insert(number, late);
    }
    for number in 300..320 {
        let new = T::of("a", number);
        events.insert(&new).await.unwrap();
        ledger.insert(number, new);
    }
    assert_eq!(stored(&events, "a").await, ledger);
    is_sound(&events).await;
    seal(&events).await;
    assert_eq!(stored(&events, "a").await, ledger);
    statistics_are_those_of(&events, "a", &ledger).await;
    is_sound(&events).await;

    let unsealed = events.unseal().await.unwrap();
    assert!(unsealed.buckets >= report.buckets / 2, "{unsealed}");
    assert_eq!(sealed(&database).await, 0);
    assert_eq!(stored(&events, "a").await, ledger);
    statistics_are_those_of(&events, "a", &ledger).await;
    is_sound(&events).await;
    for number in 3_000..3_030 {
        let late = T::late("a", number, (number - 3_000) * 5);
        events.insert(&late).await.unwrap();
        ledger.insert(number, late);
    }
    is_sound(&events).await;
    assert_eq!(seal(&events).await.buckets > 0, unsealed.buckets > 0);
    assert_eq!(stored(&events, "a").await, ledger);
    is_sound(&events).await;
    assert!(events.delete_key(T::key_of("a")).await.unwrap().buckets > 0);
    assert!(stored(&events, "a").await.is_empty());
    assert_eq!(stored(&events, "b").await.len(), 50);
}

async fn edits_go_on_as_before<T: Event>(
    events: &Buckets<T>,
    references: &[(Which, T)],
    ledger: &mut Ledger<T>,
) {
    for (which, record) in references.iter().step_by(7) {
        let corrected = events
            .update(T::key_of("a"), which, |it| *it.value() += 100.0)
            .await
            .unwrap();
        let mut expected = record.clone();
        *expected.value() += 100.0;
        assert_eq!(corrected.as_ref(), Some(&expected));
        ledger.insert(record.number(), expected);
    }
    let changed = events
        .update(T::key_of("a"), &references[0].0, |it| {
            *it.value() = 0.0;
        })
        .await;
    assert!(matches!(changed.unwrap_err().kind(), ErrorKind::Changed));
    for (which, record) in references.iter().skip(3).step_by(11) {
        match events.delete(T::key_of("a"), which).await {
            Ok(removed) => {
                assert_eq!(removed.as_ref().map(Event::number), Some(record.number()));
                ledger.remove(&record.number());
            }
            Err(error) => assert!(matches!(error.kind(), ErrorKind::Changed), "{error}"),
        }
    }
    let removed = events
        .delete_range(T::key_of("a"), date(60)..date(90))
        .await
        .unwrap();
    let before = ledger.len();
    ledger.retain(|number, _| !(60..90).contains(number));
    assert_eq!(
        removed.records,
        u64::try_from(before - ledger.len()).unwrap()
    );
    assert_eq!(stored(events, "a").await, *ledger);
    statistics_are_those_of(events, "a", ledger).await;
    is_sound(events).await;
}

async fn writers_editors_and_sealers_disturb_nobody<T: Event>() {
    const WRITERS: i64 = 3;
    const RECORDS: i64 = 240;
    let database = database().await;
    let events = T::buckets(&database);
    events.ensure().await.unwrap();
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let mut sealers = Vec::new();
    for sealer in 0..2 {
        let (events, stopped) = (T::buckets(&database), stopped.clone());
        sealers.push(tokio::spawn(async move {
            let mut sealed = 0;
            for round in sealer.. {
                if *stopped.borrow() {
                    break;
                }
                sealed += events.seal().after(Duration::ZERO).await.unwrap().buckets;
                if round % 5 == 0 {
                    events.unseal().await.unwrap();
                }
            }
            sealed
        }));
    }
    let writers = (0..WRITERS).map(|writer| {
        let events = T::buckets(&database);
        tokio::spawn(async move {
            for part in 0..RECORDS / 10 {
                let records = (0..10).map(|at| T::of("a", (part * 10 + at) * WRITERS + writer));
                let report = events.insert_many(records).await.unwrap();
                assert_eq!(report.stored(), 10, "{report:?}");
            }
        })
    });
    let writers: Vec<_> = writers.collect();
    let editor = {
        let (events, stopped) = (T::buckets(&database), stopped.clone());
        tokio::spawn(async move {
            let mut edited: BTreeMap<i64, f64> = BTreeMap::new();
            while !*stopped.borrow() {
                let found = references(&events, "a").await;
                for (which, record) in found.iter().step_by(17) {
                    let corrected = events
                        .update(T::key_of("a"), which, |it| *it.value() += 1.0)
                        .await;
                    if let Some(mut corrected) = corrected.unwrap() {
                        edited.insert(record.number(), *corrected.value());
                    }
                }
            }
            edited
        })
    };
    for writer in writers {
        writer.await.unwrap();
    }
    stop.send(true).unwrap();
    let mut sealed = 0;
    for sealer in sealers {
        sealed += sealer.await.unwrap();
    }
    let edited = editor.await.unwrap();
    assert!(sealed > 0 && !edited.is_empty());
    let mut expected: Ledger<T> = (0..RECORDS * WRITERS)
        .map(|it| (it, T::of("a", it)))
        .collect();
    for (number, value) in edited {
        *expected.get_mut(&number).unwrap().value() = value;
    }
    assert_eq!(stored(&events, "a").await, expected);
    statistics_are_those_of(&events, "a", &expected).await;
    is_sound(&events).await;
}

async fn a_handle_that_has_not_seen_the_last_bucket_sealed_stores_its_records<T: Event>() {
    let database = database().await;
    let (one, other) = (T::buckets(&database), T::buckets(&database));
    one.ensure().await.unwrap();
    let of = |numbers: std::ops::Range<i64>| numbers.map(|number| T::of("a", number));
    one.insert_many(of(0..40))
        .await
        .unwrap()
        .into_result()
        .unwrap();
    other
        .insert_many(of(200..300))
        .await
        .unwrap()
        .into_result()
        .unwrap();
    assert!(seal(&other).await.buckets > 0);
    // It takes the first buckets for the last ones of the key: by itself, in a small batch and in a large one.
    one.insert(&T::of("a", 60)).await.unwrap();
    one.insert_many(of(61..65))
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let (third, many) = (T::buckets(&database), of(100..180));
    third.insert(&T::of("a", 65)).await.unwrap();
    other
        .insert_many(of(300..400))
        .await
        .unwrap()
        .into_result()
        .unwrap();
    seal(&other).await;
    third
        .insert_many(many)
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let numbers: Vec<i64> = stored(&one, "a").await.into_keys().collect();
    let expected = (0..40).chain(60..66).chain(100..180).chain(200..400);
    assert_eq!(numbers, expected.collect::<Vec<i64>>());
    is_sound(&one).await;
}

async fn a_follower_sees_each_change_once<T: Event>() {
    let database = database().await;
    let events = T::buckets(&database);
    events.ensure().await.unwrap();
    let mut changes = events.watch().with_before().await.unwrap();
    let mut expected = Vec::new();
    for number in 0..80 {
        events.insert(&T::of("a", number)).await.unwrap();
        expected.push(format!("stored {number}"));
    }
    assert!(seal(&events).await.buckets > 0);
    let found = references(&events, "a").await;
    for (which, record) in found.iter().take(20).step_by(3) {
        events
            .update(T::key_of("a"), which, |it| *it.value() = -1.0)
            .await
            .unwrap();
        let mut before = record.clone();
        expected.push(format!(
            "updated {} from {} to -1",
            record.number(),
            *before.value()
        ));
    }
    for (which, record) in found.iter().take(20).skip(1).step_by(3) {
        events.delete(T::key_of("a"), which).await.unwrap();
        expected.push(format!("removed {}", record.number()));
    }
    events.unseal().await.unwrap();
    seal(&events).await;
    for number in 80..90 {
        events.insert(&T::of("a", number)).await.unwrap();
        expected.push(format!("stored {number}"));
    }
    for wanted in expected {
        let change = tokio::time::timeout(Duration::from_secs(20), changes.next()).await;
        let change = change.expect(&wanted).unwrap().unwrap().change;
        let shown = match change {
            Of::Stored { record, .. } => format!("stored {}", record.number()),
            Of::Updated {
                mut record, before, ..
            } => {
                let before = before.map(|mut it| *it.value()).unwrap();
                format!(
                    "updated {} from {before} to {}",
                    record.number(),
                    *record.value()
                )
            }
            Of::Removed { before, .. } => format!("removed {}", before.unwrap().number()),
            other => format!("{other:?}"),
        };
        assert_eq!(shown, wanted);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_bucket_stays_and_is_reported() {
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
    #[bucket(
        collection = "events",
        items = "items",
        window = "1m",
        seal_after = "1s"
    )]
    struct Event {
        #[bucket(key)]
        device: i32,
        #[bucket(time)]
        at: DateTime,
    }
    let database = database().await;
    let events = Event::buckets(&database);
    events.ensure().await.unwrap();
    let records = (0..100).map(|number| Event {
        device: 1,
        at: date(number),
    });
    events.insert_many(records).await.unwrap();
    let collection = database.collection::<bucket_mongo::bson::Document>("events");
    let wrong = doc! { "$set": { "count": 99 } };
    collection
        .update_one(doc! { "bucket_start": date(0) }, wrong)
        .await
        .unwrap();
    let report = events.seal().await.unwrap();
    assert_eq!((report.buckets, report.damaged), (8, 1), "{report}");
    assert_eq!(report.damages.len(), 1);
    // Packed items whose bytes are others are damage too, and say so everywhere.
    let sealed = collection
        .find_one(doc! { "bucket_start": date(12) })
        .await
        .unwrap()
        .unwrap();
    let Some(Bson::Binary(packed)) = sealed.get("items") else {
        panic!("{sealed}")
    };
    let mut other = packed.clone();
    let middle = other.bytes.len() / 2;
    other.bytes[middle] ^= 1;
    let wrong = doc! { "$set": { "items": other } };
    collection
        .update_one(doc! { "bucket_start": date(12) }, wrong)
        .await
        .unwrap();
    let error = events.range(1, date(12)..date(13)).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Damaged(_)), "{error}");
    assert_eq!(events.verify().await.unwrap().harmful(), 2);
    assert_eq!(events.unseal().await.unwrap().damaged, 1);
}

#[tokio::test]
async fn a_model_of_another_form_sees_whose_the_sealed_buckets_are() {
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
    #[bucket(collection = "events", items = "items", capacity = 5)]
    struct Counted {
        #[bucket(key)]
        device: String,
        #[bucket(time)]
        at: DateTime,
    }
    let database = database().await;
    let events = windows::Record::buckets(&database);
    events.ensure().await.unwrap();
    let records = (0..100).map(|number| windows::Record::of("a", number));
    events.insert_many(records).await.unwrap();
    assert!(seal(&events).await.buckets > 0);
    let collection = database.collection::<bucket_mongo::bson::Document>("events");
    collection
        .delete_many(doc! { "items": { "$type": "array" } })
        .await
        .unwrap();
    collection.drop_indexes().await.unwrap();
    let report = Counted::buckets(&database).ensure().await.unwrap();
    let shows = |drift: &Drift| matches!(drift, Drift::OtherModel { form: "window", .. });
    assert!(report.drift.iter().any(shows), "{report}");
    assert_eq!(collection.list_index_names().await.unwrap(), ["_id_"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stored_form_of_a_sealed_bucket_never_changes() {
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
    #[bucket(
        collection = "events",
        items = "items",
        window = "1m",
        seal_after = "1s"
    )]
    struct Event {
        #[bucket(key)]
        device: i32,
        #[bucket(time)]
        at: DateTime,
        #[bucket(sum)]
        number: i64,
    }
    let database = database().await;
    let events = Event::buckets(&database);
    events.ensure().validator().await.unwrap();
    let records = (0..12).map(|number| Event {
        device: 1,
        at: date(number),
        number: 7,
    });
    events.insert_many(records).await.unwrap();
    let stored = async || documents(&database, "events").await.remove(0);
    let rows = stored().await;
    events.seal().await.unwrap();
    let mut sealed = stored().await;
    let Some(Bson::Binary(packed)) = sealed.remove("items") else {
        panic!("{sealed}")
    };
    assert_eq!(packed.subtype, BinarySubtype::UserDefined(128));
    let mut expected = rows.clone();
    expected.remove("items");
    expected.insert("_sealed", doc! { "first": date(0), "last": date(11) });
    assert_eq!(sealed, expected);

    let found = events.range(1, ..).with_refs().await.unwrap();
    events.delete(1, &found[0].reference).await.unwrap();
    let mut edited = stored().await;
    assert!(matches!(edited.remove("items"), Some(Bson::Binary(_))));
    expected.insert("stats", doc! { "sum": 77_i64 });
    expected.insert("_edits", doc! { "number": 1_i64, "removed": 1_i64 });
    let edit = doc! { "number": 1, "places": [0] };
    expected.insert(
        "_sealed",
        doc! { "first": date(1), "last": date(11), "edit": edit },
    );
    assert_eq!(edited, expected);

    events.unseal().await.unwrap();
    let mut unsealed = stored().await;
    let items = unsealed.remove("items").unwrap();
    let items = items.as_array().unwrap();
    assert_eq!(
        items[0],
        Bson::from(doc! { "at": date(0), "_removed": true })
    );
    assert_eq!(items[1..], rows.get_array("items").unwrap()[1..]);
    expected.insert("_sealed", doc! {});
    assert_eq!(unsealed, expected);

    // Where no record is left, the marks are rows.
    events.seal().await.unwrap();
    events.delete_range(1, ..).await.unwrap();
    let mut empty = stored().await;
    let items = empty.remove("items").unwrap();
    assert_eq!(items.as_array().map(Vec::len), Some(12));
    assert!(events.verify().await.unwrap().is_clean());
}

macro_rules! retention {
    ($($test:ident [$($attributes:tt)*];)*) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $test() {
            #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
            #[bucket(
                collection = "events", items = "items", expire_after = "1h", seal_after = "1s", $($attributes)*
            )]
            struct Event {
                #[bucket(key)]
                device: i32,
                #[bucket(time)]
                at: DateTime,
                #[bucket(sum)]
                number: i64,
            }
            let database = database().await;
            let events = Event::buckets(&database);
            events.ensure().await.unwrap();
            // No record is within a minute of the limit.
            let now = DateTime::now().timestamp_millis() + 60_000;
            let records = (5..40).map(|number| {
                let at = DateTime::from_millis(now - 2 * number * 60_000);
                Event { device: 1, at, number }
            });
            let mut records: Vec<Event> = records.collect();
            records.reverse();
            // Older ones are refused: what is past the limit was stored before.
            for chunk in records.chunks(8) {
                let report = events.insert_many(chunk).await;
                drop(report);
            }
            let all = async || {
                let mut shown = vec![format!("{:?}", events.count(1).await.unwrap())];
                shown.push(format!("{:?}", events.keys().summaries().await.unwrap()));
                shown.push(format!("{:?}", events.records(1).await.unwrap().records()));
                shown.push(format!("{:?}", events.stats(1, ..).await.unwrap().unwrap().count()));
                shown
            };
            // The bucket with the first shown record gets three that are past the limit, as time would do.
            let collection = database.collection::<bucket_mongo::bson::Document>("events");
            let first = collection.find_one(doc! {}).sort(doc! { "_id": 1, "bucket_start": 1 });
            let first = first.await.unwrap().unwrap();
            let past = DateTime::from_millis(now - 61 * 60_000);
            let mut set = doc! {};
            for at in 0..2 {
                set.insert(format!("items.{at}.at"), past);
            }
            if first.contains_key("bucket_start") {
                set.insert("bucket_start", DateTime::from_millis(now - 70 * 60_000));
            }
            let id = first.get("_id").unwrap();
            let updated = collection.update_one(doc! { "_id": id }, doc! { "$set": set }).await;
            assert_eq!(updated.unwrap().modified_count, 1);
            let before = all().await;
            let report = events.seal().await.unwrap();
            assert!(report.buckets > 1, "{report}");
            assert_eq!(all().await, before);
        }
    )*};
}

retention! {
    what_is_past_the_limit_is_hidden_in_numbered_buckets [capacity = 6, numbered];
    what_is_past_the_limit_is_hidden_in_count_buckets [capacity = 6];
    what_is_past_the_limit_is_hidden_in_hybrid_buckets [capacity = 6, max_duration = "30m"];
}

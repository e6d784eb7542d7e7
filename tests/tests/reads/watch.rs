//! Watches of every form: each change once, in order, and from every place on.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
    time::Duration,
};

use bucket_mongo::{
    Bucketed, Buckets, ErrorKind, RecordChange, WatchEvent, WatchToken, Which,
    action::WatchStream,
    bson::{Bson, DateTime, Document, doc},
};
use bucket_tests::{Load, database};
use futures_util::{StreamExt, TryStreamExt};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use crate::common::draw::Draw;

mod before;
mod expired;
mod tail;

/// A record of any of the models.
trait Event: Bucketed + Clone + Debug + PartialEq {
    fn of(device: &str, id: i64, second: i64, value: i64) -> Self;
    fn id(&self) -> i64;
    fn value(&self) -> i64;
    fn device(&self) -> &str;
    fn set(&mut self, value: i64);
    fn key_of(device: &str) -> Self::Key;
}

const START: i64 = 1_698_335_220_000;

macro_rules! models {
    ($($test:ident $name:ident [$($aggregates:tt)*] [$($site:tt)*] [$($attributes:tt)*];)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "events", items = "items", stats = "stats")]
        #[bucket($($attributes)*)]
        struct $name {
            #[bucket(key)]
            device: String,
            #[bucket(time)]
            at: DateTime,
            #[bucket(unique)]
            id: i64,
            $($aggregates)*
            value: i64,
            $($site)*
            site: String,
        }

        impl Event for $name {
            fn of(device: &str, id: i64, second: i64, value: i64) -> Self {
                Self {
                    device: device.to_owned(),
                    at: DateTime::from_millis(START + second * 1_000),
                    id,
                    value,
                    site: if id % 7 == 3 { "Rom" } else { "Ulm" }.to_owned(),
                }
            }

            fn id(&self) -> i64 {
                self.id
            }

            fn value(&self) -> i64 {
                self.value
            }

            fn device(&self) -> &str {
                &self.device
            }

            fn set(&mut self, value: i64) {
                self.value = value;
            }

            fn key_of(device: &str) -> Self::Key {
                device.to_owned().into()
            }
        }

        mod $test {
            use super::*;

            #[tokio::test(flavor = "multi_thread")]
            async fn every_change_is_given_once_and_in_order() {
                super::every_change_is_given_once_and_in_order::<$name>().await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn a_change_has_the_record_before_it() {
                before::a_change_has_the_record_before_it::<$name>().await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn a_tail_gives_the_newest_records_and_all_that_follows() {
                tail::the_newest_records_and_all_that_follows::<$name>().await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn a_tail_begins_with_what_latest_reads() {
                tail::begins_with_what_latest_reads::<$name>().await;
            }
        }
    )*};
}

models! {
    counted Counted [#[bucket(sum)]] [] [capacity = 7];
    counted_with_averages Averages [#[bucket(sum, avg = "avg")]] [] [capacity = 50, expire_after = "20000d"];
    counted_with_attributes Attributes [#[bucket(max)]] [#[bucket(attribute(array = "origin", k = "site"))]]
        [capacity = 20, attributes(array = "origin", store = "bucket")];
    windows Windows [#[bucket(min)]] [] [window = "1m", capacity = 5];
    windows_with_object_ids Objects [#[bucket(sum, avg = "avg")]] [] [window = "1m", object_ids];
    windows_with_attributes WindowAttributes [] [#[bucket(attribute(array = "origin", k = "site"))]]
        [window = "1m", object_ids, attributes(array = "origin", store = "bucket")];
    hybrid Hybrid [#[bucket(sum)]] [#[bucket(attribute(array = "origin", k = "site"))]] [capacity = 9, max_duration = "1m"];
    hybrid_with_late_buckets Side [#[bucket(sum, avg = "avg")]] [] [capacity = 9, max_duration = "1m", late = "side"];
    numbered Numbered [#[bucket(sum)]] [] [capacity = 6, numbered];
    numbered_with_object_ids NumberedObjects [#[bucket(sum)]] [] [capacity = 6, numbered, object_ids];
}

/// What happened to a record.
#[derive(Debug, Clone, PartialEq)]
enum Seen {
    Stored(i64),
    Updated(i64),
    Removed,
}

/// The writers of a test: each has its own records, so it knows in which order they change.
const WRITERS: i64 = 4;

/// How many changes a writer makes.
const CHANGES: usize = 40;

/// Stores, edits and removes records. Returns what happened to each.
async fn write<T: Event>(events: Buckets<T>, writer: i64) -> BTreeMap<i64, Vec<Seen>> {
    let mut draw = Draw::new(u8::try_from(writer).unwrap());
    let mut done: BTreeMap<i64, Vec<Seen>> = BTreeMap::new();
    let mut mine: Vec<(String, i64)> = Vec::new();
    let mut next = 0;
    for value in 0..CHANGES {
        let value = 1_000 + i64::try_from(value).unwrap();
        let shared = draw.draw(any::<bool>());
        let device = if shared {
            "a".to_owned()
        } else {
            format!("a_{writer}")
        };
        let what = draw.draw(0..10);
        let at = (!mine.is_empty()).then(|| draw.draw(0..mine.len()));
        match (what, at) {
            (0..=5, _) | (_, None) => {
                let number: usize = if what < 3 { 1 } else { draw.draw(1..30_usize) };
                let records: Vec<T> = (0..number)
                    .map(|_| {
                        next += 1;
                        let second = draw.draw(0..200_i64);
                        T::of(&device, next * WRITERS + writer, second, value)
                    })
                    .collect();
                if let [record] = records.as_slice() {
                    events.insert(record).await.unwrap();
                } else {
                    events
                        .insert_many(&records)
                        .await
                        .unwrap()
                        .into_result()
                        .unwrap();
                }
                for record in records {
                    mine.push((device.clone(), record.id()));
                    done.insert(record.id(), vec![Seen::Stored(value)]);
                }
            }
            (6..=7, Some(at)) => {
                let (device, id): &(String, i64) = &mine[at];
                let which = Which::id(id);
                let edit = |record: &mut T| record.set(value);
                events.update(T::key_of(device), which, edit).await.unwrap();
                done.get_mut(id).unwrap().push(Seen::Updated(value));
            }
            (_, Some(at)) => {
                let (device, id) = mine.swap_remove(at);
                events
                    .delete(T::key_of(&device), Which::id(&id))
                    .await
                    .unwrap();
                done.get_mut(&id).unwrap().push(Seen::Removed);
            }
        }
    }
    done
}

/// The next event.
async fn next<T: Event>(stream: &mut WatchStream<T>) -> WatchEvent<T> {
    let next = tokio::time::timeout(Duration::from_secs(60), stream.try_next());
    next.await.expect("an event in time").unwrap().unwrap()
}

/// What an event says, without its token.
fn shown<T: Event>(event: &WatchEvent<T>) -> String {
    format!("{event:?}")
}

/// The events up to the last one, which is that of the key `end`.
async fn all_events<T: Event>(stream: &mut WatchStream<T>) -> Vec<WatchEvent<T>> {
    let mut all = Vec::new();
    loop {
        let event = next(stream).await;
        let is_last = event.change.key() == Some(T::key_of("end"));
        all.push(event);
        if is_last {
            return all;
        }
    }
}

/// Replays the events: what happened to each record, and what is left.
fn replayed<T: Event>(all: &[WatchEvent<T>]) -> (BTreeMap<i64, Vec<Seen>>, BTreeMap<i64, T>) {
    let mut seen: BTreeMap<i64, Vec<Seen>> = BTreeMap::new();
    let mut left: BTreeMap<(String, u32), T> = BTreeMap::new();
    for event in all {
        let place = |index: u32| (event.bucket.as_str().to_owned(), index);
        match &event.change {
            RecordChange::Stored { record, index, .. } => {
                let before = left.insert(place(*index), record.clone());
                assert!(before.is_none(), "{event:?} was already there: {before:?}");
                seen.entry(record.id())
                    .or_default()
                    .push(Seen::Stored(record.value()));
            }
            RecordChange::Updated { record, index, .. } => {
                let before = left.insert(place(*index), record.clone());
                assert_eq!(
                    before.map(|before| before.id()),
                    Some(record.id()),
                    "{event:?}"
                );
                seen.entry(record.id())
                    .or_default()
                    .push(Seen::Updated(record.value()));
            }
            RecordChange::Removed { id, index, .. } => {
                let before = left.remove(&place(*index));
                let before = before.expect("a record that is removed");
                assert_eq!(id, &Some(Bson::Int64(before.id())), "{event:?}");
                seen.entry(before.id()).or_default().push(Seen::Removed);
            }
            other => panic!("{other:?}"),
        }
    }
    let left = left.into_values().map(|record| (record.id(), record));
    (seen, left.collect())
}

async fn every_change_is_given_once_and_in_order<T: Event>() {
    let database = database().await;
    let events = T::buckets(&database);
    events.ensure().await.unwrap();
    // There are buckets before the watch begins.
    let before: Vec<T> = (0..3).map(|id| T::of("a", -id - 1, id, 0)).collect();
    events.load(&before).await;

    let mut stream = events.watch().await.unwrap();
    let start = stream.token().unwrap();
    let mut of_key = events.watch_key(T::key_of("a")).await.unwrap();
    let writers = (0..WRITERS).map(|writer| tokio::spawn(write(events.clone(), writer)));
    let writers: Vec<_> = writers.collect();
    // In the middle of the writes.
    tokio::time::sleep(Duration::from_millis(50)).await;
    let mut with_stored = events.watch_from(DateTime::MIN).await.unwrap();
    assert_eq!(with_stored.token(), None);
    let mut expected = BTreeMap::new();
    for writer in writers {
        expected.extend(writer.await.unwrap());
    }
    events.insert(&T::of("end", -10, 0, 0)).await.unwrap();

    let all = all_events(&mut stream).await;
    let (mut seen, mut left) = replayed(&all);
    assert_eq!(seen.remove(&-10), Some(vec![Seen::Stored(0)]));
    left.remove(&-10);
    assert_eq!(seen, expected);

    // Stored records and what follows them give the same, too: none is missing, none comes twice.
    let (_, mut of_stored) = replayed(&all_events(&mut with_stored).await);
    of_stored.retain(|id, _| *id >= 0);
    assert_eq!(of_stored, left);
    assert!(with_stored.token().is_some());

    // What is left is what is stored.
    let devices: BTreeSet<String> = left
        .values()
        .map(|record| record.device().to_owned())
        .collect();
    for device in &devices {
        let stored: Vec<T> = events.records(T::key_of(device)).collect().await.unwrap();
        let stored = stored.into_iter().filter(|record| record.id() >= 0);
        let stored: BTreeMap<i64, T> = stored.map(|record| (record.id(), record)).collect();
        let of_device = left.iter().filter(|(_, record)| record.device() == device);
        let of_device: BTreeMap<i64, T> = of_device.map(|(id, one)| (*id, one.clone())).collect();
        assert_eq!(stored, of_device);
    }

    // The watch of a key has the same events of that key.
    let of_a = all
        .iter()
        .filter(|event| event.change.key() == Some(T::key_of("a")));
    for event in of_a {
        assert_eq!(shown(&next(&mut of_key).await), shown(event));
    }

    // From every place on, the rest follows.
    let mut tokens = vec![start];
    tokens.extend(all.iter().map(|event| event.token().expect("a token")));
    let step = (tokens.len() / 12).max(1);
    for (at, token) in tokens.iter().enumerate().step_by(step) {
        let text = token.to_string();
        let mut rest = events.watch().after(text).await.unwrap();
        for event in all[at..].iter().take(40) {
            assert_eq!(shown(&next(&mut rest).await), shown(event), "from {at}");
        }
    }
}

/// The events of some records, up to the last one.
async fn of_two_records(
    tamper: impl AsyncFn(&Buckets<Counted>),
) -> Vec<Result<WatchEvent<Counted>, bucket_mongo::Error>> {
    let database = database().await;
    let events = Counted::buckets(&database);
    events.ensure().await.unwrap();
    let mut stream = events.watch().await.unwrap();
    for id in 0..2 {
        events.insert(&Counted::of("a", id, id, id)).await.unwrap();
    }
    tamper(&events).await;
    events.insert(&Counted::of("end", 9, 0, 0)).await.unwrap();
    let mut all = Vec::new();
    loop {
        let event = stream.next().await.unwrap();
        let is_last = event
            .as_ref()
            .is_ok_and(|event| event.change.key() == Some("end".into()));
        if is_last {
            return all;
        }
        all.push(event);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_tool_changes_is_reported_as_a_rewritten_bucket() {
    let changes = [
        doc! { "$set": { "items.0.value": 7_i64 } },
        doc! { "$set": { "items.0": { "at": DateTime::MIN, "id": 0, "value": 7, "site": "" } } },
        doc! { "$set": { "items": [] } },
        doc! { "$push": { "items": { "at": DateTime::MIN, "id": 5, "value": 7, "site": "" } } },
        doc! { "$pop": { "items": 1 } },
        doc! { "$unset": { "items": "" } },
    ];
    for change in changes {
        let all = of_two_records(async |events: &Buckets<Counted>| {
            let documents = events.collection::<Document>();
            documents.update_one(doc! {}, change.clone()).await.unwrap();
        })
        .await;
        assert_eq!(all.len(), 3, "{change}: {all:?}");
        let last = all[2].as_ref().unwrap();
        assert!(
            matches!(&last.change, RecordChange::Rewritten { key, .. } if *key == Some("a".into())),
            "{change}: {last:?}"
        );
    }
    // What is not of the records is no event of records.
    let all = of_two_records(async |events: &Buckets<Counted>| {
        let documents = events.collection::<Document>();
        let note = doc! { "$set": { "note": 1 } };
        documents.update_one(doc! {}, note).await.unwrap();
    })
    .await;
    assert_eq!(all.len(), 2, "{all:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_document_is_an_error_in_its_place() {
    let all = of_two_records(async |events: &Buckets<Counted>| {
        let documents = events.collection::<Document>();
        let others = [
            doc! { "_id": 7, "items": [{ "id": 1 }] },
            doc! { "_id": "b_1698335220", "device": "b", "items": 1 },
        ];
        for other in others {
            documents.insert_one(other).await.unwrap();
        }
        events.insert(&Counted::of("a", 3, 3, 3)).await.unwrap();
    })
    .await;
    assert_eq!(all.len(), 5, "{all:?}");
    for damaged in &all[2..4] {
        assert!(damaged.as_ref().unwrap_err().is_damaged(), "{damaged:?}");
    }
    assert_eq!(all[4].as_ref().unwrap().change.key(), Some("a".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn removed_buckets_are_given_with_their_keys() {
    async fn removed<T: Event>() {
        let database = database().await;
        let events = T::buckets(&database);
        events.ensure().await.unwrap();
        let records: Vec<T> = (0..20).map(|id| T::of("a", id, id * 10, id)).collect();
        let mut stream = events.watch().await.unwrap();
        events.load(&records).await;
        let stored = events
            .collection::<Document>()
            .count_documents(doc! {})
            .await
            .unwrap();
        events.delete_key(T::key_of("a")).await.unwrap();
        events.insert(&T::of("end", 99, 0, 0)).await.unwrap();
        let all = all_events(&mut stream).await;
        let removed = all.iter().filter(|event| {
            matches!(&event.change, RecordChange::BucketRemoved { key, .. } if *key == Some(T::key_of("a")))
        });
        assert_eq!(removed.count() as u64, stored);
        assert_eq!(all.len() as u64, 20 + stored + 1);
    }
    removed::<Counted>().await;
    removed::<Windows>().await;
    // An earlier event has the key.
    removed::<Objects>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_collection_ends_the_stream_after_all_that_was_stored_before() {
    let database = database().await;
    let events = Counted::buckets(&database);
    events.ensure().await.unwrap();
    let mut stream = events.watch().await.unwrap();
    events.insert(&Counted::of("a", 1, 1, 1)).await.unwrap();
    events.collection::<Document>().drop().await.unwrap();
    assert_eq!(next(&mut stream).await.change.key(), Some("a".into()));
    let error = loop {
        // The server may report the removal of the bucket first.
        match stream.next().await.unwrap() {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(
        matches!(error.kind(), ErrorKind::HistoryLost { .. }),
        "{error:?}"
    );
    assert!(stream.next().await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn stored_records_from_a_time_on_come_before_what_follows() {
    async fn of_form<T: Event>() {
        let database = database().await;
        let events = T::buckets(&database);
        events.ensure().await.unwrap();
        for device in ["a", "b"] {
            let first =
                i64::try_from(device.len()).unwrap() + i64::from(device.as_bytes()[0]) * 100;
            let records: Vec<T> = (0..30)
                .map(|id| T::of(device, first + id, id * 5, id))
                .collect();
            events.load(&records).await;
        }
        let from = DateTime::from_millis(START + 75 * 1_000);
        let mut of_a = events
            .watch_key(T::key_of("a"))
            .stored_from(from)
            .await
            .unwrap();
        let mut of_all = events.watch_from(from).await.unwrap();
        let later = T::of("a", 1, 1, 77);
        events.insert(&later).await.unwrap();
        for (stream, keys) in [(&mut of_a, 1), (&mut of_all, 2)] {
            let mut values = Vec::new();
            for _ in 0..15 * keys {
                let event = next(stream).await;
                assert_eq!(event.token(), None);
                let RecordChange::Stored { record, .. } = event.change else {
                    panic!("a stored record");
                };
                values.push(record.value());
            }
            values.sort_unstable();
            let expected = (15..30).flat_map(|value| vec![value; keys]);
            assert_eq!(values, expected.collect::<Vec<i64>>());
            let event = next(stream).await;
            assert!(event.token().is_some());
            let RecordChange::Stored { record, .. } = event.change else {
                panic!("a stored record");
            };
            assert_eq!(record, later);
        }
    }
    of_form::<Counted>().await;
    of_form::<Objects>().await;
    of_form::<Hybrid>().await;
    of_form::<NumberedObjects>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_another_watch_is_refused() {
    let database = database().await;
    let events = Counted::buckets(&database);
    events.ensure().await.unwrap();
    let token = events.watch_key("a").await.unwrap().token().unwrap();
    let refused = [
        events.watch().after(&token).await,
        events.watch_key("b").after(&token).await,
        events.watch().after("x").await,
    ];
    for refused in refused {
        let error = refused.unwrap_err();
        assert!(error.is_invalid_input(), "{error:?}");
    }
    let mut stream = events.watch_key("a").after(&token).await.unwrap();
    events.insert(&Counted::of("b", 1, 1, 1)).await.unwrap();
    events.insert(&Counted::of("a", 2, 1, 1)).await.unwrap();
    let event = next(&mut stream).await;
    assert_eq!(event.change.key(), Some("a".into()));
    // The key `a_1` begins as the ids of the key `a` do.
    events.insert(&Counted::of("a_1", 1, 1, 1)).await.unwrap();
    events.insert(&Counted::of("a", 3, 1, 1)).await.unwrap();
    let RecordChange::Stored { record, .. } = next(&mut stream).await.change else {
        panic!("a stored record");
    };
    assert_eq!(record.id, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn while_nothing_happens_to_records_the_place_moves_on() {
    let database = database().await;
    let events = Counted::buckets(&database);
    events.ensure().await.unwrap();
    let mut stream = events.watch().await.unwrap();
    let start: WatchToken = stream.token().unwrap();
    let other = database.collection::<Document>("others");
    for _ in 0..50 {
        other.insert_one(doc! {}).await.unwrap();
        let waited = tokio::time::timeout(Duration::from_millis(300), stream.next()).await;
        assert!(waited.is_err(), "nothing happened to records");
        if stream.token().unwrap() != start {
            break;
        }
    }
    assert_ne!(stream.token().unwrap(), start);
    let token = stream.token().unwrap();
    events.insert(&Counted::of("a", 1, 1, 1)).await.unwrap();
    let mut later = events.watch().after(token).await.unwrap();
    assert_eq!(
        shown(&next(&mut later).await),
        shown(&next(&mut stream).await)
    );
}

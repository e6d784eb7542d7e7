//! Tails: the newest records, what follows, and slow readers.

use std::{collections::BTreeMap, time::Duration};

use bucket_mongo::{
    Bucketed, Buckets, ErrorKind, RecordChange, TailEvent, WatchEvent, WhenSlow, Which,
    action::TailStream,
    bson::{DateTime, Document, doc},
};
use bucket_tests::{Load, database};
use futures_util::{StreamExt, TryStreamExt};

use super::{Counted, Event, WRITERS, all_events, replayed, shown, write};

/// What the tail gives next.
async fn next<T: Event>(tail: &mut TailStream<T>) -> TailEvent<T> {
    let next = tokio::time::timeout(Duration::from_secs(60), tail.try_next());
    next.await.expect("an event in time").unwrap().unwrap()
}

/// The next change; nothing may be left out.
async fn change<T: Event>(tail: &mut TailStream<T>) -> WatchEvent<T> {
    let event = next(tail).await;
    let shown = format!("{event:?}");
    event.into_change().unwrap_or_else(|| panic!("{shown}"))
}

/// The record of an event of a stored one.
fn stored<T: Event>(event: &WatchEvent<T>) -> &T {
    match &event.change {
        RecordChange::Stored { record, .. } => record,
        other => panic!("{other:?}"),
    }
}

pub(super) async fn the_newest_records_and_all_that_follows<T: Event>() {
    let database = database().await;
    let events = T::buckets(&database);
    events.ensure().await.unwrap();
    let mut stream = events.watch().await.unwrap();
    let writers = (0..WRITERS).map(|writer| tokio::spawn(write(events.clone(), writer)));
    let writers: Vec<_> = writers.collect();
    // In the middle of the writes.
    tokio::time::sleep(Duration::from_millis(60)).await;
    let mut tail = events.tail().latest(3).queue(7).await.unwrap();
    for writer in writers {
        writer.await.unwrap();
    }
    events.insert(&T::of("end", -10, 0, 0)).await.unwrap();
    let all = all_events(&mut stream).await;

    let (mut newest, mut following) = (Vec::new(), Vec::new());
    loop {
        let event = change(&mut tail).await;
        let is_last = event.change.key() == Some(T::key_of("end"));
        if event.token().is_none() {
            assert!(following.is_empty(), "{event:?}");
            newest.push(event);
        } else {
            following.push(event);
        }
        if is_last {
            break;
        }
    }
    // What follows is the rest of the watch's events: none is missing, none comes twice.
    let (before, rest) = all.split_at(all.len() - following.len());
    for (own, event) in following.iter().zip(rest) {
        assert_eq!(shown(own), shown(event));
    }
    // The newest records belong to the same moment.
    let (_, left) = replayed(before);
    let mut of_device: BTreeMap<&str, usize> = BTreeMap::new();
    for event in &newest {
        let record = stored(event);
        assert_eq!(left.get(&record.id()), Some(record));
        *of_device.entry(record.device()).or_default() += 1;
    }
    let mut expected: BTreeMap<&str, usize> = BTreeMap::new();
    for record in left.values() {
        let number = expected.entry(record.device()).or_default();
        *number = (*number + 1).min(3);
    }
    assert_eq!(of_device, expected);
    // Their places are those of the watch: what follows them names the same.
    replayed_with(&newest, &following);
}

/// Checks that edits and removals of the first records name their places.
fn replayed_with<T: Event>(newest: &[WatchEvent<T>], following: &[WatchEvent<T>]) {
    let mut places: BTreeMap<(String, u32), i64> = BTreeMap::new();
    for event in newest {
        let RecordChange::Stored { record, index, .. } = &event.change else {
            panic!("{event:?}");
        };
        places.insert((event.bucket.as_str().to_owned(), *index), record.id());
    }
    for event in following {
        if let RecordChange::Updated { record, index, .. } = &event.change {
            let place = (event.bucket.as_str().to_owned(), *index);
            if let Some(id) = places.get(&place) {
                assert_eq!(*id, record.id());
            } else {
                assert!(!places.values().any(|id| *id == record.id()), "{event:?}");
            }
        }
    }
}

pub(super) async fn begins_with_what_latest_reads<T: Event>() {
    let database = database().await;
    let events = T::buckets(&database);
    events.ensure().await.unwrap();
    for writer in 0..WRITERS {
        write(events.clone(), writer).await;
    }
    // The newest record of a key is removed, and all of another key.
    let gone = T::of("gone", -5, 0, 0);
    events.insert(&gone).await.unwrap();
    let which = Which::id(&-5_i64);
    events.delete(T::key_of("gone"), which).await.unwrap();
    let newest: T = events.latest(T::key_of("a")).await.unwrap().unwrap();
    let which = Which::id(&newest.id());
    events.delete(T::key_of("a"), which).await.unwrap();

    let keys = ["a".to_owned()].into_iter();
    let keys = keys.chain((0..WRITERS).map(|writer| format!("a_{writer}")));
    for number in [0, 1, 4] {
        let mut expected: BTreeMap<String, Vec<T>> = BTreeMap::new();
        for device in keys.clone() {
            let mut latest = Vec::new();
            if number > 0 {
                let key = T::key_of(&device);
                latest = events.latest_n(key, number).await.unwrap();
            }
            latest.reverse();
            expected.insert(device, latest);
        }
        expected.retain(|_, latest| !latest.is_empty());
        let mut tail = events.tail().latest(number).await.unwrap();
        let mut given: BTreeMap<String, Vec<T>> = BTreeMap::new();
        for _ in 0..expected.values().map(Vec::len).sum() {
            let event = change(&mut tail).await;
            assert_eq!(event.token(), None);
            let record = stored(&event).clone();
            let device = record.device().to_owned();
            given.entry(device).or_default().push(record);
        }
        assert_eq!(given, expected);

        let mut of_key = events
            .tail_key(T::key_of("a"))
            .latest(number)
            .await
            .unwrap();
        for record in expected.get("a").into_iter().flatten() {
            assert_eq!(stored(&change(&mut of_key).await), record);
        }
        // Then comes what follows: of the key only, or of all.
        let number = i64::try_from(number).unwrap();
        let other = T::of("other", -100 - number, 0, 0);
        let own = T::of("a", -200 - number, 0, 0);
        events.insert(&other).await.unwrap();
        events.insert(&own).await.unwrap();
        assert_eq!(stored(&change(&mut of_key).await), &own);
        assert_eq!(stored(&change(&mut tail).await), &other);
        assert_eq!(stored(&change(&mut tail).await), &own);
        events.delete_key(T::key_of("other")).await.unwrap();
    }
}

fn of(device: &str, id: i64) -> Counted {
    Counted::of(device, id, id, id)
}

/// Stores records of two keys in turn, many for each that the reader takes, until it learns that some were left out;
/// then the rest is read. Returns what the reader got, and the number of records.
async fn slowly_read(
    events: &Buckets<Counted>,
    policy: WhenSlow,
) -> (Vec<TailEvent<Counted>>, i64) {
    let tail = events.tail().when_slow(policy).queue(10);
    let mut tail = tail.await.unwrap();
    let (mut got, mut id) = (Vec::new(), 0);
    while !got
        .iter()
        .any(|event| matches!(event, TailEvent::Skipped { .. }))
    {
        let records: Vec<Counted> = (id..id + 40)
            .map(|id| of(if id % 2 == 0 { "a" } else { "b" }, id))
            .collect();
        id += 40;
        events.load(&records).await;
        got.push(next(&mut tail).await);
        assert!(id < 100_000, "a slow reader");
    }
    events.insert(&of("end", id)).await.unwrap();
    loop {
        let event = next(&mut tail).await;
        let is_last = match &event {
            TailEvent::Change(event) => stored(event).device() == "end",
            _ => false,
        };
        got.push(event);
        if is_last {
            return (got, id + 1);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_oldest_events_of_a_slow_reader_are_dropped_and_counted() {
    let database = database().await;
    let events = Counted::buckets(&database);
    events.ensure().await.unwrap();
    let (got, number) = slowly_read(&events, WhenSlow::DropOldest).await;
    let mut last = BTreeMap::new();
    let mut counted = 0;
    for event in &got {
        match event {
            TailEvent::Change(event) => {
                let record = stored(event);
                // Those of a key come in order.
                assert!(last.insert(record.device(), record.id()) < Some(record.id()));
                counted += 1;
            }
            TailEvent::Skipped { key, events, .. } => {
                assert_eq!((key, *events > 0), (&None, true));
                counted += i64::try_from(*events).unwrap();
            }
            other => panic!("{other:?}"),
        }
    }
    // Each record was given or counted.
    assert_eq!(counted, number);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_reader_can_have_only_the_newest_of_each_key() {
    let database = database().await;
    let events = Counted::buckets(&database);
    events.ensure().await.unwrap();
    let (got, number) = slowly_read(&events, WhenSlow::NewestPerKey).await;
    let mut last: BTreeMap<String, i64> = BTreeMap::new();
    let mut of_keys: BTreeMap<String, i64> = BTreeMap::new();
    for event in &got {
        let (device, given) = match event {
            TailEvent::Change(event) => {
                let record = stored(event);
                let device = record.device().to_owned();
                assert!(last.insert(device.clone(), record.id()) < Some(record.id()));
                (device, 1)
            }
            TailEvent::Skipped { key, events, .. } => {
                let key = key.clone().expect("a key");
                (key.device, i64::try_from(*events).unwrap())
            }
            other => panic!("{other:?}"),
        };
        *of_keys.entry(device).or_default() += given;
    }
    // The last one of each key is its newest record, and each was given or counted.
    let of_key = (number - 1) / 2;
    assert_eq!(last["a"], number - 3);
    assert_eq!(last["b"], number - 2);
    assert_eq!((of_keys["a"], of_keys["b"]), (of_key, of_key));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_reader_gets_every_event_unless_it_asks_for_less() {
    let database = database().await;
    let events = Counted::buckets(&database);
    events.ensure().await.unwrap();
    let first: Vec<Counted> = (0..30).map(|id| of(&format!("k{id}"), id)).collect();
    events.load(&first).await;
    // The newest records are all given, whatever the policy.
    let policies = [WhenSlow::Wait, WhenSlow::DropOldest, WhenSlow::NewestPerKey];
    let mut tails = Vec::new();
    for policy in policies {
        tails.push(events.tail().when_slow(policy).queue(2).await.unwrap());
    }
    let records: Vec<Counted> = (100..300).map(|id| of("a", id)).collect();
    for records in records.chunks(50) {
        events.load(records).await;
    }
    for tail in &mut tails {
        let mut ids = Vec::new();
        for _ in 0..30 {
            ids.push(stored(&change(tail).await).id());
        }
        ids.sort_unstable();
        assert_eq!(ids, (0..30).collect::<Vec<i64>>());
    }
    for record in &records {
        assert_eq!(stored(&change(&mut tails[0]).await), record);
    }
}

/// The number of change streams that are open on the collection.
async fn open_streams(events: &Buckets<Counted>) -> usize {
    let documents = events.collection::<Document>();
    let namespace = documents.namespace();
    let admin = documents.client().database("admin");
    let filter = doc! {
        "ns": format!("{}.{}", namespace.db, namespace.coll),
        "cursor.originatingCommand.pipeline.$changeStream": { "$exists": true },
    };
    let stages = [
        doc! { "$currentOp": { "idleCursors": true, "allUsers": true } },
        doc! { "$match": filter },
    ];
    let found = admin.aggregate(stages).await.unwrap();
    found.try_collect::<Vec<Document>>().await.unwrap().len()
}

async fn wait_for_streams(events: &Buckets<Counted>, number: usize) {
    let mut looks = 0;
    while open_streams(events).await != number {
        looks += 1;
        assert!(looks < 300, "{number} streams");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_tail_leaves_no_cursor() {
    let database = database().await;
    let events = Counted::buckets(&database);
    events.ensure().await.unwrap();
    events.insert(&of("a", 1)).await.unwrap();
    let policies = [WhenSlow::Wait, WhenSlow::DropOldest];
    for (policy, reads) in policies.into_iter().zip([1, 0]) {
        let tail = events.tail().when_slow(policy).queue(1);
        let mut tail = tail.await.unwrap();
        for _ in 0..reads {
            change(&mut tail).await;
        }
        // While the task waits for the server, and while it waits for the reader.
        wait_for_streams(&events, 1).await;
        drop(tail);
        wait_for_streams(&events, 0).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tail_says_when_its_collection_is_gone_or_none() {
    let database = database().await;
    let events = Counted::buckets(&database);
    let documents = events.collection::<Document>();
    // A view has no change stream.
    let command = doc! { "create": documents.name(), "viewOn": "others", "pipeline": [] };
    database.run_command(command).await.unwrap();
    let error = events.tail().await.unwrap_err();
    assert!(!error.is_retryable(), "{error:?}");
    documents.drop().await.unwrap();

    // A tail can begin before the collection.
    let mut tail = events.tail().latest(0).await.unwrap();
    events.ensure().await.unwrap();
    events.insert(&of("a", 1)).await.unwrap();
    assert_eq!(stored(&change(&mut tail).await), &of("a", 1));
    let admin = database.client().database("admin");
    let namespace = documents.namespace();
    let to = format!("{}.others", namespace.db);
    let rename = doc! { "renameCollection": namespace.to_string(), "to": to };
    admin.run_command(rename).await.unwrap();
    let end = tokio::time::timeout(Duration::from_secs(60), tail.next());
    let error = end.await.expect("an end").unwrap().unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::HistoryLost { .. }),
        "{error:?}"
    );
    assert!(tail.next().await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_buckets_are_errors_in_their_places() {
    let database = database().await;
    let events = Counted::buckets(&database);
    events.ensure().await.unwrap();
    for device in ["a", "b", "c"] {
        let id = i64::from(device.as_bytes()[0]);
        events.insert(&of(device, id)).await.unwrap();
    }
    let documents = events.collection::<Document>();
    let damage = doc! { "$set": { "items": 1 } };
    documents
        .update_one(doc! { "device": "b" }, damage)
        .await
        .unwrap();
    let mut tail = events.tail().await.unwrap();
    let (mut devices, mut damaged) = (Vec::new(), 0);
    for _ in 0..3 {
        match tail.next().await.unwrap() {
            Ok(event) => devices.push(stored(&event.into_change().unwrap()).device().to_owned()),
            Err(error) if error.is_damaged() => damaged += 1,
            Err(error) => panic!("{error:?}"),
        }
    }
    devices.sort_unstable();
    assert_eq!(
        (devices, damaged),
        (vec!["a".to_owned(), "c".to_owned()], 1)
    );
    let later = of("c", 500);
    events.insert(&later).await.unwrap();
    assert_eq!(stored(&change(&mut tail).await), &later);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tail_can_have_the_records_before() {
    let database = database().await;
    let events = Counted::buckets(&database);
    events.ensure().await.unwrap();
    events.insert(&of("a", 1)).await.unwrap();
    let mut tail = events.tail_key("a").with_before().await.unwrap();
    change(&mut tail).await;
    let edit = |record: &mut Counted| record.value = 7;
    events.update("a", Which::id(&1_i64), edit).await.unwrap();
    let RecordChange::Updated { before, record, .. } = change(&mut tail).await.change else {
        panic!("an edit");
    };
    assert_eq!((before, record.value), (Some(of("a", 1)), 7));
    // Events have the time of the server, and the newest records that of the call.
    assert!(record.at < DateTime::now());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tail_without_room_or_with_too_many_records_is_refused() {
    let database = database().await;
    let events = Counted::buckets(&database);
    let refused = [
        events.tail().queue(0).await,
        events.tail().queue(1_000_001).await,
        events.tail_key("a").latest(10_001).await,
    ];
    for refused in refused {
        assert!(refused.unwrap_err().is_invalid_input());
    }
}

//! Merging sealed windows changes how they are stored and nothing else.

use std::{
    collections::{BTreeMap, HashSet},
    time::Duration,
};

use bucket_mongo::{
    Bucketed, Buckets, ErrorKind, Interval, IntoTimeRange, Problem, ProblemKind,
    RecordChange as Of, Referenced, Which,
    bson::{DateTime, Document, doc},
    mongodb::options::ReadConcern,
    testing::{DevServer, TestDatabase},
};
use bucket_tests::{Load, database};
use futures_util::{StreamExt, TryStreamExt};
use serde::{Deserialize, Serialize};
use tokio::{sync::watch, time::sleep};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "readings",
    items = "items",
    window = "1h",
    capacity = 40,
    seal_after = "1h",
    merge = "week"
)]
struct Reading {
    #[bucket(key)]
    sensor: i32,
    #[bucket(time, first, last)]
    at: DateTime,
    #[bucket(sum, min, max)]
    value: i64,
}

const HOUR: i64 = 3_600_000;
/// The start of a week.
const START: i64 = 1_704_067_200_000;

fn date(millis: i64) -> DateTime {
    DateTime::from_millis(millis)
}

fn reading(sensor: i32, number: i64) -> Reading {
    Reading {
        sensor,
        // Twelve an hour.
        at: DateTime::from_millis(START + number * 300_000),
        value: number,
    }
}

async fn all(readings: &Buckets<Reading>, sensor: i32) -> Vec<Reading> {
    readings.range(sensor, ..).await.unwrap()
}

async fn references(readings: &Buckets<Reading>, sensor: i32) -> Vec<Referenced<Reading>> {
    readings.range(sensor, ..).with_refs().await.unwrap()
}

async fn stored(readings: &Buckets<Reading>) -> u64 {
    let documents = readings.collection::<Document>();
    documents.count_documents(doc! {}).await.unwrap()
}

/// Everything that reads show of a sensor.
async fn shown(readings: &Buckets<Reading>, sensor: i32) -> (Vec<Reading>, String) {
    let all = all(readings, sensor).await;
    let refs = references(readings, sensor).await;
    let ids: Vec<String> = refs.iter().map(|of| of.reference.to_string()).collect();
    let mut down = readings.range(sensor, ..).newest_first().await.unwrap();
    down.reverse();
    assert_eq!(down, all);
    let (from, to) = (START + 5 * HOUR + 7, START + 30 * HOUR + 7);
    let span = DateTime::from_millis(from)..DateTime::from_millis(to);
    let part = readings.range(sensor, span.clone()).await.unwrap();
    let expected = all
        .iter()
        .filter(|of| (from..to).contains(&of.at.timestamp_millis()));
    assert!(part.iter().eq(expected));
    let stats = readings.stats(sensor, span.clone()).await.unwrap();
    let sums = stats.as_ref().map(|of| (of.count(), format!("{:?}", **of)));
    let rollup = readings
        .rollup(sensor, span, Interval::minutes(90))
        .await
        .unwrap();
    let rows: Vec<_> = rollup
        .iter()
        .map(|row| (row.start(), row.count(), row.stats().cloned()))
        .collect();
    let latest = readings.latest_n(sensor, 5).await.unwrap();
    (all, format!("{ids:?} {sums:?} {rows:?} {latest:?}"))
}

/// A collection with this many records of the sensor 1.
async fn stored_readings(database: &TestDatabase, number: i64) -> Buckets<Reading> {
    let readings = Reading::buckets(database);
    readings.ensure().await.unwrap();
    let records = (0..number).map(|number| reading(1, number));
    readings.load(records).await;
    readings
}

async fn sound(readings: &Buckets<Reading>) {
    let report = readings.verify().await.unwrap();
    assert!(report.is_clean(), "{report}");
}

async fn seal_and_merge(readings: &Buckets<Reading>) -> u64 {
    readings.seal().after(Duration::ZERO).await.unwrap();
    let merged = readings.merge().settled(Duration::ZERO).await.unwrap();
    assert_eq!((merged.changed, merged.dated), (0, 0), "{merged}");
    merged.buckets
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_are_the_same_before_and_after() {
    let database = database().await;
    let readings = Reading::buckets(&database);
    readings.ensure().await.unwrap();
    let stored_first =
        (0..3).flat_map(|sensor| (0..800).map(move |number| reading(sensor, number)));
    readings.load(stored_first).await;
    let before = [shown(&readings, 0).await, shown(&readings, 2).await];
    let refs = references(&readings, 0).await;
    let page = readings.records(0).limit(100).await.unwrap();
    let next = page.next_token().unwrap().clone();
    readings.seal().after(Duration::ZERO).await.unwrap();
    let dry = readings
        .merge()
        .settled(Duration::ZERO)
        .dry_run()
        .await
        .unwrap();
    assert_eq!(stored(&readings).await, 3 * 67);
    let merged = readings.merge().settled(Duration::ZERO).await.unwrap();
    assert_eq!(merged, dry);
    assert_eq!(
        (merged.buckets, merged.merged, merged.records),
        (3 * 67, 3, 3 * 800)
    );
    assert!(merged.bytes_after * 3 < merged.bytes_before, "{merged}");
    assert_eq!(stored(&readings).await, 3);
    assert_eq!(
        [shown(&readings, 0).await, shown(&readings, 2).await],
        before
    );
    // What was given before leads to the same records.
    let rest = readings.records(0).limit(1_000).after(&next).await.unwrap();
    assert_eq!(rest.records(), &before[0].0[100..]);
    let again = references(&readings, 0).await;
    let texts = |refs: &[Referenced<Reading>]| -> Vec<String> {
        refs.iter().map(|of| of.reference.to_string()).collect()
    };
    assert_eq!(texts(&again), texts(&refs));
    sound(&readings).await;
    // Nothing is left to merge.
    assert_eq!(
        readings
            .merge()
            .settled(Duration::ZERO)
            .await
            .unwrap()
            .buckets,
        0
    );
}

/// Such a window is no smaller as columns.
#[tokio::test(flavor = "multi_thread")]
async fn windows_with_one_record_are_merged_too() {
    let database = database().await;
    let readings = Reading::buckets(&database);
    readings.ensure().await.unwrap();
    let records = (0..100).map(|hour| reading(1, hour * 12));
    readings.load(records).await;
    let before = shown(&readings, 1).await;
    let sealed = readings.seal().after(Duration::ZERO).await.unwrap();
    assert_eq!((sealed.buckets, sealed.stay), (100, 0), "{sealed}");
    assert_eq!(shown(&readings, 1).await, before);
    assert_eq!(seal_and_merge(&readings).await, 100);
    assert_eq!(stored(&readings).await, 1);
    assert_eq!(shown(&readings, 1).await, before);
    sound(&readings).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn late_records_and_edits_go_on() {
    let database = database().await;
    let readings = stored_readings(&database, 600).await;
    let refs = references(&readings, 1).await;
    assert_eq!(seal_and_merge(&readings).await, 50);
    let mut model: BTreeMap<(i64, i64), Reading> = (0..600)
        .map(|number| ((number, 0), reading(1, number)))
        .collect();
    for round in 1..4 {
        for number in (7..600).step_by(53) {
            let late = Reading {
                value: -round,
                ..reading(1, number)
            };
            readings.insert(&late).await.unwrap();
            model.insert((number, round), late);
        }
        let which = Which::from(
            refs[usize::try_from(round).unwrap() * 100]
                .reference
                .clone(),
        );
        let updated = readings
            .update(1, &which, |reading| reading.value = 5_000)
            .await
            .unwrap();
        assert!(updated.is_some());
        model.get_mut(&(round * 100, 0)).unwrap().value = 5_000;
        let which = Which::from(
            refs[usize::try_from(round).unwrap() * 90 + 1]
                .reference
                .clone(),
        );
        assert!(readings.delete(1, &which).await.unwrap().is_some());
        model.remove(&(round * 90 + 1, 0));
        let (found, _) = shown(&readings, 1).await;
        assert!(found.iter().eq(model.values()));
        sound(&readings).await;
        assert!(seal_and_merge(&readings).await > 0);
        let (found, _) = shown(&readings, 1).await;
        assert!(found.iter().eq(model.values()));
        sound(&readings).await;
    }
    let span = DateTime::from_millis(START + 3 * HOUR)..DateTime::from_millis(START + 20 * HOUR);
    let removed = readings.delete_range(1, span.clone()).await.unwrap();
    let gone = model.values().filter(|of| span.contains(&of.at)).count();
    assert_eq!(removed.records, u64::try_from(gone).unwrap());
    model.retain(|_, of| !span.contains(&of.at));
    let (found, _) = shown(&readings, 1).await;
    assert!(found.iter().eq(model.values()));
    sound(&readings).await;
    // Rows again, and sealed again.
    readings.unseal().await.unwrap();
    assert!(shown(&readings, 1).await.0.iter().eq(model.values()));
    sound(&readings).await;
    seal_and_merge(&readings).await;
    assert!(shown(&readings, 1).await.0.iter().eq(model.values()));
    assert!(readings.delete_key(1).await.unwrap().records > 0);
    assert_eq!(all(&readings, 1).await, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_writers_and_mergers_disturb_nobody() {
    const RECORDS: i64 = 1_500;
    let database = database().await;
    let readings = stored_readings(&database, RECORDS).await;
    let (stop, stopped) = watch::channel(false);
    let mergers = (0..2).map(|_| {
        let (readings, stopped) = (Reading::buckets(&database), stopped.clone());
        tokio::spawn(async move {
            let mut merged = 0;
            while !*stopped.borrow() {
                readings.seal().after(Duration::ZERO).await.unwrap();
                // Now and then what is merged comes apart for the readers only if they see two moments.
                merged += readings
                    .merge()
                    .settled(Duration::ZERO)
                    .await
                    .unwrap()
                    .buckets;
            }
            merged
        })
    });
    let mergers: Vec<_> = mergers.collect();
    let readers = (0..3).map(|reader| {
        let (readings, stopped) = (Reading::buckets(&database), stopped.clone());
        tokio::spawn(async move {
            let mut reads = 0;
            let of_first = |all: Vec<Reading>| -> Vec<i64> {
                all.iter()
                    .map(|of| of.value)
                    .filter(|value| *value >= 0)
                    .collect()
            };
            let expected: Vec<i64> = (0..RECORDS).collect();
            while !*stopped.borrow() {
                match reader {
                    0 => assert_eq!(of_first(all(&readings, 1).await), expected),
                    1 => {
                        let mut all = Vec::new();
                        let mut page = readings.records(1).limit(211).await.unwrap();
                        loop {
                            let next = page.next_token().cloned();
                            all.extend(page.into_records());
                            let Some(next) = next else { break };
                            page = readings.records(1).limit(211).after(&next).await.unwrap();
                        }
                        assert_eq!(of_first(all), expected);
                    }
                    _ => {
                        let from = DateTime::from_millis(START + HOUR + 7);
                        let to = DateTime::from_millis(START + 100 * HOUR + 7);
                        let rollup = readings
                            .rollup(1, from..to, Interval::minutes(50))
                            .await
                            .unwrap();
                        let count: u64 = rollup.iter().map(bucket_mongo::RollupRow::count).sum();
                        let client = readings.collection::<Document>().client().clone();
                        let mut session = client.start_session().await.unwrap();
                        let stats = readings.stats(1, from..to).session(&mut session);
                        let stats = stats.await.unwrap().unwrap();
                        assert!(count >= 1_188 && stats.count() >= 1_188);
                    }
                }
                reads += 1;
            }
            reads
        })
    });
    let readers: Vec<_> = readers.collect();
    let mut late = 0;
    for round in 0..40_i64 {
        let records = (0..12).map(|at| Reading {
            value: -1,
            ..reading(1, (round * 37 + at * 131) % RECORDS)
        });
        let report = readings.insert_many(records).await.unwrap();
        assert_eq!(report.stored(), 12);
        late += 12;
    }
    stop.send_replace(true);
    for reader in readers {
        assert!(reader.await.unwrap() > 0);
    }
    let mut merged = 0;
    for merger in mergers {
        merged += merger.await.unwrap();
    }
    assert!(merged > 100, "{merged}");
    let all = all(&readings, 1).await;
    assert_eq!(i64::try_from(all.len()).unwrap(), RECORDS + late);
    sound(&readings).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn followers_see_no_merge_and_each_edit_where_the_record_was_stored() {
    let database = database().await;
    let readings = Reading::buckets(&database);
    readings.ensure().await.unwrap();
    let mut events = readings.watch().await.unwrap();
    readings
        .load((0..300).map(|number| reading(1, number)))
        .await;
    let mut places = BTreeMap::new();
    while places.len() < 300 {
        let event = events.next().await.unwrap().unwrap();
        if let Of::Stored { record, index, .. } = event.change {
            places.insert(record.value, (event.bucket, index));
        }
    }
    let refs = references(&readings, 1).await;
    assert_eq!(seal_and_merge(&readings).await, 25);
    let mut caught_up = readings
        .watch_from(DateTime::from_millis(START))
        .await
        .unwrap();
    for number in 0..300 {
        let event = caught_up.next().await.unwrap().unwrap();
        let Of::Stored { record, index, .. } = event.change else {
            panic!("{event:?}");
        };
        assert_eq!(record.value, number);
        assert_eq!((event.bucket, index), places[&number]);
    }
    let token = events.token().unwrap();
    let which = Which::from(refs[77].reference.clone());
    readings
        .update(1, &which, |reading| reading.value = -7)
        .await
        .unwrap();
    let which = Which::from(refs[99].reference.clone());
    readings.delete(1, &which).await.unwrap();
    for from in [None, Some(token)] {
        if let Some(token) = from {
            events = readings.watch().after(&token).await.unwrap();
        }
        let event = events.next().await.unwrap().unwrap();
        assert!(
            matches!(&event.change, Of::Updated { record, index, .. } if record.value == -7 && *index == places[&77].1),
            "{event:?}"
        );
        assert_eq!(event.bucket, places[&77].0);
        let event = events.next().await.unwrap().unwrap();
        assert!(
            matches!(&event.change, Of::Removed { index, .. } if *index == places[&99].1),
            "{event:?}"
        );
        assert_eq!(event.bucket, places[&99].0);
    }
}

/// As far as a follower knows, records are in the buckets that they were stored in.
#[tokio::test(flavor = "multi_thread")]
async fn followers_see_the_removal_of_each_bucket_that_a_merged_one_was_made_of() {
    let database = database().await;
    let readings = Reading::buckets(&database);
    readings.ensure().await.unwrap();
    let from_the_start = readings.watch().await.unwrap();
    readings
        .load((0..40).map(|number| reading(1, number)))
        .await;
    let mut buckets = BTreeMap::new();
    let stored = readings.collection::<Document>();
    let stored: Vec<Document> = stored
        .find(doc! {})
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    for bucket in stored {
        let id = bucket.get_str("_id").unwrap().to_owned();
        let records = u32::try_from(bucket.get_i32("count").unwrap()).unwrap();
        buckets.insert(id, records);
    }
    assert_eq!(buckets.len(), 4);
    assert_eq!(seal_and_merge(&readings).await, 4);
    let since_the_merge = readings.watch().with_before().await.unwrap();
    let of_key = readings.watch_key(1).await.unwrap();
    readings.delete_key(1).await.unwrap();
    for (mut events, has_stored, has_numbers, is_of_key) in [
        (from_the_start, 40, false, false),
        (since_the_merge, 0, true, false),
        (of_key, 0, false, true),
    ] {
        for _ in 0..has_stored {
            let event = events.next().await.unwrap().unwrap();
            assert!(matches!(event.change, Of::Stored { .. }), "{event:?}");
        }
        let mut token = None;
        for (at, (id, records)) in buckets.iter().enumerate() {
            let event = events.next().await.unwrap().unwrap();
            assert_eq!(event.bucket.to_string(), *id, "{event:?}");
            let Of::BucketRemoved {
                key,
                span,
                expired,
                records: number,
                ..
            } = event.change
            else {
                panic!("{event:?}");
            };
            assert_eq!((key, expired), (Some(1.into()), Some(false)));
            let start = START + i64::try_from(at).unwrap() * HOUR;
            let window = date(start)..date(start + HOUR);
            assert_eq!(span, Some(window.into_time_range()), "{id}");
            assert_eq!(number, has_numbers.then_some(*records), "{id}");
            if at == 1 {
                token = events.token();
            }
        }
        // Between two of them.
        let token = token.unwrap();
        let mut resumed = if is_of_key {
            readings.watch_key(1).after(&token).await.unwrap()
        } else {
            readings.watch().after(&token).await.unwrap()
        };
        for id in buckets.keys().skip(2) {
            let event = resumed.next().await.unwrap().unwrap();
            assert_eq!(event.bucket.to_string(), *id, "{event:?}");
        }
    }
}

/// Removes the merged buckets of two keys together, and goes on after each of the events.
async fn removed_together(readings: &Buckets<Reading>, forgets: bool) -> Vec<usize> {
    let both = (0..48).flat_map(|number| [reading(1, number), reading(2, number)]);
    readings.load(both).await;
    assert_eq!(seal_and_merge(readings).await, 8);
    let mut events = readings.watch().await.unwrap();
    let client = readings.database().client().clone();
    let mut session = client.start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    let stored = readings.collection::<Document>();
    stored
        .delete_many(doc! {})
        .session(&mut session)
        .await
        .unwrap();
    session.commit_transaction().await.unwrap();
    let mut tokens = Vec::new();
    for _ in 0..8 {
        events.next().await.unwrap().unwrap();
        tokens.push(events.token().unwrap());
    }
    if forgets {
        let forget = doc! { "setParameter": 1, "minSnapshotHistoryWindowInSeconds": 0 };
        client.database("admin").run_command(forget).await.unwrap();
        // The server keeps what a reader may still need.
        for number in 0..30 {
            readings.insert(&reading(4, number)).await.unwrap();
            sleep(Duration::from_millis(100)).await;
        }
    }
    let end = Reading {
        value: -1,
        ..reading(3, 0)
    };
    readings.insert(&end).await.unwrap();
    let mut left = Vec::new();
    for token in tokens {
        let mut rest = readings.watch().after(&token).await.unwrap();
        let mut ids = HashSet::new();
        loop {
            let event = rest.next().await.unwrap().unwrap();
            match event.change {
                Of::BucketRemoved { .. } => assert!(ids.insert(event.bucket.to_string())),
                Of::Stored { record, .. } if record.value == -1 => break,
                Of::Stored { record, .. } if record.sensor == 4 => {}
                other => panic!("{other:?}"),
            }
        }
        left.push(ids.len());
    }
    left
}

/// Of a transaction, the server has only the moment before it.
#[tokio::test(flavor = "multi_thread")]
async fn followers_go_on_between_removals_of_one_transaction() {
    let database = database().await;
    let readings = stored_readings(&database, 0).await;
    let left = removed_together(&readings, false).await;
    assert_eq!(left, [7, 6, 5, 4, 3, 2, 1, 0]);
}

/// Then nobody knows what the bucket was made of: it is given once, also to those who have had a part of it.
#[tokio::test(flavor = "multi_thread")]
async fn followers_miss_no_removal_of_which_the_server_forgot_the_moment_before() {
    let server = DevServer::builder().own().await.unwrap();
    let database = server.client().await.unwrap().database("merged");
    let readings = Reading::buckets(&database);
    readings.ensure().await.unwrap();
    let left = removed_together(&readings, true).await;
    assert_eq!(left, [2, 2, 2, 1, 1, 1, 1, 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn followers_see_nothing_of_a_bucket_that_gets_the_date_of_its_sealing() {
    let database = database().await;
    let readings = stored_readings(&database, 36).await;
    readings.seal().after(Duration::ZERO).await.unwrap();
    let edited = Which::from(references(&readings, 1).await[17].reference.clone());
    readings.delete(1, &edited).await.unwrap();
    let stored = readings.collection::<Document>();
    stored
        .update_many(doc! {}, doc! { "$unset": { "_sealed.at": "" } })
        .await
        .unwrap();
    let mut events = readings.watch().await.unwrap();
    let merged = readings.merge().settled(Duration::ZERO).await.unwrap();
    assert_eq!((merged.buckets, merged.dated), (0, 3), "{merged}");
    seal_and_merge(&readings).await;
    readings.insert(&reading(1, 37)).await.unwrap();
    let event = events.next().await.unwrap().unwrap();
    assert!(matches!(event.change, Of::Stored { .. }), "{event:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_statistics_and_of_many_keys_sees_one_moment() {
    let database = database().await;
    let readings = Reading::buckets(&database);
    readings.ensure().await.unwrap();
    let of_keys = (0..4).flat_map(|sensor| (0..600).map(move |number| reading(sensor, number)));
    readings.load(of_keys).await;
    let span = DateTime::from_millis(START)..DateTime::from_millis(START + 60 * HOUR);
    let mut before = readings.range_all_keys(span.clone()).await.unwrap();
    seal_and_merge(&readings).await;
    let mut after: Vec<Reading> = readings
        .range_all_keys(span)
        .stream()
        .try_collect()
        .await
        .unwrap();
    let order = |of: &Reading| (of.sensor, of.at);
    before.sort_by_key(order);
    after.sort_by_key(order);
    assert_eq!(after, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_sealed_lately_and_what_a_caller_reads_otherwise_stays() {
    let database = database().await;
    let readings = stored_readings(&database, 600).await;
    readings.seal().await.unwrap();
    // Sealed less than an hour ago.
    assert_eq!(readings.merge().await.unwrap().buckets, 0);
    let local = readings
        .range(1, ..)
        .read_concern(ReadConcern::local())
        .await
        .unwrap();
    assert_eq!(local.len(), 600);
    let mut session = database.client().start_session().await.unwrap();
    assert_eq!(
        readings.range(1, ..).session(&mut session).await.unwrap(),
        local
    );
    session.start_transaction().await.unwrap();
    assert_eq!(
        readings.range(1, ..).session(&mut session).await.unwrap(),
        local
    );
    session.abort_transaction().await.unwrap();
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "readings",
    items = "items",
    window = "1h",
    seal_after = "1h"
)]
struct Apart {
    #[bucket(key)]
    sensor: i32,
    #[bucket(time)]
    at: DateTime,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_without_it_merges_nothing() {
    let database = database().await;
    let error = Apart::buckets(&database).merge().await.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::InvalidArgument { message, .. } if message.contains("merge = ")),
        "{error}"
    );
}

/// As a dump that is restored over the collection inserts it.
#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_that_was_merged_and_comes_again_moves_into_the_quarantine() {
    let database = database().await;
    let readings = stored_readings(&database, 120).await;
    let expected = all(&readings, 1).await;
    let stored = readings.collection::<Document>();
    let third = doc! { "bucket_start": date(START + 3 * HOUR) };
    let rows = stored.find_one(third.clone()).await.unwrap().unwrap();
    readings.seal().after(Duration::ZERO).await.unwrap();
    let packed = stored.find_one(third).await.unwrap().unwrap();
    assert_eq!(seal_and_merge(&readings).await, 10);
    for again in [rows, packed] {
        stored.insert_one(&again).await.unwrap();
        assert_eq!(all(&readings, 1).await.len(), 132);
        let found = readings.verify().await.unwrap();
        let kinds: Vec<ProblemKind> = found.findings.iter().map(|of| of.problem.kind()).collect();
        assert_eq!(kinds, [ProblemKind::SamePlace], "{found}");
        let dry = readings.repair(&found).dry_run().await.unwrap();
        let repaired = readings.repair(&found).await.unwrap();
        assert_eq!((repaired.quarantined, repaired.fine), (1, 0), "{repaired}");
        assert_eq!(dry.quarantined, 1, "{dry}");
        assert_eq!(all(&readings, 1).await, expected);
        sound(&readings).await;
    }
}

/// The one that comes again was itself made of several.
#[tokio::test(flavor = "multi_thread")]
async fn a_merged_bucket_that_comes_again_moves_into_the_quarantine() {
    let database = database().await;
    let readings = stored_readings(&database, 120).await;
    let expected = all(&readings, 1).await;
    readings.seal().after(Duration::ZERO).await.unwrap();
    let part = date(START + 3 * HOUR)..date(START + 6 * HOUR);
    let merge = readings.merge().settled(Duration::ZERO);
    let stored = readings.collection::<Document>();
    let rest = doc! { "bucket_start": { "$lt": date(START + 3 * HOUR) } };
    let first: Vec<Document> = stored
        .find(rest.clone())
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    stored.delete_many(rest).await.unwrap();
    let later = doc! { "bucket_start": { "$gte": date(START + 6 * HOUR) } };
    let last: Vec<Document> = stored
        .find(later.clone())
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    stored.delete_many(later).await.unwrap();
    assert_eq!(merge.between(part).await.unwrap().buckets, 3);
    let merged = stored.find_one(doc! {}).await.unwrap().unwrap();
    stored.insert_many(first.iter().chain(&last)).await.unwrap();
    let report = readings.merge().settled(Duration::ZERO).await.unwrap();
    assert_eq!((report.buckets, report.merged), (8, 1), "{report}");
    stored.insert_one(&merged).await.unwrap();
    assert_eq!(all(&readings, 1).await.len(), 120 + 36);
    let found = readings.verify().await.unwrap();
    let repaired = readings.repair(&found).await.unwrap();
    assert_eq!((repaired.quarantined, repaired.fine), (1, 0), "{repaired}");
    assert_eq!(all(&readings, 1).await, expected);
    sound(&readings).await;
}

/// What it meets first is in the middle of what was merged.
#[tokio::test(flavor = "multi_thread")]
async fn a_check_that_goes_on_knows_what_was_merged_before() {
    let database = database().await;
    let readings = stored_readings(&database, 120).await;
    assert_eq!(seal_and_merge(&readings).await, 10);
    let mut positions = Vec::new();
    for hour in 1..10 {
        // A bucket of its own, the last one so far.
        readings.insert(&reading(1, hour * 12)).await.unwrap();
        let report = readings.verify().await.unwrap();
        assert!(report.is_clean(), "{report}");
        positions.push(report.position.unwrap());
    }
    assert_eq!(stored(&readings).await, 10);
    for position in &positions {
        let rest = readings.verify().after(position.clone()).await.unwrap();
        assert!(rest.is_clean(), "{rest}");
    }
    // What is missing is missed, whoever begins where.
    let buckets = readings.collection::<Document>();
    let seventh = doc! { "bucket_start": date(START + 7 * HOUR) };
    let part = buckets.find_one(seventh).await.unwrap().unwrap();
    let id = part.get_str("_id").unwrap().to_owned();
    let mut third = part.clone();
    third.insert("_id", format!("{}_3", id.strip_suffix("_1").unwrap()));
    let changed = doc! { "_id": &id };
    buckets.delete_one(changed).await.unwrap();
    buckets.insert_one(third).await.unwrap();
    for report in [
        readings.verify().await.unwrap(),
        readings.verify().after(positions[1].clone()).await.unwrap(),
    ] {
        let [finding] = &*report.findings else {
            panic!("{report}");
        };
        assert!(
            matches!(finding.problem, Problem::Gap { from: 1, to: 2, .. }),
            "{finding}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merged_bucket_gets_its_span_back() {
    let database = database().await;
    let readings = stored_readings(&database, 300).await;
    seal_and_merge(&readings).await;
    let before = shown(&readings, 1).await;
    let stored = readings.collection::<Document>();
    let wrong = DateTime::from_millis(START + 3 * HOUR);
    for damage in [
        doc! { "$set": { "bucket_start": wrong } },
        doc! { "$set": { "bucket_end": wrong } },
        doc! { "$set": { "bucket_start": wrong, "bucket_end": wrong } },
        doc! { "$unset": { "bucket_end": "" } },
        doc! { "$set": { "bucket_start": "then" } },
    ] {
        stored.update_one(doc! {}, damage.clone()).await.unwrap();
        let report = readings.verify().await.unwrap();
        let report = readings.repair(&report).await.unwrap();
        assert_eq!(
            (report.mended, report.quarantined),
            (1, 0),
            "{damage}: {report}"
        );
        sound(&readings).await;
        assert_eq!(shown(&readings, 1).await, before, "{damage}");
    }
}

mod without {
    use super::*;

    #[derive(Debug, Serialize, Deserialize, Bucketed)]
    #[bucket(
        collection = "readings",
        items = "items",
        window = "1h",
        capacity = 40,
        seal_after = "1h"
    )]
    pub(super) struct Reading {
        #[bucket(key)]
        sensor: i32,
        #[bucket(time, first, last)]
        at: DateTime,
        #[bucket(sum, min, max)]
        value: i64,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_would_not_find_merged_windows_differs_from_the_collection() {
    let database = database().await;
    let readings = stored_readings(&database, 300).await;
    seal_and_merge(&readings).await;
    let report = without::Reading::buckets(&database).ensure().await.unwrap();
    let [drift] = &*report.drift else {
        panic!("{report}");
    };
    let message = drift.to_string();
    assert!(
        message.contains("`merge`") && message.contains("week"),
        "{message}"
    );
    let report = readings.ensure().await.unwrap();
    assert!(report.drift.is_empty(), "{report}");
}

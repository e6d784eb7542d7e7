//! Merging sealed windows changes how they are stored and nothing else.

mod checked;
mod followed;
mod hybrid;
mod parts;

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
async fn a_merged_bucket_is_found_among_those_of_all_keys_wherever_it_begins_and_ends() {
    let database = database().await;
    let readings = Reading::buckets(&database);
    readings.ensure().await.unwrap();
    let of_keys = (0..3).flat_map(|sensor| (0..900).map(move |number| reading(sensor, number)));
    readings.load(of_keys).await;
    seal_and_merge(&readings).await;
    for (from, to) in [(0, 24), (0, 1), (5, 6), (30, 50), (60, 75)] {
        let span = date(START + from * HOUR)..date(START + to * HOUR);
        let found = readings.range_all_keys(span).await.unwrap();
        let number = usize::try_from((to - from) * 12 * 3).unwrap();
        assert_eq!(found.len(), number, "{from}..{to}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_removal_from_a_merged_bucket_would_do_is_what_it_does() {
    let database = database().await;
    let readings = stored_readings(&database, 300).await;
    seal_and_merge(&readings).await;
    assert_eq!(stored(&readings).await, 1);
    // Of several windows, and of all.
    for (from, to, records) in [(2, 6, 48), (0, 25, 252)] {
        let span = || date(START + from * HOUR)..date(START + to * HOUR);
        let would = readings.delete_range(1, span()).dry_run().await.unwrap();
        let made = readings.delete_range(1, span()).await.unwrap();
        assert_eq!(would, made);
        assert_eq!((made.records, made.buckets), (records, 1));
    }
    sound(&readings).await;
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

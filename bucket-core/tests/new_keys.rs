//! Batches of keys that a handle has not met: the last ones tell whether the next ones are new.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "common/call.rs"]
mod call;
#[path = "common/collection.rs"]
mod collection;
#[path = "common/sample.rs"]
mod sample;

use std::ops::Range;

use bson::DateTime;
use bucket_core::{
    Record,
    write::{Batch, Cache, Call, CallEvent, Report, Terms},
};

use self::{
    call::{Failure, Need, answered, go_on, read},
    collection::Collection,
    sample::{
        COUNT, COUNT_IDS, DURATION, HYBRID_MERGE, HYBRID_REJECT, NUMBERED, Sample, WINDOW,
        WINDOW_ATTRIBUTES, WINDOW_IDS,
    },
};

/// What a call has sent.
#[derive(Debug, Default)]
struct Sent {
    reads: usize,
    inserts: usize,
    updates: usize,
    /// The most statements that were made at the same time.
    most: usize,
}

/// Stores a record of each of these keys.
fn store<const F: usize>(
    keys: Range<usize>,
    at: i64,
    cache: &mut Cache,
    collection: &Collection,
) -> (Report<Failure>, Sent)
where
    Sample<F>: Record,
{
    store_all::<F>(keys.map(|key| (key, at)), cache, collection)
}

/// Stores records of these keys and times.
fn store_all<const F: usize>(
    records: impl IntoIterator<Item = (usize, i64)>,
    cache: &mut Cache,
    collection: &Collection,
) -> (Report<Failure>, Sent)
where
    Sample<F>: Record,
{
    let mut batch = Batch::of::<Sample<F>>();
    for (index, (key, at)) in records.into_iter().enumerate() {
        let record = Sample::<F> {
            device: key.to_string(),
            at: DateTime::from_millis(at),
            unique: at,
            value: 1,
            level: None,
            code: String::new(),
        };
        batch.push(index, &record).unwrap();
    }
    let mut call = Call::new(batch, Terms::default());
    let mut sent = Sent::default();
    for _ in 0..10_000 {
        match go_on(&mut call, cache) {
            None => {}
            Some(Need::Reads(plans)) => {
                sent.reads += plans.len();
                read(&mut call, &plans, collection);
            }
            Some(Need::Commands(commands)) => {
                let statements = commands.iter().map(|command| command.statements).sum();
                sent.most = sent.most.max(statements);
                for command in &commands {
                    let is_insert = command.body.get("insert").unwrap().is_some();
                    *(if is_insert {
                        &mut sent.inserts
                    } else {
                        &mut sent.updates
                    }) += command.statements;
                }
                let commands = commands.iter().map(|it| answered(collection, it)).collect();
                call.told(CallEvent::Ended {
                    commands,
                    late: false,
                });
            }
            Some(Need::Pause) => call.told(CallEvent::Paused),
            Some(Need::Nothing) => return (call.end().1, sent),
        }
    }
    panic!("the call does not come to an end");
}

fn all_stored(report: &Report<Failure>, records: usize) {
    assert!(report.failed.is_empty(), "{report:?}");
    assert_eq!(report.stored, records);
}

fn count(collection: &Collection) -> usize {
    let items = |of: &bson::Document| of.get_array("items").unwrap().len();
    collection.documents().iter().map(items).sum()
}

fn check_windows<const F: usize>()
where
    Sample<F>: Record,
{
    let collection = Collection::new(Sample::<F>::SPEC);
    let (mut cache, mut others) = (Cache::default(), Cache::default());
    let (report, sent) = store::<F>(0..20, 0, &mut cache, &collection);
    all_stored(&report, 20);
    assert_eq!((sent.inserts, sent.updates), (0, 20), "{F}");
    let (report, sent) = store::<F>(20..60, 0, &mut cache, &collection);
    all_stored(&report, 40);
    assert_eq!((sent.inserts, sent.updates), (40, 0), "{F}");
    assert_eq!(report.opened.len(), 40);

    // Another handle expects the same, and learns from refusals that these exist.
    store::<F>(100..110, 0, &mut others, &collection);
    let (report, sent) = store::<F>(0..60, 1, &mut others, &collection);
    all_stored(&report, 60);
    assert_eq!((sent.inserts, sent.updates), (60, 60), "{F}");
    assert!(report.opened.is_empty(), "{report:?}");
    let (report, sent) = store::<F>(0..60, 2, &mut Cache::default(), &collection);
    all_stored(&report, 60);
    assert_eq!(sent.inserts, 0, "{F}");
    assert_eq!(count(&collection), 60 + 10 + 60 + 60);
    assert_eq!(collection.documents().len(), 70);
}

#[test]
fn a_bucket_whose_insert_was_refused_gets_the_records_at_once() {
    let collection = Collection::new(Sample::<WINDOW>::SPEC);
    for round in 0..2 {
        // As many that an insert is tried whatever is known.
        let records = (0..20).flat_map(|key| (0..16).map(move |at| (key, at)));
        let mut cache = Cache::default();
        let (report, sent) = store_all::<WINDOW>(records, &mut cache, &collection);
        all_stored(&report, 320);
        assert_eq!(
            (sent.reads, sent.inserts, sent.updates),
            (0, 20, 20 * round)
        );
    }
    assert_eq!(count(&collection), 640);
}

#[test]
fn windows_of_new_keys_are_inserted_and_those_that_exist_are_appended_to() {
    check_windows::<WINDOW>();
    check_windows::<WINDOW_IDS>();
    check_windows::<WINDOW_ATTRIBUTES>();
}

fn check_counts<const F: usize>()
where
    Sample<F>: Record,
{
    let collection = Collection::new(Sample::<F>::SPEC);
    let mut cache = Cache::default();
    let (report, sent) = store::<F>(0..20, 10, &mut cache, &collection);
    all_stored(&report, 20);
    assert!(sent.reads > 0);
    let (report, sent) = store::<F>(20..60, 10, &mut cache, &collection);
    all_stored(&report, 40);
    assert_eq!((sent.reads, sent.updates), (0, 40), "{F}");
    // Where a bucket is open, and where a later one is full.
    let mut others = Cache::default();
    store::<F>(100..110, 10, &mut others, &collection);
    for at in 11..15 {
        let (report, _) = store::<F>(0..30, at, &mut cache, &collection);
        all_stored(&report, 30);
    }
    for at in [0, 20] {
        let (report, _) = store::<F>(0..60, at, &mut others, &collection);
        all_stored(&report, 60);
    }
    assert_eq!(count(&collection), 60 + 10 + 4 * 30 + 2 * 60);
    // Five records of a key filled a page, and opened another one. It took the two that came last.
    let of_first = collection.documents();
    let of_first = of_first
        .iter()
        .filter(|of| of.get_str("device").unwrap() == "0");
    let counts: Vec<i32> = of_first.map(|of| of.get_i32("count").unwrap()).collect();
    assert_eq!(counts, [4, 3], "{F}");
}

#[test]
fn pages_of_new_keys_are_opened_without_a_look_and_never_beside_others() {
    check_counts::<COUNT>();
    check_counts::<COUNT_IDS>();
}

fn check_many<const F: usize>()
where
    Sample<F>: Record,
{
    let collection = Collection::new(Sample::<F>::SPEC);
    let keys = 9_500;
    let mut cache = Cache::default();
    for at in 0..2 {
        let (report, sent) = store::<F>(0..keys, at, &mut cache, &collection);
        all_stored(&report, keys);
        assert!(sent.most <= 4_000, "{sent:?}");
    }
    assert_eq!(count(&collection), 2 * keys);
    assert_eq!(collection.documents().len(), keys);
}

#[test]
fn very_many_keys_are_written_front_by_front() {
    check_many::<WINDOW>();
    check_many::<COUNT>();
    check_many::<NUMBERED>();
    check_many::<HYBRID_MERGE>();
}

fn check_looks<const F: usize>()
where
    Sample<F>: Record,
{
    let collection = Collection::new(Sample::<F>::SPEC);
    let mut cache = Cache::default();
    let (report, sent) = store::<F>(0..1_000, 0, &mut cache, &collection);
    all_stored(&report, 1_000);
    // For the open buckets of 500 keys each, and for those that have any.
    assert_eq!(sent.reads, 4, "{F}");
    // Some of the next ones exist, and their buckets are full or closed.
    let mut others = Cache::default();
    for at in 1..5 {
        store::<F>(0..10, at * DURATION, &mut others, &collection);
    }
    store::<F>(2_000..2_100, 0, &mut others, &collection);
    let before = collection.documents().len();
    let (report, sent) = store::<F>(990..1_900, 9 * DURATION, &mut Cache::default(), &collection);
    all_stored(&report, 910);
    assert!(sent.reads < 40, "{F}: {}", sent.reads);
    let (report, _) = store::<F>(0..10, 9 * DURATION, &mut others, &collection);
    all_stored(&report, 10);
    assert_eq!(count(&collection), 1_000 + 40 + 100 + 910 + 10);
    assert!(collection.documents().len() >= before + 900);
    let mut ids: Vec<String> = Vec::new();
    for bucket in collection.documents() {
        ids.push(format!("{:?}", bucket.get("_id")));
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), collection.documents().len());
}

#[test]
fn new_keys_of_hybrid_and_numbered_buckets_are_looked_up_together() {
    check_looks::<HYBRID_MERGE>();
    check_looks::<HYBRID_REJECT>();
    check_looks::<NUMBERED>();
}

/// The first keys of a call have only records that are refused, and so leave the front at once.
#[test]
fn records_of_keys_that_come_to_the_front_are_in_order() {
    let collection = Collection::new(Sample::<HYBRID_REJECT>::SPEC);
    let mut cache = Cache::default();
    let start = 1_000_000;
    store::<HYBRID_REJECT>(0..4_100, start, &mut cache, &collection);
    let late = (0..4_000).map(|key| (key, 0));
    let in_time = (4_000..4_100).flat_map(|key| [(key, start + DURATION + 100), (key, start + 5)]);
    let records = late.chain(in_time);
    let (report, _) = store_all::<HYBRID_REJECT>(records, &mut cache, &collection);
    assert_eq!(report.stored, 200);
    assert_eq!(report.opened.len(), 100);
    let failed: usize = report.failed.iter().map(|of| of.records.len()).sum();
    assert_eq!(failed, 4_000);
}

//! Sources of which somebody has removed buckets, while a writer was going on to the next one. What is stored
//! after that is stored once, and a call that delivers it again comes to an end.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests are meant to panic"
)]

#[path = "common/call.rs"]
mod call;
#[path = "common/collection.rs"]
mod collection;
#[path = "common/sample.rs"]
mod sample;

use std::ops::Range;

use bson::{DateTime, Document, RawDocumentBuf, doc};
use bucket_core::{
    Record,
    write::{Batch, Cache, Call, CallEvent, Report, Source, Terms},
};

use self::{
    call::{Failure, Need, answered, go_on, read, run},
    collection::Collection,
    sample::{
        COUNT, NUMBERED, NUMBERED_OBJECT, Sample, WINDOW_BYTES, WINDOW_CAPACITY, WINDOW_OBJECT,
    },
};

/// More than three buckets of each form.
const FIRST: i64 = 20;

/// A call with the records of these positions, all of one key and window.
fn call<const F: usize>(positions: Range<i64>) -> Call<Failure> {
    let mut batch = Batch::of::<Sample<F>>();
    batch.set_source(Source::new(Sample::<F>::SPEC, "s").unwrap());
    for position in positions {
        let sample = Sample::<F> {
            device: "a".to_owned(),
            at: DateTime::from_millis(position),
            unique: position,
            value: position,
            level: None,
            code: String::new(),
        };
        batch.set_position(position);
        batch
            .push(usize::try_from(position).unwrap(), &sample)
            .unwrap();
    }
    Call::new(batch, Terms::default())
}

/// Delivers these positions by a process that remembers nothing.
fn deliver<const F: usize>(positions: Range<i64>, collection: &Collection) -> Report<Failure> {
    let report = run(call::<F>(positions), collection, |_| {}, answered);
    assert!(report.failed.is_empty(), "{:?}", report.failed);
    report
}

fn duplicates(report: &Report<Failure>) -> Vec<i64> {
    let mut duplicates: Vec<i64> = report
        .duplicates
        .iter()
        .map(|index| i64::try_from(*index).unwrap())
        .collect();
    duplicates.sort_unstable();
    duplicates
}

/// How often each of these positions is stored.
fn times(positions: Range<i64>, collection: &Collection) -> Vec<usize> {
    let documents = collection.documents();
    let items = documents
        .iter()
        .flat_map(|bucket| bucket.get_array("items").unwrap());
    let stored: Vec<i64> = items
        .map(|item| item.as_document().unwrap().get_i64("unique").unwrap())
        .collect();
    positions
        .map(|position| stored.iter().filter(|own| **own == position).count())
        .collect()
}

/// The order of the buckets of a key.
fn place(bucket: &Document) -> (String, i64) {
    let id = bucket.get_str("_id").unwrap_or_default().to_owned();
    let number =
        ["bucket_number", "bucket_part"]
            .iter()
            .find_map(|name| match bucket.get(*name)? {
                bson::Bson::Int32(number) => Some(i64::from(*number)),
                bson::Bson::Int64(number) => Some(*number),
                other => panic!("{other:?}"),
            });
    (id, number.unwrap_or_default())
}

/// Buckets that hold the first positions, without all but the last few of them.
fn last_ones<const F: usize>(kept: usize) -> Collection {
    let collection = Collection::new(Sample::<F>::SPEC);
    deliver::<F>(0..FIRST, &collection);
    remove_but::<F>(kept, &collection);
    collection
}

fn remove_but<const F: usize>(kept: usize, collection: &Collection) {
    let mut documents = collection.documents();
    documents.sort_by_key(place);
    assert!(documents.len() > kept, "{documents:?}");
    for bucket in &documents[..documents.len() - kept] {
        let id = bucket.get("_id").unwrap();
        let statement = doc! { "q": { "_id": id }, "limit": 1 };
        let command = doc! { "delete": Sample::<F>::SPEC.collection(), "deletes": [statement] };
        collection.run(&RawDocumentBuf::try_from(&command).unwrap());
    }
    assert_eq!(collection.documents().len(), kept);
}

fn check_delivered_again<const F: usize>() {
    for kept in 1..=2 {
        for size in 1..=5 {
            let collection = last_ones::<F>(kept);
            let mut from = FIRST;
            while from < FIRST + 15 {
                let to = from + size;
                let report = deliver::<F>(from..to, &collection);
                assert_eq!(i64::try_from(report.stored), Ok(size));
                // The process did not see the reply, and another one takes over.
                let report = deliver::<F>(from..to, &collection);
                assert_eq!(duplicates(&report), (from..to).collect::<Vec<_>>());
                from = to;
            }
            let report = deliver::<F>(FIRST..from, &collection);
            assert_eq!(duplicates(&report), (FIRST..from).collect::<Vec<_>>());
            let times = times(FIRST..from, &collection);
            assert!(times.iter().all(|times| *times == 1), "{times:?}");
        }
    }
}

#[test]
fn a_position_stored_after_earlier_buckets_were_removed_is_a_duplicate_when_it_is_delivered_again()
{
    check_delivered_again::<COUNT>();
    check_delivered_again::<NUMBERED>();
    check_delivered_again::<NUMBERED_OBJECT>();
    check_delivered_again::<WINDOW_CAPACITY>();
    check_delivered_again::<WINDOW_BYTES>();
    check_delivered_again::<WINDOW_OBJECT>();
}

/// A writer looks before the first buckets are opened, and sends once only the last one of them is left.
fn check_looked_before<const F: usize>() {
    let collection = Collection::new(Sample::<F>::SPEC);
    let (from, to) = (FIRST, FIRST + 2);
    let mut early = call::<F>(from..to);
    let mut cache = Cache::default();
    let commands = loop {
        match go_on(&mut early, &mut cache) {
            Some(Need::Reads(plans)) => read(&mut early, &plans, &collection),
            Some(Need::Commands(commands)) => break commands,
            None => {}
            other => panic!("{other:?}"),
        }
    };
    deliver::<F>(0..8, &collection);
    remove_but::<F>(1, &collection);
    let commands = commands.iter().map(|it| answered(&collection, it));
    early.told(CallEvent::Ended {
        commands: commands.collect(),
        late: false,
    });
    let report = run(early, &collection, |_| {}, answered);
    assert_eq!(report.stored, 2);
    let report = deliver::<F>(from..to + 3, &collection);
    assert_eq!(duplicates(&report), (from..to).collect::<Vec<_>>());
    assert_eq!(times(from..to + 3, &collection), [1; 5]);
}

#[test]
fn a_position_in_an_open_bucket_before_the_newest_one_is_a_duplicate_when_it_is_delivered_again() {
    check_looked_before::<COUNT>();
    check_looked_before::<NUMBERED>();
    check_looked_before::<NUMBERED_OBJECT>();
}

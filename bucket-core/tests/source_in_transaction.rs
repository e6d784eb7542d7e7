//! A source in a transaction beside a bulk load. A transaction sees the buckets as they were when it began, and
//! the load inserts whole buckets without changing the one that it has reserved: no conflict would tell the
//! transaction that positions were stored meanwhile.
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

use bson::{Bson, DateTime, Document};
use bucket_core::{
    Record,
    write::{Batch, Call, Delivered, Reason, Report, Source, Terms, part_of},
};

use self::{
    call::{Failure, answered, run},
    collection::Collection,
    sample::{COUNT, Sample},
};

const RECORDS: usize = 20;

fn batch(has_source: bool) -> Batch {
    let mut batch = Batch::of::<Sample<COUNT>>();
    if has_source {
        batch.set_source(Source::new(Sample::<COUNT>::SPEC, "s").unwrap());
    }
    for index in 0..RECORDS {
        let position = i64::try_from(index).unwrap();
        let sample = Sample::<COUNT> {
            device: "a".to_owned(),
            at: DateTime::from_millis(position * 1_000),
            unique: position,
            value: position,
            level: None,
            code: String::new(),
        };
        if has_source {
            batch.set_position(position);
        }
        batch.push(index, &sample).unwrap();
    }
    batch
}

/// The buckets when a load of the source has just reserved one.
fn beside_a_load() -> Collection {
    let is_reserved = |bucket: &Document| bucket.get("count") == Some(&Bson::Int64(0));
    let collection = Collection::new(Sample::<COUNT>::SPEC);
    let load = Call::new(batch(true), Terms::default());
    run(
        load,
        &collection,
        |_| {},
        |collection, command| {
            for at in 0..command.statements {
                collection.run(&part_of(&command.body, at..at + 1, false));
                if collection.documents().iter().any(is_reserved) {
                    let (error, unknown) = ("it is not further yet", true);
                    return Delivered::Failed {
                        error,
                        unknown,
                        refusal: None,
                    };
                }
            }
            panic!("no bucket is reserved")
        },
    );
    collection
}

fn store(batch: Batch, in_transaction: bool, collection: &Collection) -> Report<Failure> {
    let mut terms = Terms::default();
    terms.in_session = true;
    terms.in_transaction = in_transaction;
    run(Call::new(batch, terms), collection, |_| {}, answered)
}

#[test]
fn a_source_in_a_transaction_stores_nothing_beside_a_load_of_its_key() {
    let collection = beside_a_load();
    let before = collection.documents();
    let report = store(batch(true), true, &collection);
    let is_refused = |reason: &Reason<_>| matches!(reason, Reason::Reserved);
    assert!(
        report.failed.iter().all(|it| is_refused(&it.reason)),
        "{report:?}"
    );
    let refused: usize = report.failed.iter().map(|it| it.records.len()).sum();
    assert_eq!(refused + report.duplicates.len(), RECORDS, "{report:?}");
    assert!(refused > 0);
    assert_eq!(collection.documents(), before);
}

/// What it reads in a session without a transaction is what is stored.
#[test]
fn a_source_in_a_session_takes_the_bucket_of_a_load_over() {
    let collection = beside_a_load();
    let report = store(batch(true), false, &collection);
    assert_eq!(
        report.stored + report.duplicates.len(),
        RECORDS,
        "{report:?}"
    );
    assert!(report.stored > 0);
}

#[test]
fn records_of_no_source_are_stored_in_a_transaction_beside_a_load() {
    let collection = beside_a_load();
    let report = store(batch(false), true, &collection);
    assert_eq!(report.stored, RECORDS, "{report:?}");
}

//! Writes never build on data that a failover may roll back.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "common/call.rs"]
mod call;
#[path = "common/collection.rs"]
mod collection;
#[path = "common/sample.rs"]
mod sample;

use bson::{DateTime, Document, RawDocument, doc};
use bucket_core::{
    Record, Which,
    edit::{Edit, EditNext},
    read::{FindPlan, ReadLevel},
    write::{Batch, Cache, Call, Source, Terms},
};

use self::{
    call::{Need, go_on, read},
    collection::Collection,
    sample::{COUNT, COUNT_IDS, HYBRID_SIDE, NUMBERED, Sample, WINDOW_BYTES, WINDOW_CAPACITY},
};

fn batch<const F: usize>(times: &[i64]) -> Batch {
    let mut batch = Batch::of::<Sample<F>>();
    for (index, at) in times.iter().enumerate() {
        batch.push(index, &sample::<F>(*at)).unwrap();
    }
    batch
}

fn sample<const F: usize>(at: i64) -> Sample<F> {
    Sample {
        device: "0".to_owned(),
        at: DateTime::from_millis(at),
        unique: 0,
        value: 1,
        level: None,
        code: String::new(),
    }
}

/// The earlier records of a part count: when appends have filled it, the next part follows. If its
/// records were rolled back, that part would stay half-empty.
#[test]
fn the_part_of_a_window_that_the_next_one_follows_is_read_from_a_majority() {
    let level = |batch: &Batch| batch.chains()[0].open_bucket().level;
    assert_eq!(level(&batch::<WINDOW_CAPACITY>(&[0])), ReadLevel::Majority);
    let batch = batch::<WINDOW_BYTES>(&[0]);
    assert_eq!(batch.chains()[0].open_bucket().level, ReadLevel::Majority);
}

/// The reads of a call before it sends the record at this position of a source.
fn reads<const F: usize>(position: i64, collection: &Collection) -> Vec<FindPlan> {
    let mut batch = Batch::of::<Sample<F>>();
    batch.set_source(Source::new(Sample::<F>::SPEC, "s").unwrap());
    batch.set_position(position);
    batch.push(0, &sample::<F>(0)).unwrap();
    let mut call = Call::new(batch, Terms::default());
    let (mut cache, mut all) = (Cache::default(), Vec::new());
    loop {
        match go_on(&mut call, &mut cache) {
            Some(Need::Reads(plans)) => {
                read(&mut call, &plans, collection);
                all.extend(plans);
            }
            Some(Need::Commands(commands)) => {
                for command in &commands {
                    collection.run(&command.body);
                }
                return all;
            }
            _ => {}
        }
    }
}

fn check_reads_of_a_source<const F: usize>() {
    let collection = Collection::new(Sample::<F>::SPEC);
    // Where nothing is, where a bucket is open, and where one is full.
    for position in 0..9 {
        let reads = reads::<F>(position, &collection);
        let is_taken_back = |plan: &FindPlan| plan.level == ReadLevel::Local;
        assert!(!reads.iter().any(is_taken_back), "{reads:?}");
    }
}

/// If a failover took back what had filled a bucket, another process could store records of the source in it
/// while this one stores them in the next bucket.
#[test]
fn the_bucket_that_takes_records_of_a_source_is_read_from_a_majority() {
    check_reads_of_a_source::<COUNT>();
    check_reads_of_a_source::<NUMBERED>();
    check_reads_of_a_source::<WINDOW_CAPACITY>();
}

#[test]
fn a_side_bucket_that_another_one_follows_is_read_from_a_majority() {
    let mut batch = batch::<HYBRID_SIDE>(&[0, 10_000]);
    let newest = bson::rawdoc! {
        "_id": "0_0000000010000",
        "device": "0",
        "count": 1,
        "bucket_start": DateTime::from_millis(10_000),
        "bucket_end": DateTime::from_millis(10_000),
        "is_closed": false,
        "items": [],
    };
    batch.chains_mut()[0].saw(&newest).unwrap();
    assert_eq!(batch.sort_out_late().moved, 1);
    let late = batch.chains().last().unwrap();
    assert_eq!(late.open_bucket().level, ReadLevel::Majority);
}

/// A failover can take a record back, and another one can be stored in its place: as many records, as many edits. The
/// aggregates of an edit are those of the records that it has read.
#[test]
fn an_edit_asks_for_every_record_that_its_aggregates_come_from() {
    let mut batch = Batch::of::<Sample<COUNT_IDS>>();
    for (index, at) in [0, 1_000].into_iter().enumerate() {
        let unique = i64::try_from(index).unwrap();
        let record = Sample {
            unique,
            ..sample::<COUNT_IDS>(at)
        };
        batch.push(index, &record).unwrap();
    }
    let mut collection = Collection::new(Sample::<COUNT_IDS>::SPEC);
    call::run(
        Call::new(batch, Terms::default()),
        &collection,
        |_| {},
        call::answered,
    );
    let mut edit = Edit::<Sample<COUNT_IDS>>::delete("0".into(), &Which::id(&0_i64));
    let EditNext::Read(plan) = edit.next() else {
        panic!("{:?}", edit.next());
    };
    edit.found(&collection.find(&plan), DateTime::now());
    let EditNext::Send { command, .. } = edit.next() else {
        panic!("{:?}", edit.next());
    };
    let matched = |collection: &Collection, command: &RawDocument| {
        collection.run(command).get_i32("n").unwrap()
    };
    let before: Vec<Document> = collection.documents();
    collection.edit(|buckets| {
        let items = buckets[0]
            .get_array_mut(Sample::<COUNT_IDS>::SPEC.items())
            .unwrap();
        items[1]
            .as_document_mut()
            .unwrap()
            .extend(doc! { "value": 7_i64 });
    });
    assert_eq!(matched(&collection, &command), 0);
    collection.edit(|buckets| *buckets = before);
    assert_eq!(matched(&collection, &command), 1);
}

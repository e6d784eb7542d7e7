//! The keys of records that a batch did not store.
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

use bson::{DateTime, Document, doc};
use bucket_core::{
    Record,
    write::{Answer, Batch, Cache, Call, CallEvent, Delivered, Source, Terms},
};

use self::{
    call::{Failure, Need, go_on, read},
    collection::Collection,
    sample::{COUNT, COUNT_IDS, HYBRID_REJECT, Sample},
};

fn sample<const F: usize>(device: &str, millis: i64, value: i64) -> Sample<F> {
    Sample {
        device: device.to_owned(),
        at: DateTime::from_millis(millis),
        unique: millis,
        value,
        level: None,
        code: String::new(),
    }
}

fn batch<const F: usize>(samples: &[Sample<F>]) -> Batch {
    let mut batch = Batch::of::<Sample<F>>();
    for (index, sample) in samples.iter().enumerate() {
        batch.push(index, sample).unwrap();
    }
    batch
}

/// Stores a batch. Returns the records that are not stored, with their keys.
fn store(
    batch: Batch,
    collection: &Collection,
    reply: impl Fn(Document) -> Document,
) -> Vec<(usize, String)> {
    let mut call: Call<Failure> = Call::new(batch, Terms::default());
    let mut cache = Cache::default();
    loop {
        match go_on(&mut call, &mut cache) {
            None => {}
            Some(Need::Reads(plans)) => read(&mut call, &plans, collection),
            Some(Need::Commands(commands)) => {
                let replies = commands.iter();
                let replies = replies.map(|it| reply(collection.run(&it.body)));
                let commands = replies.map(|it| Delivered::Answer(Answer::sure(it)));
                call.told(CallEvent::Ended {
                    commands: commands.collect(),
                    late: false,
                });
            }
            Some(Need::Pause) => call.told(CallEvent::Paused),
            Some(Need::Nothing) => break,
        }
    }
    let (batch, report) = call.end();
    let keys = batch.unstored_keys();
    let failed = report.failed.iter().flat_map(|it| &it.records);
    let failed = failed.map(|index| (*index, keys[index].to_string()));
    let mut failed: Vec<_> = failed.collect();
    failed.sort();
    failed
}

fn is(device: &str) -> String {
    format!("{{ device: \"{device}\" }}")
}

#[test]
fn a_record_that_the_server_refuses_has_its_key() {
    let collection = Collection::new(Sample::<COUNT>::SPEC);
    collection.refuse("value", &[13]);
    let samples = [("a", 1), ("b", 13), ("a", 13), ("c", 2)].map(|(device, value)| {
        let millis = value;
        sample::<COUNT>(device, millis, value)
    });
    let failed = store(batch(&samples), &collection, |reply| reply);
    assert_eq!(failed, [(1, is("b")), (2, is("a"))]);
}

#[test]
fn a_record_that_may_be_rolled_back_has_its_key() {
    let collection = Collection::new(Sample::<COUNT>::SPEC);
    let samples = ["a", "b"].map(|device| sample::<COUNT>(device, 1, 1));
    let failed = store(batch(&samples), &collection, |mut reply| {
        reply.insert("writeConcernError", doc! { "code": 64, "errmsg": "late" });
        reply
    });
    assert_eq!(failed, [(0, is("a")), (1, is("b"))]);
}

#[test]
fn a_record_whose_id_has_other_data_has_its_key() {
    let collection = Collection::new(Sample::<COUNT_IDS>::SPEC);
    let stored = [sample::<COUNT_IDS>("a", 1, 1)];
    assert!(store(batch(&stored), &collection, |reply| reply).is_empty());
    let samples = [
        sample::<COUNT_IDS>("b", 2, 1),
        sample("a", 1, 2),
        // With the id of an earlier record of the batch.
        sample("b", 2, 2),
    ];
    let failed = store(batch(&samples), &collection, |reply| reply);
    assert_eq!(failed, [(1, is("a")), (2, is("b"))]);
}

#[test]
fn a_late_record_has_its_key() {
    let collection = Collection::new(Sample::<HYBRID_REJECT>::SPEC);
    let stored = [sample::<HYBRID_REJECT>("a", 50_000, 1)];
    assert!(store(batch(&stored), &collection, |reply| reply).is_empty());
    let samples = [sample::<HYBRID_REJECT>("b", 1, 1), sample("a", 1, 1)];
    let failed = store(batch(&samples), &collection, |reply| reply);
    assert_eq!(failed, [(1, is("a"))]);
}

#[test]
fn a_record_that_is_held_back_has_its_key() {
    let collection = Collection::new(Sample::<COUNT>::SPEC);
    collection.refuse("value", &[13]);
    let mut batch = Batch::of::<Sample<COUNT>>();
    batch.set_source(Source::new(Sample::<COUNT>::SPEC, "s").unwrap());
    let samples = [("a", 13), ("b", 1), ("a", 1)];
    for (index, (device, value)) in samples.into_iter().enumerate() {
        let position = i64::try_from(index).unwrap();
        batch.set_position(position);
        let sample = sample::<COUNT>(device, position, value);
        batch.push(index, &sample).unwrap();
    }
    let failed = store(batch, &collection, |reply| reply);
    assert_eq!(failed, [(0, is("a")), (2, is("a"))]);
}

#[test]
fn the_text_of_a_key_is_the_same_before_and_after_it_is_stored() {
    for device in ["", "room 7", "\"\n\u{1b}", &"x".repeat(900)] {
        let sample = sample::<COUNT>(device, 1, 1);
        let mut batch = batch(std::slice::from_ref(&sample));
        batch.give_up();
        let keys = batch.unstored_keys();
        assert_eq!(*keys[&0], *Sample::<COUNT>::SPEC.key_text(&sample.key()));
    }
}

//! A bucket that is removed under a call and opened again by others, with the same id.
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

use bson::{DateTime, RawDocumentBuf, doc};
use bucket_core::{
    Record,
    write::{Batch, Cache, Call, CallEvent, Dispatch, Terms},
};

use self::{
    call::{Failure, Need, answered, go_on, read, run},
    collection::Collection,
    sample::{NUMBERED, Sample},
};

fn call(numbers: Range<i64>) -> Call<Failure> {
    let mut batch = Batch::of::<Sample<NUMBERED>>();
    for (index, number) in numbers.enumerate() {
        let sample = Sample::<NUMBERED> {
            device: "a".to_owned(),
            at: DateTime::from_millis(number),
            unique: number,
            value: number,
            level: None,
            code: String::new(),
        };
        batch.push(index, &sample).unwrap();
    }
    Call::new(batch, Terms::default())
}

/// A call whose commands are ready and not sent yet.
fn held(mut call: Call<Failure>, collection: &Collection) -> (Call<Failure>, Vec<Dispatch>) {
    let mut cache = Cache::default();
    loop {
        match go_on(&mut call, &mut cache) {
            Some(Need::Reads(plans)) => read(&mut call, &plans, collection),
            Some(Need::Commands(commands)) => return (call, commands),
            None => {}
            other => panic!("{other:?}"),
        }
    }
}

fn sent(held: (Call<Failure>, Vec<Dispatch>), collection: &Collection) -> Call<Failure> {
    let (mut call, commands) = held;
    let commands = commands.iter().map(|it| answered(collection, it)).collect();
    call.told(CallEvent::Ended {
        commands,
        late: false,
    });
    call
}

#[test]
fn a_bucket_that_was_opened_again_is_not_damaged() {
    let collection = Collection::new(Sample::<NUMBERED>::SPEC);
    let others = |numbers: Range<i64>| {
        let report = run(call(numbers), &collection, |_| {}, answered);
        assert!(report.failed.is_empty(), "{:?}", report.failed);
    };
    others(0..1);
    let ours = held(call(100..103), &collection);
    others(1..2);
    // Refused: the bucket has a record more. It is looked at again.
    let ours = held(sent(ours, &collection), &collection);
    let id = collection.documents()[0].get("_id").cloned().unwrap();
    let collection_name = Sample::<NUMBERED>::SPEC.collection();
    let removal =
        doc! { "delete": collection_name, "deletes": [{ "q": { "_id": id }, "limit": 1 }] };
    collection.run(&RawDocumentBuf::try_from(&removal).unwrap());
    others(2..3);
    // Refused: the bucket has a record less.
    let ours = sent(ours, &collection);
    let report = run(ours, &collection, |_| {}, answered);
    assert!(report.failed.is_empty(), "{:?}", report.failed);
    assert_eq!(report.stored, 3);
}

/// Each time it is full when the statement comes, and as before when it is looked at again.
#[test]
fn a_bucket_that_fills_up_and_is_opened_again_several_times_is_not_damaged() {
    let collection = Collection::new(Sample::<NUMBERED>::SPEC);
    let others = |numbers: Range<i64>| {
        let report = run(call(numbers), &collection, |_| {}, answered);
        assert!(report.failed.is_empty(), "{:?}", report.failed);
    };
    let capacity = i64::from(Sample::<NUMBERED>::SPEC.capacity().unwrap());
    others(0..1);
    let mut ours = call(100..101);
    for turn in 0..5 {
        let (held, commands) = held(ours, &collection);
        let first = 1_000 * (turn + 1);
        others(first..first + capacity - 1);
        ours = sent((held, commands), &collection);
        let all = doc! {
            "delete": Sample::<NUMBERED>::SPEC.collection(),
            "deletes": [{ "q": {}, "limit": 0 }],
        };
        collection.run(&RawDocumentBuf::try_from(&all).unwrap());
        others(first + 500..first + 501);
    }
    let report = run(ours, &collection, |_| {}, answered);
    assert!(report.failed.is_empty(), "{:?}", report.failed);
    assert_eq!(report.stored, 1);
}

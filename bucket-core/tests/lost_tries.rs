//! A try without a reply arrives after a refusal of its repetition: its records are stored once, whatever others do
//! to the bucket in between.
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

use std::cell::Cell;

use bson::{Bson, DateTime, RawDocument, RawDocumentBuf, doc};
use bucket_core::{
    Record,
    write::{Answer, Batch, Call, Certainty, Delivered, Reason, Report, Terms},
};

use self::{
    call::{Failure, answered, run},
    collection::Collection,
    sample::{
        COUNT, HYBRID_BYTES, HYBRID_SIDE, NUMBERED, NUMBERED_OBJECT, Sample, WINDOW,
        WINDOW_CAPACITY, WINDOW_OBJECT,
    },
};

/// The caller's records; those of others are smaller.
const OWN: i64 = 100;

fn sample<const F: usize>(unique: i64) -> Sample<F> {
    Sample {
        device: "0".to_owned(),
        at: DateTime::from_millis(1),
        unique,
        value: 7,
        level: Some(0.5),
        code: String::new(),
    }
}

fn batch<const F: usize>(uniques: &[i64]) -> Batch {
    let mut batch = Batch::of::<Sample<F>>();
    for (index, unique) in uniques.iter().enumerate() {
        batch.push(index, &sample::<F>(*unique)).unwrap();
    }
    batch.set_now(DateTime::from_millis(5));
    batch
}

fn others<const F: usize>(uniques: &[i64], collection: &Collection) {
    let call = Call::new(batch::<F>(uniques), Terms::default());
    let report = run(call, collection, |_| {}, answered);
    assert_eq!(report.stored, uniques.len(), "{report:?}");
}

/// Somebody removes all buckets.
fn remove_all(collection: &Collection) {
    let namespace = Sample::<COUNT>::SPEC.collection();
    let removal = doc! { "delete": namespace, "deletes": [{ "q": {}, "limit": 0 }] };
    collection.run(&RawDocumentBuf::try_from(&removal).unwrap());
    assert!(collection.documents().is_empty());
}

/// How often a record is stored.
fn copies(unique: i64, collection: &Collection) -> usize {
    let buckets = collection.documents();
    let items = buckets
        .iter()
        .flat_map(|bucket| bucket.get_array("items").unwrap());
    let uniques = items.map(|item| item.as_document().unwrap().get_i64("unique").unwrap());
    uniques.filter(|stored| *stored == unique).count()
}

fn statements(body: &RawDocument) -> usize {
    let lists = ["updates", "documents"].map(|list| body.get_array(list).ok());
    let list = lists.into_iter().flatten().next().unwrap();
    list.into_iter().count()
}

/// Stores the batch. The first command gets its reply, and a fence holds off its first try only after this has
/// happened.
fn overtaken(
    batch: Batch,
    collection: &Collection,
    meanwhile: impl FnOnce(&RawDocument),
) -> Report<Failure> {
    let meanwhile = Cell::new(Some(meanwhile));
    let call = Call::new(batch, Terms::default());
    run(
        call,
        collection,
        |_| {},
        |collection, command| {
            let mut answer = Answer::sure(collection.run(&command.body));
            if let Some(meanwhile) = meanwhile.take() {
                meanwhile(&command.body);
                answer.doubt = Certainty::Overtaken;
            }
            Delivered::Answer(answer)
        },
    )
}

fn is_unknown(report: &Report<Failure>, records: usize) -> bool {
    let of = |reason: &Reason<_>| matches!(reason, Reason::LostTry);
    let unknown = report.failed.iter().filter(|failed| of(&failed.reason));
    report.stored == 0 && unknown.map(|failed| failed.records.len()).sum::<usize>() == records
}

/// A record for a bucket that the handle remembers and that is gone.
fn appended<const F: usize>(collection: &Collection) -> Batch {
    others::<F>(&[1], collection);
    let id = collection.documents()[0].get("_id").cloned();
    remove_all(collection);
    let mut batch = batch::<F>(&[OWN]);
    // Where the server makes the ids, handles have those of texts.
    let id = match id {
        Some(Bson::String(id)) => id,
        _ if F == NUMBERED_OBJECT => "0_0000000001".to_owned(),
        _ => "0_0000000000".to_owned(),
    };
    batch.guess(|_| Some(id.clone()));
    batch
}

/// Records for an open bucket that was read and that is gone.
fn filled<const F: usize>(collection: &Collection) -> Batch {
    others::<F>(&[1], collection);
    let seen = RawDocumentBuf::try_from(&collection.documents()[0]).unwrap();
    remove_all(collection);
    let mut batch = batch::<F>(&[OWN, OWN + 1]);
    batch.chains_mut()[0].saw(&seen).unwrap();
    batch
}

/// Others open the bucket again, the late try arrives, and others fill it.
fn is_stored_once_at_most<const F: usize>(make: fn(&Collection) -> Batch, records: i64) {
    let collection = &Collection::new(Sample::<F>::SPEC);
    let batch = make(collection);
    let report = overtaken(batch, collection, |late| {
        others::<F>(&[2], collection);
        collection.run(late);
        assert_eq!(
            copies(OWN, collection),
            1,
            "form {F}: the late try is applied"
        );
        others::<F>(&[3, 4, 5, 6, 8], collection);
    });
    for own in OWN..OWN + records {
        assert_eq!(copies(own, collection), 1, "form {F}");
    }
    assert!(
        is_unknown(&report, usize::try_from(records).unwrap()),
        "form {F}: {report:?}"
    );
}

#[test]
fn a_late_append_to_a_bucket_that_others_opened_again_and_filled_is_not_stored_twice() {
    is_stored_once_at_most::<COUNT>(appended::<COUNT>, 1);
    is_stored_once_at_most::<NUMBERED>(appended::<NUMBERED>, 1);
    is_stored_once_at_most::<NUMBERED_OBJECT>(appended::<NUMBERED_OBJECT>, 1);
    is_stored_once_at_most::<HYBRID_SIDE>(appended::<HYBRID_SIDE>, 1);
    is_stored_once_at_most::<HYBRID_BYTES>(appended::<HYBRID_BYTES>, 1);
    is_stored_once_at_most::<WINDOW>(appended::<WINDOW>, 1);
    is_stored_once_at_most::<WINDOW_CAPACITY>(appended::<WINDOW_CAPACITY>, 1);
}

#[test]
fn a_late_statement_for_a_bucket_that_was_seen_before_it_was_removed_is_not_stored_twice() {
    is_stored_once_at_most::<COUNT>(filled::<COUNT>, 2);
    is_stored_once_at_most::<NUMBERED>(filled::<NUMBERED>, 2);
    is_stored_once_at_most::<HYBRID_SIDE>(filled::<HYBRID_SIDE>, 2);
    is_stored_once_at_most::<WINDOW_CAPACITY>(filled::<WINDOW_CAPACITY>, 2);
    is_stored_once_at_most::<WINDOW_OBJECT>(filled::<WINDOW_OBJECT>, 2);
}

#[test]
fn a_late_opening_of_a_bucket_that_was_full_and_is_removed_after_the_refusal_is_not_stored_twice() {
    let collection = &Collection::new(Sample::<WINDOW_CAPACITY>::SPEC);
    others::<WINDOW_CAPACITY>(&[1, 2, 3, 4], collection);
    let batch = batch::<WINDOW_CAPACITY>(&[OWN]);
    let report = overtaken(batch, collection, |late| {
        remove_all(collection);
        collection.run(late);
        assert_eq!(copies(OWN, collection), 1);
    });
    assert_eq!(copies(OWN, collection), 1);
    assert!(is_unknown(&report, 1), "{report:?}");
}

/// Of two keys in one ordered command the first one's bucket cannot be opened, until others have filled the one that is
/// in its way.
#[test]
fn what_comes_after_a_refused_statement_of_another_key_is_not_stored_twice_either() {
    let collection = &Collection::new(Sample::<NUMBERED>::SPEC);
    let of = |device: &str, unique| Sample::<NUMBERED> {
        device: device.to_owned(),
        ..sample(unique)
    };
    let mut batch = batch::<NUMBERED>(&[]);
    for (index, device) in (0..10).zip(["0", "1"].repeat(5)) {
        batch
            .push(usize::try_from(index).unwrap(), &of(device, OWN + index))
            .unwrap();
    }
    let chains = batch.chains_mut().iter_mut();
    chains.for_each(bucket_core::write::Chain::saw_none_open);
    others::<NUMBERED>(&[1, 2, 3, 4], collection);
    let report = overtaken(batch, collection, |late| {
        assert_eq!(statements(late), 4, "both keys in one command");
        remove_all(collection);
        collection.run(late);
    });
    for own in OWN..OWN + 10 {
        assert_eq!(copies(own, collection), 1);
    }
    assert!(is_unknown(&report, 10), "{report:?}");
}

#[test]
fn what_no_late_try_has_stored_is_sent_again_whatever_the_bucket_holds_now() {
    fn is_sent_again<const F: usize>() {
        for after in [&[2][..], &[2, 3, 4, 5, 6]] {
            let collection = &Collection::new(Sample::<F>::SPEC);
            let batch = appended::<F>(collection);
            let report = overtaken(batch, collection, |_| {
                others::<F>(after, collection);
            });
            assert_eq!((report.stored, copies(OWN, collection)), (1, 1), "form {F}");
        }
    }
    is_sent_again::<COUNT>();
    is_sent_again::<NUMBERED>();
    is_sent_again::<NUMBERED_OBJECT>();
    is_sent_again::<HYBRID_SIDE>();
    is_sent_again::<WINDOW_CAPACITY>();
}

#[test]
fn a_record_of_others_that_is_equal_leaves_the_outcome_open() {
    let collection = &Collection::new(Sample::<NUMBERED>::SPEC);
    let batch = appended::<NUMBERED>(collection);
    let report = overtaken(batch, collection, |_| {
        others::<NUMBERED>(&[2, OWN, 3, 4, 5], collection);
    });
    assert_eq!(copies(OWN, collection), 1);
    assert!(is_unknown(&report, 1), "{report:?}");
}

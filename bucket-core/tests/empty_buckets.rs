//! Buckets without records: writers that reserve one and end, collections that refuse them, and
//! retried batches.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "in a test they are the point"
)]

#[path = "common/collection.rs"]
mod collection;
#[path = "common/sample.rs"]
mod sample;
#[path = "common/writer.rs"]
mod writer;

use bson::{DateTime, Document, RawDocument, doc, rawdoc};
use bucket_core::{
    Record,
    write::{Batch, Call, Certainty, Delivered, Dispatch, Need, Reason, Round, Terms},
};
use collection::Collection;
use sample::{COUNT, COUNT_IDS, Sample};
use writer::{
    Server, Writer,
    call::{self, Moment},
};

fn batch<const F: usize>(devices: &[&str], records: i64) -> Batch {
    let mut batch = Batch::of::<Sample<F>>();
    let records = devices
        .iter()
        .flat_map(|device| (0..records).map(move |number| (device, number)));
    for (index, (device, number)) in records.enumerate() {
        let sample = Sample::<F> {
            device: (*device).to_owned(),
            at: DateTime::from_millis(number * 10),
            unique: number,
            value: number,
            level: None,
            code: String::new(),
        };
        batch.push(index, &sample).unwrap();
    }
    batch
}

fn updates(round: &Round) -> Vec<Document> {
    let body = Document::try_from(round.command().body().to_owned()).unwrap();
    let updates = body.get_array("updates").unwrap().iter();
    let updates = updates.map(|update| update.as_document().unwrap().clone());
    updates.collect()
}

/// The key's open bucket is this one, and stays so however long a writer waits for it.
fn saw_at_last(batch: &mut Batch, bucket: &RawDocument) -> u32 {
    let mut pauses = 0;
    loop {
        match batch.chains()[0].need() {
            Need::OpenBucket | Need::NewestBucket => batch.chains_mut()[0].saw(bucket).unwrap(),
            Need::Patience => {
                assert!(batch.rounds(None).is_empty());
                batch.waited();
                pauses += 1;
            }
            _ => return pauses,
        }
    }
}

fn refused() -> Document {
    let error = doc! { "index": 0, "code": 121, "errmsg": "Document failed validation" };
    doc! { "ok": 1, "n": 0, "writeErrors": [error] }
}

/// A validator that requires `count >= 1` refuses the statement that ends a reservation.
#[test]
fn a_reserved_bucket_accepts_records_where_the_collection_refuses_empty_ones() {
    let mut batch = batch::<COUNT>(&["a"], 2);
    let left_over = rawdoc! { "_id": "a_0000000001", "count": 0_i64 };
    saw_at_last(&mut batch, &left_over);
    let rounds = batch.rounds(None);
    let settled = batch.settle(&rounds[0], &refused(), Certainty::Full);
    assert!(settled.failed.is_empty(), "{:?}", settled.failed);

    assert_ne!(batch.chains()[0].need(), Need::Nothing);
    saw_at_last(&mut batch, &left_over);
    let rounds = batch.rounds(None);
    let updates = updates(&rounds[0]);
    let reserved = doc! { "$type": "long", "$lte": 0 };
    let filter = updates[0].get_document("q").unwrap();
    assert_eq!(filter.get_document("count").unwrap(), &reserved);
    let update = updates[0].get_document("u").unwrap();
    assert_eq!(
        update.get_document("$set").unwrap(),
        &doc! { "count": 2 },
        "the first records come with it"
    );
    let settled = batch.settle(&rounds[0], &doc! { "ok": 1, "n": 1 }, Certainty::Full);
    assert_eq!(settled.stored, [0, 1]);
}

#[test]
fn a_record_that_is_refused_with_a_reserved_bucket_is_returned() {
    let mut batch = batch::<COUNT>(&["a"], 2);
    let mut failed = Vec::new();
    for _ in 0..9 {
        if batch.chains()[0].need() == Need::Nothing {
            break;
        }
        let left_over = rawdoc! { "_id": "a_0000000001", "count": 0_i64 };
        saw_at_last(&mut batch, &left_over);
        let rounds = batch.rounds(None);
        let settled = batch.settle(&rounds[0], &refused(), Certainty::Full);
        failed.extend(settled.failed.into_iter().map(|failed| failed.index));
    }
    assert_eq!(failed, [0, 1]);
}

/// Nothing shows in advance whether the records of a batch are already stored, or refused.
#[test]
fn nothing_is_reserved_before_a_record_of_the_batch_is_stored() {
    let size = i64::from(Sample::<COUNT>::SPEC.capacity().unwrap());
    let is_reservation =
        |update: &Document| !update.get_document("u").unwrap().contains_key("$push");
    let full = rawdoc! { "_id": "a_0000000000", "count": size };
    for seen in [None, Some(&full)] {
        let mut batch = batch::<COUNT>(&["a"], 4 * size);
        match seen {
            None => batch.chains_mut()[0].saw_none_open(),
            Some(full) => batch.chains_mut()[0].saw(full).unwrap(),
        }
        let rounds = batch.rounds(None);
        let updates = updates(&rounds[0]);
        let reservation = updates.iter().position(is_reservation);
        assert_eq!(reservation, Some(2), "{updates:?}");

        let settled = batch.settle(&rounds[0], &refused(), Certainty::Full);
        assert!(settled.failed.is_empty());
        batch.chains_mut()[0].saw_none_open();
        let rounds = batch.rounds(None);
        assert!(!self::updates(&rounds[0]).iter().any(is_reservation));
    }
}

#[test]
fn a_retried_batch_leaves_no_bucket_without_records() {
    let size = i64::from(Sample::<COUNT_IDS>::SPEC.capacity().unwrap());
    let mut server = Server::new(Collection::new(Sample::<COUNT_IDS>::SPEC));
    let mut deliver = || {
        let mut writer = Writer::new(batch::<COUNT_IDS>(&["a", "b", "c"], 4 * size), None);
        writer.finish(&mut server);
        (writer, server.collection.documents())
    };
    let (first, stored) = deliver();
    let (again, unchanged) = deliver();
    assert_eq!(again.duplicates.len(), first.stored.len());
    assert_eq!(unchanged, stored);
}

/// What it inserts before the bucket would appear where readers have been.
#[test]
fn a_reserved_bucket_is_left_to_its_owner_while_it_may_load() {
    let mut batch = batch::<COUNT>(&["a"], 1);
    let reserved = rawdoc! { "_id": "a_0000000001", "count": 0_i64 };
    batch.chains_mut()[0].saw(&reserved).unwrap();
    assert_eq!(batch.chains()[0].need(), Need::Patience);
    batch.waited();
    assert_eq!(batch.chains()[0].need(), Need::OpenBucket, "it looks again");
    // By now its owner has added records to it.
    let begun = rawdoc! { "_id": "a_0000000001", "count": 2 };
    assert_eq!(saw_at_last(&mut batch, &begun), 0);
    let rounds = batch.rounds(None);
    let updates = updates(&rounds[0]);
    assert!(updates[0].get_document("u").unwrap().contains_key("$push"));
    let settled = batch.settle(&rounds[0], &doc! { "ok": 1, "n": 1 }, Certainty::Full);
    assert_eq!(settled.stored, [0]);
}

#[test]
fn a_bucket_that_was_taken_over_gets_records_only_after_the_requests_in_flight() {
    let mut batch = batch::<COUNT>(&["a"], 1);
    let reserved = rawdoc! { "_id": "a_0000000001", "count": 0_i64 };
    assert!(saw_at_last(&mut batch, &reserved) > 3);
    let rounds = batch.rounds(None);
    let take_over = &updates(&rounds[0])[0];
    assert!(!take_over.get_document("u").unwrap().contains_key("$push"));
    batch.settle(&rounds[0], &doc! { "ok": 1, "n": 1 }, Certainty::Full);
    assert_eq!(batch.chains()[0].need(), Need::Patience);
    batch.waited();
    assert_eq!(batch.chains()[0].need(), Need::Statements);

    // Another writer may have taken it over in the meantime.
    let mut other = self::batch::<COUNT>(&["a"], 1);
    let already_free = rawdoc! { "_id": "a_0000000001", "count": 0 };
    assert_eq!(saw_at_last(&mut other, &already_free), 1);
}

#[test]
fn a_writer_that_has_reserved_a_bucket_waits_for_nobody() {
    let size = i64::from(Sample::<COUNT>::SPEC.capacity().unwrap());
    let mut batch = batch::<COUNT>(&["a"], 5 * size);
    let full = rawdoc! { "_id": "a_0000000000", "count": size };
    let mut reservation = None;
    while reservation.is_none() {
        if batch.chains()[0].need() != Need::Statements {
            batch.chains_mut()[0].saw(&full).unwrap();
        }
        let round = batch.rounds(None).remove(0);
        let is_reservation = |update: &Document| {
            let update = update.get_document("u").unwrap();
            (!update.contains_key("$push")).then(|| update.get_document("$set").unwrap().clone())
        };
        let updates = updates(&round);
        let at = updates.iter().position(|it| is_reservation(it).is_some());
        let applied = at.map_or(updates.len(), |at| at + 1);
        reservation = at.and_then(|at| is_reservation(&updates[at]));
        // What comes after it is refused.
        let error = doc! { "index": i32::try_from(applied).unwrap(), "code": 66, "errmsg": "_id" };
        let reply = if applied < updates.len() {
            doc! { "ok": 1, "n": i32::try_from(applied).unwrap(), "writeErrors": [error] }
        } else {
            doc! { "ok": 1, "n": i32::try_from(applied).unwrap() }
        };
        batch.settle(&round, &reply, Certainty::Full);
    }
    let id = reservation.unwrap().get_str("_id").unwrap().to_owned();
    let own = rawdoc! { "_id": id, "count": 0_i64 };
    assert_eq!(saw_at_last(&mut batch, &own), 0);
    assert_eq!(batch.chains()[0].need(), Need::Statements);
}

/// A transaction would always see the same state.
#[test]
fn in_a_transaction_a_reserved_bucket_is_taken_over_at_once() {
    let mut batch = batch::<COUNT>(&["a"], 1);
    batch.look_first();
    let reserved = rawdoc! { "_id": "a_0000000001", "count": 0_i64 };
    assert_eq!(saw_at_last(&mut batch, &reserved), 0);
    assert_eq!(batch.chains()[0].need(), Need::Statements);
}

/// Otherwise calls with a short deadline would never get past a bucket whose owner has ended.
#[test]
fn a_call_in_a_hurry_waits_for_nobody() {
    let mut batch = batch::<COUNT>(&["a"], 1);
    batch.wait_for_nobody();
    let reserved = rawdoc! { "_id": "a_0000000001", "count": 0_i64 };
    assert_eq!(saw_at_last(&mut batch, &reserved), 0);
    let rounds = batch.rounds(None);
    batch.settle(&rounds[0], &doc! { "ok": 1, "n": 1 }, Certainty::Full);
    assert_eq!(batch.chains()[0].need(), Need::Statements);
}

/// A key whose bucket another writer has reserved waits; the others do not wait for it.
#[test]
fn keys_continue_while_another_one_of_the_call_leaves_a_bucket_to_its_owner() {
    let mut collection = Collection::new(Sample::<COUNT>::SPEC);
    // Its writer has ended.
    let reserved = doc! { "_id": "a_0000000001", "device": "a", "count": 0_i64, "items": [] };
    collection.edit(|documents| documents.push(reserved));
    // Open buckets are asked first, so the others take two rounds.
    writer::store(batch::<COUNT>(&["b", "c"], 1), &mut collection);
    let of_key = |key: &str| {
        let buckets = collection.documents();
        let buckets = buckets
            .iter()
            .filter(|bucket| bucket.get_str("device").unwrap() == key);
        let counts = buckets.filter_map(|bucket| bucket.get_array("items").ok());
        counts.map(Vec::len).sum::<usize>()
    };
    let mut pauses = 0;
    let watch = |moment: Moment<'_>| {
        if let Moment::Pause = moment {
            let others = ["b", "c"].map(of_key);
            assert_eq!(others, [61, 61], "they are not done, and wait");
            pauses += 1;
        }
    };
    let batch = batch::<COUNT>(&["a", "b", "c"], 60);
    let call = Call::new(batch, Terms::default());
    let report = call::run(call, &collection, watch, call::answered);
    assert!(report.failed.is_empty(), "{:?}", report.failed);
    assert_eq!((report.stored, of_key("a")), (180, 60));
    // Six before it is taken over, and one before it gets records.
    assert_eq!(pauses, 7);
}

/// The statement that ends another writer's reservation brings no records.
#[test]
fn no_record_is_reported_as_unknown_if_only_a_take_over_was_lost() {
    let mut collection = Collection::new(Sample::<COUNT>::SPEC);
    let reserved = doc! { "_id": "a_0000000001", "device": "a", "count": 0_i64, "items": [] };
    collection.edit(|documents| documents.push(reserved));
    let mut terms = Terms::default();
    terms.in_a_hurry = true;
    let call = Call::new(batch::<COUNT>(&["a"], 3), terms);
    let lost = |_: &Collection, _: &Dispatch| Delivered::Failed {
        error: "no reply",
        unknown: true,
        refusal: None,
    };
    let report = call::run(call, &collection, |_| (), lost);
    assert_eq!(report.commands, 1);
    let stopped_by = report.stopped_by.unwrap();
    assert!(!stopped_by.is_unknown(), "{stopped_by:?}");
    let [unstored] = report.failed.as_slice() else {
        panic!("{:?}", report.failed);
    };
    assert_eq!(unstored.records, [0, 1, 2]);
    let Reason::NotSent(why) = &unstored.reason else {
        panic!("{:?}", unstored.reason);
    };
    assert!(matches!(**why, Reason::Failed { .. }), "{why:?}");
}

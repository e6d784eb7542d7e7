//! The statements of a write as documents, against the manual's commands.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests are meant to panic"
)]

mod common;

use bson::{Document, RawDocument, doc};
use bucket_core::{
    Record,
    write::{Batch, Need},
};
use common::{Trade, date, trade};

fn document(command: &bucket_core::write::Command) -> Document {
    Document::try_from(command.body().to_owned()).unwrap()
}

fn msft() -> Trade {
    trade(123, "buy", "MSFT", 42, "2023-11-02T11:43:10Z")
}

fn batch(records: &[Trade]) -> Batch {
    let mut batch = Batch::of::<Trade>();
    for (index, record) in records.iter().enumerate() {
        batch.push(index, record).unwrap();
    }
    batch
}

/// The manual's update. It uses the bucket's own `_id` instead of the regular expression, which
/// matches other keys too, and the key field by equality.
#[test]
fn a_record_is_appended_by_the_manuals_push_and_inc() {
    let mut batch = batch(&[msft()]);
    batch.guess(|_| Some("123_1698335223".to_owned()));
    let rounds = batch.rounds(None);
    let expected = doc! {
        "update": "trades",
        "ordered": true,
        "updates": [{
            "q": {
                "_id": "123_1698335223", "customerId": 123_i64, "count": { "$gt": 0, "$lt": 10 },
                "history": { "$type": "array" }, "history.9": { "$exists": false },
            },
            "u": {
                "$push": { "history": {
                    "type": "buy", "ticker": "MSFT", "qty": 42, "date": date("2023-11-02T11:43:10Z"),
                } },
                "$inc": { "count": 1 },
            },
            "hint": "_id_",
        }],
    };
    assert_eq!(document(rounds[0].command()), expected);
}

/// The manual's upsert: the same operators and `_id` from the record, only if no later bucket of
/// the key exists.
#[test]
fn a_bucket_is_opened_by_the_manuals_upsert() {
    let mut batch = batch(&[msft()]);
    batch.chains_mut()[0].saw_none_open();
    let rounds = batch.rounds(Some(&bson::rawdoc! { "w": "majority" }));
    let expected = doc! {
        "update": "trades",
        "ordered": true,
        "updates": [{
            "q": { "customerId": 123_i64, "_id": { "$gt": "123_1698925390" } },
            "u": {
                "$push": { "history": {
                    "type": "buy", "ticker": "MSFT", "qty": 42, "date": date("2023-11-02T11:43:10Z"),
                } },
                "$inc": { "count": 1 },
                "$set": { "_id": "123_1698925390" },
            },
            "upsert": true,
            "hint": "bucket_pages",
        }],
        "writeConcern": { "w": "majority" },
    };
    assert_eq!(rounds.len(), 1);
    assert_eq!(document(rounds[0].command()), expected);
}

#[test]
fn a_batch_fills_the_open_bucket_and_then_the_next_ones() {
    let records: Vec<Trade> = (0..14).map(|n| Trade { qty: n, ..msft() }).collect();
    let mut batch = batch(&records);
    let seen = bson::rawdoc! { "_id": "123_1698335223", "count": 8 };
    batch.chains_mut()[0].saw(&seen).unwrap();
    let rounds = batch.rounds(None);
    assert_eq!(rounds.len(), 1);
    let command = document(rounds[0].command());
    let updates = command.get_array("updates").unwrap();
    let shape = |at: usize| -> (Document, Vec<i32>, i32) {
        let update = updates[at].as_document().unwrap();
        let change = update.get_document("u").unwrap();
        let pushed = change.get_document("$push").unwrap();
        let items = match pushed.get_document("history").unwrap() {
            field if field.contains_key("$each") => field.get_array("$each").unwrap().clone(),
            item => vec![item.clone().into()],
        };
        let qty = items
            .iter()
            .map(|item| item.as_document().unwrap().get_i32("qty").unwrap());
        let inc = change
            .get_document("$inc")
            .unwrap()
            .get_i32("count")
            .unwrap();
        (
            update.get_document("q").unwrap().clone(),
            qty.collect(),
            inc,
        )
    };
    let room = |id: &str, count: Document, beyond: &str| {
        doc! {
            "_id": id, "customerId": 123_i64, "count": count,
            "history": { "$type": "array" }, beyond: { "$exists": false },
        }
    };
    // The page was seen, so it must still exist.
    let mut first = room("123_1698335223", doc! { "$gt": 0, "$lte": 8 }, "history.8");
    first.insert("$and", vec![doc! { "customerId": 123_i64 }]);
    assert_eq!(shape(0), (first, vec![0, 1], 2));
    let second = doc! { "customerId": 123_i64, "_id": { "$gt": "123_1698925390" } };
    assert_eq!(shape(1), (second, (2..11).collect(), 9));
    let mut third = room("123_1698925390", doc! { "$gt": 0, "$lt": 10 }, "history.9");
    third.insert("$and", vec![doc! { "customerId": 123_i64 }]);
    assert_eq!(shape(2), (third, vec![11], 1));
    let fourth = doc! { "customerId": 123_i64, "_id": { "$gt": "123_1698925390_1" } };
    assert_eq!(shape(3), (fourth, vec![12, 13], 2));
    assert_eq!(updates.len(), 4);
    assert!(command.get_bool("ordered").unwrap());
}

/// After the open bucket is full, the last bucket is reserved first, the whole ones go before it,
/// and then it gets its records.
#[test]
fn whole_buckets_are_placed_before_a_reserved_one() {
    let records: Vec<Trade> = (-1..24).map(|n| Trade { qty: n, ..msft() }).collect();
    let mut batch = batch(&records);
    let seen = bson::rawdoc! { "_id": "123_1698335223", "count": 9 };
    batch.chains_mut()[0].saw(&seen).unwrap();
    let rounds = batch.rounds(None);
    let reply = doc! { "ok": 1, "n": 1 };
    batch.settle(&rounds[0], &reply, bucket_core::write::Certainty::Full);
    let rounds = batch.rounds(None);
    assert_eq!(rounds.len(), 1);
    let command = document(rounds[0].command());
    let updates: Vec<&Document> = command
        .get_array("updates")
        .unwrap()
        .iter()
        .map(|update| update.as_document().unwrap())
        .collect();
    let item = |qty: i32| {
        doc! {
            "type": "buy", "ticker": "MSFT", "qty": qty, "date": date("2023-11-02T11:43:10Z"),
        }
    };
    let items = |qty: std::ops::Range<i32>| {
        let each: Vec<Document> = qty.map(item).collect();
        doc! { "history": { "$each": each } }
    };
    let ids = ["123_1698925390", "123_1698925390_1", "123_1698925390_2"];
    let reserved = || doc! { "$type": "long", "$lte": 0 };
    let reserve = doc! {
        "q": { "customerId": 123_i64, "_id": { "$gt": ids[0], "$ne": ids[2] } },
        "u": {
            "$set": { "_id": ids[2] },
            "$setOnInsert": { "count": 0_i64, "history": [] },
        },
        "upsert": true,
        "hint": "bucket_pages",
    };
    let place = |at: usize, later: Document| {
        let first = i32::try_from(at).unwrap() * 10;
        doc! {
            "q": {
                "customerId": 123_i64, "_id": later, "$nor": [{ "count": reserved() }],
            },
            "u": {
                "$push": items(first..first + 10),
                "$inc": { "count": 10 },
                "$set": { "_id": ids[at] },
            },
            "upsert": true,
            "hint": "bucket_pages",
        }
    };
    let begin = doc! {
        "q": {
            "_id": ids[2], "customerId": 123_i64, "$and": [{ "customerId": 123_i64 }],
            "count": reserved(),
            "history": { "$type": "array" }, "history.0": { "$exists": false },
        },
        "u": { "$push": items(20..24), "$set": { "count": 4 } },
        "upsert": true,
        "hint": "_id_",
    };
    assert_eq!(updates.len(), 4);
    assert_eq!(updates[0], &reserve);
    assert_eq!(updates[1], &place(0, doc! { "$gt": ids[0] }));
    assert_eq!(updates[2], &place(1, doc! { "$gt": ids[0], "$ne": ids[1] }));
    assert_eq!(updates[3], &begin);
    assert!(command.get_bool("ordered").unwrap());
}

/// In a transaction, a refused statement ends everything; and a collection may refuse empty
/// buckets.
#[test]
fn nothing_is_reserved_in_a_callers_session() {
    let records: Vec<Trade> = (0..24).map(|n| Trade { qty: n, ..msft() }).collect();
    let mut batch = batch(&records);
    batch.look_first();
    let seen = bson::rawdoc! { "_id": "123_1698335223", "count": 10 };
    batch.chains_mut()[0].saw(&seen).unwrap();
    let rounds = batch.rounds(None);
    let command = document(rounds[0].command());
    let updates = command.get_array("updates").unwrap();
    for update in updates {
        let update = update.as_document().unwrap().get_document("u").unwrap();
        assert!(update.contains_key("$push"), "{update}");
    }
}

/// The bucket stays reserved as long as the writer waits for it.
fn wait_for(batch: &mut Batch, reserved: &RawDocument) {
    while batch.chains()[0].need() != Need::Statements {
        batch.waited();
        batch.chains_mut()[0].saw(reserved).unwrap();
    }
}

/// A writer that needs a bucket reserved by another one first ends the reservation, in a command of
/// its own.
#[test]
fn a_reserved_bucket_is_taken_over_before_it_gets_records() {
    let records: Vec<Trade> = (0..30).map(|n| Trade { qty: n, ..msft() }).collect();
    let mut batch = batch(&records);
    let seen = bson::rawdoc! { "_id": "123_1698335223", "count": 0_i64 };
    wait_for(&mut batch, &seen);
    let rounds = batch.rounds(None);
    assert_eq!(rounds.len(), 1);
    let take_over = doc! {
        "q": {
            "_id": "123_1698335223", "customerId": 123_i64,
            "$and": [{ "customerId": 123_i64 }], "count": { "$type": "long", "$lte": 0 },
        },
        "u": { "$set": { "count": 0 } },
        "upsert": true,
        "hint": "_id_",
    };
    let command = document(rounds[0].command());
    assert_eq!(command.get_array("updates").unwrap(), &[take_over.into()]);
    let reply = doc! { "ok": 1, "n": 1 };
    let settled = batch.settle(&rounds[0], &reply, bucket_core::write::Certainty::Full);
    assert!(settled.stored.is_empty() && settled.opened.is_empty());

    batch.waited();
    let rounds = batch.rounds(None);
    let command = document(rounds[0].command());
    let first = command.get_array("updates").unwrap()[0]
        .as_document()
        .unwrap();
    let begin = doc! {
        "_id": "123_1698335223", "customerId": 123_i64, "$and": [{ "customerId": 123_i64 }],
        "count": { "$gte": 0, "$lte": 0 },
        "history": { "$type": "array" }, "history.0": { "$exists": false },
    };
    assert_eq!(first.get_document("q").unwrap(), &begin);
    let settled = batch.settle(&rounds[0], &reply, bucket_core::write::Certainty::Full);
    assert_eq!(
        settled.opened[0], 0,
        "it counts as opened with its first records"
    );
}

#[test]
fn many_keys_share_one_command() {
    let records: Vec<Trade> = (0..30)
        .map(|n| Trade {
            customer_id: n % 5,
            ..msft()
        })
        .collect();
    let mut batch = batch(&records);
    for chain in batch.chains_mut() {
        chain.saw_none_open();
    }
    let rounds = batch.rounds(None);
    assert_eq!(rounds.len(), 1);
    assert_eq!(rounds[0].command().statements(), 5);
    assert_eq!(rounds[0].records(), 30);
}

#[test]
fn a_record_that_could_break_the_document_limit_is_refused_before_anything_is_sent() {
    let huge = Trade {
        ticker: "x".repeat(2_000_000),
        ..msft()
    };
    let error = Batch::of::<Trade>().push(0, &huge).unwrap_err().to_string();
    assert!(
        error.contains("2000") && error.contains("at most 16"),
        "{error}"
    );
}

#[test]
fn ten_records_of_the_largest_size_fit_a_document() {
    let limit = bucket_core::size::max_record_bytes(Trade::CAPACITY);
    assert!(limit * 10 + bucket_core::size::OVERHEAD_BYTES < bucket_core::size::MAX_DOCUMENT_BYTES);
    assert_eq!(<Trade as Record>::SPEC.capacity(), Some(10));
}

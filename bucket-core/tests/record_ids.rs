//! What record ids add to a statement, to the indexes and to a batch.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests are meant to panic"
)]

#[path = "common/sample.rs"]
mod sample;

use bson::{DateTime, Document, RawDocumentBuf, doc, oid::ObjectId};
use bucket_core::{
    BucketSpec, EncodeError, Record, index,
    index::Drift,
    write::{Batch, Need, Repetition},
};
use bucket_derive::Bucketed;
use sample::{COUNT, COUNT_IDS, NUMBERED_IDS, Sample};
use serde::{Deserialize, Serialize, Serializer};

fn sample<const F: usize>(unique: i64, value: i64) -> Sample<F> {
    Sample {
        device: "a".to_owned(),
        at: DateTime::from_millis(unique * 10),
        unique,
        value,
        level: None,
        code: String::new(),
    }
}

fn batch<const F: usize>(ids: &[i64]) -> Batch {
    let mut batch = Batch::of::<Sample<F>>();
    for (index, id) in ids.iter().enumerate() {
        batch.push(index, &sample::<F>(*id, *id)).unwrap();
    }
    batch
}

/// The filter of the first statement.
fn filter(batch: &Batch) -> Document {
    let rounds = batch.rounds(None);
    let command = Document::try_from(rounds[0].command().body().to_owned()).unwrap();
    let update = command.get_array("updates").unwrap()[0]
        .as_document()
        .unwrap();
    update.get_document("q").unwrap().clone()
}

fn seen() -> RawDocumentBuf {
    let bucket = doc! { "_id": "a_0000000001", "count": 1 };
    RawDocumentBuf::try_from(&bucket).unwrap()
}

#[test]
fn a_statement_requires_that_its_bucket_has_none_of_the_ids() {
    for (ids, guard) in [
        (vec![7], doc! { "$ne": 7_i64 }),
        (vec![7, 8], doc! { "$nin": [7_i64, 8_i64] }),
    ] {
        let mut batch = batch::<COUNT_IDS>(&ids);
        batch.chains_mut()[0].saw(&seen()).unwrap();
        let filter = filter(&batch);
        assert_eq!(filter.get_document("items.unique").unwrap(), &guard);
    }
    let mut without = batch::<COUNT>(&[7]);
    without.chains_mut()[0].saw(&seen()).unwrap();
    assert!(!filter(&without).contains_key("items.unique"));
}

#[test]
fn a_new_bucket_needs_no_condition() {
    let mut batch = batch::<COUNT_IDS>(&[7]);
    batch.chains_mut()[0].saw_none_open();
    assert!(!filter(&batch).contains_key("items.unique"));
}

fn names(spec: &BucketSpec) -> Vec<String> {
    let plans = index::plan(spec).into_iter();
    plans.map(|plan| plan.name).collect()
}

#[test]
fn the_index_begins_with_the_key_and_is_drift_without_the_attribute() {
    let spec = Sample::<NUMBERED_IDS>::SPEC;
    let plan = index::plan(spec).pop().unwrap();
    assert_eq!(plan.keys, doc! { "device": 1, "items.unique": 1 });
    assert!(plan.unique && plan.name == "bucket_unique");
    let without = Sample::<COUNT>::SPEC;
    assert!(!names(without).contains(&plan.name));
    let (_, drift) = index::compare(without, &[plan.definition()]);
    assert!(
        matches!(&drift[..], [Drift::RecordIds { name, .. }] if *name == plan.name),
        "{drift:?}"
    );
    let (missing, drift) = index::compare(spec, &[plan.definition()]);
    assert!(drift.is_empty() && !missing.contains(&plan));
}

#[test]
fn a_repeated_id_is_set_aside_and_compared() {
    let mut batch = batch::<COUNT_IDS>(&[1, 2, 1]);
    batch.push(3, &sample::<COUNT_IDS>(1, 9)).unwrap();
    batch.push(4, &sample::<COUNT_IDS>(1, 1)).unwrap();
    assert_eq!(batch.records(), 2);
    let repeats: Vec<_> = batch
        .own_repeats()
        .iter()
        .map(|repeat| (repeat.index, repeat.first, repeat.repetition.clone()))
        .collect();
    let other = Repetition::Other { id: "1".to_owned() };
    assert_eq!(
        repeats,
        [
            (2, 0, Repetition::Same),
            (3, 0, other),
            (4, 0, Repetition::Same)
        ]
    );
}

#[test]
fn the_stored_record_decides_which_of_two_is_the_conflict() {
    let mut batch = batch::<COUNT_IDS>(&[1]);
    batch.push(1, &sample::<COUNT_IDS>(1, 9)).unwrap();
    batch.look_first();
    batch.chains_mut()[0].saw_none_open();
    assert_eq!(batch.chains()[0].need(), Need::Repeats);
    let item = doc! { "at": DateTime::from_millis(10), "unique": 1_i64, "value": 9_i64, "code": "", "level": null };
    let found = RawDocumentBuf::try_from(&doc! { "items": [item] }).unwrap();
    let repeats = batch.saw_repeats(0, &[found]);
    assert_eq!(repeats.conflicts, [(0, "1".to_owned())]);
    assert_eq!(batch.own_repeats()[0].repetition, Repetition::Stored);
    assert_eq!(batch.chains()[0].need(), Need::Nothing);
}

/// An id whose stored form the test chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, bucket_derive::BucketKey)]
#[bucket(crate = ::bucket_core)]
struct Odd(i32);

impl Serialize for Odd {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            0 => to.serialize_none(),
            1 => [1, 2].serialize(to),
            2 => to.serialize_f64(0.5),
            3 => to.serialize_str(&"x".repeat(2_000)),
            _ => ObjectId::from_bytes([7; 12]).serialize(to),
        }
    }
}

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "odd", items = "items", capacity = 10, crate = ::bucket_core)]
struct Oddity {
    #[bucket(key)]
    key: i32,
    #[bucket(time)]
    at: DateTime,
    #[bucket(unique)]
    id: Odd,
}

#[test]
fn an_id_with_an_unusable_stored_form_is_refused_and_leaves_the_batch_unchanged() {
    let mut batch = Batch::of::<Oddity>();
    for odd in 0..4 {
        let record = Oddity {
            key: 1,
            at: DateTime::MIN,
            id: Odd(odd),
        };
        let error = batch.push(0, &record).unwrap_err();
        let is_refused = matches!(
            error,
            EncodeError::RecordId { field: "id", .. }
                | EncodeError::LongRecordId { field: "id", .. }
        );
        assert!(is_refused, "{error}");
        assert_eq!((batch.records(), batch.bytes()), (0, 0));
    }
    let record = Oddity {
        key: 1,
        at: DateTime::MIN,
        id: Odd(4),
    };
    batch.push(0, &record).unwrap();
}

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "named", items = "items", capacity = 10, crate = ::bucket_core)]
struct Named {
    #[bucket(key)]
    key: i32,
    #[bucket(time)]
    at: DateTime,
    #[bucket(unique)]
    id: String,
}

#[test]
fn an_id_that_is_too_long_is_refused_with_its_size_also_where_values_may_not_be_logged() {
    let mut batch = Batch::of::<Named>();
    let mut push = |length: usize| {
        let record = Named {
            key: 1,
            at: DateTime::MIN,
            id: "x".repeat(length),
        };
        batch.push(0, &record)
    };
    // A text has a length and a NUL.
    push(1_019).unwrap();
    let error = push(1_020).unwrap_err();
    let text = "the record id `id` takes 1025 bytes, but may take at most 1024";
    assert_eq!(error.to_string(), text);
    assert_eq!(error.redacted().to_string(), text);
}

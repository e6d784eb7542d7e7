//! The reads of all keys: their documents, and that no reply makes them panic.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests are meant to panic"
)]

mod common;
#[path = "common/sample.rs"]
mod sample;

use bson::{Bson, DateTime, Document, RawDocumentBuf, doc};
use bucket_core::{
    BucketSpec, Record, TimeRange,
    read::{self, FieldValue, KeyScan, Newest},
};
use common::Reading;
use proptest::prelude::*;
use sample::Sample;

fn spec<const F: usize>() -> &'static BucketSpec {
    <Sample<F> as Record>::SPEC
}

fn stage<'a>(plan: &'a read::AggregatePlan, name: &str) -> &'a Document {
    let stage = plan.pipeline.iter().find(|stage| stage.contains_key(name));
    stage.unwrap().get_document(name).unwrap()
}

#[test]
fn the_index_is_read_fully_backwards_or_forwards_if_numbers_descend() {
    let plan = KeyScan::newest_items().by_field(spec::<{ sample::WINDOW }>(), &[], &[]);
    assert_eq!(stage(&plan, "$sort"), &doc! { "device": -1, "_id": -1 });
    assert_eq!(plan.hint, "bucket_pages");
    let plan = KeyScan::newest_items().by_field(spec::<{ sample::NUMBERED }>(), &[], &[]);
    let sort = stage(&plan, "$sort");
    assert_eq!(sort, &doc! { "device": 1, "bucket_number": -1 });
    let plan = KeyScan::newest_items().by_field(spec::<{ sample::WINDOW_OBJECT }>(), &[], &[]);
    let sort = stage(&plan, "$sort");
    assert_eq!(
        sort,
        &doc! { "device": -1, "bucket_start": -1, "bucket_part": -1 }
    );
}

#[test]
fn keys_of_two_fields_are_grouped_by_one_field_after_equalities() {
    let spec = <Reading as Record>::SPEC;
    let first = KeyScan::newest_items().by_field(spec, &[], &[]);
    assert_eq!(stage(&first, "$match"), &doc! {});
    assert_eq!(stage(&first, "$group").get_str("_id").unwrap(), "$device");
    // A stored value may read as an operator.
    let odd = Bson::from(doc! { "$gt": "" });
    let second = KeyScan::newest_items().by_field(spec, std::slice::from_ref(&odd), &[]);
    assert_eq!(
        stage(&second, "$match"),
        &doc! { "device": { "$eq": odd.clone() } }
    );
    assert_eq!(stage(&second, "$group").get_str("_id").unwrap(), "$channel");
    assert!(read::other_ends(spec, &[], (&odd, &"a".into())).is_none());
    let ends = read::other_ends(spec, &[], (&"z".into(), &"a".into())).unwrap();
    let sort = doc! { "device": 1, "channel": 1, "_id": 1 };
    assert_eq!(stage(&ends, "$sort"), &sort);
    let between = doc! { "device": { "$gte": "a", "$lte": "z" } };
    assert_eq!(stage(&ends, "$match"), &between);
}

#[test]
fn a_span_of_all_keys_is_bounded_by_the_ends_of_windows() {
    let spec = spec::<{ sample::WINDOW }>();
    let date = DateTime::from_millis;
    let range = TimeRange::new(Some(date(1_500)), Some(date(2_500)));
    let plan = read::across_keys(spec, range, 1_000).unwrap();
    let wanted = doc! { "$and": [
        { "bucket_end": { "$not": { "$lte": date(1_500) } } },
        { "bucket_end": { "$not": { "$gte": date(3_500) } } },
        { "bucket_start": { "$not": { "$gte": date(2_500) } } },
    ] };
    assert_eq!(Document::try_from(plan.filter).unwrap(), wanted);
    assert_eq!(plan.hint, "bucket_times");
    for range in [
        TimeRange::ALL,
        TimeRange::new(None, Some(DateTime::MAX)),
        TimeRange::new(Some(DateTime::MIN), None),
    ] {
        assert!(read::across_keys(spec, range, read::LONGEST_WINDOW).is_some());
    }
    for other in [
        self::spec::<{ sample::COUNT }>(),
        self::spec::<{ sample::HYBRID_MERGE }>(),
        self::spec::<{ sample::NUMBERED }>(),
    ] {
        assert!(read::across_keys(other, TimeRange::ALL, 0).is_none());
    }
}

fn answer(stored: Document, item: Bson, at: Bson, length: Bson) -> RawDocumentBuf {
    let newest = doc! { "stored": stored, "item": item, "at": at, "length": length };
    RawDocumentBuf::try_from(&doc! { "_id": "1", "newest": newest }).unwrap()
}

fn stored(id: &str) -> Document {
    doc! {
        "_id": id, "device": "1", "count": 2,
        "bucket_start": DateTime::from_millis(1_000), "bucket_end": DateTime::from_millis(2_000),
    }
}

fn item(millis: i64) -> Bson {
    let at = DateTime::from_millis(millis);
    doc! { "at": at, "unique": 1_i64, "value": 2_i64, "level": 1.0, "code": "" }.into()
}

#[test]
fn a_further_bucket_of_a_window_reports_that_there_are_others() {
    type Windowed = Sample<{ sample::WINDOW }>;
    let read = |id: &str, millis| {
        let found = answer(stored(id), item(millis), 1.into(), 2.into());
        Newest::<Windowed>::read(&found).unwrap()
    };
    let (alone, second) = (read("1_0000000001", 1_500), read("1_0000000001_1", 1_500));
    assert!(!alone.others && second.others);
    assert_eq!(alone.time(), DateTime::from_millis(1_500));
    // At equal times the later bucket wins, else the later time.
    let newer = |mut one: Newest<Windowed>, other: &Newest<Windowed>| {
        one.take_newer(other.clone());
        one.others
    };
    assert!(newer(alone.clone(), &second) && newer(second.clone(), &alone));
    assert!(!newer(second.clone(), &read("1_0000000001", 1_501)));
    assert_eq!(second.further_look(10).longest, 1_000);
    assert_eq!(second.further_look(5_000).longest, 5_000);
}

#[test]
fn a_document_that_is_not_a_bucket_is_reported_by_name() {
    type Windowed = Sample<{ sample::WINDOW }>;
    let good = || stored("1_0000000001");
    let without = |name: &str| {
        let mut stored = good();
        stored.remove(name);
        stored
    };
    for (found, says) in [
        (
            answer(good(), Bson::Null, Bson::Null, Bson::Null),
            "`items`",
        ),
        (answer(good(), Bson::Null, Bson::Null, 2.into()), "`items`"),
        (
            answer(good(), item(0), 0.into(), 3.into()),
            "its count is 2",
        ),
        (
            answer(good(), doc! {}.into(), 1.into(), 2.into()),
            "its item 1",
        ),
        (
            answer(without("device"), item(0), 1.into(), 2.into()),
            "device",
        ),
        (
            answer(without("bucket_end"), item(0), 1.into(), 2.into()),
            "bucket_end",
        ),
        (
            answer(without("count"), item(0), 1.into(), 2.into()),
            "count",
        ),
        (
            answer(stored("odd"), item(0), 1.into(), 2.into()),
            "\"odd\"",
        ),
    ] {
        let error = Newest::<Windowed>::read(&found).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    let nothing = RawDocumentBuf::new();
    assert!(Newest::<Windowed>::read(&nothing).is_err());
    assert!(
        !FieldValue::new(nothing.clone()).is_same_key(&FieldValue::new(nothing), Windowed::SPEC)
    );
}

proptest! {
    #[test]
    fn no_bytes_make_a_reply_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let mut document = (u32::try_from(bytes.len() + 5).unwrap()).to_le_bytes().to_vec();
        document.extend(bytes);
        document.push(0);
        let found = RawDocumentBuf::from_bytes(document).unwrap();
        let _ = Newest::<Sample<{ sample::HYBRID_MERGE }>>::read(&found);
        let _ = FieldValue::new(found);
    }
}

//! Statistics of random ranges over every form, against the records that are stored.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests are meant to panic"
)]

#[path = "common/collection.rs"]
mod collection;
#[path = "common/drawn.rs"]
mod drawn;
#[path = "common/naive.rs"]
mod naive;
#[path = "common/projection.rs"]
mod projection;
#[path = "common/sample.rs"]
mod sample;
#[path = "common/writer.rs"]
mod writer;

use bson::{DateTime, Document, RawDocumentBuf};
use bucket_core::{
    BucketId, Form, Record, TimeRange,
    bucket::{self, BucketFields},
    read::{Live, RangeTotals, StatsReader},
    write::Batch,
};
use proptest::prelude::*;

use self::{
    collection::Collection,
    drawn::{Drawn, drawn},
    sample::{
        COUNT, COUNT_IDS, HYBRID_BYTES, HYBRID_MERGE, HYBRID_REJECT, HYBRID_SIDE, NUMBERED,
        NUMBERED_OBJECT, PARTS, PARTS_OBJECT, Sample, SampleBucket, SampleItem, SampleKey, WINDOW,
        WINDOW_BYTES, WINDOW_CAPACITY, WINDOW_OBJECT,
    },
    writer::store,
};

fn bound() -> impl Strategy<Value = Option<DateTime>> {
    let millis = prop_oneof![
        3 => -4_000..9_000_i64,
        2 => (-4..9_i64).prop_map(|second| second * 1_000),
        1 => Just(1_500_i64),
        1 => any::<i64>(),
    ];
    prop::option::weighted(0.9, millis.prop_map(DateTime::from_millis))
}

fn ranges() -> impl Strategy<Value = Vec<TimeRange>> {
    let range = (bound(), bound()).prop_map(|bounds| match bounds {
        (Some(a), Some(b)) => TimeRange::new(Some(a.min(b)), Some(a.max(b))),
        (a, b) => TimeRange::new(a, b),
    });
    prop::collection::vec(range, 1..6)
}

/// The buckets that several writers store, one after the other.
fn stored<const F: usize>(plans: &[Vec<Drawn>]) -> Collection {
    let mut collection = Collection::new(Sample::<F>::SPEC);
    for (number, plan) in plans.iter().enumerate() {
        let mut batch = Batch::of::<Sample<F>>();
        for (index, drawn) in plan.iter().enumerate() {
            let sample = drawn.sample::<F>(number * 1_000 + index);
            batch.push(index, &sample).unwrap();
        }
        store(batch, &mut collection);
    }
    collection
}

/// Buckets from before the model kept one of its aggregates.
fn forget<const F: usize>(collection: &mut Collection, forgotten: &[Option<usize>]) {
    let aggregates = Sample::<F>::SPEC.aggregates();
    collection.edit(|documents| {
        for (document, at) in documents.iter_mut().zip(forgotten) {
            let Some(at) = at else { continue };
            match aggregates[*at].path.split_once('.') {
                None => document.remove(aggregates[*at].path),
                Some((parent, name)) => document.get_document_mut(parent).unwrap().remove(name),
            };
        }
    });
}

fn totals<const F: usize>(
    collection: &Collection,
    key: &SampleKey,
    range: TimeRange,
) -> (Option<RangeTotals>, Vec<Document>) {
    let mut reader =
        StatsReader::<Sample<F>>::new(key.clone(), range, None, 0, Live::default()).unwrap();
    let plan = reader.plan();
    let mut sent = Vec::new();
    for found in projection::find(collection, &plan) {
        reader.take(&found).unwrap();
        sent.push(Document::try_from(found).unwrap());
    }
    (reader.finish().unwrap(), sent)
}

fn check<const F: usize>(
    plans: &[Vec<Drawn>],
    ranges: &[TimeRange],
    forgotten: &[Option<usize>],
) -> Result<(), TestCaseError> {
    let mut collection = stored::<F>(plans);
    let mut all: Vec<SampleBucket<F>> = Vec::new();
    for document in &collection.documents() {
        let raw = RawDocumentBuf::try_from(document).unwrap();
        all.push(bucket::decode::<Sample<F>>(&raw).unwrap());
    }
    forget::<F>(&mut collection, forgotten);
    for (device, range) in ["0", "1"]
        .into_iter()
        .flat_map(|key| ranges.iter().map(move |range| (key, *range)))
    {
        let key = SampleKey(device.to_owned());
        let (found, sent) = totals::<F>(&collection, &key, range);
        let of_key = all.iter().filter(|bucket| bucket.key == key);
        let inside = |bucket: &SampleBucket<F>| {
            let items = bucket.items.iter().filter(|item| range.contains(item.at));
            items.cloned().collect::<Vec<SampleItem>>()
        };
        let parts: Vec<_> = of_key
            .map(inside)
            .filter(|items| !items.is_empty())
            .collect();
        let Some(found) = found else {
            prop_assert!(parts.is_empty());
            continue;
        };
        prop_assert_eq!(found.buckets, u64::try_from(parts.len()).unwrap());
        let items = parts.concat();
        prop_assert_eq!(found.count, u64::try_from(items.len()).unwrap());
        // A bucket that would hold exactly these items.
        naive::check(&SampleBucket::<F> {
            id: BucketId::first(&key, DateTime::from_millis(0)),
            key: key.clone(),
            count: u32::try_from(items.len()).unwrap(),
            fields: BucketFields::default(),
            stats: found.stats,
            items,
        });
        if forgotten.is_empty() {
            check_opened::<F>(&collection, &sent, range)?;
        }
    }
    Ok(())
}

/// Buckets fully inside the range come without items.
fn check_opened<const F: usize>(
    collection: &Collection,
    sent: &[Document],
    range: TimeRange,
) -> Result<(), TestCaseError> {
    let documents = collection.documents();
    for opened in sent
        .iter()
        .filter(|document| document.contains_key("items"))
    {
        let same = |document: &&Document| document.get("_id") == opened.get("_id");
        let document = documents.iter().find(same).unwrap();
        let date = |name| *document.get_datetime(name).unwrap();
        let is_cut = match Sample::<F>::SPEC.form() {
            Form::Window { .. } => {
                range
                    .start()
                    .is_some_and(|start| date("bucket_start") < start)
                    || range.end().is_some_and(|end| date("bucket_end") > end)
            }
            Form::Hybrid { .. } => {
                !range.contains(date("bucket_start")) || !range.contains(date("bucket_end"))
            }
            _ => !range.contains(date("first_at")) || !range.contains(date("last_at")),
        };
        prop_assert!(is_cut, "{} is opened", document);
    }
    Ok(())
}

fn plans() -> impl Strategy<Value = Vec<Vec<Drawn>>> {
    prop::collection::vec(prop::collection::vec(drawn(), 1..30), 1..5)
}

fn forgotten() -> impl Strategy<Value = Vec<Option<usize>>> {
    let one = prop::option::weighted(0.5, 0..13_usize);
    prop_oneof![Just(Vec::new()), prop::collection::vec(one, 40)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn statistics_of_windows_are_those_of_the_records(plans in plans(), ranges in ranges(), forgotten in forgotten()) {
        check::<WINDOW>(&plans, &ranges, &forgotten)?;
        check::<WINDOW_CAPACITY>(&plans, &ranges, &forgotten)?;
        check::<WINDOW_BYTES>(&plans, &ranges, &forgotten)?;
        check::<WINDOW_OBJECT>(&plans, &ranges, &forgotten)?;
        check::<PARTS>(&plans, &ranges, &forgotten)?;
        check::<PARTS_OBJECT>(&plans, &ranges, &forgotten)?;
    }

    #[test]
    fn statistics_of_hybrid_buckets_are_those_of_the_records(plans in plans(), ranges in ranges(), forgotten in forgotten()) {
        check::<HYBRID_MERGE>(&plans, &ranges, &forgotten)?;
        check::<HYBRID_SIDE>(&plans, &ranges, &forgotten)?;
        check::<HYBRID_BYTES>(&plans, &ranges, &forgotten)?;
    }

    #[test]
    fn statistics_of_counted_buckets_are_those_of_the_records(plans in plans(), ranges in ranges(), forgotten in forgotten()) {
        check::<COUNT>(&plans, &ranges, &forgotten)?;
        check::<COUNT_IDS>(&plans, &ranges, &forgotten)?;
        check::<NUMBERED>(&plans, &ranges, &forgotten)?;
        check::<NUMBERED_OBJECT>(&plans, &ranges, &forgotten)?;
    }
}

/// The batches refuse late records.
#[test]
fn statistics_leave_out_refused_records() {
    let drawn = |at| Drawn {
        device: 0,
        at,
        value: 1,
        level: None,
        code: String::new(),
    };
    let plans = [vec![drawn(5_000)], vec![drawn(1)], vec![drawn(5_500)]];
    let collection = stored::<HYBRID_REJECT>(&plans);
    let key = SampleKey("0".to_owned());
    let (found, _) = totals::<HYBRID_REJECT>(&collection, &key, TimeRange::ALL);
    assert_eq!(found.unwrap().count, 2);
}

#[test]
fn the_last_time_is_known_even_if_the_sums_overflow() {
    let mut collection = Collection::new(Sample::<COUNT>::SPEC);
    for number in 0..8_i64 {
        let mut batch = Batch::of::<Sample<COUNT>>();
        for index in 0..4 {
            let drawn = Drawn {
                device: 0,
                at: number * 10 + i64::try_from(index).unwrap(),
                value: 1,
                level: None,
                code: String::new(),
            };
            batch.push(index, &drawn.sample::<COUNT>(index)).unwrap();
        }
        store(batch, &mut collection);
    }
    collection.edit(|documents| {
        for document in documents {
            let stats = document.get_document_mut("stats").unwrap();
            stats.insert("sum", i64::MAX);
        }
    });
    let range = TimeRange::new(None, Some(DateTime::from_millis(72)));
    let key = SampleKey("0".to_owned());
    let mut reader =
        StatsReader::<Sample<COUNT>>::new(key, range, None, 0, Live::default()).unwrap();
    let plan = reader.plan();
    assert_eq!(reader.last_time(), None);
    for found in projection::find(&collection, &plan) {
        reader.take(&found).unwrap();
    }
    assert_eq!(reader.last_time(), Some(DateTime::from_millis(71)));
    assert!(reader.finish().is_err());
}

//! Records with one id in one call, or in several calls that share their statements: the outcome of
//! one does not decide that of the others, unless it is stored.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "in a test they are the point"
)]

#[path = "common/call.rs"]
mod call;
#[path = "common/collection.rs"]
mod collection;
#[path = "common/sample.rs"]
mod sample;

use std::{collections::BTreeMap, ops::Range};

use bson::DateTime;
use bucket_core::{
    Record,
    write::{Batch, Call, Delivered, Dispatch, Reason, Report, Terms},
};
use proptest::prelude::*;

use self::{
    call::{Failure, Moment},
    collection::Collection,
    sample::{COUNT_IDS, HYBRID_IDS, HYBRID_MERGE, NUMBERED_IDS, Sample, WINDOW_IDS},
};

/// No record with this value is stored.
const BAD: i64 = 99;

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

/// What each call brings, as one batch.
fn joined<T: Record>(calls: &[Vec<T>]) -> (Batch, Vec<Range<usize>>) {
    let mut joined = Batch::of::<T>();
    let (mut offset, mut ranges) = (0, Vec::new());
    for records in calls {
        let mut batch = Batch::of::<T>();
        for (index, record) in records.iter().enumerate() {
            batch.push(index, record).unwrap();
        }
        joined.join(batch, offset);
        ranges.push(offset..offset + records.len());
        offset += records.len();
    }
    (joined, ranges)
}

/// A collection that refuses what is bad.
fn collection<T: Record>() -> Collection {
    let collection = Collection::new(T::SPEC);
    collection.refuse("value", &[BAD]);
    collection
}

/// Runs a call. Before each step it may learn that callers have gone.
fn run(
    batch: Batch,
    collection: &Collection,
    mut hears: impl FnMut(usize, &mut Call<Failure>),
) -> Report<Failure> {
    let watch = |moment: Moment<'_>| {
        if let Moment::Step(step, call) = moment {
            hears(step, call);
        }
    };
    call::run(
        Call::new(batch, Terms::default()),
        collection,
        watch,
        call::answered,
    )
}

fn run_alone(batch: Batch, collection: &Collection) -> Report<Failure> {
    run(batch, collection, |_, _| ())
}

/// Runs the calls, of which these are dropped before anything is done.
fn run_without<T: Record>(calls: &[Vec<T>], dropped: &[usize]) -> (Report<Failure>, Collection) {
    let collection = collection::<T>();
    let (batch, ranges) = joined(calls);
    let drop_them = |step: usize, call: &mut Call<Failure>| {
        if step == 0 {
            for at in dropped {
                call.gone(ranges[*at].clone());
            }
        }
    };
    let report = run(batch, &collection, drop_them);
    (report, collection)
}

/// Why each record failed, by its index.
fn failed(report: &Report<Failure>) -> BTreeMap<usize, String> {
    let of = |reason: &Reason<_>| {
        let text = format!("{reason:?}");
        text.split([' ', '{']).next().unwrap().to_owned()
    };
    let failed = report.failed.iter();
    failed
        .flat_map(|unstored| {
            unstored
                .records
                .iter()
                .map(|it| (*it, of(&unstored.reason)))
        })
        .collect()
}

/// The stored values, in order, by id.
fn stored(collection: &Collection) -> Vec<(i64, i64)> {
    let buckets = collection.documents();
    let items = buckets
        .iter()
        .flat_map(|bucket| bucket.get_array("items").unwrap());
    items
        .map(|item| {
            let item = item.as_document().unwrap();
            (
                item.get_i64("unique").unwrap(),
                item.get_i64("value").unwrap(),
            )
        })
        .collect()
}

type Counted = Sample<COUNT_IDS>;

fn of(id: i64, value: i64) -> Counted {
    sample(id, value)
}

#[test]
fn a_record_is_stored_though_the_call_that_brought_it_first_was_dropped() {
    let (report, collection) = run_without(&[vec![of(1, 7)], vec![of(1, 7)]], &[0]);
    assert_eq!(stored(&collection), [(1, 7)]);
    assert_eq!(report.stored, 1);
    assert_eq!(failed(&report), [(0, "Withdrawn".to_owned())].into());
    assert!(report.duplicates.is_empty());
}

#[test]
fn the_next_remaining_call_brings_it_and_later_ones_repeat_it() {
    let calls = [7, 7, 7, 7, 8].map(|value| vec![of(1, value)]);
    let (report, collection) = run_without(&calls, &[0, 1]);
    assert_eq!(stored(&collection), [(1, 7)]);
    let withdrawn = "Withdrawn".to_owned();
    let conflict = "Conflict".to_owned();
    let expected = [(0, withdrawn.clone()), (1, withdrawn), (4, conflict)];
    assert_eq!(failed(&report), expected.into());
    assert_eq!((report.stored, report.duplicates), (1, vec![3]));
}

#[test]
fn a_record_that_is_sent_for_another_keeps_its_place_among_those_of_its_call() {
    let calls = [
        vec![of(1, 7)],
        vec![of(2, 1), of(1, 7), of(3, 1)],
        vec![of(4, 1)],
    ];
    let (report, collection) = run_without(&calls, &[0]);
    assert_eq!(report.stored, 4);
    assert_eq!(stored(&collection), [(2, 1), (1, 7), (3, 1), (4, 1)]);
}

#[test]
fn a_record_is_stored_though_one_with_its_id_was_refused_for_its_data() {
    for calls in [
        vec![vec![of(1, BAD), of(2, 0), of(1, 7), of(1, 7)]],
        vec![vec![of(1, BAD)], vec![of(2, 0), of(1, 7), of(1, 7)]],
    ] {
        let (report, collection) = run_without(&calls, &[]);
        assert_eq!(stored(&collection), [(2, 0), (1, 7)]);
        assert_eq!(failed(&report), [(0, "Refused".to_owned())].into());
        assert_eq!((report.stored, report.duplicates), (2, vec![3]));
    }
}

#[test]
fn the_same_data_is_refused_once() {
    let (report, _) = run_without(&[vec![of(1, BAD)], vec![of(1, BAD), of(1, BAD)]], &[]);
    assert_eq!(report.stored, 0);
    assert_eq!(failed(&report).len(), 3);
    assert!(failed(&report).values().all(|reason| reason == "Refused"));
    assert_eq!(report.commands, 1);
}

#[test]
fn a_record_whose_first_one_may_be_stored_is_not_known_either() {
    let collection = collection::<Counted>();
    let (batch, _) = joined(&[vec![of(1, 7)], vec![of(1, 7)]]);
    let lost = |_: &Collection, _: &Dispatch| Delivered::Failed {
        error: "lost",
        unknown: true,
        refusal: None,
    };
    let report = call::run(
        Call::new(batch, Terms::default()),
        &collection,
        |_| (),
        lost,
    );
    let reasons = report.failed.iter();
    assert!(
        reasons
            .into_iter()
            .all(|unstored| unstored.reason.is_unknown())
    );
    assert_eq!((failed(&report).len(), report.commands), (2, 1));
}

/// Only the manual's form has one chain for each key.
#[test]
fn other_data_with_the_id_may_belong_to_another_bucket() {
    let of = |at: i64, value| Sample::<WINDOW_IDS> {
        at: DateTime::from_millis(at),
        ..sample(1, value)
    };
    let (report, collection) = run_without(&[vec![of(0, 7)], vec![of(5_000_000, 8)]], &[0]);
    assert_eq!((report.stored, stored(&collection)), (1, vec![(1, 8)]));
}

#[test]
fn late_records_are_stored_though_the_call_that_brought_the_first_of_them_was_dropped() {
    let at = |at: i64| Sample::<HYBRID_MERGE> {
        at: DateTime::from_millis(at),
        ..sample(at, 1)
    };
    let collection = collection::<Sample<HYBRID_MERGE>>();
    for time in [10_400, 20_000] {
        let (batch, _) = joined(&[vec![at(time)]]);
        assert_eq!(run_alone(batch, &collection).stored, 1);
    }
    let before = collection.documents();
    // Both are late and of one side bucket's span. The first bucket covers the first one only.
    for step in 0..12 {
        let collection_of_step = Collection::with(Sample::<HYBRID_MERGE>::SPEC, before.clone());
        let (batch, ranges) = joined(&[vec![at(11_100)], vec![at(11_500)]]);
        let drop_first = |now: usize, call: &mut Call<Failure>| {
            if now == step {
                call.gone(ranges[0].clone());
            }
        };
        let report = run(batch, &collection_of_step, drop_first);
        let failed = failed(&report);
        assert!(!failed.contains_key(&1), "dropped at {step}: {failed:?}");
    }
}

/// Late records of one span, some older than the range of the first one's bucket.
#[test]
fn late_records_are_stored_though_one_with_the_id_of_another_was_refused() {
    let of = |unique: i64, at: i64, value: i64| Sample::<HYBRID_IDS> {
        at: DateTime::from_millis(at),
        ..sample(unique, value)
    };
    let before = collection::<Sample<HYBRID_IDS>>();
    for record in [of(900, 10_300, 1), of(901, 100_000, 1)] {
        let (batch, _) = joined(&[vec![record]]);
        assert_eq!(run_alone(batch, &before).stored, 1);
    }
    for refused in [of(1, 10_400, BAD), of(1, 150_000, BAD)] {
        for older in [10_100, 9_900, 10_350] {
            let collection = Collection::with(Sample::<HYBRID_IDS>::SPEC, before.documents());
            collection.refuse("value", &[BAD]);
            let records = vec![refused.clone(), of(2, 10_500, 1), of(1, older, 1)];
            let (batch, _) = joined(&[records]);
            let report = run_alone(batch, &collection);
            let failed: Vec<usize> = failed(&report).into_keys().collect();
            assert_eq!(failed, [0], "{refused:?} {older}");
        }
    }
}

/// A random record: its device, id, data and time.
type Drawn = (bool, u8, u8, u8);

fn calls() -> impl Strategy<Value = Vec<(Vec<Drawn>, Option<u8>)>> {
    let value = prop_oneof![3 => 0..2_u8, 1 => Just(u8::try_from(BAD).unwrap())];
    let record = (any::<bool>(), 0..4_u8, value, 0..3_u8);
    let gone = prop_oneof![2 => Just(None), 1 => (0..12_u8).prop_map(Some)];
    prop::collection::vec((prop::collection::vec(record, 1..6), gone), 1..6)
}

fn check<const F: usize>(calls: &[(Vec<Drawn>, Option<u8>)]) -> Result<(), TestCaseError> {
    let sample = |(device, id, value, at): &Drawn| Sample::<F> {
        device: device.to_string(),
        at: DateTime::from_millis(i64::from(*at) * 700),
        ..sample(i64::from(*id), i64::from(*value))
    };
    let all: Vec<Vec<Sample<F>>> = calls
        .iter()
        .map(|(records, _)| records.iter().map(sample).collect())
        .collect();
    let collection = collection::<Sample<F>>();
    let (batch, ranges) = joined(&all);
    let leave = |step: usize, call: &mut Call<Failure>| {
        for ((_, gone), range) in calls.iter().zip(&ranges) {
            if gone.is_some_and(|gone| usize::from(gone) == step) {
                call.gone(range.clone());
            }
        }
    };
    let report = run(batch, &collection, leave);
    let documents = collection.documents();
    let of_key = |device: &str, id: i64| {
        let mut stored = Vec::new();
        for bucket in &documents {
            for item in bucket.get_array("items").unwrap() {
                let item = item.as_document().unwrap();
                if bucket.get_str("device").unwrap() == device
                    && item.get_i64("unique").unwrap() == id
                {
                    stored.push((
                        *item.get_datetime("at").unwrap(),
                        item.get_i64("value").unwrap(),
                    ));
                }
            }
        }
        stored
    };
    let mut told: BTreeMap<usize, &str> = BTreeMap::new();
    let failed = failed(&report);
    for (index, reason) in &failed {
        prop_assert!(told.insert(*index, reason).is_none(), "{} twice", index);
    }
    for index in &report.duplicates {
        prop_assert!(
            told.insert(*index, "Duplicate").is_none(),
            "{} twice",
            index
        );
    }
    let records = all.iter().zip(calls).flat_map(|(records, (_, gone))| {
        records.iter().map(move |record| (record, gone.is_none()))
    });
    let mut stores = 0;
    for (index, (record, is_there)) in records.enumerate() {
        let there = of_key(&record.device, record.unique);
        prop_assert!(there.len() <= 1, "{} is stored twice", record.unique);
        let is_stored = there.contains(&(record.at, record.value));
        match told.get(&index).copied() {
            None => {
                prop_assert!(is_stored, "{} is not stored", index);
                stores += 1;
            }
            Some("Duplicate") => prop_assert!(is_stored, "{} is no duplicate", index),
            Some("Conflict") => prop_assert!(!there.is_empty() && !is_stored, "{}", index),
            Some("Refused") => prop_assert_eq!(record.value, BAD),
            Some("Withdrawn") => prop_assert!(!is_there, "{} is withdrawn", index),
            Some(other) => prop_assert!(false, "{} got {}", index, other),
        }
    }
    prop_assert_eq!(stores, report.stored);
    Ok(())
}

proptest! {
    #[test]
    fn no_record_is_lost_to_an_unstored_one_with_its_id(calls in calls()) {
        check::<COUNT_IDS>(&calls)?;
        check::<WINDOW_IDS>(&calls)?;
        check::<HYBRID_IDS>(&calls)?;
        check::<NUMBERED_IDS>(&calls)?;
    }
}

/// What is stored under each id once every contested record has replaced it, one after the other.
fn replaced<T: Record>(
    report: &Report<Failure>,
    collection: &Collection,
    of: impl Fn(&T) -> (i64, i64),
) -> BTreeMap<i64, i64> {
    let mut now: BTreeMap<i64, i64> = stored(collection).into_iter().collect();
    assert!(report.contested.is_sorted_by_key(|record| record.index));
    for contested in &report.contested {
        let (id, value) = of(&contested.record::<T>().unwrap());
        assert!(now.contains_key(&id), "nothing contests {id}");
        if value != BAD {
            now.insert(id, value);
        }
    }
    now
}

fn the_last_of_each_id_wins<const F: usize>(
    earlier: &[(i64, i64)],
    calls: &[Vec<(i64, i64)>],
) -> Result<(), TestCaseError>
where
    Sample<F>: Record,
{
    let records = |of: &[(i64, i64)]| -> Vec<Sample<F>> {
        let each = of.iter();
        each.map(|(unique, value)| sample(*unique, *value))
            .collect()
    };
    let collection = collection::<Sample<F>>();
    run_alone(joined(&[records(earlier)]).0, &collection);
    let mut expected: BTreeMap<i64, i64> = stored(&collection).into_iter().collect();
    let calls: Vec<_> = calls.iter().map(|call| records(call)).collect();
    let (mut batch, _) = joined(&calls);
    batch.keep_contested();
    let report = run_alone(batch, &collection);
    for record in calls.iter().flatten().filter(|record| record.value != BAD) {
        expected.insert(record.unique, record.value);
    }
    let now = replaced(&report, &collection, |record: &Sample<F>| {
        (record.unique, record.value)
    });
    prop_assert_eq!(now, expected);
    Ok(())
}

fn some() -> impl Strategy<Value = Vec<(i64, i64)>> {
    let value = prop_oneof![5 => 0..3_i64, 1 => Just(BAD)];
    prop::collection::vec((0..4_i64, value), 0..12)
}

proptest! {
    #[test]
    fn contested_records_in_order_make_the_last_of_each_id_win(
        earlier in some(),
        calls in prop::collection::vec(some(), 1..4),
    ) {
        the_last_of_each_id_wins::<COUNT_IDS>(&earlier, &calls)?;
        the_last_of_each_id_wins::<WINDOW_IDS>(&earlier, &calls)?;
        the_last_of_each_id_wins::<NUMBERED_IDS>(&earlier, &calls)?;
    }
}

#[test]
fn a_batch_that_is_not_asked_keeps_no_contested_records() {
    let collection = collection::<Counted>();
    let calls = [vec![sample(1, 1), sample(1, 2)]];
    let report = run_alone(joined::<Counted>(&calls).0, &collection);
    assert_eq!(failed(&report), [(1, "Conflict".to_owned())].into());
    assert_eq!(report.contested, []);
}

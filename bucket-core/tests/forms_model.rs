//! Every form against a modelled server: several writers, single records and batches, arbitrarily
//! interleaved statements; late and repeated records, records before 1970 and far in the future.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests are meant to panic"
)]

#[path = "common/checked.rs"]
mod checked;
#[path = "common/collection.rs"]
mod collection;
#[path = "common/drawn.rs"]
mod drawn;
#[path = "common/invariants.rs"]
mod invariants;
#[path = "common/naive.rs"]
mod naive;
#[path = "common/sample.rs"]
mod sample;
#[path = "common/writer.rs"]
mod writer;

use std::collections::{BTreeMap, BTreeSet};

use bson::{DateTime, Document, RawDocumentBuf};
use bucket_core::{LatePolicy, Limits, Record, Window, bucket, write::Batch};
use proptest::prelude::*;

use self::{
    collection::Collection,
    drawn::{Drawn, drawn},
    invariants::{check_bytes, check_hybrid, check_numbered, check_pages, check_windows},
    sample::{
        COUNT, COUNT_BYTES, COUNT_BYTES_EXPIRE, COUNT_EXPIRE, COUNT_RAISED, HYBRID_BYTES,
        HYBRID_MERGE, HYBRID_REJECT, HYBRID_SIDE, NUMBERED, NUMBERED_BYTES, NUMBERED_EXPIRE,
        NUMBERED_OBJECT, PARTS, PARTS_OBJECT, Sample, SampleBucket, WINDOW, WINDOW_BYTES,
        WINDOW_CAPACITY, WINDOW_OBJECT,
    },
    writer::{Faults, Server, Turns, Writer, store},
};

/// The time by the clock, in the middle of the generated times.
const NOW: DateTime = DateTime::from_millis(4_000);

fn plans() -> impl Strategy<Value = Vec<Vec<Drawn>>> {
    let length = prop_oneof![Just(1..2_usize), Just(1..40)];
    let writer = length.prop_flat_map(|length| prop::collection::vec(drawn(), length));
    prop::collection::vec(writer, 1..8)
}

/// Runs the writers, checks the invariants of every form, and returns the stored buckets.
fn run<const F: usize>(
    plans: &[Vec<Drawn>],
    turns: u64,
    limits: impl Fn(usize, &str) -> Option<Limits>,
) -> Result<Vec<SampleBucket<F>>, TestCaseError> {
    run_with(plans, turns, limits, &Faults::default())
}

/// At no moment is anything wrong. The check does not know other limits than the model's, so what
/// they explain is no harm.
fn checks_out<const F: usize>(
    collection: &Collection,
    has_limits: bool,
) -> Result<(), TestCaseError> {
    let mut found = checked::findings::<F>(collection, NOW);
    found.retain(|finding| !has_limits || finding.is_harmful());
    prop_assert!(found.is_empty(), "{found:#?}");
    Ok(())
}

/// The same, with lost commands and replies.
fn run_with<const F: usize>(
    plans: &[Vec<Drawn>],
    turns: u64,
    limits: impl Fn(usize, &str) -> Option<Limits>,
    faults: &Faults,
) -> Result<Vec<SampleBucket<F>>, TestCaseError> {
    let mut server = Server::new(Collection::new(Sample::<F>::SPEC));
    let mut expected: BTreeMap<i64, Sample<F>> = BTreeMap::new();
    let mut writers = Vec::new();
    for (number, plan) in plans.iter().enumerate() {
        let (mut batch, mut next) = (Batch::of::<Sample<F>>(), Batch::of::<Sample<F>>());
        for (index, drawn) in plan.iter().enumerate() {
            let sample = drawn.sample::<F>(number * 1_000 + index);
            let limits = limits(number, &sample.device);
            // Records of one writer and key in two batches: the second relies on the first.
            let early = index <= plan.len() / 2;
            let batch = if early { &mut batch } else { &mut next };
            batch.push_with(index, &sample, limits).unwrap();
            expected.insert(sample.unique, sample);
        }
        // Only now, because some records are far older than any limit.
        batch.set_now(NOW);
        next.set_now(NOW);
        batch.guess(|_| Some(format!("{}_0000000001", plan[0].device)));
        let next = (next.records() > 0).then_some(next);
        writers.push(Writer::new(batch, next).with_faults(faults.of(number)));
    }
    let mut turns = Turns(turns);
    let has_limits = limits(0, "0").is_some();
    for turn in 0..1_500 {
        let at = turns.next(writers.len());
        let writer = &mut writers[at];
        if !writer.is_done() {
            writer.go_on(&mut server);
        } else if !faults.are_none() {
            server.go_on_late(at);
        }
        if turn % 211 == 0 {
            checks_out::<F>(&server.collection, has_limits)?;
        }
    }
    for writer in &mut writers {
        writer.finish(&mut server);
    }
    server.settle();
    let collection = server.collection;
    checks_out::<F>(&collection, has_limits)?;

    let mut opened = 0;
    for (number, (plan, writer)) in plans.iter().zip(&mut writers).enumerate() {
        opened += writer.opened;
        let mut settled = writer.stored.clone();
        settled.extend(&writer.refused);
        settled.extend(&writer.unknown);
        settled.sort_unstable();
        prop_assert_eq!(settled, (0..plan.len()).collect::<Vec<_>>());
        for index in &writer.refused {
            expected.remove(&i64::try_from(number * 1_000 + index).unwrap());
        }
    }
    if faults.are_none() {
        prop_assert_eq!(opened, collection.documents().len());
    }
    let mut buckets = Vec::new();
    let mut stored = BTreeSet::new();
    for document in &collection.documents() {
        let raw = RawDocumentBuf::try_from(document).unwrap();
        if !faults.are_none() && !bucket::has_records::<Sample<F>>(&raw) {
            // A call that was given up has reserved it.
            continue;
        }
        let bucket = bucket::decode::<Sample<F>>(&raw).unwrap();
        naive::check(&bucket);
        prop_assert_eq!(bucket.fields.created_at, Some(NOW));
        let latest = bucket.items.iter().map(|item| item.at.min(NOW)).max();
        let dated = [COUNT_EXPIRE, COUNT_BYTES_EXPIRE, NUMBERED_EXPIRE].contains(&F);
        prop_assert_eq!(bucket.fields.expire_from, latest.filter(|_| dated));
        for item in &bucket.items {
            prop_assert!(
                stored.insert(item.unique),
                "{} is stored twice",
                item.unique
            );
            let sent = expected.get(&item.unique);
            prop_assert!(sent.is_some(), "{} was reported as not stored", item.unique);
            let sent = sent.unwrap();
            prop_assert_eq!((&sent.device, sent.at), (&bucket.key.0, item.at));
        }
        buckets.push(bucket);
    }
    for (number, writer) in writers.iter().enumerate() {
        for index in &writer.unknown {
            expected.remove(&i64::try_from(number * 1_000 + index).unwrap());
        }
    }
    let is_stored = |unique| stored.contains(unique);
    prop_assert!(expected.keys().all(is_stored), "records are missing");
    buckets.sort_by_key(|bucket| {
        (
            bucket.key.0.clone(),
            bucket.fields.number,
            bucket.id.clone(),
        )
    });
    Ok(buckets)
}

/// The buckets of the first device: with only its records, which uses upserts, or with this many
/// records of another device, so that whole buckets are inserted.
fn buckets_of_one<const F: usize>(plan: &[Drawn], beside: i64) -> Vec<Document> {
    let mut batch = Batch::of::<Sample<F>>();
    for (index, drawn) in plan.iter().enumerate() {
        // NaN, which also stands for a missing value, is not equal to itself.
        let level = drawn.level.filter(|level| !level.is_nan()).or(Some(0.5));
        let drawn = Drawn {
            device: 0,
            level,
            ..drawn.clone()
        };
        batch.push(index, &drawn.sample::<F>(index)).unwrap();
    }
    for at in 0..beside {
        let other = Drawn {
            device: 1,
            at,
            ..plan[0].clone()
        };
        let index = plan.len() + usize::try_from(at).unwrap();
        batch.push(index, &other.sample::<F>(index)).unwrap();
    }
    batch.set_now(NOW);
    let mut collection = Collection::new(Sample::<F>::SPEC);
    store(batch, &mut collection);
    let device = Drawn {
        device: 0,
        ..plan[0].clone()
    }
    .sample::<F>(0)
    .device;
    let mut documents = collection.documents();
    documents.retain(|document| document.get_str("device").unwrap() == device);
    documents
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn a_bucket_that_is_inserted_is_what_an_upsert_makes(
        plan in prop::collection::vec(drawn(), 1..12),
    ) {
        prop_assert_eq!(buckets_of_one::<NUMBERED>(&plan, 0), buckets_of_one::<NUMBERED>(&plan, 90));
        prop_assert_eq!(
            buckets_of_one::<NUMBERED_EXPIRE>(&plan, 0),
            buckets_of_one::<NUMBERED_EXPIRE>(&plan, 90)
        );
        prop_assert_eq!(
            buckets_of_one::<WINDOW_CAPACITY>(&plan, 0),
            buckets_of_one::<WINDOW_CAPACITY>(&plan, 90)
        );
        prop_assert_eq!(buckets_of_one::<WINDOW_BYTES>(&plan, 0), buckets_of_one::<WINDOW_BYTES>(&plan, 90));
        prop_assert_eq!(buckets_of_one::<HYBRID_SIDE>(&plan, 0), buckets_of_one::<HYBRID_SIDE>(&plan, 90));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(45))]

    #[test]
    fn pages_keep_their_aggregates(plans in plans(), turns in any::<u64>()) {
        check_pages(&run::<COUNT>(&plans, turns, |_, _| None)?, sample::CAPACITY);
        check_pages(&run::<COUNT_EXPIRE>(&plans, turns, |_, _| None)?, sample::CAPACITY);
        check_pages(&run::<COUNT_RAISED>(&plans, turns, |_, _| None)?, sample::RAISED);
        for bucket in run::<COUNT_BYTES>(&plans, turns, |_, _| None)? {
            check_bytes(&bucket);
        }
        for bucket in run::<COUNT_BYTES_EXPIRE>(&plans, turns, |_, _| None)? {
            check_bytes(&bucket);
        }
    }

    #[test]
    fn a_window_has_one_bucket_with_room(plans in plans(), turns in any::<u64>()) {
        let buckets = run::<WINDOW>(&plans, turns, |_, _| None)?;
        let windows: BTreeSet<_> = buckets.iter().map(|b| (b.key.0.clone(), b.fields.start)).collect();
        prop_assert_eq!(windows.len(), buckets.len(), "one bucket per key and window");
        check_windows(&run::<WINDOW_CAPACITY>(&plans, turns, |_, _| None)?, sample::CAPACITY, false);
        check_windows(&run::<WINDOW_BYTES>(&plans, turns, |_, _| None)?, u32::MAX, true);
        check_windows(&run::<WINDOW_OBJECT>(&plans, turns, |_, _| None)?, u32::MAX, true);
    }

    #[test]
    fn parts_of_a_window_are_numbered_without_gaps(plans in plans(), turns in any::<u64>()) {
        check_windows(&run::<PARTS>(&plans, turns, |_, _| None)?, sample::CAPACITY, false);
        check_windows(&run::<PARTS_OBJECT>(&plans, turns, |_, _| None)?, sample::CAPACITY, false);
    }

    #[test]
    fn numbers_rise_by_one_without_gaps_or_repeats(plans in plans(), turns in any::<u64>()) {
        check_numbered(&run::<NUMBERED>(&plans, turns, |_, _| None)?, false);
        check_numbered(&run::<NUMBERED_EXPIRE>(&plans, turns, |_, _| None)?, false);
        check_numbered(&run::<NUMBERED_BYTES>(&plans, turns, |_, _| None)?, true);
        check_numbered(&run::<NUMBERED_OBJECT>(&plans, turns, |_, _| None)?, false);
    }

    #[test]
    fn a_bucket_is_closed_by_number_or_by_time(plans in plans(), turns in any::<u64>()) {
        check_hybrid(&run::<HYBRID_MERGE>(&plans, turns, |_, _| None)?, LatePolicy::Merge, false);
        check_hybrid(&run::<HYBRID_SIDE>(&plans, turns, |_, _| None)?, LatePolicy::Side, false);
        check_hybrid(&run::<HYBRID_REJECT>(&plans, turns, |_, _| None)?, LatePolicy::Reject, false);
        check_hybrid(&run::<HYBRID_BYTES>(&plans, turns, |_, _| None)?, LatePolicy::Merge, true);
    }

    #[test]
    fn lost_or_late_commands_store_each_record_at_most_once_in_every_form(
        plans in plans(),
        turns in any::<u64>(),
        one_in in 3..40_u64,
    ) {
        let faults = Faults::one_in(one_in, turns);
        let none = |_: usize, _: &str| None;
        run_with::<COUNT>(&plans, turns, none, &faults)?;
        run_with::<COUNT_RAISED>(&plans, turns, none, &faults)?;
        check_numbered(&run_with::<NUMBERED>(&plans, turns, none, &faults)?, false);
        check_numbered(&run_with::<NUMBERED_OBJECT>(&plans, turns, none, &faults)?, false);
        let windows = run_with::<WINDOW_CAPACITY>(&plans, turns, none, &faults)?;
        check_windows(&windows, sample::CAPACITY, false);
        check_windows(&run_with::<WINDOW_OBJECT>(&plans, turns, none, &faults)?, u32::MAX, true);
        check_windows(&run_with::<PARTS>(&plans, turns, none, &faults)?, sample::CAPACITY, false);
        check_windows(&run_with::<PARTS_OBJECT>(&plans, turns, none, &faults)?, sample::CAPACITY, false);
        run_with::<HYBRID_MERGE>(&plans, turns, none, &faults)?;
        run_with::<HYBRID_SIDE>(&plans, turns, none, &faults)?;
    }

    /// Writers with different limits at the same time, as during the rollout of a new version.
    #[test]
    fn buckets_keep_the_limits_they_were_made_with(plans in plans(), turns in any::<u64>()) {
        let capacity = |writer: usize| Limits::new().capacity(if writer.is_multiple_of(2) { 3 } else { 7 });
        for bucket in run::<NUMBERED>(&plans, turns, |writer, _| Some(capacity(writer)))? {
            prop_assert!([3, 7].contains(&bucket.fields.size));
            prop_assert!(bucket.count <= bucket.fields.size);
            prop_assert_eq!(bucket.fields.is_full, bucket.count == bucket.fields.size);
        }
        let window = |writer: usize| {
            let window = if writer.is_multiple_of(2) { Window::seconds(1) } else { Window::seconds(2) };
            Some(capacity(writer).window(window))
        };
        for bucket in run::<WINDOW_CAPACITY>(&plans, turns, |writer, _| window(writer))? {
            prop_assert!(bucket.count <= 7);
            let span = bucket.fields.end.timestamp_millis().saturating_sub(bucket.fields.start.timestamp_millis());
            prop_assert!(span <= 2_000);
            for item in &bucket.items {
                prop_assert!(bucket.fields.start <= item.at);
                prop_assert!(item.at < bucket.fields.end || bucket.fields.end == DateTime::MAX);
            }
        }
    }
}

/// The first try of an append to a missing bucket arrives late, after others have opened it.
#[test]
fn a_late_append_to_a_bucket_that_was_missing_is_not_stored_twice() {
    let of = |device| Drawn {
        device,
        at: 0,
        value: 0,
        level: Some(0.0),
        code: String::new(),
    };
    let plans = [vec![of(1)], vec![of(0)], vec![of(0)]];
    let turns = 1_948_280_494_206_266_279;
    let faults = Faults::one_in(9, turns);
    run_with::<NUMBERED>(&plans, turns, |_, _| None, &faults).unwrap();
}

//! Record ids against a modelled server: several writers deliver overlapping records in different
//! batches, statements interleave arbitrarily, and some ids come with other data.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests are meant to panic"
)]

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

use std::collections::BTreeMap;

use bson::RawDocumentBuf;
use bucket_core::{LatePolicy, Record, bucket, write::Batch};
use proptest::prelude::*;

use self::{
    collection::Collection,
    drawn::{Drawn, drawn},
    invariants::{check_hybrid, check_numbered, check_pages, check_windows},
    sample::{
        COUNT_IDS, HYBRID_IDS, NUMBERED_IDS, PARTS_IDS, Sample, SampleBucket, SampleItem,
        WINDOW_BYTES_IDS, WINDOW_IDS,
    },
    writer::{Server, Turns, Writer},
};

/// The deliveries of one writer: indexes in the pool of records, and whether the record is changed.
type Plan = Vec<(prop::sample::Index, bool)>;

fn pool() -> impl Strategy<Value = Vec<Drawn>> {
    prop::collection::vec(drawn(), 1..30)
}

fn plans() -> impl Strategy<Value = Vec<Plan>> {
    let length = prop_oneof![Just(1..2_usize), Just(1..40)];
    let changed = prop_oneof![9 => Just(false), 1 => Just(true)];
    let writer = length.prop_flat_map(move |length| {
        prop::collection::vec((any::<prop::sample::Index>(), changed.clone()), length)
    });
    prop::collection::vec(writer, 1..7)
}

/// Ids are shared by the two devices, and by records at other indexes.
fn record<const F: usize>(pool: &[Drawn], place: usize, changed: bool) -> Sample<F> {
    let mut sample = pool[place].sample::<F>(place % 20);
    // NaN is not equal to itself.
    sample.level = sample.level.filter(|level| !level.is_nan());
    sample.value += i64::from(changed);
    sample
}

fn item<const F: usize>(sample: &Sample<F>) -> SampleItem {
    SampleItem {
        at: sample.at,
        unique: sample.unique,
        value: sample.value,
        level: sample.level,
        code: sample.code.clone(),
    }
}

/// Runs the writers, and checks the outcome of each record.
fn run<const F: usize>(
    pool: &[Drawn],
    plans: &[Plan],
    turns: u64,
) -> Result<Vec<SampleBucket<F>>, TestCaseError> {
    let mut server = Server::new(Collection::new(Sample::<F>::SPEC));
    let mut sent: Vec<Vec<Sample<F>>> = Vec::new();
    let mut writers = Vec::new();
    for plan in plans {
        let (mut batch, mut next) = (Batch::of::<Sample<F>>(), Batch::of::<Sample<F>>());
        let records = plan
            .iter()
            .map(|(place, changed)| record(pool, place.index(pool.len()), *changed));
        let records: Vec<Sample<F>> = records.collect();
        for (index, sample) in records.iter().enumerate() {
            let early = index <= plan.len() / 2;
            let batch = if early { &mut batch } else { &mut next };
            batch.push(index, sample).unwrap();
        }
        batch.guess(|_| Some(format!("{}_0000000001", records[0].device)));
        let next = (next.records() > 0).then_some(next);
        writers.push(Writer::new(batch, next));
        sent.push(records);
    }
    let mut turns = Turns(turns);
    for _ in 0..1_500 {
        let at = turns.next(writers.len());
        let writer = &mut writers[at];
        if !writer.is_done() {
            writer.go_on(&mut server);
        }
    }
    for writer in &mut writers {
        writer.finish(&mut server);
    }
    let collection = server.collection;

    let mut buckets = Vec::new();
    let mut stored: BTreeMap<(String, i64), SampleItem> = BTreeMap::new();
    for document in &collection.documents() {
        let raw = RawDocumentBuf::try_from(document).unwrap();
        if !bucket::has_records::<Sample<F>>(&raw) {
            // It was reserved for records that are already stored.
            continue;
        }
        let bucket = bucket::decode::<Sample<F>>(&raw).unwrap();
        naive::check(&bucket);
        for item in &bucket.items {
            let before = stored.insert((bucket.key.0.clone(), item.unique), item.clone());
            prop_assert!(before.is_none(), "{} is stored twice", item.unique);
        }
        buckets.push(bucket);
    }
    let mut called_new = 0;
    for (writer, sent) in writers.iter().zip(&sent) {
        let lists = [
            &writer.stored,
            &writer.duplicates,
            &writer.conflicts,
            &writer.refused,
        ];
        let mut settled: Vec<usize> = lists.into_iter().flatten().copied().collect();
        settled.sort_unstable();
        prop_assert_eq!(settled, (0..sent.len()).collect::<Vec<_>>());
        called_new += writer.stored.len();
        let found = |index: &usize| {
            let sent = &sent[*index];
            stored
                .get(&(sent.device.clone(), sent.unique))
                .map(|found| *found == item(sent))
        };
        for index in writer.stored.iter().chain(&writer.duplicates) {
            prop_assert_eq!(found(index), Some(true), "{} has other data", index);
        }
        for index in &writer.conflicts {
            prop_assert_eq!(found(index), Some(false), "{} is not a conflict", index);
        }
    }
    prop_assert_eq!(called_new, stored.len());
    buckets.sort_by_key(|bucket| {
        (
            bucket.key.0.clone(),
            bucket.fields.number,
            bucket.id.clone(),
        )
    });
    Ok(buckets)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn pages_have_each_id_once(pool in pool(), plans in plans(), turns in any::<u64>()) {
        check_pages(&run::<COUNT_IDS>(&pool, &plans, turns)?, sample::CAPACITY);
    }

    #[test]
    fn windows_of_a_key_have_each_id_once(pool in pool(), plans in plans(), turns in any::<u64>()) {
        check_windows(&run::<WINDOW_IDS>(&pool, &plans, turns)?, sample::CAPACITY, false);
        check_windows(&run::<WINDOW_BYTES_IDS>(&pool, &plans, turns)?, u32::MAX, true);
        check_windows(&run::<PARTS_IDS>(&pool, &plans, turns)?, sample::CAPACITY, false);
    }

    #[test]
    fn numbered_buckets_have_each_id_once(pool in pool(), plans in plans(), turns in any::<u64>()) {
        check_numbered(&run::<NUMBERED_IDS>(&pool, &plans, turns)?, false);
    }

    #[test]
    fn hybrid_buckets_have_each_id_once(pool in pool(), plans in plans(), turns in any::<u64>()) {
        check_hybrid(&run::<HYBRID_IDS>(&pool, &plans, turns)?, LatePolicy::Merge, false);
    }

    /// Ids that nobody delivered before are not searched for.
    #[test]
    fn a_single_writer_with_new_ids_reads_only_one_of_them(plan in prop::collection::vec(drawn(), 1..40)) {
        let mut batch = Batch::of::<Sample<COUNT_IDS>>();
        for (index, drawn) in plan.iter().enumerate() {
            batch.push(index, &drawn.sample::<COUNT_IDS>(index)).unwrap();
        }
        let mut server = Server::new(Collection::new(Sample::<COUNT_IDS>::SPEC));
        let mut writer = Writer::new(batch, None);
        writer.finish(&mut server);
        // Except for one, which shows whether the index exists.
        prop_assert_eq!((writer.stored.len(), writer.looks), (plan.len(), 1));
    }
}

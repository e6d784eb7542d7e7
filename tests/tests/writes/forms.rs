//! Every form on the real server: eight writers, single records and batches; late records, equal
//! times, times before 1970 and far ahead, and values that are not finite. Every stored bucket is
//! compared with a naive model.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use bucket_core::{EncodeError, LatePolicy, bucket};
use bucket_mongo::{
    Bucketed, Buckets, ErrorKind, Record,
    bson::{RawDocumentBuf, doc},
};
use bucket_tests::database;
use futures_util::TryStreamExt;
use proptest::{
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};

use crate::common::{
    drawn::{Drawn, drawn},
    invariants::{check_bytes, check_hybrid, check_numbered, check_pages, check_windows},
    naive,
    sample::{self, Sample, SampleBucket},
};

const WRITERS: usize = 8;
const RECORDS: usize = 150;

/// What each writer writes.
fn plans(seed: u8) -> Vec<Vec<Drawn>> {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let plan = prop::collection::vec(drawn(), RECORDS);
    let plans = prop::collection::vec(plan, WRITERS);
    plans.new_tree(&mut runner).unwrap().current()
}

/// Stores a writer's records, one by one and in batches; returns the numbers of the refused ones.
async fn write<const F: usize>(
    buckets: Buckets<Sample<F>>,
    number: usize,
    plan: Vec<Drawn>,
) -> Vec<usize> {
    let mut refused = Vec::new();
    let mut late = |unique: usize, kind: &ErrorKind| {
        assert!(
            matches!(kind, ErrorKind::Encode(EncodeError::Late { .. })),
            "{kind}"
        );
        refused.push(unique);
    };
    let mut index = 0;
    for chunk in plan.chunks(1 + number * 7) {
        let samples: Vec<Sample<F>> = (index..)
            .zip(chunk)
            .map(|(index, drawn)| drawn.sample(number * 1_000 + index))
            .collect();
        if let [sample] = samples.as_slice() {
            if let Err(error) = buckets.insert(sample).await {
                late(number * 1_000 + index, error.kind());
            }
        } else {
            let report = buckets.insert_many(&samples).await.unwrap();
            for failed in report.failed() {
                late(number * 1_000 + index + failed.index, failed.error.kind());
            }
        }
        index += chunk.len();
    }
    refused
}

/// Runs the writers, checks what holds for every form, and returns the stored buckets in the order
/// of their ids.
async fn run<const F: usize>(seed: u8) -> Vec<SampleBucket<F>> {
    let database = database().await;
    let buckets = Sample::<F>::buckets(&database);
    buckets.ensure().await.unwrap();
    let plans = plans(seed);
    let mut expected: BTreeMap<usize, Arc<Drawn>> = BTreeMap::new();
    let mut writers = Vec::new();
    for (number, plan) in plans.into_iter().enumerate() {
        let drawn = plan.iter().cloned().map(Arc::new).enumerate();
        expected.extend(drawn.map(|(index, drawn)| (number * 1_000 + index, drawn)));
        // Half of the writers share a handle and what it remembers.
        let handle = if number.is_multiple_of(2) {
            buckets.clone()
        } else {
            Sample::<F>::buckets(&database)
        };
        writers.push(tokio::spawn(write(handle, number, plan)));
    }
    for writer in writers {
        for refused in writer.await.unwrap() {
            expected.remove(&refused);
        }
    }

    let collection = buckets.collection::<RawDocumentBuf>();
    let cursor = collection.find(doc! {}).await.unwrap();
    let found: Vec<RawDocumentBuf> = cursor.try_collect().await.unwrap();
    let mut stored = BTreeSet::new();
    let mut all = Vec::new();
    for document in found {
        let bucket = bucket::decode::<Sample<F>>(&document).unwrap();
        naive::check(&bucket);
        for item in &bucket.items {
            let unique = usize::try_from(item.unique).unwrap();
            assert!(stored.insert(unique), "{unique} is stored twice");
            let sent = &expected[&unique];
            assert_eq!(sent.at, item.at.timestamp_millis());
            assert_eq!(sent.device.to_string(), bucket.key.0);
        }
        all.push(bucket);
    }
    assert!(stored.iter().eq(expected.keys()), "records are missing");
    all.sort_by_key(|bucket| {
        (
            bucket.key.0.clone(),
            bucket.fields.number,
            bucket.id.clone(),
        )
    });
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_keep_their_aggregates_under_8_writers() {
    check_pages(&run::<{ sample::COUNT }>(1).await, sample::CAPACITY);
    check_pages(&run::<{ sample::COUNT_RAISED }>(18).await, sample::RAISED);
    for bucket in run::<{ sample::COUNT_BYTES }>(2).await {
        check_bytes(&bucket);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_has_one_bucket_with_room_under_8_writers() {
    let buckets = run::<{ sample::WINDOW }>(3).await;
    let windows = buckets
        .iter()
        .map(|bucket| (&bucket.key, bucket.fields.start));
    let windows: BTreeSet<_> = windows.map(|(key, start)| (key.0.clone(), start)).collect();
    assert_eq!(
        windows.len(),
        buckets.len(),
        "one bucket per key and window"
    );
    check_windows(
        &run::<{ sample::WINDOW_CAPACITY }>(4).await,
        sample::CAPACITY,
        false,
    );
    check_windows(&run::<{ sample::WINDOW_BYTES }>(5).await, u32::MAX, true);
    check_windows(&run::<{ sample::WINDOW_OBJECT }>(16).await, u32::MAX, true);
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_rise_by_one_without_gaps_or_repeats_under_8_writers() {
    check_numbered(&run::<{ sample::NUMBERED }>(6).await, false);
    check_numbered(&run::<{ sample::NUMBERED_BYTES }>(7).await, true);
    check_numbered(&run::<{ sample::NUMBERED_OBJECT }>(17).await, false);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_is_closed_by_number_or_by_time_under_8_writers() {
    check_hybrid(
        &run::<{ sample::HYBRID_MERGE }>(8).await,
        LatePolicy::Merge,
        false,
    );
    check_hybrid(
        &run::<{ sample::HYBRID_SIDE }>(9).await,
        LatePolicy::Side,
        false,
    );
    check_hybrid(
        &run::<{ sample::HYBRID_REJECT }>(10).await,
        LatePolicy::Reject,
        false,
    );
    check_hybrid(
        &run::<{ sample::HYBRID_BYTES }>(11).await,
        LatePolicy::Merge,
        true,
    );
}

/// The server divides to update a stored average, in the same write.
#[tokio::test(flavor = "multi_thread")]
async fn a_stored_average_is_never_stale_under_8_writers() {
    run::<{ sample::COUNT_AVG }>(12).await;
    check_windows(
        &run::<{ sample::WINDOW_AVG }>(13).await,
        sample::CAPACITY,
        false,
    );
    check_hybrid(
        &run::<{ sample::HYBRID_AVG }>(14).await,
        LatePolicy::Side,
        true,
    );
    check_numbered(&run::<{ sample::NUMBERED_AVG }>(15).await, false);
}

#[test]
fn the_plans_contain_cases_that_break_buckets() {
    let all: Vec<Drawn> = plans(1).into_iter().flatten().collect();
    assert!(all.iter().any(|drawn| drawn.at < 0));
    assert!(all.iter().any(|drawn| drawn.at > 253_402_300_800_000));
    assert!(all.iter().any(|drawn| drawn.level.is_some_and(f64::is_nan)));
    assert_eq!(all.len(), WRITERS * RECORDS);
    assert_eq!(Sample::<{ sample::COUNT }>::SPEC.collection(), "samples");
}

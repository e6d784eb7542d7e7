//! What statistics of spans of time examine, and their results with concurrent writers.

use std::sync::atomic::{AtomicBool, Ordering};

use bucket_core::read::{Live, SIMPLE, StatsReader};
use bucket_mongo::{
    Bucketed, Buckets, ErrorKind, IntoTimeRange, Limits, TimeRange, Window,
    bson::{DateTime, Document, doc},
    testing::TestDatabase,
};
use bucket_tests::database;

use crate::common::{
    drawn_records::{key, record},
    explained::{self, explain},
    sample::{self, Sample},
};

/// The plan of a read, what it examines, and what it returns.
async fn read<const F: usize>(
    database: &TestDatabase,
    range: TimeRange,
) -> (explained::Explained, Vec<Document>) {
    let reader = StatsReader::<Sample<F>>::new(key("1"), range, None, 0, Live::default()).unwrap();
    let plan = reader.plan();
    let command = doc! {
        "find": "samples",
        "filter": Document::try_from(plan.filter).unwrap(),
        "sort": plan.sort,
        "projection": plan.projection,
        "hint": plan.hint,
        "collation": { "locale": SIMPLE },
        "batchSize": 100_000,
    };
    let reply = database.run_command(command.clone()).await.unwrap();
    let batch = reply
        .get_document("cursor")
        .unwrap()
        .get_array("firstBatch")
        .unwrap();
    let found = batch
        .iter()
        .map(|found| found.as_document().unwrap().clone());
    (explain(database, command).await, found.collect())
}

/// A second in each bucket, four records in each second, 500 seconds, and other keys.
async fn long_history<const F: usize>() -> TestDatabase {
    let database = database().await;
    let buckets = Sample::<F>::buckets(&database);
    buckets.ensure().await.unwrap();
    let mut records: Vec<Sample<F>> = (0..2_000).map(|n| record("1", n * 250, n)).collect();
    records.extend((2..50).map(|n| record(&n.to_string(), 0, n)));
    let report = buckets.insert_many(records).await.unwrap();
    report.into_result().unwrap();
    database
}

async fn the_read_is_bounded<const F: usize>(all_of_the_key: bool) {
    let database = long_history::<F>().await;
    for (from, to, opened) in [
        (100_000, 200_000, 0),
        (100_250, 199_750, 2),
        (100_250, 100_500, 1),
        (499_000, 9_000_000, 0),
        (-5_000, 250, 1),
    ] {
        let range = (DateTime::from_millis(from)..DateTime::from_millis(to)).into_time_range();
        let (explained, found) = read::<F>(&database, range).await;
        assert!(explained.plan.contains("IXSCAN"), "{}", explained.plan);
        assert!(!explained.plan.contains("COLLSCAN"), "{}", explained.plan);
        assert!(!explained.plan.contains("SORT"), "{}", explained.plan);
        let returned = i64::try_from(found.len()).unwrap();
        let bound = if all_of_the_key { 500 } else { returned };
        // Three more are those at the edges of the key, where the server looks for damaged buckets.
        assert!(
            explained.keys <= bound + 5,
            "{range:?}: {} keys",
            explained.keys
        );
        assert!(
            explained.documents <= bound + 2,
            "{range:?}: {}",
            explained.documents
        );
        let cut: Vec<_> = found
            .iter()
            .filter(|found| found.contains_key("items"))
            .collect();
        assert_eq!(cut.len(), opened, "{range:?}: {cut:?}");
        let sent = |found: &&Document| {
            let items = found.get_document("items").unwrap();
            assert_eq!(items.get_i32("n").unwrap(), 4);
            items.get_array("in").unwrap().len()
        };
        assert!(
            cut.iter().all(|found| (1..4).contains(&sent(found))),
            "{cut:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn windows_are_read_by_their_bounds_on_the_index_without_items_of_inner_buckets() {
    the_read_is_bounded::<{ sample::WINDOW }>(false).await;
    the_read_is_bounded::<{ sample::WINDOW_OBJECT }>(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hybrid_buckets_are_read_by_their_bounds_on_the_index_without_items_of_inner_buckets() {
    the_read_is_bounded::<{ sample::HYBRID_MERGE }>(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn counted_buckets_are_read_by_their_key_without_items_of_inner_buckets() {
    the_read_is_bounded::<{ sample::COUNT }>(true).await;
    the_read_is_bounded::<{ sample::NUMBERED }>(true).await;
}

/// A task writes; every read sees what an earlier one saw.
async fn never_less<const F: usize>() {
    let database = database().await;
    let buckets: Buckets<Sample<F>> = Sample::<F>::buckets(&database);
    buckets.ensure().await.unwrap();
    let done = AtomicBool::new(false);
    let write = async {
        for call in 0..60_i64 {
            // In order, and some of them late.
            let some = (0..5).map(|n| {
                let at = if n == 4 {
                    call * 100
                } else {
                    call * 800 + n * 150
                };
                record("1", at, call * 5 + n)
            });
            let report = buckets.insert_many(some.collect::<Vec<_>>()).await.unwrap();
            report.into_result().unwrap();
        }
        done.store(true, Ordering::Relaxed);
    };
    let read = async {
        let mut last = 0;
        while !done.load(Ordering::Relaxed) {
            let range = DateTime::from_millis(0)..DateTime::from_millis(1_000_000);
            let found = buckets.stats(key("1"), range).await.unwrap();
            let Some(found) = found else { continue };
            assert!(found.count() >= last, "{} after {last}", found.count());
            let of_tally = found.stats().tally::<String>(sample::at::CODES);
            let tallied: u64 = of_tally.into_iter().map(|(_, number)| number).sum();
            assert_eq!(tallied, found.count(), "each bucket is read at one moment");
            last = found.count();
        }
    };
    tokio::join!(write, read);
    let all = buckets.stats(key("1"), ..).await.unwrap().unwrap();
    assert_eq!(all.count(), 300);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_count_never_decreases_with_concurrent_writers() {
    never_less::<{ sample::WINDOW_CAPACITY }>().await;
    never_less::<{ sample::HYBRID_MERGE }>().await;
    never_less::<{ sample::COUNT }>().await;
    never_less::<{ sample::NUMBERED }>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limits_of_a_key_decide_how_far_back_a_read_begins() {
    const F: usize = sample::WINDOW;
    let database = database().await;
    let buckets = Sample::<F>::buckets(&database);
    let buckets = buckets.with_limits(|_| Limits::new().window(Window::minutes(1)));
    buckets.ensure().await.unwrap();
    let records: Vec<Sample<F>> = (0..240).map(|n| record("1", n * 1_000, n)).collect();
    buckets
        .insert_many(records)
        .await
        .unwrap()
        .into_result()
        .unwrap();
    // The model's own windows last a second.
    let range = DateTime::from_millis(59_000)..DateTime::from_millis(180_001);
    let found = buckets.stats(key("1"), range).await.unwrap().unwrap();
    assert_eq!(
        (found.count(), found.buckets(), found.scanned_buckets()),
        (122, 4, 2)
    );
    let wrong = buckets.with_limits(|_| Limits::new().window(Window::minutes(0)));
    let error = wrong.stats(key("1"), ..).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Encode(_)), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sum_beyond_64_bits_is_a_typed_error_and_a_shorter_span_is_not() {
    const F: usize = sample::WINDOW_CAPACITY;
    let database = database().await;
    let buckets = Sample::<F>::buckets(&database);
    buckets.ensure().await.unwrap();
    let large = |n: i64| Sample::<F> {
        value: i64::MAX / i64::from(sample::CAPACITY),
        ..record("1", n * 250, n)
    };
    let records: Vec<Sample<F>> = (0..8).map(large).collect();
    buckets
        .insert_many(records)
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let error = buckets.stats(key("1"), ..).await.unwrap_err();
    let ErrorKind::Overflow(overflow) = error.kind() else {
        panic!("{error:?}")
    };
    assert_eq!(overflow.path(), "stats.sum");
    let half = DateTime::from_millis(500)..DateTime::from_millis(1_500);
    let half = buckets.stats(key("1"), half).await.unwrap().unwrap();
    let sum = i64::MAX / i64::from(sample::CAPACITY) * 4;
    assert_eq!(half.stats().sum::<i64>(sample::at::SUM), Some(sum));
}

#[tokio::test(flavor = "multi_thread")]
async fn buckets_from_before_an_aggregate_are_opened_and_counted_in_full() {
    const F: usize = sample::WINDOW;
    let database = database().await;
    let buckets = Sample::<F>::buckets(&database);
    buckets.ensure().await.unwrap();
    let records: Vec<Sample<F>> = (0..40).map(|n| record("1", n * 250, n)).collect();
    let sum: i64 = records.iter().map(|record| record.value).sum();
    buckets
        .insert_many(records)
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let collection = database.collection::<Document>("samples");
    let older = doc! { "bucket_start": { "$lt": DateTime::from_millis(3_000) } };
    let removed = collection.update_many(older, doc! { "$unset": { "stats.sum": 1 } });
    assert_eq!(removed.await.unwrap().modified_count, 3);
    let found = buckets.stats(key("1"), ..).await.unwrap().unwrap();
    assert_eq!(
        (found.count(), found.buckets(), found.scanned_buckets()),
        (40, 10, 3)
    );
    assert_eq!(found.stats().sum::<i64>(sample::at::SUM), Some(sum));
}

#[tokio::test(flavor = "multi_thread")]
async fn statistics_in_a_transaction_see_its_writes() {
    const F: usize = sample::WINDOW;
    let database = database().await;
    let buckets = Sample::<F>::buckets(&database);
    buckets.ensure().await.unwrap();
    buckets.insert(&record("1", 0, 1)).await.unwrap();
    let mut session = database.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    buckets
        .insert(&record("1", 1, 2))
        .session(&mut session)
        .await
        .unwrap();
    let inside = buckets
        .stats(key("1"), ..)
        .session(&mut session)
        .await
        .unwrap();
    let outside = buckets.stats(key("1"), ..).await.unwrap();
    assert_eq!((inside.unwrap().count(), outside.unwrap().count()), (2, 1));
    session.abort_transaction().await.unwrap();
}

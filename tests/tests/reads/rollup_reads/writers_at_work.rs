//! Rollups that are read while others write.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use bucket_mongo::{Bucketed, Buckets, Fill, Rollup, TimeRange};
use tokio::task::JoinHandle;

use super::model::{Cut, Known, between, filled};
use crate::common::{
    drawn_records::{key, record},
    sample::{self, Sample},
};

const WRITERS: i64 = 4;
const READS: usize = 60;
/// The records are within this many milliseconds, before and after 1970.
const SPAN: i64 = 24_000;
const START: i64 = -SPAN / 2;

/// The sent records, and the acknowledged ones.
struct Ledger<const F: usize> {
    sent: Mutex<Vec<Sample<F>>>,
    stored: Mutex<Vec<Sample<F>>>,
    /// The reader has seen enough.
    enough: AtomicBool,
}

/// In order, and some of them late.
async fn write<const F: usize>(buckets: &Buckets<Sample<F>>, ledger: &Ledger<F>, writer: i64) {
    for call in 0..400_i64 {
        let some = (0..7_i64).map(|n| {
            let unique = (call * WRITERS + writer) * 7 + n;
            let in_order = (call * 200 + n * 90) % SPAN;
            let late = unique * 7_919 % SPAN;
            record(
                "1",
                START + if n % 3 == 2 { late } else { in_order },
                unique,
            )
        });
        let some: Vec<Sample<F>> = some.collect();
        ledger.sent.lock().unwrap().extend_from_slice(&some);
        let report = buckets.insert_many(&some).await.unwrap();
        report.into_result().unwrap();
        ledger.stored.lock().unwrap().extend(some);
        if ledger.enough.load(Ordering::Relaxed) {
            return;
        }
    }
}

/// Every row is between the records before the read and those after it.
fn check_between<const F: usize>(
    rollup: &Rollup<Sample<F>>,
    (cut, range): (Cut, TimeRange),
    before: &[Sample<F>],
    after: &[Sample<F>],
) {
    let steps: Vec<_> = rollup
        .rows()
        .iter()
        .map(|row| (row.start(), row.end()))
        .collect();
    assert_eq!(steps, cut.steps(range));
    for row in rollup.rows() {
        let inside = |record: &&Sample<F>| {
            range.contains(record.at) && row.start() <= record.at && record.at < row.end()
        };
        let least: Vec<&Sample<F>> = before.iter().filter(inside).collect();
        let most: Vec<&Sample<F>> = after.iter().filter(inside).collect();
        let count = usize::try_from(row.count()).unwrap();
        assert!(least.len() <= count, "{count} of {}: {cut:?}", least.len());
        assert!(count <= most.len(), "{count} of {}: {cut:?}", most.len());
        let Some(stats) = row.stats() else {
            assert_eq!(count, 0);
            continue;
        };
        let smallest = |records: &[&Sample<F>]| records.iter().map(|record| record.value).min();
        let min = stats.value::<i64>(sample::at::MIN);
        assert!(smallest(&most) <= min && smallest(&least).is_none_or(|least| min <= Some(least)));
        let largest = |records: &[&Sample<F>]| records.iter().map(|record| record.value).max();
        let max = stats.value::<i64>(sample::at::MAX);
        assert!(largest(&least) <= max && max <= largest(&most));
        let tallied = stats.tally::<String>(sample::at::CODES).into_iter();
        let tallied: u64 = tallied.map(|(_, number)| number).sum();
        assert_eq!(tallied, row.count(), "each bucket is read at one moment");
    }
}

async fn rows_lie_between_before_and_after<const F: usize>() {
    let (database, buckets) = filled::<F>(&[]).await;
    let ledger = Arc::new(Ledger::<F> {
        sent: Mutex::default(),
        stored: Mutex::default(),
        enough: AtomicBool::new(false),
    });
    let queries = [1, 2, 5, 9, 86_400].into_iter().flat_map(|step| {
        let spans = [(0, SPAN), (250, SPAN - 250), (SPAN / 3 + 1, SPAN / 2)];
        spans.map(|(from, to)| (Cut::Seconds(step), between(START + from, START + to)))
    });
    let queries: Vec<(Cut, TimeRange)> = queries.collect();
    let writers: Vec<JoinHandle<()>> = (0..WRITERS)
        .map(|writer| {
            // A handle that does not know the others.
            let (buckets, ledger) = (Sample::<F>::buckets(&database), Arc::clone(&ledger));
            tokio::spawn(async move { write(&buckets, &ledger, writer).await })
        })
        .collect();
    for (cut, range) in queries.iter().cycle().take(READS) {
        let before = ledger.stored.lock().unwrap().clone();
        let query = buckets.rollup(key("1"), *range, cut.every());
        let rollup = query.fill(Fill::Null).await.unwrap();
        let after = ledger.sent.lock().unwrap().clone();
        check_between(&rollup, (*cut, *range), &before, &after);
    }
    ledger.enough.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.await.unwrap();
    }
    let records = ledger.stored.lock().unwrap().clone();
    let known = Known::new(&buckets, records).await;
    for (cut, range) in queries {
        known.check(&buckets, cut, range).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_windows_are_between_the_records_before_and_after() {
    rows_lie_between_before_and_after::<{ sample::WINDOW_CAPACITY }>().await;
    rows_lie_between_before_and_after::<{ sample::WINDOW_OBJECT }>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_hybrid_buckets_are_between_the_records_before_and_after() {
    rows_lie_between_before_and_after::<{ sample::HYBRID_MERGE }>().await;
    rows_lie_between_before_and_after::<{ sample::HYBRID_SIDE }>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_counted_buckets_are_between_the_records_before_and_after() {
    rows_lie_between_before_and_after::<{ sample::COUNT }>().await;
    rows_lie_between_before_and_after::<{ sample::NUMBERED }>().await;
}

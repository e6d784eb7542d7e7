//! A bucket worker: takes batches from the queue and stores them.

use bucket_mongo::Buckets;
use example_kit::{
    csv_input::{Row, RowError},
    progress::ProgressBar,
};

use super::{Outcome, Queue, not_sent};
use crate::model::Reading;

/// The more readings, the more of them go into a bucket with one statement.
const BATCH: usize = 2_500;

/// Stores readings until the queue ends or the server is lost.
pub(super) async fn run(buckets: Buckets<Reading>, queue: Queue, bar: ProgressBar) -> Outcome {
    let mut outcome = Outcome::default();
    let mut batch = Vec::with_capacity(BATCH);
    // The lock is held while waiting for readings, not while storing them.
    while queue.lock().await.recv_many(&mut batch, BATCH).await > 0 {
        let goes_on = store(&buckets, &batch, &mut outcome).await;
        bar.inc(batch.len() as u64);
        batch.clear();
        if !goes_on {
            break;
        }
    }
    outcome
}

/// Stores a batch; returns whether the next one has a chance.
async fn store(buckets: &Buckets<Reading>, batch: &[Row<Reading>], outcome: &mut Outcome) -> bool {
    let failed = |row: &Row<Reading>, error: &bucket_mongo::Error| RowError {
        line: row.line,
        column: None,
        reason: error.kind().to_string(),
    };
    let report = match buckets
        .insert_many(batch.iter().map(|row| &row.record))
        .await
    {
        Ok(report) => report,
        Err(error) => {
            outcome
                .failed
                .extend(batch.iter().map(|row| failed(row, &error)));
            return false;
        }
    };
    outcome.stored += report.stored() as u64;
    outcome.buckets += report.opened_buckets() as u64;
    for record in report.failed() {
        let row = batch.get(record.index);
        outcome
            .failed
            .extend(row.map(|row| failed(row, &record.error)));
    }
    // Readings that were not tried.
    if let Some(error) = report.stopped_by() {
        let rest = batch.iter().skip(report.tried());
        outcome.failed.extend(rest.map(|row| failed(row, error)));
    }
    report.stopped_by().is_none()
}

/// Closes the queue, so that readers end, and takes the rest out of it.
pub(super) async fn leave(queue: &Queue) -> Vec<RowError> {
    let mut queue = queue.lock().await;
    queue.close();
    let mut left = Vec::new();
    while let Some(row) = queue.recv().await {
        left.push(not_sent(&row));
    }
    left
}

//! The tutorial's pipeline: readers -> bounded queue -> bucket workers.
//!
//! The queue is bounded, so readers wait if the server is slower, and memory stays bounded too.
//! Every reading ends up stored or among the failed ones.

mod reader;
mod worker;

use std::sync::Arc;

use bucket_mongo::Buckets;
use example_kit::{
    Error,
    csv_input::{Row, RowError},
    progress::ProgressBar,
};
use tokio::{
    sync::{Mutex, mpsc},
    task::JoinSet,
};

use crate::model::Reading;

/// The number of readings that wait for a worker.
pub(crate) const QUEUE: usize = 5_000;
/// The number of workers. They need not divide the devices among them: all writes to time buckets
/// commute.
pub(crate) const WORKERS: usize = 4;

/// The workers' end of the queue.
type Queue = Arc<Mutex<mpsc::Receiver<Row<Reading>>>>;

/// The outcome for the readings.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Readings that are stored.
    pub(crate) stored: u64,
    /// Buckets that were opened for them.
    pub(crate) buckets: u64,
    /// Readings that are not stored, or that may not be, by their lines.
    pub(crate) failed: Vec<RowError>,
}

/// Stores the readings of several series, each with a reader of its own.
pub(crate) async fn run(
    buckets: &Buckets<Reading>,
    series: Vec<Vec<Row<Reading>>>,
    bar: &ProgressBar,
) -> Result<Outcome, Error> {
    let (entrance, queue) = mpsc::channel(QUEUE);
    let mut readers = JoinSet::new();
    for readings in series {
        readers.spawn(reader::run(readings, entrance.clone()));
    }
    // The queue ends when the last reader does.
    drop(entrance);

    let queue = Arc::new(Mutex::new(queue));
    let mut workers = JoinSet::new();
    for _ in 0..WORKERS {
        workers.spawn(worker::run(
            buckets.clone(),
            Arc::clone(&queue),
            bar.clone(),
        ));
    }
    let mut outcome = Outcome::default();
    while let Some(worker) = workers.join_next().await {
        outcome.add(worker?);
    }
    // The queue is empty, unless the workers had to stop.
    outcome.failed.extend(worker::leave(&queue).await);
    while let Some(unsent) = readers.join_next().await {
        outcome.failed.extend(unsent?);
    }
    outcome.failed.sort_by_key(|error| error.line);
    Ok(outcome)
}

impl Outcome {
    fn add(&mut self, other: Self) {
        self.stored += other.stored;
        self.buckets += other.buckets;
        self.failed.extend(other.failed);
    }
}

/// A reading that no worker took.
fn not_sent(row: &Row<Reading>) -> RowError {
    RowError {
        line: row.line,
        column: None,
        reason: "not sent, because the workers had to stop".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use bucket_mongo::{bson::DateTime, mongodb::Client};
    use example_kit::progress;

    use super::*;
    use crate::limits;

    /// Readings of one device on the lines from `first` on.
    fn readings(first: u64, number: u64) -> Vec<Row<Reading>> {
        let row = |line| Row {
            line,
            record: Reading {
                device_id: format!("device_{first}"),
                sensor_type: "co2".to_owned(),
                timestamp: DateTime::from_millis(0),
                value: 1.0,
                quality: 1.0,
            },
        };
        (first..first + number).map(row).collect()
    }

    #[tokio::test]
    async fn without_a_server_every_reading_is_reported_once() {
        // Nothing listens on this port.
        let uri = "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=100";
        let client = Client::with_uri_str(uri).await.unwrap();
        let buckets = limits::buckets(&client.database("nowhere"));
        // More than the queue and all workers hold.
        let series = vec![readings(1, 20_000), readings(20_001, 10_000)];
        let outcome = run(&buckets, series, &progress::records(0)).await.unwrap();
        assert_eq!((outcome.stored, outcome.buckets), (0, 0));
        let lines: Vec<u64> = outcome.failed.iter().map(|error| error.line).collect();
        assert_eq!(lines, (1..=30_000).collect::<Vec<_>>());
    }
}

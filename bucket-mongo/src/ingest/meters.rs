//! Metrics of an ingestor, through the facade crate `metrics`; `docs/tracing.md` lists them.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};
use tokio::time::Instant;

use super::{gate::Gate, gathered::Gathered, report::Figures};
use crate::{Error, writer::Written};

/// Handles to the recorder that was installed when the ingestor was started.
pub(super) struct Meters {
    buffered_records: Gauge,
    buffered_bytes: Gauge,
    /// The amount that this ingestor has added to the gauges; others may add to them as well.
    reported: Mutex<(f64, f64)>,
    batch_records: Histogram,
    batch_bytes: Histogram,
    batch_wait: Histogram,
    batch_write: Histogram,
    stored: Counter,
    duplicates: Counter,
    replaced: Counter,
    superseded: Counter,
    not_stored: Counter,
    not_known: Counter,
    refused: Counter,
    resent: Counter,
    missed: Counter,
}

impl Meters {
    pub(super) fn new(collection: &'static str) -> Self {
        Self {
            buffered_records: gauge!("bucket_ingest_buffered_records", "collection" => collection),
            buffered_bytes: gauge!("bucket_ingest_buffered_bytes", "collection" => collection),
            reported: Mutex::default(),
            batch_records: histogram!("bucket_ingest_batch_records", "collection" => collection),
            batch_bytes: histogram!("bucket_ingest_batch_bytes", "collection" => collection),
            batch_wait: histogram!("bucket_ingest_batch_wait_seconds", "collection" => collection),
            batch_write: histogram!("bucket_ingest_batch_write_seconds", "collection" => collection),
            stored: counter!("bucket_ingest_stored_total", "collection" => collection),
            duplicates: counter!("bucket_ingest_duplicates_total", "collection" => collection),
            replaced: counter!("bucket_ingest_replaced_total", "collection" => collection),
            superseded: counter!("bucket_ingest_superseded_total", "collection" => collection),
            not_stored: counter!("bucket_ingest_not_stored_total", "collection" => collection),
            not_known: counter!("bucket_ingest_not_known_total", "collection" => collection),
            refused: counter!("bucket_ingest_refused_total", "collection" => collection),
            resent: counter!("bucket_ingest_resent_total", "collection" => collection),
            missed: counter!("bucket_ingest_missed_total", "collection" => collection),
        }
    }

    /// A record was refused because the buffer was full.
    pub(super) fn refused(&self) {
        self.refused.increment(1);
    }

    /// A batch was taken and is about to be written.
    pub(super) fn begun(&self, gathered: &Gathered, gate: &Gate, now: Instant) {
        self.batch_records.record(float(gathered.records()));
        self.batch_bytes.record(float(gathered.bytes()));
        self.batch_wait.record(now.duration_since(gathered.since()));
        self.buffered(gate);
    }

    /// The write of a batch has ended.
    pub(super) fn ended(&self, ended: &Result<Written, Error>, took: Duration) {
        self.batch_write.record(took);
        if let Ok(written) = ended {
            self.resent.increment(wide(written.resent));
            self.missed.increment(wide(written.missed));
        }
    }

    /// A batch was settled.
    pub(super) fn settled(&self, figures: Figures, gate: &Gate) {
        self.stored.increment(figures.stored);
        self.duplicates.increment(figures.duplicates);
        self.replaced.increment(figures.replaced);
        self.superseded.increment(figures.superseded);
        self.not_stored.increment(figures.not_stored);
        self.not_known.increment(figures.not_known);
        self.buffered(gate);
    }

    /// Adds to the gauges what has changed since the last time.
    fn buffered(&self, gate: &Gate) {
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        let now = (float(gate.records()), float(gate.bytes()));
        self.buffered_records.increment(now.0 - reported.0);
        self.buffered_bytes.increment(now.1 - reported.1);
        *reported = now;
    }
}

fn wide(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// Exact for every number that fits in memory.
#[allow(clippy::cast_precision_loss)]
fn float(number: usize) -> f64 {
    number as f64
}

//! The result of a push.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use super::settlement::{Settled, Settlement};
use crate::{RecordOutcome, Result};

/// An accepted record: a future that resolves to its outcome.
///
/// It resolves to `Ok` once the record is durable under the write concern: it is now
/// [`Stored`](RecordOutcome::Stored), or a [`Duplicate`](RecordOutcome::Duplicate) of a record that was
/// already stored. An ingestor that [replaces](super::IngestorBuilder::replace) also has
/// [`Replaced`](RecordOutcome::Replaced) and [`Superseded`](RecordOutcome::Superseded). Otherwise it resolves to the typed error of the record. You need not wait for it: dropping
/// it changes nothing, and [`Ingestor::flush`](super::Ingestor::flush) and
/// [`shutdown`](super::Ingestor::shutdown) report failures. It needs no runtime.
///
/// ```no_run
/// # use bucket_mongo::{Bucketed, Ingestor, Result};
/// async fn store<T: Bucketed>(ingestor: &Ingestor<T>, records: &[T]) -> Result<()> {
///     let mut receipts = Vec::new();
///     for record in records {
///         receipts.push(ingestor.push(record).await?);
///     }
///     for receipt in receipts {
///         let sequence = receipt.sequence();
///         receipt.await?;
///         println!("record {sequence} is durable");
///     }
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct Receipt {
    settled: Settled,
    /// The record's place in its batch.
    at: usize,
    sequence: u64,
}

impl Receipt {
    pub(super) fn new(settlement: &Arc<Settlement>, at: usize, sequence: u64) -> Self {
        Self {
            settled: Settled::of(Arc::clone(settlement)),
            at,
            sequence,
        }
    }

    /// The record's number in the order of acceptance, counted from 0 for each ingestor. Reports identify
    /// records by it.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The place in the batch, and the batch.
    pub(super) fn parts(&self) -> (usize, &Arc<Settlement>) {
        (self.at, self.settled.settlement())
    }
}

impl Future for Receipt {
    type Output = Result<RecordOutcome>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<RecordOutcome>> {
        let at = self.at;
        let outcome = Pin::new(&mut self.settled).poll(cx);
        outcome.map(|outcome| outcome.of(at))
    }
}

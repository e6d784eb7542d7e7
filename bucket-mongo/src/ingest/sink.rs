//! A `Sink`, for forwarding streams.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bucket_core::Record;
use futures_util::Sink;

use super::{
    Ingestor,
    gate::Place,
    receipt::Receipt,
    settlement::{Outcome, Settled, Settlement},
};
use crate::{Error, Result};

/// A [`Sink`] of records; see [`Ingestor::sink`].
///
/// It is ready when there is room, whatever [`WhenFull`](super::WhenFull) says. An item that cannot be
/// encoded is an error at once; it is not accepted, and the sink stays usable. `flush` ends when every record
/// of this sink is settled, with the first failure since the last flush. `close` does the same and accepts
/// nothing more; the ingestor continues for its other handles.
///
/// ```no_run
/// # use bucket_mongo::{Bucketed, Ingestor, Result};
/// use futures_util::{Stream, StreamExt};
///
/// async fn store<T: Bucketed>(ingestor: &Ingestor<T>, records: impl Stream<Item = T>) -> Result<()> {
///     records.map(Ok).forward(ingestor.sink()).await
/// }
/// ```
#[derive(Debug)]
#[must_use = "a sink does nothing unless polled"]
pub struct IngestSink<T: Record> {
    ingestor: Ingestor<T>,
    place: Place,
    /// The few batches that hold records of this sink.
    unsettled: Vec<Unsettled>,
    /// The first record that failed since the last flush.
    failed: Option<(u64, Error)>,
    is_flushing: bool,
    is_closed: bool,
}

/// The records of a sink in one batch: their places and their sequence numbers.
#[derive(Debug)]
struct Unsettled {
    settled: Settled,
    records: Vec<(usize, u64)>,
}

impl<T: Record> Ingestor<T> {
    /// A `Sink` that pushes into this ingestor.
    pub fn sink(&self) -> IngestSink<T> {
        IngestSink::new(self.clone())
    }
}

impl<T: Record> IngestSink<T> {
    pub(super) fn new(ingestor: Ingestor<T>) -> Self {
        Self {
            ingestor,
            place: Place::default(),
            unsettled: Vec::new(),
            failed: None,
            is_flushing: false,
            is_closed: false,
        }
    }

    fn keep(&mut self, receipt: &Receipt) {
        let (at, settlement) = receipt.parts();
        let record = (at, receipt.sequence());
        let same = |known: &&mut Unsettled| Arc::ptr_eq(known.settled.settlement(), settlement);
        if let Some(known) = self.unsettled.iter_mut().find(same) {
            known.records.push(record);
            return;
        }
        self.drop_settled();
        self.unsettled.push(Unsettled {
            settled: Settled::of(Arc::clone(settlement)),
            records: vec![record],
        });
    }

    /// Drops settled batches, so that only batches that the memory bound counts are kept.
    fn drop_settled(&mut self) {
        let Self {
            unsettled, failed, ..
        } = self;
        unsettled.retain(|known| {
            let outcome = Settlement::outcome(known.settled.settlement());
            if let Some(outcome) = &outcome {
                keep_first(failed, known, outcome);
            }
            outcome.is_none()
        });
    }

    fn poll_settled(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        if !self.is_flushing {
            self.ingestor.ask();
            self.is_flushing = true;
        }
        let Self {
            unsettled, failed, ..
        } = self;
        unsettled.retain_mut(|known| match Pin::new(&mut known.settled).poll(cx) {
            Poll::Pending => true,
            Poll::Ready(outcome) => {
                keep_first(failed, known, &outcome);
                false
            }
        });
        if !self.unsettled.is_empty() {
            return Poll::Pending;
        }
        self.is_flushing = false;
        let failed = self.failed.take();
        Poll::Ready(failed.map_or(Ok(()), |(_, error)| Err(error)))
    }
}

/// Keeps the failure with the lowest sequence.
fn keep_first(failed: &mut Option<(u64, Error)>, of: &Unsettled, outcome: &Outcome) {
    for (at, sequence) in &of.records {
        let is_first = failed.as_ref().is_none_or(|(first, _)| sequence < first);
        if is_first && let Some(error) = outcome.error(*at) {
            *failed = Some((*sequence, error.clone()));
        }
    }
}

impl<T: Record> Sink<T> for IngestSink<T> {
    type Error = Error;

    fn poll_ready(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let this = self.get_mut();
        if this.is_closed {
            return Poll::Ready(Err(this.ingestor.shut_down()));
        }
        this.place.poll_room(this.ingestor.gate(), cx).map(Ok)
    }

    fn start_send(self: Pin<&mut Self>, record: T) -> Result<()> {
        let this = self.get_mut();
        if this.is_closed {
            return Err(this.ingestor.shut_down());
        }
        let receipt = this.ingestor.accept(&record)?;
        this.is_flushing = false;
        this.keep(&receipt);
        Ok(())
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        self.get_mut().poll_settled(cx)
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let this = self.get_mut();
        this.is_closed = true;
        this.poll_settled(cx)
    }
}

impl<T: Record> Drop for IngestSink<T> {
    fn drop(&mut self) {
        self.place.leave(self.ingestor.gate());
    }
}

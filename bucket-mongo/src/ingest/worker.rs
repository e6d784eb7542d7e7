//! The task of a shard: takes its batches and writes them.

use std::{panic::AssertUnwindSafe, pin::pin, sync::Arc};

use bson::DateTime;
use futures_util::{
    FutureExt,
    future::{Either, select},
};
use tokio::time::{Instant, timeout_at};
use tracing::Instrument;

use super::{
    gathered::Gathered,
    shard::{Next, Shard},
    shared::Shared,
    writing::Writing,
};
use crate::{
    Error,
    error::NotKnown,
    trace,
    writer::{LONGEST_DEADLINE, Writer, Written},
};

/// Writes the batches of one shard, one after the other.
///
/// However it ends, every accepted record is settled: a runtime that shuts down drops the worker, and `Drop`
/// then informs those who wait.
pub(super) struct Worker {
    shared: Arc<Shared>,
    at: usize,
}

impl Worker {
    /// The worker of the shard with this number.
    pub(super) fn new(shared: &Arc<Shared>, at: usize) -> Self {
        Self {
            shared: Arc::clone(shared),
            at,
        }
    }

    /// Runs until the shard is closed and empty.
    pub(super) async fn run(self) {
        while let Some(gathered) = self.next().await {
            let span = tracing::debug_span!(
                target: trace::WRITE,
                parent: None,
                "ingest",
                collection = self.shared.store.spec().collection(),
            );
            self.write(gathered).instrument(span).await;
        }
    }

    fn shard(&self) -> &Shard {
        &self.shared.shards[self.at]
    }

    /// Waits for the next batch; `None` once the shard is closed and empty.
    async fn next(&self) -> Option<Gathered> {
        let linger = self.shared.batch_limits.linger;
        loop {
            let is_full = self.shared.gate.is_full();
            let wake = self.shard().wake.notified();
            match self.shard().next(linger, is_full) {
                Next::Write(gathered) => return Some(*gathered),
                Next::End => return None,
                Next::Wait(None) => wake.await,
                // Woken or due, the worker checks the shard again.
                Next::Wait(Some(due)) => {
                    let _ = timeout_at(due, wake).await;
                }
            }
        }
    }

    async fn write(&self, gathered: Gathered) {
        let begun = Instant::now();
        self.shared
            .meters
            .begun(&gathered, &self.shared.gate, begun);
        let mut writing = Writing::new(&self.shared, gathered);
        // Code of the caller: `Deserialize` of a record, and what decides whether it replaces another one. A panic ends
        // the batch, which is read no more, and not the worker.
        let storing = AssertUnwindSafe(self.store(&mut writing.gathered));
        let ended = storing.catch_unwind().await;
        let ended = ended.unwrap_or_else(|_| Err(self.shared.unknown(NotKnown::Panicked)));
        self.shared.meters.ended(&ended, begun.elapsed());
        writing.end(ended);
    }

    /// Stores a batch.
    async fn store(&self, gathered: &mut Gathered) -> Result<Written, Error> {
        gathered.batch.set_now(DateTime::now());
        let shared = &self.shared;
        let context = shared.context("ingest");
        let patience = shared.settings.deadline.unwrap_or(shared.store.deadline());
        let deadline = Instant::now() + patience.min(LONGEST_DEADLINE);
        let writer = Writer::new(&shared.store, None, &shared.settings, context)?;
        let store = async {
            let Some(replacer) = &shared.replacer else {
                return writer.store(&mut gathered.batch).await;
            };
            gathered.batch.keep_contested();
            let mut written = writer.store(&mut gathered.batch).await;
            let settings = &shared.settings;
            replacer.settle(&mut written, settings, deadline).await;
            written
        };
        // In this order, so that an abort that comes first leaves the batch unsent.
        match select(pin!(self.shard().abort.notified()), pin!(store)).await {
            Either::Left(_) => Err(shared.unknown(NotKnown::Aborted)),
            Either::Right((written, _)) => Ok(written),
        }
    }
}

impl Drop for Worker {
    /// After a regular end there is nothing left to do.
    fn drop(&mut self) {
        self.shared.give_back(self.shard());
    }
}

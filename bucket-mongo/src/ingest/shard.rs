//! One shard: the keys of one hash, whose batches are written one after the other.
//!
//! That keeps the records of a key in the order in which they were accepted.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard},
};

use bucket_core::{EncodeError, Limits, Record};
use tokio::{
    sync::Notify,
    time::{Duration, Instant},
};

use super::{gathered::Gathered, receipt::Receipt, settlement::Settlement};

/// The limits at which a batch is complete.
#[derive(Debug, Clone, Copy)]
pub(super) struct BatchLimits {
    pub(super) records: usize,
    pub(super) bytes: usize,
    pub(super) linger: Duration,
}

#[derive(Debug)]
pub(super) struct Shard {
    state: Mutex<State>,
    /// Tells its one worker that there may be something to do.
    pub(super) wake: Notify,
    /// Tells its one worker to give up what is being written.
    pub(super) abort: Notify,
}

#[derive(Debug)]
struct State {
    open: Option<Gathered>,
    /// Complete batches before the open one. They count against the memory bound too.
    complete: VecDeque<Gathered>,
    /// The batch that is being written.
    writing: Option<Arc<Settlement>>,
    is_closed: bool,
}

/// Why a shard took nothing.
pub(super) enum Refusal {
    Closed,
    Encode(EncodeError),
}

/// What a worker does next.
pub(super) enum Next {
    Write(Box<Gathered>),
    /// Nothing yet; there will be at this time at the latest.
    Wait(Option<Instant>),
    /// The shard is closed and empty.
    End,
}

impl Default for Shard {
    fn default() -> Self {
        let state = State {
            open: None,
            complete: VecDeque::new(),
            writing: None,
            is_closed: false,
        };
        Self {
            state: Mutex::new(state),
            wake: Notify::new(),
            abort: Notify::new(),
        }
    }
}

impl State {
    /// The open batch takes nothing more.
    fn complete(&mut self) {
        if let Some(open) = self.open.take()
            && open.records() > 0
        {
            self.complete.push_back(open);
        }
    }

    /// The newest batch, which is settled last.
    fn last(&self) -> Option<&Arc<Settlement>> {
        let open = self.open.as_ref().filter(|open| open.records() > 0);
        let gathered = open.or(self.complete.back());
        gathered.map(Gathered::settlement).or(self.writing.as_ref())
    }
}

impl Shard {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| {
            // Only the encoding of a record can panic, in the record's own code. The records before it are
            // complete; the batch is written without further ones.
            let mut state = poisoned.into_inner();
            state.complete();
            self.state.clear_poison();
            self.wake.notify_one();
            state
        })
    }

    /// What to write next: whatever is complete, or the open batch if it is due.
    pub(super) fn next(&self, linger: Duration, is_full: bool) -> Next {
        let mut state = self.lock();
        state.writing = None;
        if state.complete.is_empty() {
            let Some(open) = state.open.as_ref().filter(|open| open.records() > 0) else {
                if state.is_closed {
                    return Next::End;
                }
                return Next::Wait(None);
            };
            // `None` means a linger that exceeds the clock's range.
            let due = open.since().checked_add(linger);
            let is_due = state.is_closed
                || is_full
                || open.is_asked_for
                || due.is_some_and(|due| due <= Instant::now());
            if !is_due {
                return Next::Wait(due);
            }
            state.complete();
        }
        let Some(gathered) = state.complete.pop_front() else {
            return Next::Wait(None);
        };
        state.writing = Some(Arc::clone(gathered.settlement()));
        Next::Write(Box::new(gathered))
    }

    /// Asks for everything accepted to be written. Returns the batch that will be settled last.
    pub(super) fn ask(&self) -> Option<Arc<Settlement>> {
        let mut state = self.lock();
        if let Some(open) = &mut state.open {
            // It stays open until the worker takes it, so that many flushes share one write.
            open.is_asked_for = true;
        }
        let last = state.last().cloned();
        drop(state);
        self.wake.notify_one();
        last
    }

    /// Accepts nothing more.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.wake.notify_one();
    }

    /// Accepts nothing more. Returns the accepted batches that are not being written yet.
    pub(super) fn empty(&self) -> Vec<Gathered> {
        let mut state = self.lock();
        state.is_closed = true;
        state.complete();
        let left = state.complete.drain(..).collect();
        drop(state);
        self.wake.notify_one();
        left
    }
}

impl Shard {
    /// Encodes a record into the open batch; `enter` numbers it and counts its bytes.
    pub(super) fn push<T: Record>(
        &self,
        record: &T,
        limits: Option<Limits>,
        complete: BatchLimits,
        enter: impl FnOnce(usize) -> u64,
    ) -> Result<Receipt, Refusal> {
        let mut state = self.lock();
        if state.is_closed {
            return Err(Refusal::Closed);
        }
        let open = state.open.get_or_insert_with(Gathered::of::<T>);
        let bytes = open.push(record, limits).map_err(Refusal::Encode)?;
        let sequence = enter(bytes);
        let at = open.accept(bytes, sequence);
        let receipt = Receipt::new(open.settlement(), at, sequence);
        let is_complete = open.records() >= complete.records || open.bytes() >= complete.bytes;
        if is_complete {
            state.complete();
        }
        drop(state);
        // The first record starts the linger time of its batch.
        if at == 0 || is_complete {
            self.wake.notify_one();
        }
        Ok(receipt)
    }
}

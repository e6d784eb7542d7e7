//! The outcome of a batch: one allocation that all receipts of the batch share.

use std::{
    collections::HashMap,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use super::waiters::{Ticket, Waiters};
use crate::{Error, RecordOutcome, Result};

/// The outcome of the records of a batch, by their place in it.
#[derive(Debug)]
pub(super) enum Outcome {
    /// All are stored, except those that failed.
    StoredBut {
        failed: HashMap<usize, Error>,
        /// And those with another outcome than that they are stored.
        others: HashMap<usize, RecordOutcome>,
    },
    /// None is stored, or all may not be.
    Failed(Error),
}

impl Outcome {
    /// The error of the record at this place, if it failed.
    pub(super) fn error(&self, at: usize) -> Option<&Error> {
        match self {
            Self::StoredBut { failed, .. } => failed.get(&at),
            Self::Failed(error) => Some(error),
        }
    }

    /// The outcome of the record at this place.
    pub(super) fn of(&self, at: usize) -> Result<RecordOutcome> {
        match self {
            Self::Failed(error) => Err(error.clone()),
            Self::StoredBut { failed, others } => match failed.get(&at) {
                Some(error) => Err(error.clone()),
                None => Ok(others.get(&at).copied().unwrap_or(RecordOutcome::Stored)),
            },
        }
    }
}

/// A batch that will be settled, or already is.
#[derive(Debug, Default)]
pub(super) struct Settlement {
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    Pending(Waiters),
    Settled(Arc<Outcome>),
}

impl Default for State {
    fn default() -> Self {
        Self::Pending(Waiters::default())
    }
}

impl Settlement {
    /// Wakes everyone who waits. Only the first outcome is kept.
    pub(super) fn settle(&self, outcome: Arc<Outcome>) {
        let mut state = self.state();
        let waiting = match &mut *state {
            State::Pending(waiters) => waiters.take(),
            State::Settled(_) => return,
        };
        *state = State::Settled(outcome);
        drop(state);
        waiting.for_each(Waker::wake);
    }

    /// The outcome, if it is known.
    pub(super) fn outcome(&self) -> Option<Arc<Outcome>> {
        match &*self.state() {
            State::Pending(_) => None,
            State::Settled(outcome) => Some(Arc::clone(outcome)),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No operation on the state panics half-way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn forget(&self, ticket: Ticket) {
        if let State::Pending(waiters) = &mut *self.state() {
            waiters.forget(ticket);
        }
    }
}

/// Waits for the outcome of a batch, and leaves the list if it is dropped first.
#[derive(Debug)]
pub(super) struct Settled {
    settlement: Arc<Settlement>,
    ticket: Option<Ticket>,
}

impl Settled {
    pub(super) fn of(settlement: Arc<Settlement>) -> Self {
        Self {
            settlement,
            ticket: None,
        }
    }

    pub(super) fn settlement(&self) -> &Arc<Settlement> {
        &self.settlement
    }
}

impl Future for Settled {
    type Output = Arc<Outcome>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Arc<Outcome>> {
        let this = &mut *self;
        let outcome = match &mut *this.settlement.state() {
            State::Pending(waiters) => {
                waiters.register(&mut this.ticket, cx);
                return Poll::Pending;
            }
            State::Settled(outcome) => Arc::clone(outcome),
        };
        // Settling took the list.
        this.ticket = None;
        Poll::Ready(outcome)
    }
}

impl Drop for Settled {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.settlement.forget(ticket);
        }
    }
}

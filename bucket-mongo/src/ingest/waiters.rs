//! Tasks that wait for the same thing.

use std::{
    collections::BTreeMap,
    task::{Context, Waker},
};

/// The wakers of the waiting tasks, in order of arrival.
///
/// A list of wakers instead of one of Tokio's primitives, because receipts and sinks are polled and must be
/// neither pinned nor boxed.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    next: u64,
    wakers: BTreeMap<u64, Waker>,
}

/// A place in the list. A task keeps it over a wake-up, so that it does not move to the end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ticket(u64);

impl Waiters {
    /// Registers the task to be woken with the others.
    pub(super) fn register(&mut self, ticket: &mut Option<Ticket>, cx: &Context<'_>) {
        let Ticket(place) = *ticket.get_or_insert_with(|| {
            self.next += 1;
            Ticket(self.next)
        });
        match self.wakers.get_mut(&place) {
            Some(waker) => waker.clone_from(cx.waker()),
            None => {
                self.wakers.insert(place, cx.waker().clone());
            }
        }
    }

    /// The task no longer waits.
    pub(super) fn forget(&mut self, Ticket(place): Ticket) {
        self.wakers.remove(&place);
    }

    /// Takes the waiting tasks; wake them once no lock is held.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Waker> + use<> {
        std::mem::take(&mut self.wakers).into_values()
    }
}

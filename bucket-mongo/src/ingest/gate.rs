//! The memory bound: how much is accepted and not yet settled, and who waits for room.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    task::{Context, Poll, Waker},
};

use super::waiters::{Ticket, Waiters};

/// Counts what is buffered and in flight.
///
/// A record is let in while there is any room, because its size is known only once it is encoded. So each
/// task that pushes at that moment can exceed the limit by one record.
#[derive(Debug)]
pub(super) struct Gate {
    limit: usize,
    bytes: AtomicUsize,
    records: AtomicUsize,
    /// Nothing is let in any more; waiting tasks are woken to learn that.
    closed: AtomicBool,
    waiters: Mutex<Waiters>,
}

impl Gate {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            bytes: AtomicUsize::new(0),
            records: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
            waiters: Mutex::default(),
        }
    }

    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(SeqCst)
    }

    pub(super) fn records(&self) -> usize {
        self.records.load(SeqCst)
    }

    pub(super) fn is_full(&self) -> bool {
        self.bytes() >= self.limit
    }

    /// Whether a push may continue: there is room, or it will learn that the gate is closed.
    pub(super) fn has_room(&self) -> bool {
        !self.is_full() || self.closed.load(SeqCst)
    }

    /// Lets a record in. Returns whether it filled the room.
    pub(super) fn enter(&self, bytes: usize) -> bool {
        self.records.fetch_add(1, SeqCst);
        let before = self.bytes.fetch_add(bytes, SeqCst);
        before < self.limit && before + bytes >= self.limit
    }

    /// Returns the room of settled records.
    pub(super) fn leave(&self, records: usize, bytes: usize) {
        self.records.fetch_sub(records, SeqCst);
        self.bytes.fetch_sub(bytes, SeqCst);
        self.wake();
    }

    pub(super) fn close(&self) {
        self.closed.store(true, SeqCst);
        self.wake();
    }

    fn wake(&self) {
        // Always takes the lock: a task that registers after it sees the room that is free now.
        let waiting = self.waiters().take();
        waiting.for_each(Waker::wake);
    }

    fn waiters(&self) -> MutexGuard<'_, Waiters> {
        // No operation on the list panics half-way.
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn poll_room(&self, ticket: &mut Option<Ticket>, cx: &Context<'_>) -> Poll<()> {
        if self.has_room() {
            return Poll::Ready(());
        }
        self.waiters().register(ticket, cx);
        // Room may have been returned, and the list emptied, before the task was on it.
        if self.has_room() {
            return Poll::Ready(());
        }
        Poll::Pending
    }
}

/// One waiter's place at the gate; given up when it is dropped.
#[derive(Debug, Default)]
pub(super) struct Place {
    ticket: Option<Ticket>,
}

impl Place {
    pub(super) fn poll_room(&mut self, gate: &Gate, cx: &Context<'_>) -> Poll<()> {
        let room = gate.poll_room(&mut self.ticket, cx);
        if room.is_ready() {
            self.leave(gate);
        }
        room
    }

    pub(super) fn leave(&mut self, gate: &Gate) {
        if let Some(ticket) = self.ticket.take() {
            gate.waiters().forget(ticket);
        }
    }
}

/// Waits for room, and leaves the list if it is dropped before.
pub(super) struct Room<'a> {
    gate: &'a Gate,
    place: Place,
}

impl<'a> Room<'a> {
    pub(super) fn new(gate: &'a Gate) -> Self {
        Self {
            gate,
            place: Place::default(),
        }
    }
}

impl Future for Room<'_> {
    type Output = ();

    fn poll(mut self: std::pin::Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let gate = self.gate;
        self.place.poll_room(gate, cx)
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        self.place.leave(self.gate);
    }
}

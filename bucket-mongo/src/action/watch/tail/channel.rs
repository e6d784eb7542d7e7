//! The way of events from the task of a tail to its reader.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bucket_core::{Record, TailEvent, WatchEvent, watch::Queue};
use tokio::sync::Notify;

use crate::{Error, Result};

struct Shared<T: Record> {
    state: Mutex<State<T>>,
    /// For the reader: something was sent.
    sent: Notify,
    /// For the task: something was taken.
    taken: Notify,
}

struct State<T: Record> {
    queue: Queue<T, Error>,
    /// Why nothing follows.
    end: Option<Error>,
    is_over: bool,
}

/// The end of the task. Dropping it ends the events.
pub(super) struct Sender<T: Record>(Arc<Shared<T>>);

/// The end of the reader.
pub(super) struct Receiver<T: Record>(Arc<Shared<T>>);

pub(super) fn channel<T: Record>(queue: Queue<T, Error>) -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(Shared {
        state: Mutex::new(State {
            queue,
            end: None,
            is_over: false,
        }),
        sent: Notify::new(),
        taken: Notify::new(),
    });
    (Sender(Arc::clone(&shared)), Receiver(shared))
}

impl<T: Record> Shared<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Record> Sender<T> {
    /// Sends an event or an error in its place, once there is room.
    pub(super) async fn send(&self, event: Result<WatchEvent<T>>) {
        let mut next = event;
        loop {
            match self.0.state().queue.push(next) {
                Ok(()) => break,
                Err(back) => next = back,
            }
            self.0.taken.notified().await;
        }
        self.0.sent.notify_one();
    }

    /// Goes on with this queue once the reader has taken everything.
    pub(super) async fn go_on_with(&self, queue: Queue<T, Error>) {
        loop {
            {
                let mut state = self.0.state();
                if state.queue.is_empty() {
                    state.queue = queue;
                    return;
                }
            }
            self.0.taken.notified().await;
        }
    }

    /// Ends the events with this error.
    pub(super) fn end(self, error: Error) {
        self.0.state().end = Some(error);
    }
}

impl<T: Record> Drop for Sender<T> {
    fn drop(&mut self) {
        self.0.state().is_over = true;
        self.0.sent.notify_one();
    }
}

impl<T: Record> Receiver<T> {
    /// The next event; `None` after the last one.
    pub(super) async fn next(&self) -> Option<Result<TailEvent<T>>> {
        loop {
            {
                let mut state = self.0.state();
                if let Some(event) = state.queue.pop() {
                    self.0.taken.notify_one();
                    return Some(event);
                }
                if state.is_over {
                    return state.end.take().map(Err);
                }
            }
            self.0.sent.notified().await;
        }
    }
}

//! The events of a tail as a stream.

use std::{
    fmt,
    pin::Pin,
    task::{self, Poll},
};

use bucket_core::{Record, TailEvent};
use futures_core::{Stream, stream::BoxStream};
use futures_util::{StreamExt, stream};
use tokio::task::AbortHandle;

use super::channel::Receiver;
use crate::{Result, read::until_failed};

/// The events of a tail; see [`Buckets::tail`](crate::Buckets::tail).
///
/// What cannot be read is an error in its place, after which the stream continues; every other error ends it. It ends
/// without an error only with the runtime that it was opened in. Dropping it ends its task and closes its cursor.
#[must_use = "streams do nothing unless polled"]
pub struct TailStream<T: Record> {
    events: BoxStream<'static, Result<TailEvent<T>>>,
    task: AbortHandle,
}

impl<T: Record> TailStream<T> {
    pub(super) fn new(receiver: Receiver<T>, task: AbortHandle) -> Self {
        let events = stream::unfold(receiver, async |receiver| {
            Some((receiver.next().await?, receiver))
        });
        Self {
            events: until_failed(events),
            task,
        }
    }
}

impl<T: Record> Drop for TailStream<T> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl<T: Record> fmt::Debug for TailStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TailStream").finish_non_exhaustive()
    }
}

impl<T: Record> Stream for TailStream<T> {
    type Item = Result<TailEvent<T>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Option<Self::Item>> {
        self.events.poll_next_unpin(cx)
    }
}

//! A stream of records, over one cursor.

use std::{
    fmt,
    pin::Pin,
    task::{self, Poll, ready},
    vec,
};

use bucket_core::{
    CursorToken, Record,
    read::{Placed, RecordPlace, Tokens},
};
use futures_core::{Stream, stream::BoxStream};
use futures_util::{StreamExt, stream};

use crate::{Error, Result, read::Chunks};

/// A stream of records, or of the fields selected from them; see
/// [`Buckets::records`](crate::Buckets::records) and [`Buckets::range`](crate::Buckets::range).
#[must_use = "streams do nothing unless polled"]
pub struct RecordStream<'a, R> {
    chunks: BoxStream<'a, Result<Vec<Placed<R>>>>,
    chunk: vec::IntoIter<Placed<R>>,
    left: usize,
    tokens: Option<Tokens>,
    last: Option<RecordPlace>,
}

impl<R> fmt::Debug for RecordStream<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordStream")
            .field("last", &self.last)
            .finish_non_exhaustive()
    }
}

impl<'a, R: Send + 'a> RecordStream<'a, R> {
    pub(crate) fn new<T: Record>(chunks: Chunks<'a, T, R>, limit: Option<usize>) -> Self {
        let tokens = chunks.tokens();
        let next = |mut chunks: Chunks<'a, T, R>| async move {
            let next = chunks.next().await;
            next.map(|next| (next, chunks))
        };
        Self {
            chunks: stream::unfold(chunks, next).boxed(),
            chunk: Vec::new().into_iter(),
            left: limit.unwrap_or(usize::MAX),
            tokens,
            last: None,
        }
    }

    /// A stream of only this error.
    pub(crate) fn failed(error: Error) -> Self {
        Self {
            chunks: stream::iter([Err(error)]).boxed(),
            chunk: Vec::new().into_iter(),
            left: usize::MAX,
            tokens: None,
            last: None,
        }
    }
}

impl<R> RecordStream<'_, R> {
    /// The token of the last record given, to continue after it later. `None` before the first record, and in
    /// a stream by time, which has no tokens.
    #[must_use]
    pub fn position(&self) -> Option<CursorToken> {
        Some(self.tokens?.at(self.last?))
    }
}

// No field is ever pinned.
impl<R> Unpin for RecordStream<'_, R> {}

impl<R> Stream for RecordStream<'_, R> {
    type Item = Result<R>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if self.left == 0 {
                return Poll::Ready(None);
            }
            if let Some(placed) = self.chunk.next() {
                self.left -= 1;
                self.last = Some(placed.place());
                return Poll::Ready(Some(Ok(placed.record)));
            }
            match ready!(self.chunks.poll_next_unpin(cx)) {
                None => {
                    // It must not be polled any more.
                    self.left = 0;
                    return Poll::Ready(None);
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                Some(Ok(chunk)) => self.chunk = chunk.into_iter(),
            }
        }
    }
}

//! A stream of records.

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

use crate::{
    Error, Result,
    read::{Chunks, until_failed},
};

/// A stream of records, or of what was selected of them; see
/// [`Buckets::records`](crate::Buckets::records), [`Buckets::range`](crate::Buckets::range),
/// [`Buckets::range_all_keys`](crate::Buckets::range_all_keys) and [`Buckets::latest_per_key`](crate::Buckets::latest_per_key).
///
/// The first command is sent when it is first polled. A damaged bucket is an error in its place, after which the
/// stream continues; every other error ends it. Dropping it closes its cursors.
#[must_use = "streams do nothing unless polled"]
pub struct RecordStream<'a, R> {
    chunks: BoxStream<'a, Result<Chunk<R>>>,
    chunk: Chunk<R>,
    left: usize,
    tokens: Option<Tokens>,
    last: Option<RecordPlace>,
}

/// Records that have come and are not given yet.
enum Chunk<R> {
    /// Of a walk over the records of a key.
    Placed(vec::IntoIter<Placed<R>>),
    Plain(vec::IntoIter<R>),
}

impl<R> Chunk<R> {
    fn next(&mut self) -> Option<(R, Option<RecordPlace>)> {
        match self {
            Self::Placed(records) => {
                let placed = records.next()?;
                let place = placed.place();
                Some((placed.record, Some(place)))
            }
            Self::Plain(records) => Some((records.next()?, None)),
        }
    }
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
            let next = chunks.next().await?;
            let next = next.map(|records| Chunk::Placed(records.into_iter()));
            Some((next, chunks))
        };
        Self {
            left: limit.unwrap_or(usize::MAX),
            tokens,
            ..Self::of(stream::unfold(chunks, next))
        }
    }

    /// A stream of these records, which have no tokens.
    pub(crate) fn plain(chunks: impl Stream<Item = Result<Vec<R>>> + Send + 'a) -> Self {
        Self::of(chunks.map(|records| Ok(Chunk::Plain(records?.into_iter()))))
    }

    /// A stream that only gives this error.
    pub(crate) fn failed(error: Error) -> Self {
        Self::of(stream::iter([Err(error)]))
    }

    fn of(chunks: impl Stream<Item = Result<Chunk<R>>> + Send + 'a) -> Self {
        Self {
            chunks: until_failed(chunks),
            chunk: Chunk::Plain(Vec::new().into_iter()),
            left: usize::MAX,
            tokens: None,
            last: None,
        }
    }
}

impl<R> RecordStream<'_, R> {
    /// The token of the last record given, to continue after it later. `None` before the first record, and in
    /// a stream by time or over all keys, which has no tokens.
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
            if let Some((record, place)) = self.chunk.next() {
                self.left -= 1;
                self.last = place;
                return Poll::Ready(Some(Ok(record)));
            }
            match ready!(self.chunks.poll_next_unpin(cx)) {
                None => {
                    // It must not be polled any more.
                    self.left = 0;
                    return Poll::Ready(None);
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                Some(Ok(chunk)) => self.chunk = chunk,
            }
        }
    }
}

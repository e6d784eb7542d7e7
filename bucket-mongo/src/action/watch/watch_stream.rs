//! The events of a watch as a stream.

use std::{
    fmt,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{self, Poll},
};

use bucket_core::{Record, WatchEvent, WatchToken, watch::Position};
use futures_core::{Stream, stream::BoxStream};
use futures_util::{StreamExt, stream};

use super::watching::Watching;
use crate::{Result, read::until_failed};

/// The events of a watch; see [`Buckets::watch`](crate::Buckets::watch).
///
/// What cannot be read is an error in its place, after which the stream continues; every other error ends it. It
/// never ends without an error. Dropping it closes its cursor.
#[must_use = "streams do nothing unless polled"]
pub struct WatchStream<T: Record> {
    events: BoxStream<'static, Result<WatchEvent<T>>>,
    place: Arc<Mutex<Option<Position>>>,
}

impl<T: Record> WatchStream<T> {
    pub(super) fn new(watching: Watching<T>) -> Self {
        let place = Arc::new(Mutex::new(watching.position().cloned()));
        let of_stream = Arc::clone(&place);
        let events = stream::unfold((watching, of_stream), |(mut watching, place)| async {
            loop {
                let event = match watching.next().await {
                    Ok((event, position)) => {
                        *place.lock().unwrap_or_else(PoisonError::into_inner) = position;
                        event
                    }
                    Err(error) => Some(Err(error)),
                };
                if let Some(event) = event {
                    return Some((event, (watching, place)));
                }
            }
        });
        Self {
            events: until_failed(events),
            place,
        }
    }

    /// The place after the last event that the stream has given. While nothing happens to records, polling the
    /// stream moves it on, so that the server's oplog reaches back to it for longer.
    ///
    /// `None` while it gives what was [stored](crate::action::WatchQuery::stored_from) before the watch.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// # async fn f<T: Bucketed>(buckets: &Buckets<T>) -> Result<()> {
    /// let events = buckets.watch().await?;
    /// let start = events.token().map(|token| token.to_string());
    /// # drop(start);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn token(&self) -> Option<WatchToken> {
        let place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        place.as_ref().map(Position::token)
    }
}

impl<T: Record> fmt::Debug for WatchStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchStream")
            .field("token", &self.token())
            .finish_non_exhaustive()
    }
}

impl<T: Record> Stream for WatchStream<T> {
    type Item = Result<WatchEvent<T>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Option<Self::Item>> {
        self.events.poll_next_unpin(cx)
    }
}

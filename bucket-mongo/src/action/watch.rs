//! `watch`, `watch_key` and `tail`: what happens to records, as it happens.

mod beginning;
mod catching_up;
mod opening;
mod server;
mod tail;
mod watch_stream;
mod watching;

use std::fmt;

use bucket_core::{Record, WatchToken};
use mongodb::bson::DateTime;
use tracing::Instrument;

use self::{beginning::Beginning, opening::Opening};
pub use self::{
    tail::{TailQuery, TailStream},
    watch_stream::WatchStream,
};
use super::ActionFuture;
use crate::{Buckets, Result, trace};

impl<T: Record> Buckets<T> {
    /// Follows the collection: every record that is stored, edited or removed from now on, each once, and in order
    /// for each key.
    ///
    /// `.await` gives a [`WatchStream`] of [`WatchEvent`](crate::WatchEvent)s once the server has set the place
    /// where it starts: what is written after that is in the stream. The stream never ends by itself. It survives
    /// failovers and lost connections: it goes on at its place for as long as the handle's
    /// [`deadline`](Buckets::with_deadline) says. It reads from the server only while it is polled, and holds
    /// one batch of the server (at most 16 MB) in memory.
    ///
    /// Each event has a [`token`](crate::WatchEvent::token), from which a later watch goes on
    /// [`after`](WatchQuery::after) it, as long as the server's oplog reaches back so far.
    ///
    /// It uses a change stream, so the server must be a member of a replica set, and the user needs the privilege
    /// `changeStream`. It reads with the read concern `majority`: what a failover can take back is not shown.
    ///
    /// # Errors
    ///
    /// [`HistoryLost`](crate::ErrorKind::HistoryLost) if the server has forgotten the place, or if the collection is
    /// dropped or renamed; [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for text that is not a token, or a
    /// token of another watch; [`Damaged`](crate::ErrorKind::Damaged) for what cannot be read, in its place, after
    /// which the stream goes on; those of the server and of the connection.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, RecordChange, Result};
    /// use futures_util::TryStreamExt;
    ///
    /// async fn follow<T: Bucketed + std::fmt::Debug>(buckets: &Buckets<T>) -> Result<()> {
    ///     let mut events = buckets.watch().await?;
    ///     while let Some(event) = events.try_next().await? {
    ///         if let RecordChange::Stored { record, .. } = &event.change {
    ///             println!("{record:?}");
    ///         }
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn watch(&self) -> WatchQuery<'_, T> {
        WatchQuery {
            buckets: self,
            key: None,
            before: false,
            from: Beginning::Now,
        }
    }

    /// Gives the stored records from this time on, and then follows the collection: `watch().stored_from(time)`; see
    /// [`stored_from`](WatchQuery::stored_from).
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Error, ErrorKind, Result, action::WatchStream};
    /// /// Goes on after a token, or catches up if the server has forgotten its place.
    /// async fn go_on<T: Bucketed>(buckets: &Buckets<T>, token: &str) -> Result<WatchStream<T>> {
    ///     let error = match buckets.watch().after(token).await {
    ///         Err(error) => error,
    ///         events => return events,
    ///     };
    ///     match error.kind() {
    ///         ErrorKind::HistoryLost { since, .. } => buckets.watch_from(*since).await,
    ///         _ => Err(error),
    ///     }
    /// }
    /// ```
    pub fn watch_from(&self, time: DateTime) -> WatchQuery<'_, T> {
        self.watch().stored_from(time)
    }

    /// Follows the records of a key; see [`watch`](Self::watch).
    ///
    /// The server leaves the other keys out by their ids. In models with object ids, updates and removals do not name
    /// their key: the server sends those of all keys, each bucket is looked up once, and a removed bucket that no
    /// recent event named is given without a key, whatever key it had.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// use futures_util::TryStreamExt;
    ///
    /// async fn first_event<T: Bucketed + std::fmt::Debug>(buckets: &Buckets<T>, key: T::Key) -> Result<()> {
    ///     let mut events = buckets.watch_key(key).await?;
    ///     println!("{:?}", events.try_next().await?);
    ///     Ok(())
    /// }
    /// ```
    pub fn watch_key(&self, key: impl Into<T::Key>) -> WatchQuery<'_, T> {
        WatchQuery {
            buckets: self,
            key: Some(key.into()),
            before: false,
            from: Beginning::Now,
        }
    }
}

/// A watch; see [`Buckets::watch`].
#[must_use = "nothing is watched until this is awaited"]
pub struct WatchQuery<'a, T: Record> {
    buckets: &'a Buckets<T>,
    key: Option<T::Key>,
    before: bool,
    from: Beginning,
}

impl<T: Record> WatchQuery<'_, T> {
    /// Goes on after the event with this token, in the middle of a bucket too.
    ///
    /// A second start replaces the first one.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result, action::WatchStream};
    /// async fn go_on<T: Bucketed>(buckets: &Buckets<T>, saved: Option<String>) -> Result<WatchStream<T>> {
    ///     match saved {
    ///         Some(token) => buckets.watch().after(token).await,
    ///         None => buckets.watch().await,
    ///     }
    /// }
    /// ```
    pub fn after(mut self, token: impl Into<WatchToken>) -> Self {
        self.from = Beginning::After(token.into());
        self
    }

    /// Starts with the changes that were made in the second of this time or later, by the clock of the server, as far
    /// back as its oplog reaches.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result, action::WatchStream, bson::DateTime};
    /// async fn of_the_last_minute<T: Bucketed>(buckets: &Buckets<T>) -> Result<WatchStream<T>> {
    ///     let since = DateTime::from_millis(DateTime::now().timestamp_millis() - 60_000);
    ///     buckets.watch().since(since).await
    /// }
    /// ```
    pub fn since(mut self, time: DateTime) -> Self {
        self.from = Beginning::Since(time);
        self
    }

    /// Gives the record before it was edited with [`Updated`](crate::RecordChange::Updated), the one before its
    /// removal with [`Removed`](crate::RecordChange::Removed), and the number of records with
    /// [`BucketRemoved`](crate::RecordChange::BucketRemoved), and of that always the key and the span of the records.
    ///
    /// The watch reads each as it was just before the event: one `find` by `_id` for each edited or removed bucket,
    /// which brings the edited items. Writers pay nothing for it, and the collection needs no pre-images. `None` where
    /// the server does not remember that moment any more (`minSnapshotHistoryWindowInSeconds`, 300 by default), and in
    /// a transaction: for a record that it stored in a new bucket, and where a watch goes on in the middle of it.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, RecordChange, Result};
    /// use futures_util::TryStreamExt;
    ///
    /// async fn audit<T: Bucketed + std::fmt::Debug>(buckets: &Buckets<T>) -> Result<()> {
    ///     let mut events = buckets.watch().with_before().await?;
    ///     while let Some(event) = events.try_next().await? {
    ///         if let RecordChange::Updated { before, record, .. } = &event.change {
    ///             println!("{before:?} -> {record:?}");
    ///         }
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn with_before(mut self) -> Self {
        self.before = true;
        self
    }
}

impl<T: Record> WatchQuery<'_, T> {
    /// Gives the stored records from this time on first, each as [`Stored`](crate::RecordChange::Stored), and then
    /// follows, without a gap and without a repeat.
    ///
    /// The time is that of the records, and belongs to the span. The stored records come key by key, the oldest
    /// bucket first, and those of a bucket in the order of its array. They are read as they were at one moment of the
    /// server, and what was changed after that moment follows.
    ///
    /// Their events have no [`token`](crate::WatchEvent::token), and the stream has none until all of them are
    /// given: if it ends before that, begin again. The server remembers a moment for some minutes
    /// (`minSnapshotHistoryWindowInSeconds`, 300 by default). If reading takes longer, the stream ends with
    /// [`HistoryLost`](crate::ErrorKind::HistoryLost).
    pub fn stored_from(mut self, time: DateTime) -> Self {
        self.from = Beginning::Stored(time);
        self
    }
}

impl<T: Record> fmt::Debug for WatchQuery<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchQuery")
            .field("buckets", &self.buckets)
            .field("key", &self.key)
            .field("before", &self.before)
            .field("from", &self.from)
            .finish()
    }
}

impl<'a, T: Record> IntoFuture for WatchQuery<'a, T> {
    type Output = Result<WatchStream<T>>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let span =
            tracing::debug_span!(target: trace::READ, "watch", collection = T::SPEC.collection());
        let opening = Opening::new("watch", self.buckets.clone(), self.key, self.before);
        let opened = async move { Ok(WatchStream::new(opening.open(self.from).await?)) };
        Box::pin(opened.instrument(span))
    }
}

//! `tail` and `tail_key`: the newest records, and everything that follows.

mod channel;
mod newest;
mod tail_stream;
mod tailing;

use std::fmt;

use bucket_core::{Record, WhenSlow, watch::Queue};
use mongodb::bson::DateTime;
use tracing::Instrument;

pub use self::tail_stream::TailStream;
use self::{
    channel::channel,
    newest::{Newest, OPERATION},
    tailing::Tailing,
};
use super::opening::Opening;
use crate::{
    Buckets, Result,
    action::{ActionFuture, latest::MAX},
    trace,
};

/// How many events wait for a slow reader, unless the caller says it.
const QUEUE: usize = 1_000;
/// The most that may wait.
const LONGEST_QUEUE: usize = 1_000_000;

impl<T: Record> Buckets<T> {
    /// Gives the newest record of every key, and then everything that happens to records, for example to a dashboard.
    ///
    /// `.await` gives a [`TailStream`] of [`TailEvent`](crate::TailEvent)s. The newest records come first, key by key,
    /// each as [`Stored`](crate::RecordChange::Stored); what is the newest, [`latest`](Buckets::latest) says. They are
    /// read as they were at one moment of the server, and what was changed after that moment follows, without a gap
    /// and without a repeat, as [`watch`](Buckets::watch) gives it.
    ///
    /// A task of its own reads from the server into a queue of 1,000 events ([`queue`](TailQuery::queue)).
    /// [`when_slow`](TailQuery::when_slow) says what happens while it is full. Dropping the stream ends the task and
    /// closes its cursor.
    ///
    /// The newest records need a `find` for each key. The server remembers a moment for some minutes
    /// (`minSnapshotHistoryWindowInSeconds`, 300 by default): a reader that takes longer for them gets
    /// [`HistoryLost`](crate::ErrorKind::HistoryLost). So does a tail whose collection or one of its indexes is created
    /// between that moment and the first read: begin again.
    ///
    /// # Errors
    ///
    /// Those of [`watch`](Buckets::watch), and [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for a queue or a
    /// number of records out of bounds.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result, TailEvent, WhenSlow};
    /// use futures_util::TryStreamExt;
    ///
    /// async fn dashboard<T: Bucketed + std::fmt::Debug>(buckets: &Buckets<T>) -> Result<()> {
    ///     let mut tail = buckets.tail().when_slow(WhenSlow::NewestPerKey).await?;
    ///     while let Some(event) = tail.try_next().await? {
    ///         match event {
    ///             TailEvent::Change(event) => println!("{:?}", event.change),
    ///             TailEvent::Skipped { events, .. } => println!("{events} changes were left out"),
    ///             _ => {}
    ///         }
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn tail(&self) -> TailQuery<'_, T> {
        TailQuery {
            buckets: self,
            key: None,
            latest: 1,
            when_slow: WhenSlow::default(),
            queue: QUEUE,
            before: false,
        }
    }

    /// The same for one key: its newest records, the oldest of them first, and then what happens to records of the
    /// key, as [`watch_key`](Buckets::watch_key) gives it.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// use futures_util::TryStreamExt;
    ///
    /// async fn last_ten_and_more<T: Bucketed + std::fmt::Debug>(buckets: &Buckets<T>, key: T::Key) -> Result<()> {
    ///     let mut tail = buckets.tail_key(key).latest(10).await?;
    ///     while let Some(event) = tail.try_next().await? {
    ///         println!("{event:?}");
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn tail_key(&self, key: impl Into<T::Key>) -> TailQuery<'_, T> {
        TailQuery {
            key: Some(key.into()),
            ..self.tail()
        }
    }
}

/// A tail; see [`Buckets::tail`].
#[must_use = "nothing is read until this is awaited"]
pub struct TailQuery<'a, T: Record> {
    buckets: &'a Buckets<T>,
    key: Option<T::Key>,
    latest: usize,
    when_slow: WhenSlow,
    queue: usize,
    before: bool,
}

impl<T: Record> TailQuery<'_, T> {
    /// How many of the newest records of each key come first, the oldest of them first: 1 unless set, at most 10,000.
    /// With 0 only what follows comes.
    pub fn latest(mut self, records: usize) -> Self {
        self.latest = records;
        self
    }

    /// What happens to events while the reader is slow; the server keeps them unless set
    /// ([`WhenSlow::Wait`]).
    ///
    /// It holds for what follows. The newest records are all given, and before the reader has taken them nothing
    /// is left out.
    pub fn when_slow(mut self, policy: WhenSlow) -> Self {
        self.when_slow = policy;
        self
    }

    /// How many events may wait for the reader: 1,000 unless set, from 1 to 1,000,000. Beside them, one batch of the
    /// server is in memory (at most 16 MB).
    pub fn queue(mut self, events: usize) -> Self {
        self.queue = events;
        self
    }

    /// Gives records as they were before too; see [`WatchQuery::with_before`](crate::action::WatchQuery::with_before).
    pub fn with_before(mut self) -> Self {
        self.before = true;
        self
    }

    async fn run(self) -> Result<TailStream<T>> {
        let opening = Opening::new(
            OPERATION,
            self.buckets.clone(),
            self.key.clone(),
            self.before,
        );
        if self.latest > MAX {
            let message = format!("a tail begins with at most {MAX} records of a key");
            return Err(opening.invalid(&message));
        }
        if !(1..=LONGEST_QUEUE).contains(&self.queue) {
            let message = format!("the queue of a tail has room for 1 to {LONGEST_QUEUE} events");
            return Err(opening.invalid(&message));
        }
        let (watching, moment) = opening.open_now().await?;
        let newest = Newest {
            buckets: self.buckets.clone(),
            key: self.key,
            number: self.latest,
            moment,
            now: DateTime::now(),
        };
        // None of the newest records is left out.
        let (sender, receiver) = channel(Queue::new(WhenSlow::Wait, self.queue));
        let tailing = Tailing {
            newest,
            watching,
            sender,
            following: Queue::new(self.when_slow, self.queue),
        };
        let task = tokio::spawn(tailing.run().in_current_span());
        Ok(TailStream::new(receiver, task.abort_handle()))
    }
}

impl<T: Record> fmt::Debug for TailQuery<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TailQuery")
            .field("buckets", &self.buckets)
            .field("key", &self.key)
            .field("latest", &self.latest)
            .field("when_slow", &self.when_slow)
            .field("queue", &self.queue)
            .field("before", &self.before)
            .finish()
    }
}

impl<'a, T: Record> IntoFuture for TailQuery<'a, T> {
    type Output = Result<TailStream<T>>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let span =
            tracing::debug_span!(target: trace::READ, OPERATION, collection = T::SPEC.collection());
        Box::pin(self.run().instrument(span))
    }
}

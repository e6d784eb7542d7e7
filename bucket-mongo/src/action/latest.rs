//! `latest` and `latest_n`: the newest records of a key.

use bucket_core::{
    Record, Referenced,
    read::{InBucket, WalkOrder},
};
use tracing::Instrument;

use super::ActionFuture;
use crate::{
    Buckets, Result,
    read::{ReadOptions, Request},
    read_setters::read_setters,
    trace,
};

/// The most records that one call returns of a key.
pub(super) const MAX: usize = 10_000;

impl<T: Record> Buckets<T> {
    /// Reads the newest record of a key; `None` if the key has no records.
    ///
    /// In models with a window or a longest duration that is the record with the latest time, in the others
    /// the last one to arrive. The server looks at one or two buckets. In models with a longest duration it
    /// also looks at buckets that begin within that duration and may overlap the last one.
    ///
    /// Settings: `session`, `deadline`, `max_time`, `read_concern`, `read_preference`.
    ///
    /// # Errors
    ///
    /// [`Damaged`](crate::ErrorKind::Damaged) if a document is not a bucket of the model.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// async fn now<T: Bucketed>(buckets: &Buckets<T>, key: T::Key) -> Result<Option<T>> {
    ///     buckets.latest(key).await
    /// }
    /// ```
    pub fn latest(&self, key: impl Into<T::Key>) -> LatestQuery<'_, T> {
        LatestQuery {
            request: request(self, "latest", key.into()),
        }
    }

    /// Reads the `number` newest records of a key, the newest first; fewer if the key has fewer. See
    /// [`latest`](Self::latest).
    ///
    /// Settings: `session`, `deadline`, `max_time`, `read_concern`, `read_preference`.
    ///
    /// # Errors
    ///
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for 0 or more than 10,000 records,
    /// [`Damaged`](crate::ErrorKind::Damaged) if a document is not a bucket of the model.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// async fn last_ten<T: Bucketed>(buckets: &Buckets<T>, key: T::Key) -> Result<Vec<T>> {
    ///     buckets.latest_n(key, 10).await
    /// }
    /// ```
    pub fn latest_n(&self, key: impl Into<T::Key>, number: usize) -> LatestNQuery<'_, T> {
        LatestNQuery {
            request: request(self, "latest_n", key.into()),
            number,
        }
    }
}

fn request<'a, T: Record>(
    buckets: &'a Buckets<T>,
    operation: &'static str,
    key: T::Key,
) -> Request<'a, T> {
    let order = if T::SPEC.form().has_span() {
        WalkOrder::Time
    } else {
        // No index bounds the times of the buckets.
        WalkOrder::Cursor
    };
    let mut request = Request::new(buckets, operation, vec![key], order);
    request.newest_first = true;
    request
}

/// A read of the newest record of a key; see [`Buckets::latest`].
#[must_use = "nothing is read until this is awaited"]
#[derive(Debug)]
pub struct LatestQuery<'a, T: Record, R = T> {
    request: Request<'a, T, R>,
}

/// A read of the newest records of a key; see [`Buckets::latest_n`].
#[must_use = "nothing is read until this is awaited"]
#[derive(Debug)]
pub struct LatestNQuery<'a, T: Record, R = T> {
    request: Request<'a, T, R>,
    number: usize,
}

/// What a read gives of each record.
pub(super) type Asked<T, R> = for<'r> fn(Request<'r, T>) -> Request<'r, T, R>;

/// The newest record of a key, as a part of another read.
pub(super) async fn latest_within<T: Record, R>(
    buckets: &Buckets<T>,
    key: T::Key,
    asked: Asked<T, R>,
    options: ReadOptions<'_>,
) -> Result<Option<R>> {
    let mut request = request(buckets, "latest", key);
    request.options = options;
    Ok(newest(asked(request), 1).await?.pop())
}

/// The newest records of a key with their places, the newest first, as a part of another call.
pub(super) async fn newest_in_buckets<T: Record>(
    buckets: &Buckets<T>,
    operation: &'static str,
    key: T::Key,
    number: usize,
    options: ReadOptions<'_>,
) -> Result<Vec<InBucket<T>>> {
    let mut request = request(buckets, operation, key);
    request.options = options;
    newest(request.with_buckets(), number).await
}

async fn newest<T: Record, R>(request: Request<'_, T, R>, number: usize) -> Result<Vec<R>> {
    let walk = request.walk()?;
    let part = request.first(walk, number).await?.at_least(number)?;
    Ok(part
        .records
        .into_iter()
        .map(|placed| placed.record)
        .collect())
}

impl<'a, T: Record> LatestQuery<'a, T> {
    /// Gives the record with a reference; see [`RecordsQuery::with_refs`](super::RecordsQuery::with_refs).
    pub fn with_refs(self) -> LatestQuery<'a, T, Referenced<T>> {
        LatestQuery {
            request: self.request.with_refs(),
        }
    }
}

impl<'a, T: Record> LatestNQuery<'a, T> {
    /// Gives a reference with each record; see [`RecordsQuery::with_refs`](super::RecordsQuery::with_refs).
    pub fn with_refs(self) -> LatestNQuery<'a, T, Referenced<T>> {
        LatestNQuery {
            request: self.request.with_refs(),
            number: self.number,
        }
    }
}

impl<'a, T: Record, R: Send + 'a> LatestQuery<'a, T, R> {
    read_setters!(request.options);
}

impl<'a, T: Record, R: Send + 'a> LatestNQuery<'a, T, R> {
    read_setters!(request.options);

    async fn run(self) -> Result<Vec<R>> {
        if self.number == 0 || self.number > MAX {
            let message = format!("the number of newest records must be from 1 to {MAX}");
            return Err(self.request.invalid(&message));
        }
        newest(self.request, self.number).await
    }
}

impl<'a, T: Record, R: Send + 'a> IntoFuture for LatestQuery<'a, T, R> {
    type Output = Result<Option<R>>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let span =
            tracing::debug_span!(target: trace::READ, "latest", collection = T::SPEC.collection());
        let newest = async { Ok(newest(self.request, 1).await?.pop()) };
        Box::pin(newest.instrument(span))
    }
}

impl<'a, T: Record, R: Send + 'a> IntoFuture for LatestNQuery<'a, T, R> {
    type Output = Result<Vec<R>>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let span = tracing::debug_span!(target: trace::READ, "latest_n", collection = T::SPEC.collection());
        Box::pin(self.run().instrument(span))
    }
}

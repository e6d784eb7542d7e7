//! `latest_per_key`: the newest record of every key.

mod keys;
mod next_field;
mod walk;

use std::{
    collections::HashMap,
    fmt,
    pin::Pin,
    sync::Arc,
    task::{self, Poll},
};

use bucket_core::{
    Record,
    read::{self, FurtherLook, Newest},
};
use futures_core::{Stream, stream::BoxStream};
use futures_util::{StreamExt, TryStreamExt, stream};
use mongodb::{
    Collection,
    bson::{DateTime, RawDocumentBuf},
};
use tracing::Instrument;

use self::walk::SIDE_BY_SIDE;
use super::{ActionFuture, run_plan};
use crate::{Buckets, Error, ErrorKind, Result, error::Context, trace};

/// The number of keys that one further command looks at.
const TOGETHER: usize = 50;

impl<T: Record> Buckets<T> {
    /// Streams the newest record of every key, in no particular order.
    ///
    /// In windows and hybrid buckets that is the record with the greatest time. If several have it, it is the
    /// last one stored in the last of their buckets. In the manual's form and in numbered buckets it is the
    /// last record that arrived. A record stored during the read may be given instead of the one before it.
    /// Every key that had records at the start is given exactly once.
    ///
    /// The server jumps from key to key in an index, however many buckets each has, and sends one item per
    /// key. Models with two key fields need a few more index entries for each value of the first field. They
    /// also need one command for each value of the first field or of the second one, whichever has far fewer.
    /// Models with three key fields need the same below each value of the first. Hybrid buckets need one more
    /// look for each key.
    ///
    /// # Errors
    ///
    /// Errors of the server and of the connection. If the newest bucket of a key is not a bucket of the
    /// model, the stream gives [`ErrorKind::Damaged`] instead of the key and continues after it. If another
    /// bucket that it looks at is damaged, it gives the error in addition to the key.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// use futures_util::TryStreamExt;
    ///
    /// async fn latest<T: Bucketed>(buckets: &Buckets<T>) -> Result<Vec<T>> {
    ///     buckets.latest_per_key().await?.try_collect().await
    /// }
    /// ```
    pub fn latest_per_key(&self) -> LatestPerKeyQuery<'_, T> {
        LatestPerKeyQuery { buckets: self }
    }
}

/// A read of the newest record of every key; see [`Buckets::latest_per_key`].
#[must_use = "nothing is read until this is awaited"]
#[derive(Debug)]
pub struct LatestPerKeyQuery<'a, T: Record> {
    buckets: &'a Buckets<T>,
}

/// A stream over the newest record of every key; see [`Buckets::latest_per_key`].
#[must_use = "streams do nothing unless polled"]
pub struct LatestPerKeyStream<T: Record> {
    records: BoxStream<'static, Result<T>>,
}

impl<T: Record> fmt::Debug for LatestPerKeyStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LatestPerKeyStream")
            .field("collection", &T::SPEC.collection())
            .finish_non_exhaustive()
    }
}

impl<T: Record> LatestPerKeyQuery<'_, T> {
    async fn run(self) -> Result<LatestPerKeyStream<T>> {
        let context = Context::of_all::<T>("latest_per_key");
        let collection = self.buckets.store().readable(&context).await?;
        let keys = keys::newest_buckets(T::SPEC, collection.clone(), context.clone()).await?;
        let look = Arc::new(Look {
            buckets: self.buckets.clone(),
            collection,
            context,
        });
        let records = keys.ready_chunks(TOGETHER).map(move |found| {
            let look = Arc::clone(&look);
            async move {
                let (found, elsewhere) = without_records::<T>(found);
                let records = look.records(found).await;
                let mut shown = look.shown(records).await;
                for key in elsewhere {
                    shown.extend(look.buckets.latest(key).await.transpose());
                }
                stream::iter(shown)
            }
        });
        Ok(LatestPerKeyStream {
            records: records.buffer_unordered(SIDE_BY_SIDE).flatten().boxed(),
        })
    }
}

/// Separates the keys whose last bucket has no records yet.
fn without_records<T: Record>(
    found: Vec<Result<RawDocumentBuf>>,
) -> (Vec<Result<RawDocumentBuf>>, Vec<T::Key>) {
    let mut keys = Vec::new();
    let mut others = found;
    others.retain(|found| {
        let found = found.as_ref().ok();
        let key = found.and_then(|found| Newest::<T>::without_records(found));
        let has_records = key.is_none();
        keys.extend(key);
        has_records
    });
    (others, keys)
}

/// Finds the newest record where the newest bucket of a key does not show it.
struct Look<T: Record> {
    buckets: Buckets<T>,
    collection: Collection<RawDocumentBuf>,
    context: Context,
}

impl<T: Record> Look<T> {
    /// The newest records of these keys.
    async fn records(&self, found: Vec<Result<RawDocumentBuf>>) -> Vec<Result<Newest<T>>> {
        let mut records = Vec::with_capacity(found.len());
        let (mut known, mut looks) = (HashMap::new(), Vec::new());
        for found in found {
            let newest = found.and_then(|found| self.read(&found));
            match newest.and_then(|newest| Ok((self.further(&newest)?, newest))) {
                Err(error) => records.push(Err(error)),
                Ok((None, newest)) => records.push(Ok(newest)),
                Ok((Some(look), newest)) => {
                    looks.push(look);
                    known.insert(newest.key.clone(), newest);
                }
            }
        }
        if !looks.is_empty() {
            if let Err(error) = self.look(&looks, &mut known, &mut records).await {
                // Any of them may not be the newest.
                known.clear();
                records.push(Err(error));
            }
            records.extend(known.into_values().map(Ok));
        }
        records
    }

    fn read(&self, found: &RawDocumentBuf) -> Result<Newest<T>> {
        Newest::read(found).map_err(|damage| Error::new(ErrorKind::Damaged(damage), &self.context))
    }

    /// Leaves out records past the model's limit.
    async fn shown(&self, records: Vec<Result<Newest<T>>>) -> Vec<Result<T>> {
        let live = read::live(T::SPEC, DateTime::now());
        let mut shown = Vec::with_capacity(records.len());
        for newest in records {
            match newest {
                Ok(newest) if !newest.is_shown(&live) => {
                    if !T::SPEC.form().has_span() {
                        // One that arrived before it may be younger.
                        shown.extend(self.buckets.latest(newest.key).await.transpose());
                    }
                }
                newest => shown.push(newest.map(|newest| newest.record)),
            }
        }
        shown
    }

    /// The further look that a key needs, if any.
    fn further(&self, newest: &Newest<T>) -> Result<Option<FurtherLook>> {
        let told = self.buckets.longest();
        let is_told = told > 0 && T::SPEC.time_index_name().is_some();
        if !newest.others && !is_told {
            return Ok(None);
        }
        let limits = self.buckets.limits_of(&newest.key);
        let longest = read::longest(T::SPEC, limits).map_err(|error| {
            let context = Context::of::<T>(self.context.operation, &newest.key);
            Error::new(ErrorKind::Encode(error), &context)
        })?;
        Ok(Some(newest.further_look(longest.max(told))))
    }

    /// Replaces known records with newer ones. Adds damaged buckets to `records`.
    async fn look(
        &self,
        looks: &[FurtherLook],
        known: &mut HashMap<T::Key, Newest<T>>,
        records: &mut Vec<Result<Newest<T>>>,
    ) -> Result<()> {
        let length = |look: &FurtherLook| look.key.elements().len();
        for looks in read::in_commands(looks, TOGETHER, length) {
            self.look_at(looks, known, records).await?;
        }
        Ok(())
    }

    async fn look_at(
        &self,
        looks: &[FurtherLook],
        known: &mut HashMap<T::Key, Newest<T>>,
        records: &mut Vec<Result<Newest<T>>>,
    ) -> Result<()> {
        let plan = read::newest_since(T::SPEC, looks);
        let hint = plan.hint.clone();
        let failed = |error| Error::read_by(&hint, error, &self.context);
        let others = run_plan::aggregation(&self.collection, plan).await;
        let mut others = others.map_err(failed)?;
        while let Some(other) = others.try_next().await.map_err(failed)? {
            match self.read(&other) {
                Err(error) => records.push(Err(error)),
                Ok(other) => {
                    if let Some(newest) = known.get_mut(&other.key) {
                        newest.take_newer(other);
                    }
                }
            }
        }
        Ok(())
    }
}

impl<T: Record> Stream for LatestPerKeyStream<T> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Option<Self::Item>> {
        self.records.poll_next_unpin(cx)
    }
}

impl<'a, T: Record> IntoFuture for LatestPerKeyQuery<'a, T> {
    type Output = Result<LatestPerKeyStream<T>>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let collection = T::SPEC.collection();
        let span = tracing::debug_span!(target: trace::READ, "latest_per_key", collection);
        Box::pin(self.run().instrument(span))
    }
}

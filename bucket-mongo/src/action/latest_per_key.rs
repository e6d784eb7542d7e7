//! `latest_per_key`: the newest record of every key.

use std::{collections::HashMap, fmt, sync::Arc};

use bucket_core::{
    DamagedBucket, Record, Referenced, TimeRange,
    read::{self, FurtherLook, KeyScan, Newest},
};
use futures_core::Stream;
use futures_util::{StreamExt, TryFutureExt, TryStreamExt, stream};
use mongodb::{
    Collection,
    bson::{DateTime, RawDocument, RawDocumentBuf},
};
use tracing::Instrument;

use super::{
    ActionFuture, RecordStream,
    latest::{Asked, latest_within},
};
use crate::{
    Buckets, Error, ErrorKind, Result,
    error::{Context, ReadFault},
    read::{
        ReadOptions, SIDE_BY_SIDE, SameCollection, SharedOptions, every_key, of_one_collection,
    },
    read_setters::read_setters,
    trace,
};

/// The number of keys that one further command looks at.
const TOGETHER: usize = 50;

impl<T: Record> Buckets<T> {
    /// The newest record of every key, in no particular order.
    ///
    /// `.await` gives a `Vec`, [`.stream()`](LatestPerKeyQuery::stream) a stream.
    ///
    /// In windows and hybrid buckets that is the record with the greatest time. If several have it, it is the
    /// last one stored in the last of their buckets. In the manual's form and in numbered buckets it is the
    /// last record that arrived. A record stored during the read may be given instead of the one before it.
    /// Every key that had records at the start is given exactly once.
    ///
    /// The server jumps from key to key in an index, however many buckets each of them has, and sends
    /// one item of a bucket. Models of two key fields need a few more entries for each value of the first
    /// one, and a command for each of its values or for each value of the second one, whichever are
    /// fewer by far; those of three, the same below each value of the first. Hybrid buckets need a
    /// further look for each key. Commands run side by side, but in a session one after the other.
    ///
    /// Settings: `session`, `deadline`, `max_time`, `read_concern`, `read_preference`.
    ///
    /// # Errors
    ///
    /// Those of the server and of the connection, and [`ErrorKind::Damaged`] if a document is no bucket of the model.
    /// A stream gives that in the place of a key whose newest bucket is none, and beside a key that has another such
    /// bucket among those that are looked at, and goes on after it.
    ///
    /// A retryable error if the collection is taken away meanwhile, as [`keys`](Buckets::keys) says.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// async fn latest<T: Bucketed>(buckets: &Buckets<T>) -> Result<Vec<T>> {
    ///     buckets.latest_per_key().await
    /// }
    /// ```
    pub fn latest_per_key(&self) -> LatestPerKeyQuery<'_, T> {
        LatestPerKeyQuery {
            buckets: self,
            options: ReadOptions::default(),
            gives: Gives {
                read: Newest::read,
                take: |newest| Ok(newest.record),
                asked: |request| request,
            },
        }
    }
}

/// A read of the newest record of every key; see [`Buckets::latest_per_key`].
#[must_use = "nothing is read until this is awaited"]
pub struct LatestPerKeyQuery<'a, T: Record, R = T> {
    buckets: &'a Buckets<T>,
    options: ReadOptions<'a>,
    gives: Gives<T, R>,
}

impl<T: Record, R> fmt::Debug for LatestPerKeyQuery<'_, T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LatestPerKeyQuery")
            .field("collection", &T::SPEC.collection())
            .finish_non_exhaustive()
    }
}

/// What the read gives of each record.
struct Gives<T: Record, R> {
    read: fn(&RawDocument) -> Result<Newest<T>, DamagedBucket>,
    /// The key, if the result for its newest bucket does not tell.
    take: fn(Newest<T>) -> Result<R, T::Key>,
    asked: Asked<T, R>,
}

impl<'a, T: Record> LatestPerKeyQuery<'a, T> {
    /// Gives a reference with each record; see [`RecordsQuery::with_refs`](super::RecordsQuery::with_refs). A key from
    /// whose newest bucket records were removed takes a find of its own.
    pub fn with_refs(self) -> LatestPerKeyQuery<'a, T, Referenced<T>> {
        LatestPerKeyQuery {
            buckets: self.buckets,
            options: self.options,
            gives: Gives {
                read: Newest::read_with_ref,
                take: Newest::into_referenced,
                asked: |request| request.with_refs(),
            },
        }
    }
}

impl<'a, T: Record, R: Send + 'a> LatestPerKeyQuery<'a, T, R> {
    read_setters!(options);

    /// The records as a stream, whose first command is sent when it is first polled.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// use futures_util::TryStreamExt;
    ///
    /// async fn keys<T: Bucketed>(buckets: &Buckets<T>) -> Result<u64> {
    ///     let mut newest = buckets.latest_per_key().stream();
    ///     let mut keys = 0;
    ///     while let Some(_record) = newest.try_next().await? {
    ///         keys += 1;
    ///     }
    ///     Ok(keys)
    /// }
    /// ```
    pub fn stream(self) -> RecordStream<'a, R> {
        RecordStream::plain(self.open().try_flatten_stream().fuse())
    }

    async fn open(self) -> Result<impl Stream<Item = Result<Vec<R>>> + Send + 'a> {
        let Self {
            buckets,
            mut options,
            gives,
        } = self;
        let context = Context::of_all::<T>("latest_per_key");
        let collection = buckets.store().readable(&mut options, &context).await?;
        let looks = T::SPEC.keys().len() > 1;
        let began = SameCollection::begin(buckets.store(), &mut options, looks).await;
        let options = SharedOptions::new(options);
        let (of_end, of_context) = (options.clone(), context.clone());
        let side_by_side = options.side_by_side(SIDE_BY_SIDE);
        let look = Arc::new(Look {
            buckets: buckets.clone(),
            collection: collection.clone(),
            options: options.clone(),
            context: context.clone(),
            gives,
        });
        let scan = KeyScan::newest_items();
        let keys = every_key(T::SPEC, scan, collection, options, context).await?;
        let chunks = if side_by_side > 1 {
            keys.ready_chunks(TOGETHER).left_stream()
        } else {
            // What is ready comes while the next command is under way.
            keys.chunks(TOGETHER).right_stream()
        };
        let records = chunks.map(move |found| {
            let look = Arc::clone(&look);
            async move {
                let (found, elsewhere) = without_records::<T>(found);
                let records = look.records(found).await;
                let mut shown = look.shown(records).await;
                for key in elsewhere {
                    shown.extend(look.latest(key).await.transpose());
                }
                stream::iter(in_chunks(shown))
            }
        });
        let records = records.buffer_unordered(side_by_side).flatten();
        Ok(of_one_collection(records, began, of_end, of_context))
    }

    async fn run(self) -> Result<Vec<R>> {
        let records: Vec<R> = self.stream().try_collect().await?;
        tracing::debug!(target: trace::READ, records = records.len(), "latest_per_key");
        Ok(records)
    }
}

/// The records together, each error by itself.
fn in_chunks<T>(found: Vec<Result<T>>) -> Vec<Result<Vec<T>>> {
    let mut chunks = Vec::new();
    let mut records = Vec::with_capacity(found.len());
    for found in found {
        match found {
            Ok(record) => records.push(record),
            Err(error) => chunks.push(Err(error)),
        }
    }
    chunks.push(Ok(records));
    chunks
}

/// Separates the keys whose last bucket has no records yet, or none any more.
fn without_records<T: Record>(
    found: Vec<Result<RawDocumentBuf>>,
) -> (Vec<Result<RawDocumentBuf>>, Vec<T::Key>) {
    let mut keys = Vec::new();
    let mut others = Vec::with_capacity(found.len());
    for found in found {
        let bucket = found.as_ref().ok();
        match bucket.and_then(|bucket| Newest::<T>::without_records(bucket)) {
            Some(key) => keys.push(key),
            None => others.push(found),
        }
    }
    (others, keys)
}

/// Finds what the newest bucket of a key does not tell.
struct Look<'a, T: Record, R> {
    buckets: Buckets<T>,
    collection: Collection<RawDocumentBuf>,
    options: SharedOptions<'a>,
    context: Context,
    gives: Gives<T, R>,
}

impl<T: Record, R: Send> Look<'_, T, R> {
    /// The newest record of this key that is shown.
    async fn latest(&self, key: T::Key) -> Result<Option<R>> {
        let asked = self.gives.asked;
        let latest = async |options: ReadOptions<'_>| {
            latest_within(&self.buckets, key, asked, options).await
        };
        self.options.lend(latest).await
    }

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
        let read = (self.gives.read)(found);
        read.map_err(|damage| Error::new(ErrorKind::Damaged(damage), &self.context))
    }

    /// Leaves out records past the model's limit.
    async fn shown(&self, records: Vec<Result<Newest<T>>>) -> Vec<Result<R>> {
        let live = read::live(T::SPEC, DateTime::now());
        let mut shown = Vec::with_capacity(records.len());
        for newest in records {
            match newest {
                Ok(newest) if !newest.is_shown(&live) => {
                    if !T::SPEC.form().has_span() {
                        // One that arrived before it may be younger.
                        shown.extend(self.latest(newest.key).await.transpose());
                    }
                }
                Ok(newest) => match (self.gives.take)(newest) {
                    Ok(record) => shown.push(Ok(record)),
                    Err(key) => shown.extend(self.latest(key).await.transpose()),
                },
                Err(error) => shown.push(Err(error)),
            }
        }
        shown
    }

    /// The further look that a key needs, if any.
    fn further(&self, newest: &Newest<T>) -> Result<Option<FurtherLook>> {
        let told = self.buckets.longest();
        let is_told = told > 0 && T::SPEC.time_index_name().is_some();
        let live = read::live(T::SPEC, DateTime::now());
        if !newest.others && !is_told && !newest.may_be_merged(&live) {
            return Ok(None);
        }
        let limits = self.buckets.limits_of(&newest.key);
        let longest = read::longest(T::SPEC, limits).map_err(|error| {
            let context = Context::of::<T>(self.context.operation, &newest.key);
            Error::new(ErrorKind::Encode(error), &context)
        })?;
        let since = TimeRange::new(Some(newest.time()), None);
        let longest = live.longest(longest.max(told), since);
        Ok(Some(newest.further_look(longest)))
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
        let failed = |fault: ReadFault| Error::read_by(&hint, fault, &self.context);
        let others = self.options.aggregate(&self.collection, plan).await;
        let mut others = others.map_err(failed)?;
        while let Some(other) = others.next().await.map_err(failed)? {
            if Newest::<T>::without_records(&other).is_some() {
                continue;
            }
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

impl<'a, T: Record, R: Send + 'a> IntoFuture for LatestPerKeyQuery<'a, T, R> {
    type Output = Result<Vec<R>>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let collection = T::SPEC.collection();
        let span = tracing::debug_span!(target: trace::READ, "latest_per_key", collection);
        Box::pin(self.run().instrument(span))
    }
}

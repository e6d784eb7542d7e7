//! `keys`: every key of the collection, and how much is stored of it.

use std::{
    collections::BTreeMap,
    fmt,
    pin::Pin,
    sync::Arc,
    task::{self, Poll},
};

use bucket_core::{
    Record,
    read::{self, KeyScan, KeySummary, ReadKey},
};
use futures_core::{Stream, stream::BoxStream};
use futures_util::{StreamExt, TryFutureExt, TryStreamExt, stream};
use mongodb::{
    Collection,
    bson::{DateTime, RawDocument, RawDocumentBuf},
};
use tracing::Instrument;

use super::ActionFuture;
use crate::{
    Buckets, Error, ErrorKind, Result,
    error::{Context, ReadFault},
    read::{
        ReadOptions, SIDE_BY_SIDE, SameCollection, SharedOptions, every_key, of_one_collection,
        until_failed,
    },
    read_setters::read_setters,
    trace,
};

/// The number of keys that one command sums up.
const TOGETHER: usize = 50;

impl<T: Record> Buckets<T> {
    /// Every key, in no particular order.
    ///
    /// `.await` gives a `Vec`, [`.stream()`](KeysQuery::stream) a stream. [`.summaries()`](KeysQuery::summaries)
    /// adds how much is stored of each key, and from when to when.
    ///
    /// The server jumps from key to key in an index, however many buckets each of them has, and reads no
    /// bucket. Models of two or three key fields need commands for the values of the first ones, as
    /// [`latest_per_key`](Buckets::latest_per_key) says. Every key that had records at the start is given exactly
    /// once.
    ///
    /// A key is also given while its first record is being stored, and until the server has removed its last
    /// expired bucket. The summaries leave such keys out.
    ///
    /// Settings: `session`, `deadline`, `max_time`, `read_concern`, `read_preference`.
    ///
    /// # Errors
    ///
    /// Those of the server and of the connection, and [`ErrorKind::Damaged`] if the key fields of a bucket
    /// cannot be read. A stream gives that in the place of the key and goes on after it.
    ///
    /// A retryable error if the collection is dropped, renamed or made anew meanwhile. That needs the privilege
    /// `listCollections` where the read needs several commands; without it, keys may be missing.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// async fn keys<T: Bucketed>(buckets: &Buckets<T>) -> Result<Vec<T::Key>> {
    ///     buckets.keys().await
    /// }
    /// ```
    pub fn keys(&self) -> KeysQuery<'_, T> {
        KeysQuery {
            buckets: self,
            scan: KeyScan::keys(),
            options: ReadOptions::default(),
        }
    }
}

/// A read of every key; see [`Buckets::keys`].
#[must_use = "nothing is read until this is awaited"]
#[derive(Debug)]
pub struct KeysQuery<'a, T: Record> {
    buckets: &'a Buckets<T>,
    scan: KeyScan,
    options: ReadOptions<'a>,
}

/// A read of every key and of how much is stored of it; see [`KeysQuery::summaries`].
#[must_use = "nothing is read until this is awaited"]
#[derive(Debug)]
pub struct KeySummariesQuery<'a, T: Record> {
    keys: KeysQuery<'a, T>,
}

impl<'a, T: Record> KeysQuery<'a, T> {
    read_setters!(options);

    /// Only keys whose first field is a text that starts with this one. Upper and lower case differ. A field of
    /// another type starts with no text.
    ///
    /// The server reads only this part of the index. A second call replaces the text of the first one.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// async fn of_a_building<T: Bucketed>(buckets: &Buckets<T>) -> Result<Vec<T::Key>> {
    ///     buckets.keys().starting_with("building_7/").await
    /// }
    /// ```
    pub fn starting_with(mut self, text: impl AsRef<str>) -> Self {
        self.scan = KeyScan::keys().starting_with(text.as_ref());
        self
    }

    /// Each key with the number of its buckets and records, and the times of its first and its last record.
    ///
    /// The server reads every bucket of every key, 50 keys a command, and sends one document for each key. Buckets
    /// and records that are past `expire_after` do not count, whether the server has removed them or not.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`] also if the count of a bucket is not the length of its array, or if an item has no
    /// time. A stream gives that in the place of the key and goes on after it.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// use futures_util::TryStreamExt;
    ///
    /// async fn overview<T: Bucketed>(buckets: &Buckets<T>) -> Result<()> {
    ///     let mut keys = buckets.keys().summaries().stream();
    ///     while let Some(of) = keys.try_next().await? {
    ///         println!("{:?}: {} records in {} buckets, {} to {}", of.key, of.records, of.buckets, of.first, of.last);
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn summaries(self) -> KeySummariesQuery<'a, T> {
        KeySummariesQuery { keys: self }
    }

    /// The keys as a stream, whose first command is sent when it is first polled.
    pub fn stream(self) -> KeyStream<'a, T::Key> {
        let keys = async move {
            let looks = T::SPEC.keys().len() > 1;
            let (walk, context) = self.open("keys", looks).await?;
            let of = context.clone();
            let keys = walk.found.map(move |found| key::<T>(&found?, &of));
            Ok(of_one_collection(keys, walk.began, walk.options, context))
        };
        KeyStream::new(keys.try_flatten_stream())
    }

    async fn open(self, operation: &'static str, looks: bool) -> Result<(Walk<'a>, Context)> {
        let Self {
            buckets,
            scan,
            mut options,
        } = self;
        let context = Context::of_all::<T>(operation);
        let collection = buckets.store().readable(&mut options, &context).await?;
        let began = SameCollection::begin(buckets.store(), &mut options, looks).await;
        let options = SharedOptions::new(options);
        let (of_walk, shared) = (collection.clone(), options.clone());
        let found = every_key(T::SPEC, scan, of_walk, shared, context.clone()).await?;
        let walk = Walk {
            found,
            collection,
            began,
            options,
        };
        Ok((walk, context))
    }

    async fn run(self) -> Result<Vec<T::Key>> {
        let keys: Vec<T::Key> = self.stream().try_collect().await?;
        tracing::debug!(target: trace::READ, keys = keys.len(), "keys");
        Ok(keys)
    }
}

impl<'a, T: Record> KeySummariesQuery<'a, T> {
    read_setters!(keys.options);

    /// The summaries as a stream, whose first command is sent when it is first polled.
    pub fn stream(self) -> KeyStream<'a, KeySummary<T::Key>> {
        let summaries = async move {
            let (walk, context) = self.keys.open("keys", true).await?;
            let side_by_side = walk.options.side_by_side(SIDE_BY_SIDE);
            let (options, of) = (walk.options.clone(), context.clone());
            let sums = Arc::new(Sums {
                collection: walk.collection,
                options: walk.options,
                context,
            });
            let together = walk.found.chunks(TOGETHER).map(move |found| {
                let sums = Arc::clone(&sums);
                async move { stream::iter(sums.of_keys::<T>(found).await) }
            });
            let summaries = together.buffer_unordered(side_by_side).flatten();
            Ok(of_one_collection(summaries, walk.began, options, of))
        };
        KeyStream::new(summaries.try_flatten_stream())
    }

    async fn run(self) -> Result<Vec<KeySummary<T::Key>>> {
        let summaries: Vec<_> = self.stream().try_collect().await?;
        tracing::debug!(target: trace::READ, keys = summaries.len(), "keys");
        Ok(summaries)
    }
}

/// A walk over the keys, and what further commands of the call need.
struct Walk<'a> {
    found: BoxStream<'a, Result<RawDocumentBuf>>,
    collection: Collection<RawDocumentBuf>,
    began: Option<SameCollection>,
    options: SharedOptions<'a>,
}

fn key<T: Record>(found: &RawDocument, context: &Context) -> Result<T::Key> {
    let key = read::found_key::<T>(found);
    key.map_err(|damage| Error::new(ErrorKind::Damaged(damage), context))
}

/// Sums up what is stored of keys.
struct Sums<'a> {
    collection: Collection<RawDocumentBuf>,
    options: SharedOptions<'a>,
    context: Context,
}

impl Sums<'_> {
    /// The summaries of these keys, and an error for each key that cannot be read.
    async fn of_keys<T: Record>(
        &self,
        found: Vec<Result<RawDocumentBuf>>,
    ) -> Vec<Result<KeySummary<T::Key>>> {
        let (mut keys, mut summaries) = (Vec::with_capacity(found.len()), Vec::new());
        for found in found {
            match found.and_then(|found| key::<T>(&found, &self.context)) {
                Ok(key) => keys.push(ReadKey::of::<T>(&key)),
                Err(error) => summaries.push(Err(error)),
            }
        }
        for keys in read::in_commands(&keys, TOGETHER, |key| key.elements().len()) {
            if let Err(error) = self.add::<T>(keys, &mut summaries).await {
                summaries.push(Err(error));
                break;
            }
        }
        summaries
    }

    async fn add<T: Record>(
        &self,
        keys: &[ReadKey],
        summaries: &mut Vec<Result<KeySummary<T::Key>>>,
    ) -> Result<()> {
        let failed = |fault: ReadFault| Error::read(fault, &self.context);
        let live = read::live(T::SPEC, DateTime::now());
        let plan = read::summaries(T::SPEC, &live, keys);
        let found = self.options.aggregate(&self.collection, plan).await;
        let mut found = found.map_err(failed)?;
        let mut of_keys: BTreeMap<Option<Vec<u8>>, Vec<RawDocumentBuf>> = BTreeMap::new();
        while let Some(found) = found.next().await.map_err(failed)? {
            let key = read::summarised_key(&found).map(<[u8]>::to_vec);
            of_keys.entry(key).or_default().push(found);
        }
        for found in of_keys.into_values() {
            match read::read_summary::<T>(&found, &live) {
                Ok(None) => {}
                Ok(Some(summary)) => summaries.push(Ok(summary)),
                Err(damage) => {
                    let error = Error::new(ErrorKind::Damaged(damage), &self.context);
                    summaries.push(Err(error));
                }
            }
        }
        Ok(())
    }
}

/// A stream over keys or their summaries; see [`Buckets::keys`].
///
/// A damaged bucket is an error in the place of its key, after which the stream continues; every other error ends it.
/// Dropping it closes its cursors.
#[must_use = "streams do nothing unless polled"]
pub struct KeyStream<'a, R> {
    keys: BoxStream<'a, Result<R>>,
}

impl<'a, R: Send + 'a> KeyStream<'a, R> {
    fn new(keys: impl Stream<Item = Result<R>> + Send + 'a) -> Self {
        Self {
            keys: until_failed(keys),
        }
    }
}

impl<R> fmt::Debug for KeyStream<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyStream").finish_non_exhaustive()
    }
}

impl<R> Stream for KeyStream<'_, R> {
    type Item = Result<R>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Option<Self::Item>> {
        self.keys.poll_next_unpin(cx)
    }
}

impl<'a, T: Record> IntoFuture for KeysQuery<'a, T> {
    type Output = Result<Vec<T::Key>>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let span =
            tracing::debug_span!(target: trace::READ, "keys", collection = T::SPEC.collection());
        Box::pin(self.run().instrument(span))
    }
}

impl<'a, T: Record> IntoFuture for KeySummariesQuery<'a, T> {
    type Output = Result<Vec<KeySummary<T::Key>>>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let span =
            tracing::debug_span!(target: trace::READ, "keys", collection = T::SPEC.collection());
        Box::pin(self.run().instrument(span))
    }
}

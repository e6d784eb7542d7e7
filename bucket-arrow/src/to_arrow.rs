//! `to_arrow`: records as a stream of batches.

use std::{
    fmt,
    pin::Pin,
    task::{self, Poll},
};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bucket_mongo::{Buckets, IntoTimeRange, Record, TimeRange, action::RecordStream};
use futures_core::{Stream, stream::BoxStream};
use futures_util::{StreamExt, TryStreamExt, stream};

use crate::{BatchBuilder, Error, Layout, LayoutBuilder, Result};

/// The records of a batch if nothing else is set.
const BATCH_ROWS: usize = 65_536;

/// Gives buckets `to_arrow`.
///
/// ```no_run
/// use bucket_arrow::{Result, ToArrow};
/// use bucket_mongo::{Bucketed, Buckets};
/// use futures_util::TryStreamExt;
///
/// async fn rows<T: Bucketed>(buckets: &Buckets<T>) -> Result<usize> {
///     let mut batches = buckets.to_arrow().stream()?;
///     let mut rows = 0;
///     while let Some(batch) = batches.try_next().await? {
///         rows += batch.num_rows();
///     }
///     Ok(rows)
/// }
/// ```
pub trait ToArrow<T: Record> {
    /// Reads the records of all keys, or of [some](ArrowQuery::keys), as Arrow record batches, or writes them into files.
    fn to_arrow(&self) -> ArrowQuery<'_, T>;
}

impl<T: Record> ToArrow<T> for Buckets<T> {
    fn to_arrow(&self) -> ArrowQuery<'_, T> {
        ArrowQuery {
            buckets: self,
            keys: None,
            range: TimeRange::ALL,
            layout: Layout::builder(),
            rows: BATCH_ROWS,
        }
    }
}

/// A read of records as batches; see [`ToArrow::to_arrow`].
///
/// ```no_run
/// use bucket_arrow::{BatchStream, Result, ToArrow};
/// use bucket_mongo::{Bucketed, Buckets};
///
/// /// The records of a key in small batches. Nothing is read yet.
/// fn small<T: Bucketed>(buckets: &Buckets<T>, key: T::Key) -> Result<BatchStream<'_>> {
///     buckets.to_arrow().key(key).batch_rows(1_000).stream()
/// }
/// ```
#[must_use = "nothing is read until a stream or an export of it is polled"]
pub struct ArrowQuery<'a, T: Record> {
    pub(crate) buckets: &'a Buckets<T>,
    pub(crate) keys: Option<Vec<T::Key>>,
    pub(crate) range: TimeRange,
    layout: LayoutBuilder<T>,
    pub(crate) rows: usize,
}

impl<T: Record> fmt::Debug for ArrowQuery<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArrowQuery")
            .field("keys", &self.keys)
            .field("range", &self.range)
            .field("rows", &self.rows)
            .finish_non_exhaustive()
    }
}

impl<'a, T: Record> ArrowQuery<'a, T> {
    /// Only the records of this key. A second call adds a key.
    pub fn key(self, key: impl Into<T::Key>) -> Self {
        self.keys([key])
    }

    /// Only the records of these keys, in this order. A second call adds keys.
    ///
    /// ```no_run
    /// # use bucket_arrow::{Result, ToArrow};
    /// # use bucket_mongo::{Bucketed, Buckets};
    /// async fn export<T: Bucketed>(buckets: &Buckets<T>, keys: Vec<T::Key>) -> Result<u64> {
    ///     let report = buckets.to_arrow().keys(keys).to_folder("export").await?;
    ///     Ok(report.records)
    /// }
    /// ```
    pub fn keys<K: Into<T::Key>>(mut self, keys: impl IntoIterator<Item = K>) -> Self {
        let of = self.keys.get_or_insert_default();
        for key in keys {
            let key = key.into();
            if !of.contains(&key) {
                of.push(key);
            }
        }
        self
    }

    /// Only the records of this time range, which includes its start and excludes its end.
    ///
    /// ```no_run
    /// # use bucket_arrow::{Result, ToArrow};
    /// # use bucket_mongo::{Bucketed, Buckets};
    /// use bucket_mongo::bson::DateTime;
    ///
    /// async fn since<T: Bucketed>(buckets: &Buckets<T>, start: DateTime) -> Result<u64> {
    ///     let report = buckets.to_arrow().between(start..).to_folder("export").await?;
    ///     Ok(report.records)
    /// }
    /// ```
    pub fn between(mut self, range: impl IntoTimeRange) -> Self {
        self.range = range.into_time_range();
        self
    }

    /// The number of records of a batch: 65,536 if not set.
    pub fn batch_rows(mut self, rows: usize) -> Self {
        self.rows = rows;
        self
    }

    /// Adds what this record shows to the columns; see [`LayoutBuilder::sample`].
    ///
    /// ```no_run
    /// # use bucket_arrow::{Result, ToArrow};
    /// # use bucket_mongo::{Bucketed, Buckets};
    /// async fn export<T: Bucketed>(buckets: &Buckets<T>, login: T, purchase: T) -> Result<u64> {
    ///     let report = buckets.to_arrow().sample(&login).sample(&purchase).to_folder("export").await?;
    ///     Ok(report.records)
    /// }
    /// ```
    pub fn sample(mut self, record: &T) -> Self {
        self.layout = self.layout.sample(record);
        self
    }

    /// Makes the field at this path a column of JSON; see [`LayoutBuilder::json`].
    ///
    /// ```no_run
    /// # use bucket_arrow::{Result, ToArrow};
    /// # use bucket_mongo::{Bucketed, Buckets};
    /// async fn export<T: Bucketed>(buckets: &Buckets<T>) -> Result<u64> {
    ///     let report = buckets.to_arrow().json("device.details").to_folder("export").await?;
    ///     Ok(report.records)
    /// }
    /// ```
    pub fn json(mut self, path: impl Into<String>) -> Self {
        self.layout = self.layout.json(path);
        self
    }

    /// The records as a stream of batches: key by key, and in time order for each key. The first command is sent when it is
    /// first polled. An error ends it, also that of a damaged bucket.
    ///
    /// # Errors
    ///
    /// [`Error::Schema`] if the record type has no columns, [`Error::InvalidArgument`] for no rows in a batch or a range that
    /// ends before it starts.
    ///
    /// ```no_run
    /// # use bucket_arrow::{Result, ToArrow};
    /// # use bucket_mongo::{Bucketed, Buckets};
    /// use futures_util::TryStreamExt;
    ///
    /// async fn first_rows<T: Bucketed>(buckets: &Buckets<T>, key: T::Key) -> Result<usize> {
    ///     let mut batches = buckets.to_arrow().key(key).batch_rows(8_192).stream()?;
    ///     Ok(batches.try_next().await?.map_or(0, |batch| batch.num_rows()))
    /// }
    /// ```
    pub fn stream(self) -> Result<BatchStream<'a>> {
        let (query, layout) = self.checked()?;
        let schema = layout.schema();
        let reading = Reading {
            keys: query.all_keys(),
            range: query.range,
            buckets: query.buckets,
            records: None,
            batch: layout.batch(),
            rows: query.rows,
        };
        let next = |mut reading: Reading<'a, T>| async move {
            let batch = reading.next().await?;
            Ok::<_, Error>(batch.map(|batch| (batch, reading)))
        };
        Ok(BatchStream {
            schema,
            batches: stream::try_unfold(reading, next).boxed(),
        })
    }

    /// The query with its columns.
    pub(crate) fn checked(mut self) -> Result<(Self, Layout<T>)> {
        if self.rows == 0 {
            return Err(Error::argument(
                "a batch needs at least one record: pass another number to `batch_rows`",
            ));
        }
        if self.range.is_reversed() {
            return Err(Error::argument("the time range ends before it starts"));
        }
        let layout = std::mem::replace(&mut self.layout, Layout::builder()).build()?;
        Ok((self, layout))
    }

    /// The keys to read, all of them before the first record is read: the server ends a cursor that nobody asks for ten minutes,
    /// and keeps what a snapshot sees for five.
    pub(crate) fn all_keys(&self) -> BoxStream<'a, Result<T::Key>> {
        if let Some(keys) = &self.keys {
            return stream::iter(keys.clone()).map(Ok).boxed();
        }
        let buckets = self.buckets;
        let keys = async move {
            let keys = buckets.keys().await?;
            Ok::<_, Error>(stream::iter(keys).map(Ok))
        };
        stream::once(keys).try_flatten().boxed()
    }
}

/// A read that is under way.
struct Reading<'a, T: Record> {
    buckets: &'a Buckets<T>,
    keys: BoxStream<'a, Result<T::Key>>,
    range: TimeRange,
    records: Option<RecordStream<'a, T>>,
    batch: BatchBuilder<T>,
    rows: usize,
}

impl<T: Record> Reading<'_, T> {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        while !self.batch.is_full(self.rows) {
            if let Some(records) = &mut self.records {
                match records.try_next().await? {
                    Some(record) => self.batch.push(&record)?,
                    None => self.records = None,
                }
            } else if let Some(key) = self.keys.try_next().await? {
                self.records = Some(self.buckets.range(key, self.range).stream());
            } else {
                break;
            }
        }
        if self.batch.is_empty() {
            return Ok(None);
        }
        self.batch.finish().map(Some)
    }
}

/// Batches of records, all with the same columns; see [`ArrowQuery::stream`].
///
/// ```no_run
/// use bucket_arrow::{BatchStream, Result};
/// use futures_util::TryStreamExt;
///
/// async fn rows(mut batches: BatchStream<'_>) -> Result<usize> {
///     println!("{} columns", batches.schema().fields().len());
///     let mut rows = 0;
///     while let Some(batch) = batches.try_next().await? {
///         rows += batch.num_rows();
///     }
///     Ok(rows)
/// }
/// ```
#[must_use = "streams do nothing unless polled"]
pub struct BatchStream<'a> {
    schema: SchemaRef,
    batches: BoxStream<'a, Result<RecordBatch>>,
}

impl fmt::Debug for BatchStream<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchStream")
            .field("schema", &self.schema)
            .finish_non_exhaustive()
    }
}

impl BatchStream<'_> {
    /// The columns of each batch, also of a stream without batches.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }
}

impl Stream for BatchStream<'_> {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Option<Self::Item>> {
        self.batches.poll_next_unpin(cx)
    }
}

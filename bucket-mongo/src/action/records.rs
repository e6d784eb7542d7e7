//! `records`: a cursor over the records of a key.

use bucket_core::{
    AttributeFilter, CursorToken, FieldPath, IntoTimeRange, Record, Referenced,
    read::{IntoCursorToken, Walk, WalkOrder},
};
use serde::de::DeserializeOwned;
use tracing::Instrument;

use super::{ActionFuture, RecordStream};
use crate::{Buckets, Result, read::Request, read_setters::read_setters, trace};

/// The number of records on a page by default.
const DEFAULT_LIMIT: usize = 100;

/// The most records on a page.
const MAX_LIMIT: usize = 10_000;

impl<T: Record> Buckets<T> {
    /// Reads the records of a key: as a page of any size with tokens to continue from, as a stream, or all at
    /// once.
    ///
    /// | ending | returns |
    /// | --- | --- |
    /// | `.await` | a [`RecordPage`]: at most [`limit`](RecordsQuery::limit) records and the tokens of the pages around it |
    /// | [`.stream()`](RecordsQuery::stream) | a [`RecordStream`] stream over one cursor |
    /// | [`.collect().await`](RecordsQuery::collect) | a `Vec` |
    ///
    /// The order is by time in models with a window. In models with a longest duration it is by bucket, and
    /// by time inside a bucket. In the others it is the order of arrival. A record keeps its place for ever:
    /// a walk visits every record stored at its start once, whatever is written in the meantime. Later
    /// records appear if they sort after its position. (If windows of different lengths overlap because they
    /// were changed, the window that begins earlier comes first.)
    ///
    /// Settings: `newest_first`, `between`, `matching`, `after`, `before`, `limit`, `select`, `session`, `deadline`, `max_time`, `read_concern`, `read_preference`.
    ///
    /// # Errors
    ///
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for a limit of 0 or over 10,000, a time range
    /// that ends before it starts, both `after` and `before`, or a filter that is not one on records;
    /// [`InvalidToken`](crate::ErrorKind::InvalidToken) for text that is not a token, or a token of another
    /// query; [`Damaged`](crate::ErrorKind::Damaged) if a document is not a bucket of the model. A page ends
    /// before a damaged bucket and has a next token. The page that would start with the bucket is the error, with
    /// the token to [`continue_after`](crate::Error::continue_after).
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, CursorToken, Result};
    /// async fn feed<T: Bucketed>(
    ///     buckets: &Buckets<T>,
    ///     key: T::Key,
    ///     token: Option<CursorToken>,
    /// ) -> Result<(Vec<T>, Option<CursorToken>)> {
    ///     let page = buckets.records(key).newest_first().limit(25).after(token).await?;
    ///     let next = page.next_token().cloned();
    ///     Ok((page.into_records(), next))
    /// }
    /// ```
    pub fn records(&self, key: impl Into<T::Key>) -> RecordsQuery<'_, T> {
        RecordsQuery {
            request: Request::new(self, "records", vec![key.into()], WalkOrder::Cursor),
            limit: None,
            tokens: 0,
        }
    }
}

/// A read of records; see [`Buckets::records`].
#[must_use = "nothing is read until this is awaited"]
#[derive(Debug)]
pub struct RecordsQuery<'a, T: Record, R = T> {
    request: Request<'a, T, R>,
    limit: Option<usize>,
    /// The number of tokens that were set.
    tokens: u8,
}

/// A page of a key's records, and the tokens to continue from; see [`Buckets::records`].
///
/// ```
/// # use bucket_mongo::RecordPage;
/// fn print<T: std::fmt::Debug>(page: &RecordPage<T>) {
///     for record in page {
///         println!("{record:?}");
///     }
///     if let Some(token) = page.next_token() {
///         println!("more: ?after={token}");
///     }
/// }
/// ```
#[derive(Debug, Clone)]
pub struct RecordPage<T> {
    records: Vec<T>,
    next: Option<CursorToken>,
    prev: Option<CursorToken>,
    end: Option<CursorToken>,
}

impl<T> RecordPage<T> {
    /// The records, in the requested order.
    #[must_use]
    pub fn records(&self) -> &[T] {
        &self.records
    }

    /// Returns the records, in the requested order.
    #[must_use]
    pub fn into_records(self) -> Vec<T> {
        self.records
    }

    /// The records one by one, in the requested order.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.records.iter()
    }

    /// The number of records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether the page has no records.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The token to pass to [`after`](RecordsQuery::after) for the next page; `None` if no later record was
    /// stored. A page can be shorter than its limit and have a next one: it ends before a damaged bucket.
    #[must_use]
    pub fn next_token(&self) -> Option<&CursorToken> {
        self.next.as_ref()
    }

    /// The token to pass to [`before`](RecordsQuery::before) for the previous page; `None` if this is the
    /// first page.
    #[must_use]
    pub fn previous_token(&self) -> Option<&CursorToken> {
        self.prev.as_ref()
    }

    /// The place after the last record, whether or not there are more records. Passed to
    /// [`after`](RecordsQuery::after) later, it gives the records that have arrived since. `None` if the key
    /// never had records, or none that `between` and `matching` allow.
    #[must_use]
    pub fn end_token(&self) -> Option<&CursorToken> {
        self.end.as_ref()
    }
}

impl<T> IntoIterator for RecordPage<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.records.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a RecordPage<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T: Record, R: Send + 'a> RecordsQuery<'a, T, R> {
    /// Starts with the newest record instead of the oldest.
    pub fn newest_first(mut self) -> Self {
        self.request.newest_first = true;
        self
    }

    /// Starts with the oldest record, which is the default.
    pub fn oldest_first(mut self) -> Self {
        self.request.newest_first = false;
        self
    }

    /// Reads only records in this time range: `from..to`, `from..`, `..to`.
    ///
    /// In models without a window or a longest duration, the server looks into all buckets of the key for
    /// them.
    pub fn between(mut self, range: impl IntoTimeRange) -> Self {
        self.request.range = range.into_time_range();
        self
    }

    /// Reads only records that meet the filter: conditions on fields of the item type and on attributes, all of
    /// them met by one record. Several calls require all of their filters.
    ///
    /// The server leaves out buckets in which no record can meet it, except the one that takes the next records.
    /// The client decides about each record. So it reads whole buckets of which a few records match; an index
    /// on the condition would not make that less.
    ///
    /// Conditions compare as the server does: numbers of all types by value, other values only with their own
    /// type. A removed record meets none. Tokens are the same with any filter: the filter may change from page
    /// to page.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Result, bson::DateTime, mongodb::Database};
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize, Bucketed)]
    /// # #[bucket(collection = "readings", items = "readings", window = "1h")]
    /// # struct Reading {
    /// #     #[bucket(key)] device: String,
    /// #     #[bucket(time)] at: DateTime,
    /// #     value: f64,
    /// #     quality: String,
    /// # }
    /// # async fn f(database: &Database) -> Result<Vec<Reading>> {
    /// const OF: ReadingItemFields = ReadingItem::FIELDS;
    ///
    /// let readings = Reading::buckets(database);
    /// let good_and_hot = OF.value.gte(20.0).and(OF.quality.eq("good"));
    /// readings.records("a").matching(good_and_hot).newest_first().limit(10).collect().await
    /// # }
    /// ```
    pub fn matching(mut self, filter: impl Into<AttributeFilter>) -> Self {
        self.request.add_filter(filter.into());
        self
    }

    /// Sets the most records. A page holds 1 to 10,000, 100 if not set; a stream any number, all if not set.
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Starts after the place of this token; `None` starts at the beginning.
    pub fn after(mut self, token: impl IntoCursorToken) -> Self {
        self.place(token.into_cursor_token(), false);
        self
    }

    /// Reads the page that ends before the place of this token, in the requested order; `None` for the first
    /// page. Not for streams.
    pub fn before(mut self, token: impl IntoCursorToken) -> Self {
        self.place(token.into_cursor_token(), true);
        self
    }

    fn place(&mut self, token: Option<CursorToken>, before: bool) {
        if let Some(token) = token {
            self.tokens = self.tokens.saturating_add(1);
            self.request.token = Some((token, before));
        }
    }

    read_setters!(request.options);

    /// Refuses invalid arguments.
    fn check(&self, most: usize) -> Result<()> {
        match self.limit {
            Some(0) => Err(self.request.invalid("the limit must be at least 1")),
            Some(limit) if limit > most => {
                let message =
                    format!("a page holds at most {most} records, but the limit is {limit}");
                Err(self.request.invalid(&message))
            }
            _ if self.tokens > 1 => {
                let message = "a page takes one token: set `after` or `before`, not both";
                Err(self.request.invalid(message))
            }
            _ => Ok(()),
        }
    }

    /// Streams the records from one cursor, which is opened when the stream is first polled.
    ///
    /// A damaged bucket is an error in its place, after all records before it. The stream then continues
    /// after it, as does a later stream from [`continue_after`](crate::Error::continue_after).
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// use futures_util::TryStreamExt;
    ///
    /// async fn print_all<T: Bucketed + std::fmt::Debug>(buckets: &Buckets<T>, key: T::Key) -> Result<()> {
    ///     let mut records = buckets.records(key).stream();
    ///     while let Some(record) = records.try_next().await? {
    ///         println!("{record:?}");
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn stream(self) -> RecordStream<'a, R> {
        match self.forward() {
            Err(error) => RecordStream::failed(error),
            Ok(walk) => RecordStream::new(self.request.chunks(walk, self.limit), self.limit),
        }
    }

    /// The walk of a stream.
    fn forward(&self) -> Result<Walk<T, R>> {
        self.check(usize::MAX)?;
        match &self.request.token {
            Some((_, true)) => Err(self.request.invalid(
                "a stream goes forward: use `newest_first` and `after` instead of `before`",
            )),
            _ => self.request.walk(),
        }
    }

    /// Reads all records, or at most [`limit`](Self::limit) if it is set.
    ///
    /// # Errors
    ///
    /// Those of [`Buckets::records`]. A damaged bucket fails the whole call: pages and streams give the
    /// records before and after it.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// async fn all<T: Bucketed>(buckets: &Buckets<T>, key: T::Key) -> Result<Vec<T>> {
    ///     buckets.records(key).collect().await
    /// }
    /// ```
    pub async fn collect(self) -> Result<Vec<R>> {
        let all = async {
            let walk = self.forward()?;
            self.request.all(walk, self.limit).await
        };
        all.instrument(span::<T>()).await
    }

    async fn page(self) -> Result<RecordPage<R>> {
        self.check(MAX_LIMIT)?;
        let limit = self.limit.unwrap_or(DEFAULT_LIMIT);
        let walk = self.request.walk()?;
        let tokens = walk.tokens();
        let from = self.request.token.clone();
        let part = self.request.first(walk, limit).await?.at_least(1)?;
        let is_backwards = matches!(from, Some((_, true)));
        let mut records = part.records;
        if is_backwards {
            records.reverse();
        }
        let first = records.first().map(|placed| tokens.of(placed));
        let last = records.last().map(|placed| tokens.of(placed));
        let (next, prev, end) = match (&from, first, last) {
            // An empty page, too, leads back to where its token comes from.
            (Some((token, true)), first, last) => {
                let end = last.or_else(|| tokens.just_before(token));
                (end.clone(), first.filter(|_| part.more), end)
            }
            (Some((token, false)), first, last) => {
                let prev = first.or_else(|| tokens.just_after(token));
                let end = last.clone().unwrap_or_else(|| token.clone());
                (last.filter(|_| part.more), prev, Some(end))
            }
            (None, _, last) => (last.clone().filter(|_| part.more), None, last),
        };
        Ok(RecordPage {
            records: records.into_iter().map(|placed| placed.record).collect(),
            next,
            prev,
            end,
        })
    }
}

impl<'a, T: Record> RecordsQuery<'a, T> {
    /// Gives a reference with each record, for a later [`update`](Buckets::update) or
    /// [`delete`](Buckets::delete).
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// async fn forget_oldest<T: Bucketed>(buckets: &Buckets<T>, key: T::Key) -> Result<()>
    /// where
    ///     T::Key: Clone,
    /// {
    ///     let page = buckets.records(key.clone()).with_refs().limit(1).await?;
    ///     for oldest in &page {
    ///         buckets.delete(key.clone(), &oldest.reference).await?;
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn with_refs(self) -> RecordsQuery<'a, T, Referenced<T>> {
        RecordsQuery {
            request: self.request.with_refs(),
            limit: self.limit,
            tokens: self.tokens,
        }
    }

    /// Reads only these fields of each item, as `P`. Use it for wide records of which you need little.
    ///
    /// The time is always among them. Fields of the key can be selected as well
    /// (`ReadingBucket::FIELDS.device`), and come with each item.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Result, bson::DateTime, mongodb::Database};
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize, Bucketed)]
    /// # #[bucket(collection = "readings", items = "readings", window = "1h")]
    /// # struct Reading {
    /// #     #[bucket(key)] device: String,
    /// #     #[bucket(time)] at: DateTime,
    /// #     value: f64,
    /// # }
    /// #[derive(Deserialize)]
    /// struct Point {
    ///     at: DateTime,
    ///     value: f64,
    /// }
    ///
    /// # async fn f(database: &Database) -> Result<Vec<Point>> {
    /// let readings = Reading::buckets(database);
    /// let points = readings.records("a").select::<Point>([ReadingItem::FIELDS.value]);
    /// # points.collect().await
    /// # }
    /// ```
    pub fn select<P: DeserializeOwned + Send + 'a>(
        self,
        fields: impl IntoIterator<Item = FieldPath>,
    ) -> RecordsQuery<'a, T, P> {
        RecordsQuery {
            request: self.request.select(fields.into_iter().collect()),
            limit: self.limit,
            tokens: self.tokens,
        }
    }
}

fn span<T: Record>() -> tracing::Span {
    tracing::debug_span!(target: trace::READ, "records", collection = T::SPEC.collection())
}

impl<'a, T: Record, R: Send + 'a> IntoFuture for RecordsQuery<'a, T, R> {
    type Output = Result<RecordPage<R>>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.page().instrument(span::<T>()))
    }
}

#[cfg(test)]
mod tests {
    use super::RecordPage;

    #[test]
    fn a_page_is_read_through_a_reference_and_given_away_after_that() {
        let page = RecordPage {
            records: vec![3, 1, 2],
            next: None,
            prev: None,
            end: None,
        };
        let mut seen = Vec::new();
        for record in &page {
            seen.push(*record);
        }
        assert_eq!(seen, page.records());
        assert_eq!(page.iter().len(), page.len());
        assert_eq!(page.into_iter().collect::<Vec<_>>(), seen);
    }
}

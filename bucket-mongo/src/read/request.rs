//! A read: the keys, the time range, the direction, and the fields of each record.

use std::fmt;

use bucket_core::{
    AttributeFilter, CursorToken, EncodeError, FieldPath, Form, Record, Referenced, TimeRange,
    attribute::RecordFilter,
    read::{self, InBucket, Placed, Ready, Walk, WalkOrder},
};
use mongodb::{
    Collection,
    bson::{DateTime, RawDocumentBuf},
};
use serde::de::DeserializeOwned;

use super::{
    options::ReadOptions,
    rows::Rows,
    same_collection::{Met, SameCollection, taken_away},
    stream::Chunks,
};
use crate::{Buckets, Error, ErrorKind, Result, error::Context, trace};

/// A read under construction.
pub(crate) struct Request<'a, T: Record, R = T> {
    pub(crate) buckets: &'a Buckets<T>,
    pub(crate) operation: &'static str,
    keys: Vec<T::Key>,
    order: WalkOrder,
    pub(crate) newest_first: bool,
    pub(crate) range: TimeRange,
    filter: Option<AttributeFilter>,
    /// The place to start from, and whether to go backwards.
    pub(crate) token: Option<(CursorToken, bool)>,
    pub(crate) options: ReadOptions<'a>,
    select: Select<T, R>,
    fields: Vec<FieldPath>,
}

type Select<T, R> = fn(Walk<T>, &[FieldPath]) -> Walk<T, R>;

impl<T: Record, R> fmt::Debug for Request<'_, T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("operation", &self.operation)
            .field("keys", &self.keys)
            .field("newest_first", &self.newest_first)
            .field("range", &self.range)
            .field("filter", &self.filter)
            .field("token", &self.token)
            .field("fields", &self.fields)
            .finish_non_exhaustive()
    }
}

impl<'a, T: Record> Request<'a, T> {
    pub(crate) fn new(
        buckets: &'a Buckets<T>,
        operation: &'static str,
        keys: Vec<T::Key>,
        order: WalkOrder,
    ) -> Self {
        Self {
            buckets,
            operation,
            keys,
            order,
            newest_first: false,
            range: TimeRange::ALL,
            filter: None,
            token: None,
            options: ReadOptions::default(),
            select: |walk, _| walk,
            fields: Vec::new(),
        }
    }

    /// Reads a reference with each record.
    pub(crate) fn with_refs(self) -> Request<'a, T, Referenced<T>> {
        self.reading(|walk, _| walk.with_refs(), Vec::new())
    }

    /// Reads the bucket of each record, and its place in it.
    pub(crate) fn with_buckets(self) -> Request<'a, T, InBucket<T>> {
        self.reading(|walk, _| walk.with_buckets(), Vec::new())
    }

    /// Selects these fields of each item instead of records.
    pub(crate) fn select<P: DeserializeOwned>(self, fields: Vec<FieldPath>) -> Request<'a, T, P> {
        let select: Select<T, P> = |walk, fields| {
            let paths: Vec<&str> = fields.iter().map(|field| field.as_str()).collect();
            walk.select(&paths)
        };
        self.reading(select, fields)
    }

    /// Reads something else of each item.
    fn reading<R>(self, select: Select<T, R>, fields: Vec<FieldPath>) -> Request<'a, T, R> {
        Request {
            buckets: self.buckets,
            operation: self.operation,
            keys: self.keys,
            order: self.order,
            newest_first: self.newest_first,
            range: self.range,
            filter: self.filter,
            token: self.token,
            options: self.options,
            select,
            fields,
        }
    }
}

/// The records of a part of a walk, in the order of the walk.
pub(crate) struct Part<R> {
    pub(crate) records: Vec<Placed<R>>,
    /// Whether more records follow.
    pub(crate) more: bool,
    /// A damaged bucket that follows them; ignored if the part has more records than requested.
    damaged: Option<Error>,
}

impl<R> Part<R> {
    const EMPTY: Self = Self {
        records: Vec::new(),
        more: false,
        damaged: None,
    };

    /// Returns the part if it has this many records before the first damaged bucket.
    pub(crate) fn at_least(self, records: usize) -> Result<Self> {
        match self.damaged {
            Some(error) if self.records.len() < records => Err(error),
            _ => Ok(self),
        }
    }
}

impl<R> Part<R> {
    fn extend<T: Record>(&mut self, ready: Ready<R>, walk: &Walk<T, R>, context: &Context) {
        self.records.extend(ready.records);
        if let (None, Some(first)) = (&self.damaged, ready.damaged.into_iter().next()) {
            let tokens = walk.has_tokens().then(|| walk.tokens());
            self.damaged = Some(Error::damaged(first, tokens, context));
        }
    }
}

/// The most buckets of one round trip.
const MOST: u32 = 1_000;
/// A part of a window has what one call has brought: some records, as far as anybody knows.
const OF_A_PART: u32 = 8;

/// How often a read begins again because it met another collection than the handle knew.
pub(crate) const MOST_REPLACED: u32 = 3;

impl<'a, T: Record, R> Request<'a, T, R> {
    pub(crate) fn context(&self) -> Context {
        match self.keys.as_slice() {
            [key] => Context::of::<T>(self.operation, key),
            _ => Context::of_all::<T>(self.operation),
        }
    }

    pub(crate) fn invalid(&self, message: &str) -> Error {
        let message = message.to_owned();
        Error::new(ErrorKind::InvalidArgument { message }, &self.context())
    }

    /// The longest known span of a bucket of these keys, in milliseconds.
    fn longest(&self) -> Result<i64, EncodeError> {
        let mut longest = self.buckets.longest();
        for key in &self.keys {
            let limits = self.buckets.limits_of(key);
            longest = longest.max(read::longest(T::SPEC, limits)?);
        }
        Ok(longest)
    }

    /// Gives only records that meet the filter, and the filters that were set before.
    pub(crate) fn add_filter(&mut self, filter: AttributeFilter) {
        self.filter = Some(match self.filter.take() {
            None => filter,
            Some(before) => before.and(filter),
        });
    }

    pub(crate) fn is_filtered(&self) -> bool {
        self.filter.is_some()
    }

    /// The filter for the records of the model.
    pub(crate) fn record_filter(&self) -> Result<Option<RecordFilter>> {
        let filter = self.filter.as_ref();
        let filter = filter.map(|filter| RecordFilter::new(T::SPEC, filter));
        filter
            .transpose()
            .map_err(|error| self.invalid(&error.to_string()))
    }

    /// Plans the walk.
    pub(crate) fn walk(&self) -> Result<Walk<T, R>> {
        if self.range.is_reversed() {
            return Err(self.invalid("the time range ends before it starts"));
        }
        let context = self.context();
        let longest = self.longest();
        let longest = longest.map_err(|error| Error::new(ErrorKind::Encode(error), &context))?;
        let walk = Walk::new(self.keys.clone(), longest).matching(self.record_filter()?);
        let walk = (self.select)(walk, &self.fields)
            .order(self.order)
            .newest_first(self.newest_first)
            .between(self.range, read::live(T::SPEC, DateTime::now()));
        match &self.token {
            None => Ok(walk),
            Some((token, before)) => walk
                .from_token(token, *before)
                .map_err(|error| Error::new(ErrorKind::InvalidToken(error), &context)),
        }
    }

    /// The first records of a walk over one key, at most `most`.
    pub(crate) async fn first(mut self, walk: Walk<T, R>, most: usize) -> Result<Part<R>> {
        let context = self.context();
        let mut walk = walk;
        if walk.is_empty() {
            return Ok(Part::EMPTY);
        }
        let store = self.buckets.store();
        // The next find goes on after the last bucket of the one before: what is merged between them would be missed.
        let mut moment = store.moment(&mut self.options, &context).await?;
        let mut request = Request {
            options: self.options.in_moment(moment.as_mut()),
            ..self
        };
        let collection = store.readable(&mut request.options, &context).await?;
        let mut replaced = 0;
        let mut part = loop {
            let began = SameCollection::known(store);
            let (part, finds) = request.once(&collection, &mut walk, most, &context).await?;
            if finds == 1 {
                break part;
            }
            match began.met(&mut request.options).await {
                Met::One => break part,
                // The handle may have known another one before the read began.
                Met::Another if replaced < MOST_REPLACED => {
                    replaced += 1;
                    walk = request.walk()?;
                }
                Met::Another | Met::Gone => return Err(taken_away(&context)),
            }
        };
        part.more = part.records.len() > most || part.damaged.is_some();
        part.records.truncate(most);
        let (operation, more, records) = (context.operation, part.more, part.records.len());
        tracing::debug!(target: trace::READ, records, more, "{operation}");
        Ok(part)
    }

    /// Walks once, and returns the number of finds with what it found.
    async fn once(
        &mut self,
        collection: &Collection<RawDocumentBuf>,
        walk: &mut Walk<T, R>,
        most: usize,
        context: &Context,
    ) -> Result<(Part<R>, u32)> {
        let mut part = Part::EMPTY;
        let mut finds = 0;
        let mut wanted = buckets_of::<T>(most.saturating_add(1));
        loop {
            let plan = walk.find(wanted);
            let limit = plan.limit;
            finds += 1;
            let rows = Rows::open(collection, vec![plan], 0, self.options.lend()).await;
            let mut rows = rows.map_err(|error| Error::read(error, context))?;
            let mut found = 0_i64;
            let mut longer = None;
            let mut to_settle = None;
            while part.records.len() <= most
                && part.damaged.is_none()
                && longer.is_none()
                && to_settle.is_none()
            {
                let next = rows.next(&|_| 0).await;
                let Some(stored) = next.map_err(|error| Error::read(error, context))? else {
                    break;
                };
                found += 1;
                let ready = walk.take(stored);
                part.extend(ready, walk, context);
                longer = walk.longer();
                to_settle = walk.to_settle();
            }
            if let Some(plan) = to_settle {
                drop(rows);
                finds += 1;
                let newest = Rows::one(collection, plan, self.options.lend()).await;
                walk.settle(
                    newest
                        .map_err(|error| Error::read(error, context))?
                        .as_deref(),
                );
                continue;
            }
            if let Some(longest) = longer {
                self.buckets.saw_longest(longest);
                walk.begin_again(longest);
                part = Part::EMPTY;
                continue;
            }
            let is_complete = part.records.len() > most || part.damaged.is_some();
            if !is_complete && found < limit {
                let rest = walk.end();
                part.extend(rest, walk, context);
                return Ok((part, finds));
            }
            if is_complete {
                return Ok((part, finds));
            }
            walk.narrow(&part.records, most);
            wanted = wanted.saturating_mul(2).min(MOST);
        }
    }

    /// All records of the walk, at most `most`.
    pub(crate) async fn all(self, walk: Walk<T, R>, most: Option<usize>) -> Result<Vec<R>> {
        let operation = self.operation;
        let chunks = self.chunks(walk, most);
        let records = chunks.all(most.unwrap_or(usize::MAX)).await?;
        tracing::debug!(target: trace::READ, records = records.len(), "{operation}");
        Ok(records)
    }

    /// All records of the walk, piece by piece.
    pub(crate) fn chunks(self, walk: Walk<T, R>, batch: Option<usize>) -> Chunks<'a, T, R> {
        let batch = batch.map_or(0, |records| buckets_of::<T>(records));
        Chunks::new(
            self.buckets.clone(),
            self.context(),
            walk,
            batch,
            self.options,
        )
    }
}

/// The number of buckets that this many records probably need.
fn buckets_of<T: Record>(records: usize) -> u32 {
    let capacity = match T::SPEC.form() {
        Form::Window { parts: true, .. } => OF_A_PART,
        _ => T::SPEC.capacity().unwrap_or(u32::MAX),
    };
    let records = u32::try_from(records).unwrap_or(u32::MAX);
    // The first one may hold only a part of them, and the one after them may belong to their window.
    records.div_ceil(capacity).saturating_add(1).min(MOST)
}

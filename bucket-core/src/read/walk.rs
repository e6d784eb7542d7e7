//! Walks over the records of a key: the finds for it, and the records in order from the buckets
//! that come back.
//!
//! Buckets come in the order of their positions. The records of some buckets interleave: those of
//! one window in several buckets, and, in order of time, those of buckets whose spans overlap. The
//! walk holds such records until no later bucket can have one that sorts before them.

use bson::{DateTime, Document, RawDocument};
use serde::de::DeserializeOwned;

use self::{filling::Filling, read_item::Decode, route::Route};
use super::{
    CursorToken, FindPlan, InBucket, Live, Referenced, TokenError, order::Position, token::Query,
};
use crate::{
    attribute::RecordFilter,
    bucket::{id::Place, record::Record},
    error::DamagedBucket,
    model::form::Order,
    time::range::TimeRange,
};

mod decoded;
mod edge;
mod filling;
mod read_item;
mod room;
mod route;
mod take;

pub use self::take::Ready;

/// The order of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WalkOrder {
    /// The order of cursors, in which each record has a permanent position.
    Cursor,
    /// The order of time.
    Time,
}

/// A record on a walk, or the requested part of it.
#[derive(Debug, Clone)]
pub struct Placed<R> {
    position: Position,
    /// The record, or the requested part.
    pub record: R,
}

/// Makes cursor tokens for the positions of one walk.
#[derive(Debug, Clone, Copy)]
pub struct Tokens {
    query: Query,
    unit: i64,
    order: Order,
    newest_first: bool,
}

impl Tokens {
    /// The token for the position of this record.
    #[must_use]
    pub fn of<R>(self, placed: &Placed<R>) -> CursorToken {
        self.at(placed.place())
    }

    /// A token just before the position of this one, in the direction of the walk. A walk that
    /// continues after it also visits that position. `None` if nothing is before it.
    #[must_use]
    pub fn just_before(self, token: &CursorToken) -> Option<CursorToken> {
        self.neighbour(token, !self.newest_first)
    }

    /// A token just after the position of this one, in the direction of the walk. A walk back from
    /// it also visits that position. `None` if nothing is after it.
    #[must_use]
    pub fn just_after(self, token: &CursorToken) -> Option<CursorToken> {
        self.neighbour(token, self.newest_first)
    }

    fn neighbour(self, token: &CursorToken, descending: bool) -> Option<CursorToken> {
        let position = token.position(self.query, self.unit).ok()?;
        let neighbour = self.order.neighbour(&position, descending)?;
        Some(CursorToken::new(self.query, &neighbour, self.unit))
    }

    /// The token for this position.
    #[must_use]
    pub fn at(self, place: RecordPlace) -> CursorToken {
        CursorToken::new(self.query, &place.0, self.unit)
    }
}

/// Decides which of several buckets comes first on a walk over several keys.
#[derive(Debug, Clone, Copy)]
pub struct Turns {
    /// The field that decides, if the buckets have an order at all.
    start: Option<&'static str>,
    descending: bool,
}

impl Turns {
    /// The turn of this bucket: the smallest one comes first. The turn of a damaged bucket comes
    /// immediately.
    #[must_use]
    pub fn of(self, stored: &RawDocument) -> i64 {
        let Some(name) = self.start else {
            return 0;
        };
        match stored.get_datetime(name).map(DateTime::timestamp_millis) {
            Err(_) => i64::MIN,
            Ok(start) if self.descending => start.saturating_neg(),
            Ok(start) => start,
        }
    }
}

/// The position of a record among those of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordPlace(Position);

impl<R> Placed<R> {
    /// Its position.
    #[must_use]
    pub fn place(&self) -> RecordPlace {
        RecordPlace(self.position)
    }
}

/// A walk over the records of a key, or of several.
#[derive(Debug)]
pub struct Walk<T: Record, R = T> {
    route: Route<T>,
    decode: Decode<T, R>,
    /// The position of the last bucket that was read and takes no more records.
    last: Option<Place>,
    filling: Filling,
    /// The group of the bucket that came last.
    group: Option<Place>,
    held: Vec<Placed<R>>,
    /// The damaged buckets of the held group.
    damaged: Vec<Placed<DamagedBucket>>,
    /// The windows and the ids of the buckets without a place in their window that came, as far as they
    /// may come again.
    without_part: Vec<(Place, String)>,
    /// The longest span of a bucket that was read, in milliseconds.
    longest_seen: i64,
    /// How often a damaged bucket came that was named before.
    passed: u32,
}

impl<T: Record> Walk<T> {
    /// A walk over the records of these keys; for several keys, in order of time. `longest` is the
    /// longest span of time of their buckets, in milliseconds; see [`longest`](super::longest).
    #[must_use]
    pub fn new(keys: Vec<T::Key>, longest: i64) -> Self {
        Self::over(Route::new(keys, longest), read_item::records())
    }

    /// The same walk, with these fields of each item and of the key instead of records. Other paths
    /// outside the array are ignored.
    #[must_use]
    pub fn select<P: DeserializeOwned>(mut self, paths: &[&str]) -> Walk<T, P> {
        self.route.select(paths);
        Walk::over(self.route, Decode::of_stored(read_item::selected::<T, P>))
    }

    /// The same walk, with a reference to each record.
    #[must_use]
    pub fn with_refs(self) -> Walk<T, Referenced<T>> {
        Walk::over(self.route, Decode::of_stored(read_item::referenced::<T>))
    }

    /// The same walk, with the bucket of each record and its place in it.
    #[must_use]
    pub fn with_buckets(self) -> Walk<T, InBucket<T>> {
        Walk::over(self.route, Decode::of_stored(read_item::in_bucket::<T>))
    }
}

impl<T: Record, R> Walk<T, R> {
    fn over(route: Route<T>, decode: Decode<T, R>) -> Self {
        Self {
            route,
            decode,
            last: None,
            filling: Filling::default(),
            group: None,
            held: Vec::new(),
            damaged: Vec::new(),
            without_part: Vec::new(),
            longest_seen: 0,
            passed: 0,
        }
    }

    /// Sets the order. The default is the order of cursors.
    #[must_use]
    pub fn order(mut self, order: WalkOrder) -> Self {
        self.route.by_time = order == WalkOrder::Time || self.route.is_of_several();
        self
    }

    /// Starts with the newest record.
    #[must_use]
    pub fn newest_first(mut self, newest_first: bool) -> Self {
        self.route.newest_first = newest_first;
        self
    }

    /// Only records of these times, restricted to those that are shown.
    #[must_use]
    pub fn between(mut self, range: TimeRange, live: Live) -> Self {
        self.route.between(range, live);
        self
    }

    /// Only records that meet the filter. Set it before fields are selected.
    #[must_use]
    pub fn matching(mut self, filter: Option<RecordFilter>) -> Self {
        self.route.filter = filter;
        self
    }

    /// Only records after the position of the token, in the order of cursors; with `before`, the
    /// records before it, backwards.
    ///
    /// # Errors
    ///
    /// [`TokenError`] if the token does not belong to this query.
    pub fn from_token(mut self, token: &CursorToken, before: bool) -> Result<Self, TokenError> {
        let Tokens { query, unit, .. } = self.tokens();
        self.route.from = Some(token.position(query, unit)?);
        self.route.backwards = before;
        Ok(self)
    }

    /// Whether nothing can be found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.route.is_empty()
    }

    /// Whether there are tokens. The order of time has none, because it has no positions of its
    /// own.
    #[must_use]
    pub fn has_tokens(&self) -> bool {
        !self.route.by_time
    }

    /// Makes tokens for the positions of this walk.
    #[must_use]
    pub fn tokens(&self) -> Tokens {
        Tokens {
            query: self.route.query(),
            unit: self.route.unit(),
            order: self.route.order,
            newest_first: self.route.newest_first,
        }
    }

    /// The longest span of time of a bucket that was read, in milliseconds, if it is longer than
    /// the walk assumed: the walk may then have missed some records.
    #[must_use]
    pub fn longer(&self) -> Option<i64> {
        let matters = self.route.goes_by_spans();
        (matters && self.longest_seen > self.route.own_longest).then_some(self.longest_seen)
    }

    /// For walks from the newest record in order of time. Excludes buckets without a record as new
    /// as the one after the first `most`, counted over the returned and the held records.
    pub fn narrow(&mut self, given: &[Placed<R>], most: usize) {
        if self.route.by_time && self.route.descending() {
            let mut known = given.iter().chain(&self.held);
            let last = known.nth(most).map(|placed| placed.position.time);
            self.route.since = last.map(DateTime::from_millis);
        }
    }

    /// Starts again from the beginning, for bucket spans as long as this, in milliseconds.
    pub fn begin_again(&mut self, longest: i64) {
        self.route.takes_longest(longest);
        self.route.since = None;
        self.last = None;
        self.group = None;
        self.held.clear();
        self.damaged.clear();
        self.without_part.clear();
    }

    /// The buckets after the last one that was read, or from that one if it may have got more
    /// records. At most this many, and as many more as damaged buckets came again; 0 for all.
    #[must_use]
    pub fn find(&self, buckets: u32) -> FindPlan {
        let limit = match buckets {
            0 => 0,
            some => some.saturating_add(self.passed),
        };
        FindPlan {
            limit: limit.into(),
            ..self.route.find(self.last)
        }
    }

    /// All buckets, in one find or several. Each find returns its buckets in order; merge them by
    /// [`turns`](Self::turns).
    #[must_use]
    pub fn finds(&self) -> Vec<FindPlan> {
        self.route.finds(self.last)
    }

    /// The order in which to merge the buckets of several finds.
    #[must_use]
    pub fn turns(&self) -> Turns {
        Turns {
            start: match self.route.order {
                Order::Window => Some(T::SPEC.names().start),
                // In no order.
                Order::Arrival | Order::Bucket => None,
            },
            descending: self.route.descending(),
        }
    }

    /// The same buckets as an aggregation, each with its key fields and its items in the range.
    #[must_use]
    pub fn pipeline(&self) -> Vec<Document> {
        self.route.pipeline()
    }

    /// In order of arrival, after the walk read a bucket that was filled while an earlier one was
    /// read: the find for the newest bucket of the key. Run it and pass the result to
    /// [`settle`](Self::settle); then continue with another [`find`](Self::find).
    #[must_use]
    pub fn to_settle(&self) -> Option<FindPlan> {
        let plan = self.filling.is_overtaken().then(|| self.route.newest());
        plan.flatten()
    }

    /// Goes back to the bucket that got more records, after the returned ones. `newest` is the
    /// result of [`to_settle`](Self::to_settle).
    pub fn settle(&mut self, newest: Option<&RawDocument>) {
        let newest = newest.and_then(|stored| self.place_of(stored));
        self.filling.settle(newest);
    }
}

//! Walking over the records of a key: the finds that it takes, and the records in their order from
//! the buckets that come back.
//!
//! Buckets come in the order of their places. The records of some lie among each other: those of
//! one window in several buckets, and, in the order of time, those of buckets whose spans overlap.
//! They are held until no bucket that is still to come can have one that belongs before them.

use bson::{DateTime, Document, RawDocument};
use serde::de::DeserializeOwned;

use self::{filling::Filling, read_item::Decode, route::Route};
use super::{CursorToken, FindPlan, Live, TokenError, order::Position, token::Query};
use crate::{
    bucket::{self, id::Place, record::Record},
    error::DamagedBucket,
    model::form::Order,
    time::range::TimeRange,
};

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
    /// That of cursors, in which each record has a place for ever.
    Cursor,
    /// That of time.
    Time,
}

/// A record on a walk, or what was asked for of it.
#[derive(Debug, Clone)]
pub struct Placed<R> {
    position: Position,
    /// What was asked for.
    pub record: R,
}

/// Makes cursor tokens of the places of one walk.
#[derive(Debug, Clone, Copy)]
pub struct Tokens {
    query: Query,
    unit: i64,
    order: Order,
    newest_first: bool,
}

impl Tokens {
    /// The token of the place of this record.
    #[must_use]
    pub fn of<R>(self, placed: &Placed<R>) -> CursorToken {
        self.at(placed.place())
    }

    /// A token just before the place of this one in the direction of the walk: going on after it visits
    /// that place as well. `None` where there is nothing before it.
    #[must_use]
    pub fn just_before(self, token: &CursorToken) -> Option<CursorToken> {
        self.neighbour(token, !self.newest_first)
    }

    /// A token just after the place of this one in the direction of the walk: going back before it visits
    /// that place as well. `None` where there is nothing after it.
    #[must_use]
    pub fn just_after(self, token: &CursorToken) -> Option<CursorToken> {
        self.neighbour(token, self.newest_first)
    }

    fn neighbour(self, token: &CursorToken, descending: bool) -> Option<CursorToken> {
        let position = token.position(self.query, self.unit).ok()?;
        let neighbour = self.order.neighbour(&position, descending)?;
        Some(CursorToken::new(self.query, &neighbour, self.unit))
    }

    /// The token of this place.
    #[must_use]
    pub fn at(self, place: RecordPlace) -> CursorToken {
        CursorToken::new(self.query, &place.0, self.unit)
    }
}

/// Which of several buckets comes first on a walk over several keys.
#[derive(Debug, Clone, Copy)]
pub struct Turns {
    /// The field that decides, if the buckets are in an order at all.
    start: Option<&'static str>,
    descending: bool,
}

impl Turns {
    /// The turn of this bucket: the least one comes first. A damaged one has its turn at once.
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

/// The place of a record among those of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordPlace(Position);

impl<R> Placed<R> {
    /// Its place.
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
    /// The place of the last bucket that came and takes no more records.
    last: Option<Place>,
    filling: Filling,
    held: Vec<Placed<R>>,
    /// Of the group that is held.
    damaged: Vec<Placed<DamagedBucket>>,
    /// The longest span of a bucket that came, in milliseconds.
    longest_seen: i64,
}

impl<T: Record> Walk<T> {
    /// A walk over the records of these keys; over those of several in the order of time. `longest` is
    /// the longest span of time of their buckets, in milliseconds; see [`longest`](super::longest).
    #[must_use]
    pub fn new(keys: Vec<T::Key>, longest: i64) -> Self {
        Self::over(Route::new(keys, longest), read_item::record::<T>)
    }

    /// The same walk, with these fields of each item instead of records, and with these of the key.
    /// Other paths outside of the array are of no account.
    #[must_use]
    pub fn select<P: DeserializeOwned>(mut self, paths: &[&str]) -> Walk<T, P> {
        self.route.select(paths);
        Walk::over(self.route, read_item::selected::<T, P>)
    }
}

impl<T: Record, R> Walk<T, R> {
    fn over(route: Route<T>, decode: Decode<T, R>) -> Self {
        Self {
            route,
            decode,
            last: None,
            filling: Filling::default(),
            held: Vec::new(),
            damaged: Vec::new(),
            longest_seen: 0,
        }
    }

    /// In this order; that of a cursor is the default.
    #[must_use]
    pub fn order(mut self, order: WalkOrder) -> Self {
        self.route.by_time = order == WalkOrder::Time || self.route.is_of_several();
        self
    }

    /// From the newest record on.
    #[must_use]
    pub fn newest_first(mut self, newest_first: bool) -> Self {
        self.route.newest_first = newest_first;
        self
    }

    /// Only records of these times; of them only those that are shown.
    #[must_use]
    pub fn between(mut self, range: TimeRange, live: Live) -> Self {
        self.route.between(range, live);
        self
    }

    /// Only records behind the place of the token, in the order of the cursor; backwards from it, if
    /// it is `before`.
    ///
    /// # Errors
    ///
    /// [`TokenError`] if it is no token of this query.
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

    /// Whether there are tokens: not in the order of time, which has no places of its own.
    #[must_use]
    pub fn has_tokens(&self) -> bool {
        !self.route.by_time
    }

    /// What makes tokens of the places of this walk.
    #[must_use]
    pub fn tokens(&self) -> Tokens {
        Tokens {
            query: self.route.query(),
            unit: self.route.unit(),
            order: self.route.order,
            newest_first: self.route.newest_first,
        }
    }

    /// The longest span of time of a bucket that came, in milliseconds, if it is longer than what
    /// the walk went by: some of its records may not have been found.
    #[must_use]
    pub fn longer(&self) -> Option<i64> {
        let matters = self.route.goes_by_spans();
        (matters && self.longest_seen > self.route.longest).then_some(self.longest_seen)
    }

    /// From the newest record on, in the order of time: leaves out buckets that have none as new as the
    /// one behind the first `most`, of those that were given already and those that are held.
    pub fn narrow(&mut self, given: &[Placed<R>], most: usize) {
        if self.route.by_time && self.route.descending() {
            let mut known = given.iter().chain(&self.held);
            let last = known.nth(most).map(|placed| placed.position.time);
            self.route.since = last.map(DateTime::from_millis);
        }
    }

    /// Goes back to the beginning, for buckets of spans as long as this, in milliseconds.
    pub fn begin_again(&mut self, longest: i64) {
        self.route.longest = longest;
        self.route.since = None;
        self.last = None;
        self.held.clear();
        self.damaged.clear();
    }

    /// The buckets behind the last one that came, that one again if it may have got more records, at most so
    /// many; 0 for all.
    #[must_use]
    pub fn find(&self, buckets: u32) -> FindPlan {
        FindPlan {
            limit: buckets.into(),
            ..self.route.find(self.last)
        }
    }

    /// All buckets, in one find or in several: each of them gives its buckets in order, and they are to be
    /// merged by [`turns`](Self::turns).
    #[must_use]
    pub fn finds(&self) -> Vec<FindPlan> {
        self.route.finds(self.last)
    }

    /// What the buckets of several finds are merged by.
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

    /// The same buckets as an aggregation, each with its key fields and its items of the range.
    #[must_use]
    pub fn pipeline(&self) -> Vec<Document> {
        self.route.pipeline()
    }

    /// In the order of arrival, after a bucket has come that was filled while one before it was read: the
    /// newest bucket of the key. It is to be read and given to [`settle`](Self::settle); then the walk goes on with
    /// another [`find`](Self::find).
    #[must_use]
    pub fn to_settle(&self) -> Option<FindPlan> {
        let plan = self.filling.is_overtaken().then(|| self.route.newest());
        plan.flatten()
    }

    /// Goes back to the bucket that has got more records, behind those that were given. `newest` is what
    /// [`to_settle`](Self::to_settle) has found.
    pub fn settle(&mut self, newest: Option<&RawDocument>) {
        let newest = newest.and_then(|stored| bucket::place_alone(T::SPEC, stored));
        self.filling.settle(newest);
    }
}

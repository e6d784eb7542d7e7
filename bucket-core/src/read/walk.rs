//! Walking over the records of a key: the finds that it takes, and the records in their order from
//! the buckets that come back.
//!
//! Buckets come in the order of their places. The records of some lie among each other: those of
//! one window in several buckets, and, in the order of time, those of buckets whose spans overlap.
//! They are held until no bucket that is still to come can have one that belongs before them.

use bson::{Bson, Document, RawDocument, doc};
use serde::de::DeserializeOwned;

use super::{
    CursorToken, FindPlan, Live, ReadKey, TokenError, fields,
    order::{Order, Position},
    parts::items_of,
    places::{Bound, Places},
    span::{any_inside, overlapping_any, reaches},
    token::Query,
};
use crate::{form::Form, id::Place, range::TimeRange, raw::RawWriter, record::Record, spec::ID};

mod take;

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
}

impl Tokens {
    /// The token of the place of this record.
    #[must_use]
    pub fn of<R>(self, placed: &Placed<R>) -> CursorToken {
        self.at(placed.place())
    }

    /// The token of this place.
    #[must_use]
    pub fn at(self, place: RecordPlace) -> CursorToken {
        CursorToken::new(self.query, &place.0, self.unit)
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

    /// Its time, where the walk is in the order of time; in milliseconds since 1970.
    #[must_use]
    pub fn time(&self) -> i64 {
        self.position.time
    }
}

/// A walk over the records of a key.
#[derive(Debug)]
pub struct Walk<T: Record, R = T> {
    keys: Vec<T::Key>,
    read: Vec<ReadKey>,
    order: Order,
    by_time: bool,
    newest_first: bool,
    /// Against the order: from the place backwards.
    backwards: bool,
    asked: TimeRange,
    /// What is asked for and shown.
    range: TimeRange,
    live: Live,
    longest: i64,
    from: Option<Position>,
    projection: Document,
    decode: Decode<T, R>,
    /// The place of the last bucket that came.
    last: Option<Place>,
    held: Vec<Placed<R>>,
    /// The longest span of a bucket that came, in milliseconds.
    longest_seen: i64,
}

/// The time of an item, in milliseconds, and what was asked for of it.
type Decode<T, R> = fn(&<T as Record>::Key, &RawDocument) -> Result<(i64, R), bson::error::Error>;

impl<T: Record> Walk<T> {
    /// A walk over the records of this key. `longest` is the longest span of time of its buckets, in
    /// milliseconds; see [`longest`](super::longest).
    #[must_use]
    pub fn new(key: T::Key, longest: i64) -> Self {
        Self::over(vec![key], longest)
    }

    /// A walk over the records of several keys in the order of time. `longest` is that of all of them.
    #[must_use]
    pub fn of_several(keys: Vec<T::Key>, longest: i64) -> Self {
        let several = keys.len() != 1;
        let mut walk = Self::over(keys, longest);
        walk.by_time = several;
        walk
    }

    fn over(keys: Vec<T::Key>, longest: i64) -> Self {
        Self {
            read: keys.iter().map(ReadKey::of::<T>).collect(),
            keys,
            order: Order::of(T::SPEC),
            by_time: false,
            newest_first: false,
            backwards: false,
            asked: TimeRange::ALL,
            range: TimeRange::ALL,
            live: Live::default(),
            longest,
            from: None,
            projection: Document::new(),
            decode: take::record::<T>,
            last: None,
            held: Vec::new(),
            longest_seen: 0,
        }
    }

    /// The same walk, with these fields of each item instead of records. Paths outside of the array
    /// are of no account: fields of the key are known.
    #[must_use]
    pub fn select<P: DeserializeOwned>(self, paths: &[&str]) -> Walk<T, P> {
        let spec = T::SPEC;
        let names = spec.names();
        let mut projection = doc! { ID: 1, names.count: 1 };
        let own: &[&str] = match spec.form() {
            Form::Count { .. } => &[],
            Form::Window { .. } => &[names.start, names.end, names.part],
            Form::Hybrid { .. } => &[names.start, names.end, names.closed, names.late],
            Form::Numbered { .. } => &[names.number, names.size, names.full],
        };
        for name in own {
            projection.insert(*name, 1);
        }
        let time = format!("{}.{}", spec.items(), spec.time().name);
        let inside = format!("{}.", spec.items());
        let inner = paths.iter().filter(|path| path.starts_with(&inside));
        for path in inner.copied().chain([time.as_str()]) {
            projection.insert(path, 1);
        }
        Walk {
            keys: self.keys,
            read: self.read,
            order: self.order,
            by_time: self.by_time,
            newest_first: self.newest_first,
            backwards: self.backwards,
            asked: self.asked,
            range: self.range,
            live: self.live,
            longest: self.longest,
            from: self.from,
            projection,
            decode: take::selected::<T, P>,
            last: None,
            held: Vec::new(),
            longest_seen: 0,
        }
    }
}

impl<T: Record, R> Walk<T, R> {
    /// In this order; that of a cursor is the default.
    #[must_use]
    pub fn order(mut self, order: WalkOrder) -> Self {
        self.by_time = order == WalkOrder::Time || self.keys.len() != 1;
        self
    }

    /// From the newest record on.
    #[must_use]
    pub fn newest_first(mut self, newest_first: bool) -> Self {
        self.newest_first = newest_first;
        self
    }

    /// Only records of these times; of them only those that are shown.
    #[must_use]
    pub fn between(mut self, range: TimeRange, live: Live) -> Self {
        self.asked = range;
        self.range = range.and(live.range());
        self.live = live;
        self
    }

    /// Only records behind the place of the token, in the order of the cursor; backwards from it, if
    /// it is `before`.
    ///
    /// # Errors
    ///
    /// [`TokenError`] if it is no token of this query.
    pub fn from_token(mut self, token: &CursorToken, before: bool) -> Result<Self, TokenError> {
        self.from = Some(token.position(self.query(), self.unit())?);
        self.backwards = before;
        Ok(self)
    }

    /// Whether nothing can be found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.range.is_empty() || self.keys.is_empty()
    }

    /// Whether the walk can go on behind the last bucket that came with a new find.
    #[must_use]
    pub fn can_go_on(&self) -> bool {
        // Those of several keys have no places in one order.
        self.read.len() == 1
    }

    /// Whether there are tokens: not in the order of time, which has no places of its own.
    #[must_use]
    pub fn has_tokens(&self) -> bool {
        !self.by_time
    }

    /// What makes tokens of the places of this walk.
    #[must_use]
    pub fn tokens(&self) -> Tokens {
        Tokens {
            query: self.query(),
            unit: self.unit(),
        }
    }

    /// The longest span of time of a bucket that came, in milliseconds, if it is longer than what
    /// the walk went by: some of its records may not have been found.
    #[must_use]
    pub fn longer(&self) -> Option<i64> {
        let spans = matches!(T::SPEC.form(), Form::Window { .. } | Form::Hybrid { .. });
        let matters = spans && (self.by_time || self.range.start().is_some());
        (matters && self.longest_seen > self.longest).then_some(self.longest_seen)
    }

    /// Goes back to the beginning, for buckets of spans as long as this, in milliseconds.
    pub fn begin_again(&mut self, longest: i64) {
        self.longest = longest;
        self.last = None;
        self.held.clear();
    }

    fn query(&self) -> Query {
        let key = self.read.first().map_or(&[][..], ReadKey::elements);
        Query::of(T::SPEC, key, self.newest_first, self.asked)
    }

    /// In which tokens count time.
    fn unit(&self) -> i64 {
        match self.order {
            Order::Arrival => 1,
            Order::Bucket | Order::Window => T::SPEC.id_unit().millis(),
        }
    }

    fn descending(&self) -> bool {
        self.newest_first != self.backwards
    }

    /// The buckets behind the last one that came, at most so many; 0 for all.
    #[must_use]
    pub fn find(&self, buckets: u32) -> FindPlan {
        let spec = T::SPEC;
        let plan = match self.read.as_slice() {
            [key] => {
                let filter = RawWriter::build(|writer| {
                    writer.elements(key.elements());
                    fields(writer, &self.condition(key));
                });
                super::find(spec, filter)
            }
            keys => overlapping_any(spec, keys, self.range, self.longest),
        };
        let plan = self.live.find_undated(spec, plan);
        let mut sort = plan.sort;
        if self.descending() {
            sort.iter_mut()
                .for_each(|(_, direction)| *direction = Bson::Int32(-1));
        }
        FindPlan {
            sort,
            limit: buckets.into(),
            projection: self.projection.clone(),
            ..plan
        }
    }

    /// The same buckets as an aggregation, each with its key fields and its items of the range.
    #[must_use]
    pub fn pipeline(&self) -> Vec<Document> {
        let spec = T::SPEC;
        let plan = self.find(0);
        // The filter was written element by element and is valid.
        let filter = Document::try_from(plan.filter).unwrap_or_default();
        let mut stages = vec![doc! { "$match": filter }];
        if !plan.sort.is_empty() {
            stages.push(doc! { "$sort": plan.sort });
        }
        let mut shown: Document = spec
            .keys()
            .iter()
            .map(|key| (key.path.to_owned(), 1.into()))
            .collect();
        shown.insert(spec.items(), items_of(spec, self.range));
        stages.push(doc! { "$project": shown });
        stages
    }

    fn condition(&self, key: &ReadKey) -> Document {
        let spec = T::SPEC;
        let mut places = Places::reaching(spec, self.range, self.longest);
        let descending = self.descending();
        let bounds = [
            self.from.map(|from| self.first_bucket(&from)),
            self.last.map(|place| Bound {
                place,
                within: false,
            }),
        ];
        for bound in bounds.into_iter().flatten() {
            places = places.behind(bound, descending);
        }
        let mut condition = places.condition(spec, key);
        condition.extend(match spec.form() {
            Form::Count { .. } | Form::Numbered { .. } => any_inside(spec, self.range),
            Form::Window { .. } | Form::Hybrid { .. } => reaches(spec, self.range),
        });
        condition
    }

    /// The first bucket in this direction that can hold a record behind the place.
    fn first_bucket(&self, from: &Position) -> Bound {
        let place = from.place;
        match (self.order, self.descending()) {
            (Order::Window, true) => Bound {
                // All buckets of its window.
                place: Place {
                    time: place.time,
                    sequence: u64::MAX,
                },
                within: true,
            },
            (Order::Arrival, true) => Bound {
                place,
                // Before the first item of a bucket is none of it.
                within: from.index > 0,
            },
            (order, _) => Bound {
                place: order.group_start(place),
                within: true,
            },
        }
    }
}

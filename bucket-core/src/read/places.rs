//! A range of a key's buckets by position, as a condition on the field that orders them.

use bson::{Bson, DateTime, Document, doc};

use super::ReadKey;
use crate::{
    bucket::id::{Place, push_place},
    model::{
        form::{OrderedBy, Span},
        spec::{BucketSpec, ID, TimeUnit},
    },
    time::range::TimeRange,
};

/// A bound: the position, and whether it is included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bound {
    pub(super) place: Place,
    pub(super) within: bool,
}

impl Bound {
    /// From the first bucket of this time.
    const fn from(time: i64) -> Self {
        Self {
            place: Place { time, sequence: 0 },
            within: true,
        }
    }

    /// Before the first bucket of this time.
    const fn before(time: i64) -> Self {
        Self {
            within: false,
            ..Self::from(time)
        }
    }
}

/// Whether a read finds the buckets without a position.
///
/// A bucket has none if the field that orders the buckets of its key has another type, or is the id
/// of another key. A comparison with bounds would skip it without a word. So the condition also
/// matches the values that the server sorts before or after those of all other buckets. In the index
/// that is a step more on each side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Placeless {
    Found,
    /// Found by another read, where this one would need branches for them: see [`Only`](Self::Only).
    Beside,
    /// The branches that [`Beside`](Self::Beside) has left out.
    Only,
    /// Of no use to a pipeline, which cannot report them.
    LeftOut,
}

/// Buckets from one position to another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Places {
    lower: Option<Bound>,
    upper: Option<Bound>,
    /// Whether buckets before or after all positions were read already.
    is_past: Past,
    /// The bucket after which a walk continues.
    last: Option<Place>,
}

/// The edge that a walk has left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Past {
    #[default]
    None,
    /// That before all positions.
    First,
    /// That after all positions.
    Last,
}

impl Places {
    /// The buckets that can reach into the range, for a form with spans of time. `longest` is the
    /// longest span of a bucket, in milliseconds.
    ///
    /// The id of a window contains its start. The id of a hybrid bucket contains a time between its
    /// start and its latest possible end.
    pub(super) fn reaching(spec: &BucketSpec, range: TimeRange, longest: i64) -> Self {
        let unit = spec.id_unit().millis();
        let longest = longest.max(1);
        let starts = match spec.form().span() {
            Span::Window => starts_reaching(range, longest),
            // Its position is rounded down to the unit of ids, and may be later than its start.
            Span::Records => TimeRange::new(
                range.start().map(|start| later(start, -longest)),
                range.end().map(|end| later(end, longest)),
            ),
            Span::None => TimeRange::ALL,
        };
        let first = |start: DateTime| match spec.form().span() {
            Span::Window => whole_units(start, unit),
            Span::None | Span::Records => start.timestamp_millis().div_euclid(unit),
        };
        // The first possible window starts with time itself, inside a unit.
        let start = starts.start().filter(|start| *start > DateTime::MIN);
        Self {
            lower: start.map(|start| Bound::from(first(start))),
            upper: starts
                .end()
                .map(|end| Bound::before(whole_units(end, unit))),
            is_past: Past::None,
            last: None,
        }
    }

    /// The buckets after the bound, in this direction.
    pub(super) fn behind(mut self, bound: Bound, descending: bool) -> Self {
        if descending {
            let tighter =
                |own: &Bound| own.place < bound.place || own.place == bound.place && !own.within;
            self.upper = self.upper.filter(tighter).or(Some(bound));
            self.is_past = Past::Last;
        } else {
            let tighter =
                |own: &Bound| own.place > bound.place || own.place == bound.place && !own.within;
            self.lower = self.lower.filter(tighter).or(Some(bound));
            self.is_past = Past::First;
        }
        self.last = Some(bound.place).filter(|_| !bound.within);
        self
    }

    /// The condition on the field by which the index orders the buckets of a key.
    pub(super) fn condition(
        self,
        spec: &BucketSpec,
        key: &ReadKey,
        placeless: Placeless,
    ) -> Document {
        let unit = spec.id_unit();
        let of = |name, value: &dyn Fn(Bound) -> Bson, places: Self| match placeless {
            Placeless::LeftOut => places.bounds(name, value),
            _ => places.outside(name, value),
        };
        match (spec.ordered_by(), placeless) {
            (OrderedBy::Id, Placeless::Only) => doc! { "$or": self.outside_ids(key) },
            (OrderedBy::Id, Placeless::Beside) if self.needs_branches() => {
                self.bounds(ID, &|bound| key.id_at(bound.place, unit).into())
            }
            (OrderedBy::Id, Placeless::Found | Placeless::Beside) => self.ids(key, unit),
            (OrderedBy::Id, Placeless::LeftOut) => {
                self.bounds(ID, &|bound| key.id_at(bound.place, unit).into())
            }
            (OrderedBy::Start, _) => {
                let name = spec.names().start;
                self.starts(spec, |places, date| of(name, date, places))
            }
            (OrderedBy::Number, _) => {
                of(spec.names().number, &|bound| bound.place.time.into(), self)
            }
        }
    }

    /// The ids of other keys are texts too, so what is not below a bound is not enough: between two
    /// bounds, the ids before and after all of the key are branches of their own. The server merges
    /// the branches in the order of the index.
    fn ids(self, key: &ReadKey, unit: TimeUnit) -> Document {
        let id: &dyn Fn(Bound) -> Bson = &|bound| key.id_at(bound.place, unit).into();
        if !self.needs_branches() {
            return self.outside(ID, id);
        }
        let mut branches = vec![self.bounds(ID, id)];
        branches.extend(self.outside_ids(key));
        doc! { "$or": branches }
    }

    /// Whether ids between the bounds and ids outside of the key's are not one range.
    pub(super) fn needs_branches(self) -> bool {
        let (first, last) = (self.is_past != Past::First, self.is_past != Past::Last);
        match (self.lower, self.upper) {
            (None, None) => false,
            (Some(_), None) => first,
            (None, Some(_)) => last,
            (Some(_), Some(_)) => true,
        }
    }

    /// The ids before and after all of the key, as far as no bound has passed them.
    fn outside_ids(self, key: &ReadKey) -> Vec<Document> {
        let (first, last) = (self.is_past != Past::First, self.is_past != Past::Last);
        let mut branches = Vec::new();
        // Each also matches what is no text.
        if first && self.lower.is_some() {
            branches.push(doc! { ID: { "$not": { "$gte": &key.prefix } } });
        }
        if last && self.upper.is_some() {
            let behind = key.behind();
            branches.push(if branches.is_empty() {
                doc! { ID: { "$not": { "$lt": behind } } }
            } else {
                doc! { ID: { "$gte": behind } }
            });
        }
        branches
    }

    /// Buckets with the same start differ by their part; the first one has no part. After one of them,
    /// those without a readable part come again.
    fn starts(
        self,
        spec: &BucketSpec,
        bounds: impl FnOnce(Self, &dyn Fn(Bound) -> Bson) -> Document,
    ) -> Document {
        let names = spec.names();
        let unit = spec.id_unit().millis();
        let date = |place: Place| DateTime::from_millis(place.time.saturating_mul(unit));
        let mut places = self;
        let mut without = Vec::new();
        if let Some(last) = places.last {
            // They may sort after it, and have no place that a bound could name.
            let first = || doc! { "$exists": false };
            let is_of_last = |bound: &&mut Bound| bound.place == last && !bound.within;
            if let Some(lower) = places.lower.as_mut().filter(is_of_last) {
                lower.within = true;
                without.push(first());
                if last.sequence > 0 {
                    without.push(doc! { "$gte": part(1), "$lte": part(last.sequence) });
                }
            }
            if let Some(upper) = places.upper.as_mut().filter(is_of_last) {
                upper.within = true;
                if last.sequence == 0 {
                    without.push(first());
                }
                without.push(doc! { "$gte": part(last.sequence.max(1)) });
            }
            let of_start = |part| doc! { names.start: date(last), names.part: part };
            without = without.into_iter().map(of_start).collect();
        }
        let mut condition = bounds(places, &|bound| date(bound.place).into());
        if !without.is_empty() {
            condition.insert("$nor", without);
        }
        condition
    }

    /// Everything that is not outside the bounds, whatever its type.
    fn outside(self, name: &str, value: &dyn Fn(Bound) -> Bson) -> Document {
        let lower = self.lower.map(|lower| {
            let operator = if lower.within { "$lt" } else { "$lte" };
            doc! { operator: value(lower) }
        });
        let upper = self.upper.map(|upper| {
            let operator = if upper.within { "$gt" } else { "$gte" };
            doc! { operator: value(upper) }
        });
        none_of(name, lower, upper)
    }

    fn bounds(self, name: &str, value: &dyn Fn(Bound) -> Bson) -> Document {
        let mut bounds = Document::new();
        if let Some(lower) = self.lower {
            let operator = if lower.within { "$gte" } else { "$gt" };
            bounds.insert(operator, value(lower));
        }
        if let Some(upper) = self.upper {
            let operator = if upper.within { "$lte" } else { "$lt" };
            bounds.insert(operator, value(upper));
        }
        if bounds.is_empty() {
            return bounds;
        }
        doc! { name: bounds }
    }
}

/// The condition for a field to meet neither of these; empty without any.
pub(super) fn none_of(name: &str, lower: Option<Document>, upper: Option<Document>) -> Document {
    let not = |bounds: Document| doc! { name: { "$not": bounds } };
    match (lower.map(not), upper.map(not)) {
        (None, None) => Document::new(),
        (Some(one), None) | (None, Some(one)) => one,
        (Some(lower), Some(upper)) => doc! { "$and": [lower, upper] },
    }
}

/// The starts of windows of at most this length, in milliseconds, that reach into the range.
pub(super) fn starts_reaching(range: TimeRange, longest: i64) -> TimeRange {
    let start = range.start().map(|start| later(start, 1 - longest.max(1)));
    TimeRange::new(start, range.end())
}

/// The stored part. No bucket has a larger one.
fn part(sequence: u64) -> i64 {
    i64::try_from(sequence).unwrap_or(i64::MAX)
}

fn later(moment: DateTime, millis: i64) -> DateTime {
    DateTime::from_millis(moment.timestamp_millis().saturating_add(millis))
}

/// The first multiple of this many milliseconds that is not before this moment.
fn whole_units(moment: DateTime, unit: i64) -> i64 {
    let millis = moment.timestamp_millis();
    let (whole, rest) = (millis.div_euclid(unit), millis.rem_euclid(unit));
    whole.saturating_add((rest > 0).into())
}

impl ReadKey {
    /// The first text after all ids of the key. The prefix ends with an ASCII separator, so the next
    /// character is one too.
    fn behind(&self) -> String {
        let mut behind = self.prefix.clone();
        let last = behind.pop().map(|last| u32::from(last) + 1);
        behind.extend(last.and_then(char::from_u32));
        behind
    }

    /// The id of the key's bucket at this position.
    fn id_at(&self, place: Place, unit: TimeUnit) -> String {
        let mut id = self.prefix.clone();
        push_place(&mut id, place, unit);
        id
    }
}

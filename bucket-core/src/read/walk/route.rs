//! The buckets that a walk reads: filter, order and projection of its finds.

use bson::{Bson, DateTime, Document, doc};

use super::room::takes_more;
use crate::{
    attribute::RecordFilter,
    bucket::{
        Head,
        edits::{EDITS, MARK},
        id::Place,
        record::Record,
        sealed::{ASIDE, aside},
    },
    codec::raw::RawWriter,
    model::{attribute_array::AttributeArray, form::Order, spec::ID},
    read::{
        FindPlan, Live, ReadKey, fields, find, has_records, in_commands, matching,
        merging::Merging,
        newest_with,
        order::Position,
        parts::complete_items_of,
        places::{Bound, Placeless, Places},
        span::{any_inside, holds_any, overlapping_any},
        tails::header,
        token::Query,
    },
    time::range::TimeRange,
};

/// The most keys in one find. For up to 200 keys, the server merges the index entries in order of
/// time. For more it sorts the buckets themselves, and may not have enough memory for that.
const MOST_KEYS: usize = 100;
/// The route of a walk.
#[derive(Debug)]
pub(super) struct Route<T: Record> {
    pub(super) keys: Vec<T::Key>,
    pub(super) read: Vec<ReadKey>,
    pub(super) order: Order,
    pub(super) by_time: bool,
    pub(super) newest_first: bool,
    /// Against the order: backwards from the position.
    pub(super) backwards: bool,
    asked: TimeRange,
    /// The requested records, restricted to those that are shown.
    pub(super) range: TimeRange,
    live: Live,
    /// How long buckets may be that are not merged, in milliseconds.
    pub(super) own_longest: i64,
    /// How long any may be that has requested records.
    pub(super) longest: i64,
    /// Buckets without a record from this time on are no longer needed.
    pub(super) since: Option<DateTime>,
    pub(super) from: Option<Position>,
    /// The requested records meet it.
    pub(super) filter: Option<RecordFilter>,
    projection: Document,
    /// The requested paths in items; `None` for all.
    pub(super) selected: Option<Vec<String>>,
    /// Key fields that are returned with the items.
    pub(super) key_fields: Vec<&'static str>,
}

impl<T: Record> Route<T> {
    pub(super) fn new(keys: Vec<T::Key>, longest: i64) -> Self {
        Self {
            read: keys.iter().map(ReadKey::of::<T>).collect(),
            order: T::SPEC.form().order(),
            by_time: keys.len() != 1,
            keys,
            newest_first: false,
            backwards: false,
            asked: TimeRange::ALL,
            range: TimeRange::ALL,
            live: Live::default(),
            own_longest: longest,
            longest,
            since: None,
            from: None,
            filter: None,
            projection: Document::new(),
            selected: None,
            key_fields: Vec::new(),
        }
    }

    pub(super) fn between(&mut self, range: TimeRange, live: Live) {
        self.asked = range;
        self.range = range.and(live.range());
        self.live = live;
        self.takes_longest(self.own_longest);
    }

    /// Buckets that are not merged may be this long, in milliseconds.
    pub(super) fn takes_longest(&mut self, own: i64) {
        self.own_longest = own;
        self.longest = self.live.longest(own, self.range);
    }

    /// Which buckets may be merged.
    pub(super) fn merging(&self) -> Option<Merging> {
        self.live.merging()
    }

    /// Whether a record can have its turn between two of another bucket: parts of a window share their span of time, and other
    /// buckets may have places between those of a merged one.
    pub(super) fn interleaves(&self) -> bool {
        self.order == Order::Window || self.merging().is_some()
    }

    /// Requests these fields of the items, and the fields that a walk needs itself.
    pub(super) fn select(&mut self, paths: &[&str]) {
        let spec = T::SPEC;
        let mut projection = header(spec);
        projection.insert(EDITS, 1);
        let inside = format!("{}.", spec.items());
        let time = format!("{inside}{}", spec.time().name);
        let of_filter = self.filter.iter().flat_map(RecordFilter::paths);
        let of_filter: Vec<String> = of_filter.map(|path| format!("{inside}{path}")).collect();
        let asked: Vec<&str> = paths
            .iter()
            .copied()
            .chain(of_filter.iter().map(String::as_str))
            .collect();
        let inner = asked.iter().filter(|path| path.starts_with(&inside));
        // What the bucket holds for its items comes with the header. Some items have their own.
        let shared = spec.shared_arrays();
        let shared: Vec<String> = shared
            .map(|array| format!("{inside}{}", array.name))
            .collect();
        // Items from before a field was an attribute have it as a plain field.
        let is_asked =
            |array: &&AttributeArray| array.paths().iter().any(|of| asked.contains(&of.as_str()));
        let plain: Vec<String> = spec
            .arrays()
            .iter()
            .filter(|array| is_asked(array) || shared.contains(&format!("{inside}{}", array.name)))
            .flat_map(AttributeArray::field_names)
            .map(|name| format!("{inside}{name}"))
            .collect();
        let mark = format!("{inside}{MARK}");
        let ours = shared
            .iter()
            .chain(&plain)
            .map(String::as_str)
            .chain([time.as_str(), mark.as_str()]);
        let inner: Vec<&str> = inner.copied().chain(ours).collect();
        // The server refuses a path together with one inside it.
        let holds = |outer: &str, path: &str| {
            let rest = path.strip_prefix(outer);
            rest.is_some_and(|rest| rest.starts_with('.'))
        };
        let outermost = inner
            .iter()
            .filter(|path| !inner.iter().any(|other| holds(other, path)));
        let outermost: Vec<&str> = outermost.copied().collect();
        let keys = spec.keys().iter().map(|key| key.path);
        for path in keys.chain(outermost.iter().copied()) {
            projection.insert(path, 1);
        }
        let of_item = |path: &&str| path.strip_prefix(&*inside).map(str::to_owned);
        self.selected = Some(outermost.iter().filter_map(of_item).collect());
        projection.insert(ASIDE, aside(spec));
        self.projection = projection;
        let keys = spec.keys().iter().map(|key| key.path);
        self.key_fields = keys.filter(|path| paths.contains(path)).collect();
    }

    pub(super) fn is_of_several(&self) -> bool {
        self.keys.len() != 1
    }

    pub(super) fn is_empty(&self) -> bool {
        self.range.is_empty() || self.keys.is_empty()
    }

    /// Whether the length of the buckets' spans matters.
    pub(super) fn goes_by_spans(&self) -> bool {
        T::SPEC.form().has_span() && (self.by_time || self.range.start().is_some())
    }

    pub(super) fn query(&self) -> Query {
        let key = self.read.first().map_or(&[][..], ReadKey::elements);
        Query::of(T::SPEC, key, self.newest_first, self.asked)
    }

    /// The unit of time in tokens, in milliseconds.
    pub(super) fn unit(&self) -> i64 {
        match self.order {
            Order::Arrival => 1,
            Order::Bucket | Order::Window => T::SPEC.id_unit().millis(),
        }
    }

    pub(super) fn descending(&self) -> bool {
        self.newest_first != self.backwards
    }

    /// Whether the walk reads records in order of arrival, and may reach the bucket that takes the
    /// next ones.
    pub(super) fn is_of_arrivals(&self) -> bool {
        self.order == Order::Arrival && !self.by_time && !self.descending()
    }

    /// Whether any part of a bucket is within the model's retention. A bucket that takes more
    /// records is read in any case.
    pub(super) fn shows(&self, head: &Head) -> bool {
        let dated = head.fields.expire_from;
        dated.is_none_or(|dated| self.live.range().contains(dated))
    }

    /// The newest bucket with records.
    pub(super) fn newest(&self) -> Option<FindPlan> {
        let key = self.read.first()?;
        Some(newest_with(T::SPEC, key.elements(), &has_records(T::SPEC)))
    }

    /// The buckets after this position.
    pub(super) fn find(&self, behind: Option<Place>) -> FindPlan {
        self.find_with(behind, Placeless::Found)
    }

    fn find_with(&self, behind: Option<Place>, placeless: Placeless) -> FindPlan {
        let plan = match self.read.as_slice() {
            [key] => {
                let filter = RawWriter::build(|writer| {
                    writer.elements(key.elements());
                    fields(writer, &self.condition(key, behind, placeless));
                });
                find(T::SPEC, filter)
            }
            keys => overlapping_any(T::SPEC, keys, self.range, self.longest, placeless),
        };
        self.in_direction(plan)
    }

    /// All buckets after this position. Several keys take several finds, each for some of the keys.
    pub(super) fn finds(&self, behind: Option<Place>) -> Vec<FindPlan> {
        if !self.is_of_several() {
            return vec![self.find(behind)];
        }
        let length = |key: &ReadKey| key.elements().len();
        let groups = in_commands(&self.read, MOST_KEYS, length);
        groups
            .into_iter()
            .map(|keys| {
                let found = Placeless::Found;
                let plan = overlapping_any(T::SPEC, keys, self.range, self.longest, found);
                self.in_direction(plan)
            })
            .collect()
    }

    fn in_direction(&self, plan: FindPlan) -> FindPlan {
        let spec = T::SPEC;
        let plan = if self.is_of_arrivals() {
            plan
        } else {
            let range = self.range.and(TimeRange::new(self.since, None));
            matching::find(self.live.find_undated(spec, plan), self.may_match(range))
        };
        let mut sort = plan.sort;
        if self.descending() {
            sort.iter_mut()
                .for_each(|(_, direction)| *direction = Bson::Int32(-1));
        }
        FindPlan {
            sort,
            projection: self.projection.clone(),
            ..plan
        }
    }

    pub(super) fn pipeline(&self) -> Vec<Document> {
        let spec = T::SPEC;
        let plan = self.find_with(None, Placeless::LeftOut);
        let filter = if self.is_empty() {
            // The server refuses an `$or` over no keys.
            doc! { ID: { "$in": [] } }
        } else {
            // The filter was written element by element, so it is valid.
            Document::try_from(plan.filter).unwrap_or_default()
        };
        let mut stages = vec![doc! { "$match": filter }];
        if !plan.sort.is_empty() {
            stages.push(doc! { "$sort": plan.sort });
        }
        let mut shown: Document = spec
            .keys()
            .iter()
            .map(|key| (key.path.to_owned(), 1.into()))
            .collect();
        shown.insert(spec.items(), complete_items_of(spec, self.range));
        stages.push(doc! { "$project": shown });
        if !self.projection.is_empty() {
            let mut projection = self.projection.clone();
            projection.remove(ASIDE);
            stages.push(doc! { "$project": projection });
        }
        stages
    }

    fn condition(&self, key: &ReadKey, behind: Option<Place>, placeless: Placeless) -> Document {
        let spec = T::SPEC;
        let range = self.range.and(TimeRange::new(self.since, None));
        let mut places = Places::reaching(spec, range, self.longest);
        let descending = self.descending();
        let bounds = [
            self.from.map(|from| self.first_bucket(&from)),
            behind.map(|place| Bound {
                place,
                within: false,
            }),
        ];
        for bound in bounds.into_iter().flatten() {
            places = places.behind(bound, descending);
        }
        let mut condition = places.condition(spec, key, placeless);
        if self.is_of_arrivals() {
            let mut asked = any_inside(spec, range);
            asked.extend(self.live.condition().clone());
            matching::add(&mut asked, self.may_match(range));
            if !asked.is_empty() {
                condition.insert("$or", [asked, takes_more(spec)].map(Bson::from).to_vec());
            }
            condition.extend(self.live.undated().clone());
            return condition;
        }
        condition.extend(holds_any(spec, range.and(self.reaching())));
        condition
    }

    /// The times that buckets reach into which can hold a record after the position: before it there may be many from which a
    /// merged one could have been made.
    fn reaching(&self) -> TimeRange {
        let from = self.from.filter(|_| !self.descending());
        let slot = from.and_then(|from| Some((from, self.merging()?.slot(from.place)?)));
        let Some((from, _)) = slot else {
            return TimeRange::ALL;
        };
        TimeRange::new(Some(from.place.date(T::SPEC.id_unit())), None)
    }

    /// The condition for a bucket to have a record that may meet the filter; empty without one.
    fn may_match(&self, range: TimeRange) -> Document {
        let longest = self.goes_by_spans().then_some(self.longest);
        self.filter.as_ref().map_or_else(Document::new, |filter| {
            matching::may_match(T::SPEC, filter, range, longest)
        })
    }

    /// The first bucket in this direction that can hold a record after the position.
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
            (Order::Bucket, true) => Bound {
                place,
                within: true,
            },
            (Order::Arrival, true) => Bound {
                place,
                // No part of a bucket precedes its first item.
                within: from.has_records_before(),
            },
            (order, _) => {
                let slot = self.merging().and_then(|merging| merging.slot(place));
                Bound {
                    place: slot.map_or_else(|| order.group_start(place), |(first, _)| first),
                    within: true,
                }
            }
        }
    }
}

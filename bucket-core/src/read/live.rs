//! The records that a model with `expire_after` still shows.
//!
//! The server removes whole buckets, some time after they expire. Reads must not depend on that
//! moment. So a read leaves out expired buckets and the expired records of other buckets.

use bson::{Bson, DateTime, Document, doc};

use super::{
    AggregatePlan, FindPlan, cut::OF_COUNT as CUT, fields, merging::Merging, span::any_inside,
};
use crate::{
    bucket::{
        edits::{left, removed},
        packed::Shown,
        sealed::{self, expired_path},
    },
    codec::raw::{RawWriter, WITHOUT_ID},
    error::{Damage, DamagedBucket},
    model::{
        aggregate::AggregateKind,
        spec::{BucketSpec, ID},
        whole,
    },
    time::range::TimeRange,
};

/// What a read shows at one moment; see [`live`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Live {
    range: TimeRange,
    condition: Document,
    /// The part of the condition that holds whatever the times of a bucket are.
    undated: Document,
    /// Of closed buckets up to this date, only the statistics are shown.
    headers_until: Option<DateTime>,
    /// Which buckets may be merged.
    merging: Option<Merging>,
}

/// What reads show at `now`: everything, unless the model has a retention.
///
/// ```
/// # use bson::{DateTime, RawDocument};
/// # use bucket_core::{DamagedBucket, Record, bucket, read::{self, FindPlan}};
/// fn first_page<T: Record>(key: &[u8], now: DateTime) -> FindPlan {
///     let live = read::live(T::SPEC, now);
///     live.find(read::page(T::SPEC, key, 1))
/// }
///
/// fn what_it_shows<T: Record>(stored: &RawDocument, now: DateTime) -> Result<T::Bucket, DamagedBucket> {
///     bucket::decode_within::<T>(stored, read::live(T::SPEC, now).range())
/// }
/// ```
#[must_use]
pub fn live(spec: &BucketSpec, now: DateTime) -> Live {
    let range = TimeRange::new(spec.expired_before(now), None);
    let mut condition = younger(spec, spec.expired_until(now));
    let mut undated = Document::new();
    if spec.keep_stats().is_some() {
        // After the limit was raised, they are younger again, and have no records.
        undated.insert(expired_path(), doc! { "$exists": false });
        condition.extend(undated.clone());
    }
    Live {
        range,
        condition,
        undated,
        headers_until: None,
        merging: Merging::of(spec, now),
    }
}

/// What statistics show at `now`: as [`live`], and in models that keep statistics for longer than records also those of
/// buckets whose records have expired.
///
/// ```
/// # use bson::DateTime;
/// # use bucket_core::{BucketSpec, TimeRange, read};
/// fn shows_whole_buckets(spec: &BucketSpec) -> bool {
///     read::live_stats(spec, DateTime::now()).range() == TimeRange::ALL
/// }
/// ```
#[must_use]
pub fn live_stats(spec: &BucketSpec, now: DateTime) -> Live {
    let Some(headers_until) = spec.headers_until(now) else {
        return live(spec, now);
    };
    let condition = younger(spec, spec.removed_until(now));
    Live {
        range: TimeRange::ALL,
        undated: condition.clone(),
        condition,
        headers_until: Some(headers_until),
        merging: Merging::of(spec, now),
    }
}

/// The condition for a bucket to be younger than this.
pub(crate) fn younger(spec: &BucketSpec, last: Option<DateTime>) -> Document {
    match last {
        None => Document::new(),
        // `$gt` would skip a bucket without the date instead of showing it. Such a bucket is
        // damaged, or from before the model had a limit.
        Some(last) => doc! { spec.age_field(): { "$not": { "$lte": last } } },
    }
}

impl Live {
    /// The times of the records that are shown.
    #[must_use]
    pub fn range(&self) -> TimeRange {
        self.range
    }

    /// Whether a record with this time is shown. `dated` is the time from which the age of its
    /// bucket counts, if the bucket has one.
    pub(crate) fn shows(&self, time: DateTime, dated: Option<DateTime>) -> bool {
        let is_within = |date| self.range.contains(date);
        is_within(time) && dated.is_none_or(is_within)
    }

    /// The condition for a bucket to be shown; empty if all are.
    ///
    /// ```
    /// # use bson::DateTime;
    /// # use bucket_core::{BucketSpec, read};
    /// fn shows_everything(spec: &BucketSpec) -> bool {
    ///     read::live(spec, DateTime::now()).condition().is_empty()
    /// }
    /// ```
    #[must_use]
    pub fn condition(&self) -> &Document {
        &self.condition
    }

    /// The same read, for shown buckets only.
    #[must_use]
    pub fn find(&self, plan: FindPlan) -> FindPlan {
        with(plan, &self.condition)
    }

    /// The same read, for shown buckets only, if shown times already bound the read. For buckets
    /// with a span of time, those bounds suffice, unless their records are gone.
    #[must_use]
    pub fn find_undated(&self, spec: &BucketSpec, plan: FindPlan) -> FindPlan {
        if spec.form().has_span() {
            with(plan, &self.undated)
        } else {
            self.find(plan)
        }
    }

    /// Whether there can be buckets of which only the statistics are shown.
    pub(super) fn has_headers(&self) -> bool {
        self.headers_until.is_some()
    }

    /// The read of the buckets of a range. In forms without a span, the server finds those by their items; it also has to find
    /// buckets of which only the statistics are shown and that the range cuts, whether they have items in it or none any more.
    pub(super) fn with_headers(
        &self,
        spec: &BucketSpec,
        range: TimeRange,
        read: impl FnOnce(TimeRange) -> FindPlan,
    ) -> FindPlan {
        let inside = any_inside(spec, range);
        let Some(until) = self
            .headers_until
            .filter(|_| !spec.form().has_span() && !inside.is_empty())
        else {
            return read(range);
        };
        let mut cut = doc! { spec.age_field(): { "$lte": until } };
        let ends = [
            (AggregateKind::FirstTime, "$gte", range.end()),
            (AggregateKind::LastTime, "$lt", range.start()),
        ];
        for (kind, operator, bound) in ends {
            if let (Some(path), Some(bound)) = (spec.path_of(kind), bound) {
                cut.insert(path, doc! { "$not": { operator: bound } });
            }
        }
        with(
            read(TimeRange::ALL),
            &doc! { "$and": [{ "$or": [inside, cut] }] },
        )
    }

    /// Which buckets may be merged; `None` if the model merges none.
    pub(super) fn merging(&self) -> Option<Merging> {
        self.merging
    }

    /// How long buckets with records of the range may be, in milliseconds, if those that are not merged are at most this long.
    #[must_use]
    pub fn longest(&self, own: i64, range: TimeRange) -> i64 {
        let merging = self.merging;
        merging.map_or(own, |merging| merging.longest(own, range.start()))
    }

    /// Whether a bucket is one of those of which only the statistics are shown, for the server; `None` if there are no such
    /// buckets.
    pub(super) fn is_header(&self, spec: &BucketSpec) -> Option<Document> {
        let until = self.headers_until?;
        let age = format!("${}", spec.age_field());
        Some(doc! { "$and": [
            spec.is_closed(),
            { "$eq": [{ "$type": &age }, "date"] },
            { "$lte": [&age, until] },
        ] })
    }

    /// The part of the condition that holds whatever the times of a bucket are.
    pub(super) fn undated(&self) -> &Document {
        &self.undated
    }

    /// The number of a key's shown pages; otherwise like [`page_count`](super::page_count).
    #[must_use]
    pub fn page_count(
        &self,
        spec: &BucketSpec,
        key: &Document,
        last: Option<&str>,
    ) -> AggregatePlan {
        super::page_count(spec, &self.shown(key), last)
    }

    /// The number of a key's shown records; otherwise like [`record_count`](super::record_count).
    /// If a bucket may hold expired records, the server counts its items.
    #[must_use]
    pub fn record_count(&self, spec: &BucketSpec, key: &Document) -> AggregatePlan {
        let mut plan = super::record_count(spec, &self.shown(key));
        if let Some(first) = self.range.start() {
            let (is_cut, items) = (sealed::is_cut(spec, first), format!("${}", spec.items()));
            let count = doc! { "$cond": [is_cut.clone(), removed(), shown_count(spec, first)] };
            let set = doc! {
                spec.names().count: count,
                CUT: { "$cond": [is_cut, items, "$$REMOVE"] },
            };
            if let Some(group) = plan.pipeline.last_mut()
                && let Ok(group) = group.get_document_mut("$group")
            {
                // Each of them in a result of its own: together they may be larger than a document.
                group.insert(
                    "_id",
                    doc! { "$cond": [sealed::has(CUT), format!("${ID}"), Bson::Null] },
                );
                group.insert(CUT, doc! { "$push": format!("${CUT}") });
            }
            // After `$match`.
            plan.pipeline.insert(1, doc! { "$set": set });
        }
        plan
    }

    /// The number of records that a result of [`record_count`](Self::record_count) says. It has several results if sealed
    /// buckets hold expired records: the numbers are added up.
    ///
    /// # Errors
    ///
    /// [`DamagedBucket`] if a bucket has no count, or cannot be unpacked.
    pub fn read_count(&self, spec: &BucketSpec, found: &Document) -> Result<u64, DamagedBucket> {
        if let Some(id) = found.get_array("damaged").ok().and_then(|ids| ids.first()) {
            let damage = Damage::__field(spec.names().count, "a number");
            return Err(DamagedBucket::new(id.to_string(), damage));
        }
        let records = whole::field(found, "records").unwrap_or_default();
        let mut shown = Shown::default();
        if let (Ok(cut), Some(first)) = (found.get_array(CUT), self.range.start()) {
            for packed in cut.iter().filter_map(packed_bytes) {
                let added = shown.add(spec, packed, first);
                added.map_err(|damage| DamagedBucket::new(WITHOUT_ID, damage))?;
            }
        }
        Ok(u64::try_from(records).unwrap_or_default() + shown.records)
    }

    fn shown(&self, key: &Document) -> Document {
        let mut filter = key.clone();
        filter.extend(self.condition.clone());
        filter
    }
}

/// The same read, with a further condition.
fn with(plan: FindPlan, condition: &Document) -> FindPlan {
    if condition.is_empty() {
        return plan;
    }
    let filter = RawWriter::build(|writer| {
        let bytes = plan.filter.as_bytes();
        // Between the length and the final NUL.
        writer.elements(bytes.get(4..bytes.len() - 1).unwrap_or_default());
        fields(writer, condition);
    });
    FindPlan { filter, ..plan }
}

/// The number of items of a bucket from `first` on; the stored count if that must be equal, or if
/// the bucket is damaged.
fn shown_count(spec: &BucketSpec, first: DateTime) -> Document {
    let names = spec.names();
    let (items, count) = (format!("${}", spec.items()), format!("${}", names.count));
    let time = format!("$$item.{}", spec.time().name);
    let shown = doc! { "$filter": {
        "input": left(&*items), "as": "item", "cond": { "$gte": [time, first] },
    } };
    let times = format!("{items}.{}", spec.time().name);
    let times = doc! { "$cond": [{ "$isArray": &items }, times, []] };
    let mut is_counted = vec![
        doc! { "$isArray": &items },
        // A damaged bucket has its stored count: what cannot be read is not past the limit.
        doc! { "$eq": [dates(times), &count] },
    ];
    if spec.form().has_span() {
        // No record in it is older than its start.
        is_counted.push(doc! { "$lt": [format!("${}", names.start), first] });
    }
    // What counts records takes the removed ones off.
    let shown = doc! { "$add": [{ "$size": shown }, removed()] };
    doc! { "$cond": [{ "$and": is_counted }, shown, count] }
}

/// The bytes of packed items.
pub(super) fn packed_bytes(value: &Bson) -> Option<&[u8]> {
    match value {
        Bson::Binary(packed) => Some(&packed.bytes),
        _ => None,
    }
}

/// How many of these values are dates.
pub(super) fn dates(values: impl Into<Bson>) -> Document {
    let is_date = doc! { "$eq": [{ "$type": "$$this" }, "date"] };
    doc! { "$size": { "$filter": { "input": values.into(), "cond": is_date } } }
}

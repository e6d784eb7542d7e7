//! The buckets of a span of time for statistics: those fully inside the span without their items,
//! the others with their items inside it. The server decides which is which.

use std::borrow::Cow;

use bson::{Binary, Bson, DateTime, Document, RawArray, RawBsonRef, RawDocument, doc};

use super::{
    FindPlan, Live, ReadKey, buckets_by_id,
    span::{believed_span, is_whole, outside, overlapping_inside, reach},
};
use crate::{
    bucket::{
        BucketFields, ItemReader,
        archived::EXPIRED_ITEMS,
        bson_damage, date_field, each_packed,
        edits::{EDITS, Edits, left, removed},
        field,
        record::Record,
        sealed::{PACKED, SEALED, expired_path, has, is_packed},
        stored_count, whole_field, with_items, wrong_field,
    },
    codec::raw::RawWriter,
    error::Damage,
    model::{
        aggregate::AggregateKind,
        form::Span,
        spec::{BucketSpec, ID},
    },
    stats::{Presence, StoredStats},
    time::range::TimeRange,
};

/// This replaces the items: their number, and those inside the range.
const NUMBER: &str = "n";
const INSIDE: &str = "in";
/// For a bucket that claims to be longer than the read assumes: the first and the last time of its
/// items.
const FIRST: &str = "first";
const LAST: &str = "last";

/// The buckets of a key that can hold records of `range`: their aggregates, and the items of those
/// whose aggregates do not suffice. `longest` is the parameter of [`overlapping`].
///
/// The items are replaced by `{n: their number, in: those in the range}`, or by null if they are
/// not an array; packed ones stay as they are, see [`unpacked`]. They are omitted if the bucket's fields show that all its records are in the
/// range, and if the bucket has every aggregate to which each record contributes.
///
/// Where only the statistics of a bucket are shown ([`Live::is_header`]), items that they would be needed for are replaced by
/// what is stored once they are gone: so the result does not depend on when that happens.
pub(super) fn parts(
    spec: &BucketSpec,
    key: &ReadKey,
    range: TimeRange,
    longest: i64,
    live: &Live,
) -> FindPlan {
    let mut without_items = suffices(spec, range);
    if let (Some(conditions), true) = (&mut without_items, spec.form().has_span()) {
        let mut believed = vec![doc! { "$not": [is_longer(spec, longest)] }];
        if live.has_headers() {
            // It says when its records were.
            believed.push(has(&expired_path()));
        }
        conditions.push(doc! { "$or": believed }.into());
    }
    FindPlan {
        // Sums do not depend on the order.
        sort: Document::new(),
        projection: projection(spec, range, longest, without_items, live),
        ..live.with_headers(spec, range, |range| {
            overlapping_inside(spec, key, range, longest)
        })
    }
}

/// The buckets that [`parts`] and [`opened`] leave out because their ids are not of the key; all with their
/// items. There should be none.
pub(super) fn parts_outside(
    spec: &BucketSpec,
    key: &ReadKey,
    range: TimeRange,
    longest: i64,
    live: &Live,
) -> Option<FindPlan> {
    let plan = outside(spec, key, range, longest)?;
    Some(FindPlan {
        sort: Document::new(),
        projection: projection(spec, range, longest, None, live),
        ..plan
    })
}

/// Like `parts`, with the items of every bucket.
pub(super) fn opened(
    spec: &BucketSpec,
    key: &ReadKey,
    range: TimeRange,
    longest: i64,
    live: &Live,
) -> FindPlan {
    FindPlan {
        projection: projection(spec, range, longest, None, live),
        ..parts(spec, key, range, longest, live)
    }
}

/// These buckets of a key, otherwise like [`opened`].
pub(super) fn opened_by_id(
    spec: &BucketSpec,
    key: &ReadKey,
    range: TimeRange,
    longest: i64,
    ids: Vec<Bson>,
    live: &Live,
) -> FindPlan {
    FindPlan {
        sort: Document::new(),
        projection: projection(spec, range, longest, None, live),
        ..buckets_by_id(spec, key.elements(), ids)
    }
}

/// The projection. It omits the items under these conditions.
fn projection(
    spec: &BucketSpec,
    range: TimeRange,
    longest: i64,
    without_items: Option<Vec<Bson>>,
    live: &Live,
) -> Document {
    let names = spec.names();
    let mut projection = doc! { ID: 1, names.count: 1, EDITS: 1 };
    if spec.form().has_span() {
        projection.insert(names.start, 1);
        projection.insert(names.end, 1);
    }
    for aggregate in spec.aggregates() {
        let (name, _) = aggregate
            .path
            .split_once('.')
            .unwrap_or((aggregate.path, ""));
        projection.insert(name, 1);
    }
    for array in spec.shared_arrays() {
        projection.insert(array.name, 1);
    }
    let items = format!("${}", spec.items());
    let mut opened = doc! { NUMBER: { "$size": &items }, INSIDE: inside(spec, range) };
    if spec.form().has_span() {
        let times = format!("{items}.{}", spec.time().name);
        for (name, operator) in [(FIRST, "$min"), (LAST, "$max")] {
            let of_longer = doc! { operator: &times };
            let is_longer = is_longer(spec, longest);
            opened.insert(name, doc! { "$cond": [is_longer, of_longer, "$$REMOVE"] });
        }
    }
    let other = doc! { "$cond": [is_packed(spec), &items, null] };
    let mut opened = doc! { "$cond": [{ "$isArray": [&items] }, opened, other] };
    if let Some(is_header) = live.is_header(spec) {
        if spec.form().has_span() {
            projection.insert(SEALED, 1);
        }
        opened = doc! { "$cond": [
            shows_statistics_only(spec, longest, is_header),
            header(spec, range),
            opened,
        ] };
    }
    match without_items {
        Some(conditions) if conditions.is_empty() => {}
        Some(conditions) => {
            let all = doc! { "$cond": [{ "$and": conditions }, "$$REMOVE", opened] };
            projection.insert(spec.items(), all);
        }
        None => drop(projection.insert(spec.items(), opened)),
    }
    projection
}

/// Whether the items of a bucket are gone, or hidden because it is old enough and its statistics can stand for them.
fn shows_statistics_only(spec: &BucketSpec, longest: i64, is_header: Document) -> Document {
    let mut conditions = keeps_all(spec);
    conditions.push(is_header.into());
    if spec.form().has_span() {
        conditions.push(doc! { "$not": [is_longer(spec, longest)] }.into());
    }
    doc! { "$or": [has(&expired_path()), { "$and": conditions }] }
}

/// What such a bucket has in the place of its items: none in the range if it is before or after it, or had no records left,
/// and otherwise what is stored once they are gone.
fn header(spec: &BucketSpec, range: TimeRange) -> Document {
    let names = spec.names();
    let (first, last) = match spec.form().span() {
        Span::None => (
            spec.path_of(AggregateKind::FirstTime),
            spec.path_of(AggregateKind::LastTime),
        ),
        Span::Window | Span::Records => (Some(names.start), Some(names.end)),
    };
    let is_window = spec.form().span() == Span::Window;
    // The end of a window is after its last record.
    let before = if is_window { "$lte" } else { "$lt" };
    // Without records it has no times.
    let mut apart = vec![doc! { "$eq": [format!("${}", names.count), removed()] }];
    for (path, operator, bound) in [(last, before, range.start()), (first, "$gte", range.end())] {
        if let (Some(path), Some(bound)) = (path, bound) {
            let date = format!("${path}");
            apart.push(doc! { "$and": [
                { "$eq": [{ "$type": &date }, "date"] },
                { operator: [&date, bound] },
            ] });
        }
    }
    let none = doc! { NUMBER: format!("${}", names.count), INSIDE: [] };
    let expired = Binary {
        subtype: PACKED,
        bytes: EXPIRED_ITEMS.to_vec(),
    };
    doc! { "$cond": [{ "$or": apart }, none, expired] }
}

/// Whether a bucket claims to cover more than `longest` milliseconds. The expression never fails on
/// the server, whatever is stored.
pub(super) fn is_longer(spec: &BucketSpec, longest: i64) -> Document {
    let names = spec.names();
    // Decimals have digits for every difference of two dates.
    let millis = |name: &str| {
        doc! { "$convert": {
            "input": format!("${name}"), "to": "decimal", "onError": null, "onNull": null,
        } }
    };
    doc! { "$gt": [{ "$subtract": [millis(names.end), millis(names.start)] }, longest] }
}

/// The items in the range. An item whose time is not a date is included, so that it is reported.
fn inside(spec: &BucketSpec, range: TimeRange) -> Bson {
    let items = format!("${}", spec.items());
    filtered(spec, items.into(), range, |time, bounds| {
        let no_date = doc! { "$ne": [{ "$type": time }, "date"] };
        doc! { "$or": [no_date, { "$and": bounds }] }
    })
}

/// Only the records in the range.
pub(super) fn items_of(spec: &BucketSpec, range: TimeRange) -> Bson {
    let records = left(format!("${}", spec.items()));
    filtered(
        spec,
        records.into(),
        range,
        |_, bounds| doc! { "$and": bounds },
    )
}

/// Only the items in the range, with the arrays that their bucket holds for them. Items that have
/// the attributes as plain fields get no arrays.
pub(super) fn complete_items_of(spec: &BucketSpec, range: TimeRange) -> Bson {
    let items = items_of(spec, range);
    let held = spec.shared_arrays().map(|array| {
        let is_plain = array.field_names().map(|name| {
            let kind = doc! { "$type": doc! { "$getField": {
                "field": { "$literal": name }, "input": "$$item",
            } } };
            Bson::from(doc! { "$ne": [kind, "missing"] })
        });
        let is_plain: Vec<Bson> = is_plain.collect();
        let held = doc! { array.name: format!("${}", array.name) };
        Bson::from(doc! { "$cond": [{ "$or": is_plain }, {}, held] })
    });
    let held: Vec<Bson> = held.collect();
    if held.is_empty() {
        return items;
    }
    let parts: Vec<Bson> = held.into_iter().chain(["$$item".into()]).collect();
    let merged = doc! { "$mergeObjects": parts };
    doc! { "$map": { "input": items, "as": "item", "in": merged } }.into()
}

/// The items that meet a condition on their time and its bounds; all items without bounds.
fn filtered(
    spec: &BucketSpec,
    items: Bson,
    range: TimeRange,
    condition: impl FnOnce(&str, Vec<Bson>) -> Document,
) -> Bson {
    let time = format!("$$this.{}", spec.time().name);
    let bounds = bounds(&time, range);
    if bounds.is_empty() {
        return items;
    }
    doc! { "$filter": { "input": items, "cond": condition(&time, bounds) } }.into()
}

/// The conditions for a date to be in the range.
fn bounds(date: &str, range: TimeRange) -> Vec<Bson> {
    let one = |operator: &str, bound: Option<DateTime>| {
        bound.map(|bound| Bson::Document(doc! { operator: [date, bound] }))
    };
    let bounds = [one("$gte", range.start()), one("$lt", range.end())];
    bounds.into_iter().flatten().collect()
}

/// The conditions under which the aggregates of a bucket suffice; `None` if its fields never show
/// it.
pub(super) fn suffices(spec: &BucketSpec, range: TimeRange) -> Option<Vec<Bson>> {
    let mut conditions = lies_in(spec, range)?;
    conditions.extend(keeps_all(spec));
    Some(conditions)
}

/// The conditions under which a bucket has every aggregate to which each record contributes.
fn keeps_all(spec: &BucketSpec) -> Vec<Bson> {
    let mut conditions = Vec::new();
    for (at, aggregate) in spec.aggregates().iter().enumerate() {
        let kept = doc! { "$ne": [{ "$type": format!("${}", aggregate.path) }, "missing"] };
        match Presence::of(spec, at) {
            Presence::Always => conditions.push(Bson::Document(kept)),
            Presence::WithValues(counter) => {
                let counter = spec.aggregates().get(counter).map_or("", |each| each.path);
                let none = doc! { "$eq": [format!("${counter}"), 0] };
                conditions.push(Bson::Document(doc! { "$or": [none, kept] }));
            }
            Presence::Unknown => {}
        }
    }
    conditions
}

/// The conditions of [`is_whole`], for the server.
fn lies_in(spec: &BucketSpec, range: TimeRange) -> Option<Vec<Bson>> {
    let names = spec.names();
    let both = |first: &str, last: &str| {
        let dates = [first, last].into_iter();
        dates
            .flat_map(|date| bounds(&format!("${date}"), range))
            .collect()
    };
    Some(match spec.form().span() {
        _ if range == TimeRange::ALL => Vec::new(),
        Span::Window => {
            let begins = bounds(
                &format!("${}", names.start),
                TimeRange::new(range.start(), None),
            );
            let ends = range.end().map(|end| {
                let within = if end < DateTime::MAX { "$lte" } else { "$lt" };
                Bson::Document(doc! { within: [format!("${}", names.end), end] })
            });
            begins.into_iter().chain(ends).collect()
        }
        Span::Records => both(names.start, names.end),
        Span::None => both(
            spec.path_of(AggregateKind::FirstTime)?,
            spec.path_of(AggregateKind::LastTime)?,
        ),
    })
}

/// The span of time that a bucket covers, in milliseconds, as far as it is plausible; 0 if its form
/// sets none.
pub(super) fn span(spec: &BucketSpec, stored: &RawDocument) -> Result<i64, Damage> {
    let times = times(spec, stored)?;
    // What is sealed and has no items says it itself.
    let items = stored.get_document(spec.items());
    let items = items.or_else(|_| stored.get_document(SEALED)).ok();
    let date = |name: &str| items?.get_datetime(name).ok();
    Ok(believed_span(spec, &times, date(FIRST).zip(date(LAST))))
}

/// The damage, and if it is that the records are gone, between which times they were, or what nobody knows of them.
pub(super) fn with_span(
    spec: &BucketSpec,
    range: TimeRange,
    stored: &RawDocument,
    damage: Damage,
) -> Damage {
    let Damage::Expired { span: None } = damage else {
        return damage;
    };
    let read = || -> Result<_, Damage> {
        let count = stored_count(spec, stored)?;
        let records = Edits::read(stored)?.left_of(u32::try_from(count).unwrap_or_default());
        let stats = StoredStats::read(spec, stored, records)?;
        Ok((times(spec, stored)?, stats))
    };
    let (times, stats) = match read() {
        Ok(read) => read,
        // Other bounds would not help.
        Err(damage) => return damage,
    };
    if is_whole(spec, &times, &stats, range)
        && let Some(path) = stats.lacks(spec).next()
    {
        let path = path.to_owned();
        return Damage::NeverStored { path };
    }
    Damage::Expired {
        span: reach(spec, &times, &stats),
    }
}

/// The time fields of a bucket, as far as its form has them.
fn times(spec: &BucketSpec, stored: &RawDocument) -> Result<BucketFields, Damage> {
    let mut times = BucketFields::default();
    if spec.form().has_span() {
        times.start = date_field(stored, spec.names().start)?;
        times.end = date_field(stored, spec.names().end)?;
    }
    Ok(times)
}

/// A sealed bucket as the server would have sent it if it were not sealed.
pub(super) fn unpacked<'a>(
    spec: &BucketSpec,
    range: TimeRange,
    stored: &'a RawDocument,
) -> Result<Cow<'a, RawDocument>, Damage> {
    with_items(spec, stored, |packed, writer| {
        let mut number = 0;
        let mut inside = RawWriter::default();
        let mut inside_number = 0;
        let mut times: Option<(DateTime, DateTime)> = None;
        each_packed(packed, |item| {
            number += 1;
            let time = item.get_datetime(spec.time().name).ok();
            if let Some(time) = time {
                let (first, last) = times.unwrap_or((time, time));
                times = Some((first.min(time), last.max(time)));
            }
            if time.is_none_or(|time| range.contains(time)) {
                inside.element(inside_number, item.as_bytes());
                inside_number += 1;
            }
        })?;
        let items = writer.begin_document(spec.items());
        writer.int32(NUMBER, number);
        let array = writer.begin_array(INSIDE);
        writer.elements(&inside.into_bytes());
        writer.end(array);
        if let Some((first, last)) = times {
            writer.date(FIRST, first.timestamp_millis());
            writer.date(LAST, last.timestamp_millis());
        }
        writer.end(items);
        Ok(())
    })
}

/// A bucket in the form that [`parts`] requests.
#[derive(Debug)]
pub(super) enum Part<'a> {
    /// All of its records are in the range, between the first and the second of these moments if
    /// they are known.
    Whole(StoredStats, Option<(DateTime, DateTime)>),
    /// Its items inside the range.
    Opened(&'a RawArray),
}

impl<'a> Part<'a> {
    /// Reads what the server sent.
    pub(super) fn read(
        spec: &BucketSpec,
        range: TimeRange,
        stored: &'a RawDocument,
    ) -> Result<Self, Damage> {
        let names = spec.names();
        let times = times(spec, stored)?;
        let count = stored_count(spec, stored)?;
        let whole =
            || u32::try_from(count).map_err(|_| wrong_field(names.count, "a number of records"));
        let no_array = || wrong_field(spec.items(), "an array");
        match field(stored, spec.items())? {
            None => {
                let records = Edits::read(stored)?.left_of(whole()?);
                let stats = StoredStats::read(spec, stored, records)?;
                // The server must have seen the same; otherwise one of the two is wrong.
                if stats.lacks_any(spec) || !is_whole(spec, &times, &stats, range) {
                    return Err(no_array());
                }
                let reach = reach(spec, &times, &stats);
                Ok(Self::Whole(stats, reach))
            }
            Some(RawBsonRef::Document(items)) => {
                let number = whole_field(items, NUMBER)?;
                if count != number {
                    let items = usize::try_from(number).unwrap_or(usize::MAX);
                    return Err(Damage::CountMismatch { count, items });
                }
                match field(items, INSIDE)? {
                    Some(RawBsonRef::Array(inside)) => Ok(Self::Opened(inside)),
                    _ => Err(no_array()),
                }
            }
            Some(_) => Err(no_array()),
        }
    }
}

/// Passes on the records of these items of a bucket with their times. Array indexes are those among
/// the items in the range.
pub(super) fn each_record<T: Record>(
    key: &T::Key,
    stored: &RawDocument,
    items: &RawArray,
    mut each: impl FnMut(DateTime, &T),
) -> Result<(), Damage> {
    let spec = T::SPEC;
    let reader = ItemReader::new(spec, stored)?;
    for (index, item) in items.into_iter().enumerate() {
        let item = item.map_err(bson_damage)?;
        if reader.is_removed(item) {
            continue;
        }
        let time = match item {
            RawBsonRef::Document(item) => date_field(item, spec.time().name).map_err(|_| {
                wrong_field(&format!("{}.{}", spec.items(), spec.time().name), "a date")
            })?,
            _ => DateTime::MIN,
        };
        let item = reader.decode(index, item)?;
        each(time, &T::assemble(key.clone(), item));
    }
    Ok(())
}

//! Which buckets of a key can hold records of a span of time, and which are fully inside it.

use bson::{DateTime, Document, doc};

use super::{
    FindPlan, ReadKey, fields, has_records,
    places::{Placeless, Places, none_of, starts_reaching},
};
use crate::{
    bucket::BucketFields,
    codec::raw::RawWriter,
    error::EncodeError,
    model::{
        aggregate::AggregateKind,
        form::{OrderedBy, Span},
        limits::Limits,
        spec::BucketSpec,
    },
    stats::StoredStats,
    time::{range::TimeRange, window::is_window},
};

/// The longest span of time that one bucket of the model covers, in milliseconds; 0 if the form
/// sets none.
///
/// With the limits of a key, the result is for that key.
///
/// # Errors
///
/// [`EncodeError::Limits`] if the limits are invalid.
pub fn longest(spec: &BucketSpec, limits: Option<Limits>) -> Result<i64, EncodeError> {
    let own = spec.form();
    let form = limits.map_or(Ok(own), |limits| limits.apply(own))?;
    Ok(form.longest_span())
}

/// The span of time that a bucket covers, in milliseconds, as far as it is plausible: that of a
/// possible window, else that of its records. 0 if the form sets none.
///
/// Reads rely on the longest span that they have seen. One damaged date must not make them examine
/// a year of buckets.
pub(super) fn believed_span(
    spec: &BucketSpec,
    fields: &BucketFields,
    records: Option<(DateTime, DateTime)>,
) -> i64 {
    let of_records = |past: i64, from: Option<DateTime>| {
        records.map_or(0, |(first, last)| {
            let from = from.unwrap_or(first).timestamp_millis();
            let span = last.timestamp_millis().saturating_sub(from);
            span.saturating_add(past).clamp(0, fields.span().max(0))
        })
    };
    match spec.form().span() {
        Span::Window if is_window(fields.start, fields.end) => fields.span(),
        // The end of a window is after its last record.
        Span::Window => of_records(1, Some(fields.start)),
        Span::Records => of_records(0, None),
        Span::None => 0,
    }
}

/// The buckets of a key that can hold records of `range`, in the order of their positions.
/// `longest` is the longest span that a bucket of the key covers, in milliseconds.
///
/// | form | what the server examines |
/// | --- | --- |
/// | window | the index entries of the buckets that it returns |
/// | hybrid | those of the buckets that start within the longest duration before or after `range` |
/// | count, numbered | all buckets of the key: nothing bounds the times of their records |
///
/// It examines up to two more index entries for each bound: buckets whose position is damaged are
/// before or after all others of the key, and must be reported.
///
/// The filter never uses a field that changes: a bucket that moves in an index during the read can
/// be skipped.
#[must_use]
pub fn overlapping(spec: &BucketSpec, key: &ReadKey, range: TimeRange, longest: i64) -> FindPlan {
    overlapping_any(
        spec,
        std::slice::from_ref(key),
        range,
        longest,
        Placeless::Found,
    )
}

/// The same without the buckets that the find of [`outside`] finds. Together they are faster where nothing
/// depends on the order: an index walks one range faster than the branches of an `$or`.
pub(super) fn overlapping_inside(
    spec: &BucketSpec,
    key: &ReadKey,
    range: TimeRange,
    longest: i64,
) -> FindPlan {
    let keys = std::slice::from_ref(key);
    overlapping_any(spec, keys, range, longest, Placeless::Beside)
}

/// The buckets of [`overlapping`] whose ids are not of the key, if [`overlapping_inside`] leaves them out.
pub(super) fn outside(
    spec: &BucketSpec,
    key: &ReadKey,
    range: TimeRange,
    longest: i64,
) -> Option<FindPlan> {
    let places = Places::reaching(spec, range, longest);
    let is_apart = spec.ordered_by() == OrderedBy::Id && places.needs_branches();
    let keys = std::slice::from_ref(key);
    is_apart.then(|| overlapping_any(spec, keys, range, longest, Placeless::Only))
}

/// The same for one key or several: several windows by their starts, other buckets of several keys
/// in no order.
pub(super) fn overlapping_any(
    spec: &BucketSpec,
    keys: &[ReadKey],
    range: TimeRange,
    longest: i64,
    placeless: Placeless,
) -> FindPlan {
    if let [key] = keys {
        let filter =
            RawWriter::build(|writer| branch(writer, spec, key, range, longest, placeless));
        return super::find(spec, filter);
    }
    if spec.form().span() == Span::Window {
        let starts = starts_reaching(range, longest);
        let name = spec.names().start;
        let mut condition = match placeless {
            // A comparison would skip a bucket whose start is no date.
            Placeless::Found | Placeless::Beside | Placeless::Only => {
                let before = starts.start().map(|start| doc! { "$lt": start });
                none_of(name, before, starts.end().map(|end| doc! { "$gte": end }))
            }
            Placeless::LeftOut => date_bounds(name, starts),
        };
        condition.extend(reaches(spec, range));
        let elements: Vec<&[u8]> = keys.iter().map(ReadKey::elements).collect();
        return FindPlan {
            sort: doc! { name: 1 },
            hint: spec.time_index_name().unwrap_or_default(),
            ..super::find(spec, super::any_key(spec, &elements, &condition))
        };
    }
    let filter = RawWriter::build(|writer| {
        let any = writer.begin_array("$or");
        for (index, key) in keys.iter().enumerate() {
            let one = writer.begin_element(index);
            branch(writer, spec, key, range, longest, placeless);
            writer.end(one);
        }
        writer.end(any);
    });
    FindPlan {
        sort: Document::new(),
        ..super::find(spec, filter)
    }
}

/// The buckets of one key.
fn branch(
    writer: &mut RawWriter,
    spec: &BucketSpec,
    key: &ReadKey,
    range: TimeRange,
    longest: i64,
    placeless: Placeless,
) {
    let mut condition = Places::reaching(spec, range, longest).condition(spec, key, placeless);
    condition.extend(holds_any(spec, range));
    writer.elements(key.elements());
    fields(writer, &condition);
}

/// Writes the condition for a bucket of any key to hold records of the range, or to be damaged where that is
/// unknown. It trusts no bucket to be as long as others.
pub(crate) fn can_hold(writer: &mut RawWriter, spec: &BucketSpec, range: TimeRange) {
    let mut condition = if spec.form().has_span() {
        reaches(spec, range)
    } else {
        any_inside(spec, range)
    };
    if let (Span::Window, Some(end)) = (spec.form().span(), range.end()) {
        condition.insert(spec.names().start, doc! { "$not": { "$gte": end } });
    }
    fields(writer, &condition);
}

/// The condition for a bucket to hold records of the range.
pub(super) fn holds_any(spec: &BucketSpec, range: TimeRange) -> Document {
    let mut condition = if spec.form().has_span() {
        reaches(spec, range)
    } else {
        any_inside(spec, range)
    };
    condition.extend(has_records(spec));
    condition
}

/// The condition for a bucket with a span of time to reach into the range.
///
/// It never uses `$gt`, which would skip a bucket without an end instead of reporting it.
fn reaches(spec: &BucketSpec, range: TimeRange) -> Document {
    let mut condition = ends_within_reach(spec, range);
    if let (Span::Records, Some(end)) = (spec.form().span(), range.end()) {
        condition.insert(spec.names().start, doc! { "$not": { "$gte": end } });
    }
    condition
}

fn ends_within_reach(spec: &BucketSpec, range: TimeRange) -> Document {
    let Some(start) = range.start() else {
        return Document::new();
    };
    // The end of a window is after its last record; the end of a hybrid bucket is its last record.
    let before = match spec.form().span() {
        Span::Records => "$lt",
        Span::None | Span::Window => "$lte",
    };
    if start == DateTime::MAX {
        // The last window is cut off there and includes that moment.
        return Document::new();
    }
    doc! { spec.names().end: { "$not": { before: start } } }
}

/// Buckets with an item in the range, and damaged ones where that is unknown. Those must be
/// reported, not skipped.
pub(super) fn any_inside(spec: &BucketSpec, range: TimeRange) -> Document {
    let time = spec.time().name;
    let bounds = date_bounds(time, range);
    if bounds.is_empty() {
        return bounds;
    }
    let no_date = doc! { time: { "$not": { "$type": "date" } } };
    let item = doc! { "$or": [bounds, no_date] };
    let no_document = doc! { "$not": { "$type": "object" } };
    doc! { "$or": [
        { spec.items(): { "$elemMatch": item } },
        { spec.items(): { "$not": { "$type": "array" } } },
        { spec.items(): { "$elemMatch": no_document } },
        { spec.items(): { "$size": 0 } },
    ] }
}

/// Whether all records of a bucket are in the range, as far as its fields show; `false` if they
/// show nothing.
#[must_use]
pub fn is_whole(
    spec: &BucketSpec,
    fields: &BucketFields,
    stats: &StoredStats,
    range: TimeRange,
) -> bool {
    let begins_in = |first: DateTime| range.start().is_none_or(|start| start <= first);
    match spec.form().span() {
        _ if range == TimeRange::ALL => true,
        // The last possible window ends with time itself, and includes that moment.
        Span::Window => {
            let ends_in = |end| fields.end <= end && fields.end < DateTime::MAX;
            begins_in(fields.start) && range.end().is_none_or(ends_in)
        }
        Span::Records => range.contains(fields.start) && range.contains(fields.end),
        Span::None => reach(spec, fields, stats)
            .is_some_and(|(first, last)| range.contains(first) && range.contains(last)),
    }
}

/// Bounds on the times of a bucket's records; `None` if its fields show nothing.
pub(super) fn reach(
    spec: &BucketSpec,
    fields: &BucketFields,
    stats: &StoredStats,
) -> Option<(DateTime, DateTime)> {
    match spec.form().span() {
        Span::Window => {
            let last = fields.end.timestamp_millis().saturating_sub(1);
            Some((fields.start, DateTime::from_millis(last)))
        }
        Span::Records => Some((fields.start, fields.end)),
        Span::None => {
            let time = |kind| {
                let at = spec.aggregates().iter().position(|each| each.kind == kind);
                at.and_then(|at| stats.time(at))
            };
            Some((
                time(AggregateKind::FirstTime)?,
                time(AggregateKind::LastTime)?,
            ))
        }
    }
}

pub(super) fn date_bounds(name: &str, range: TimeRange) -> Document {
    let mut bounds = Document::new();
    if let Some(start) = range.start() {
        bounds.insert("$gte", start);
    }
    if let Some(end) = range.end() {
        bounds.insert("$lt", end);
    }
    within(name, bounds)
}

/// An empty document without bounds.
fn within(name: &str, bounds: Document) -> Document {
    if bounds.is_empty() {
        return bounds;
    }
    doc! { name: bounds }
}

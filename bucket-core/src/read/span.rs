//! Which buckets of a key can hold records of a span of time, and which lie in it as a whole.

use bson::{DateTime, Document, RawDocumentBuf, doc};

use super::{FindPlan, ReadKey, fields, places::Places};
use crate::{
    aggregate::AggregateKind, bucket::BucketFields, error::EncodeError, form::Form, limits::Limits,
    range::TimeRange, raw::RawWriter, spec::BucketSpec, stats::StoredStats,
};

/// The longest span of time that one bucket of the model covers, in milliseconds; 0 where the form
/// sets none.
///
/// With the limits of a key it is that of the key's.
///
/// # Errors
///
/// [`EncodeError::Limits`] if the limits make no sense.
pub fn longest(spec: &BucketSpec, limits: Option<Limits>) -> Result<i64, EncodeError> {
    let own = spec.form();
    let form = limits.map_or(Ok(own), |limits| limits.apply(own))?;
    Ok(match form {
        Form::Window { window, .. } => window.longest_millis(),
        Form::Hybrid { max_duration, .. } => max_duration,
        Form::Count { .. } | Form::Numbered { .. } => 0,
    })
}

/// The buckets of a key that can hold records of `range`, in the order in which their spans of time
/// begin. `longest` is the longest span that a bucket of the key covers, in milliseconds.
///
/// | form | what the server looks at |
/// | --- | --- |
/// | window | the index entries of the buckets that it returns |
/// | hybrid | those of the buckets that begin at most the longest duration before `range` |
/// | count, numbered | all buckets of the key: nothing bounds the times of their records |
#[must_use]
pub fn overlapping(spec: &BucketSpec, key: &ReadKey, range: TimeRange, longest: i64) -> FindPlan {
    let names = spec.names();
    match spec.form() {
        Form::Window { .. } => {
            let mut filter = Places::reaching(spec, range, longest).condition(spec, key);
            filter.extend(reaches(spec, range));
            plan(spec, key, &filter)
        }
        Form::Hybrid { .. } => {
            let mut filter = doc! { names.closed: { "$in": [false, true] } };
            filter.extend(date_bounds(names.start, begins(range, longest)));
            filter.extend(ends_within_reach(spec, range));
            FindPlan {
                sort: doc! { names.start: 1 },
                hint: spec.time_index_name().unwrap_or_default(),
                ..plan(spec, key, &filter)
            }
        }
        Form::Count { .. } | Form::Numbered { .. } => plan(spec, key, &any_item(spec, range)),
    }
}

/// The same for several keys, in one order.
pub(super) fn overlapping_any(
    spec: &BucketSpec,
    keys: &[ReadKey],
    range: TimeRange,
    longest: i64,
) -> FindPlan {
    let names = spec.names();
    let mut condition = Document::new();
    let mut sort = doc! { names.start: 1 };
    let mut hint = spec.time_index_name();
    match spec.form() {
        Form::Window { .. } | Form::Hybrid { .. } => {
            if let Form::Hybrid { .. } = spec.form() {
                condition.insert(names.closed, doc! { "$in": [false, true] });
            }
            condition.extend(date_bounds(names.start, begins(range, longest)));
            condition.extend(ends_within_reach(spec, range));
        }
        Form::Count { .. } | Form::Numbered { .. } => {
            condition = any_item(spec, range);
            sort.clear();
            hint = Some(spec.pages_index_name());
        }
    }
    let elements: Vec<&[u8]> = keys.iter().map(ReadKey::elements).collect();
    FindPlan {
        sort,
        hint: hint.unwrap_or_default(),
        ..super::find(spec, super::any_key(spec, &elements, &condition))
    }
}

/// A condition on a bucket of a span of time: it reaches into the range.
///
/// None of it is `$gt`, which would pass over a bucket without an end instead of reporting it.
pub(super) fn reaches(spec: &BucketSpec, range: TimeRange) -> Document {
    let mut condition = ends_within_reach(spec, range);
    if let (Form::Hybrid { .. }, Some(end)) = (spec.form(), range.end()) {
        condition.insert(spec.names().start, doc! { "$not": { "$gte": end } });
    }
    condition
}

fn ends_within_reach(spec: &BucketSpec, range: TimeRange) -> Document {
    let Some(start) = range.start() else {
        return Document::new();
    };
    // The end of a window is behind its last record, that of a hybrid bucket is the last record.
    let before = match spec.form() {
        Form::Hybrid { .. } => "$lt",
        _ => "$lte",
    };
    doc! { spec.names().end: { "$not": { before: start } } }
}

/// A condition on a bucket: one of its items lies in the range.
pub(crate) fn any_item(spec: &BucketSpec, range: TimeRange) -> Document {
    let bounds = date_bounds(spec.time().name, range);
    if bounds.is_empty() {
        return Document::new();
    }
    doc! { spec.items(): { "$elemMatch": bounds } }
}

/// Whether all records of a bucket lie in the range, as far as its fields tell; never where they
/// say nothing about it.
#[must_use]
pub fn is_whole(
    spec: &BucketSpec,
    fields: &BucketFields,
    stats: &StoredStats,
    range: TimeRange,
) -> bool {
    let begins_in = |first: DateTime| range.start().is_none_or(|start| start <= first);
    match spec.form() {
        _ if range == TimeRange::ALL => true,
        Form::Window { .. } => {
            begins_in(fields.start) && range.end().is_none_or(|end| fields.end <= end)
        }
        Form::Hybrid { .. } => range.contains(fields.start) && range.contains(fields.end),
        Form::Count { .. } | Form::Numbered { .. } => {
            let at = |kind| spec.aggregates().iter().position(|each| each.kind == kind);
            let first = at(AggregateKind::FirstTime).and_then(|at| stats.time(at));
            let last = at(AggregateKind::LastTime).and_then(|at| stats.time(at));
            matches!((first, last), (Some(first), Some(last)) if range.contains(first) && range.contains(last))
        }
    }
}

/// Where the spans of buckets begin that reach into the range.
fn begins(range: TimeRange, longest: i64) -> TimeRange {
    let start = range.start().map(|start| {
        let before = start.timestamp_millis().saturating_sub(longest.max(1) - 1);
        DateTime::from_millis(before)
    });
    TimeRange::new(start, range.end())
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

/// Nothing where there are no bounds.
fn within(name: &str, bounds: Document) -> Document {
    if bounds.is_empty() {
        return bounds;
    }
    doc! { name: bounds }
}

pub(super) fn plan(spec: &BucketSpec, key: &ReadKey, condition: &Document) -> FindPlan {
    let filter: RawDocumentBuf = RawWriter::build(|writer| {
        writer.elements(&key.elements);
        fields(writer, condition);
    });
    super::find(spec, filter)
}

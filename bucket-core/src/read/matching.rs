//! Reads of the records that meet a filter: the buckets that the server leaves out.

use bson::{Bson, Document, RawDocumentBuf, doc};

use super::{FindPlan, parts::is_longer, span::date_bounds};
use crate::{
    attribute::RecordFilter,
    bucket::{edits::MARK, sealed::sealed_filter},
    model::spec::BucketSpec,
    time::range::TimeRange,
};

/// The condition for a bucket to have a record of the range that may meet the filter. Empty if every bucket may.
///
/// Buckets whose items cannot be checked meet it, too: they must be reported, not skipped. So do those that are
/// longer than `longest`, if it is set: the read has to learn their length.
pub(super) fn may_match(
    spec: &BucketSpec,
    filter: &RecordFilter,
    range: TimeRange,
    longest: Option<i64>,
) -> Document {
    let (items, time) = (spec.items(), spec.time().name);
    let (of_item, of_bucket) = (filter.of_item(), filter.of_bucket(spec));
    if of_item.is_empty() && of_bucket.is_empty() {
        return Document::new();
    }
    let mut of_one = vec![of_item];
    // A removed record has left its time and maybe its id, which a filter may name.
    of_one.push(doc! { MARK: { "$ne": true } });
    let bounds = date_bounds(time, range);
    if !bounds.is_empty() {
        of_one.push(bounds);
    }
    let mut has_one = vec![doc! { items: { "$elemMatch": { "$and": of_one } } }];
    if !of_bucket.is_empty() {
        has_one.push(of_bucket);
    }
    let no_date = doc! { time: { "$not": { "$type": "date" } } };
    let no_document = doc! { "$not": { "$type": "object" } };
    let mut no_rows = doc! { items: { "$not": { "$type": "array" } } };
    if let Some(beyond) = filter.beyond(spec) {
        // The server cannot look into packed items. Of rows it looks at each, so that it needs no aggregates, which
        // may be those of some records only.
        no_rows.insert("$nor", [doc! { "$and": [sealed_filter(spec), beyond] }]);
    }
    let mut may_match = vec![
        doc! { "$and": has_one },
        doc! { items: { "$elemMatch": no_date } },
        no_rows,
        doc! { items: { "$elemMatch": no_document } },
        doc! { items: { "$size": 0 } },
    ];
    if let Some(longest) = longest {
        may_match.push(doc! { "$expr": is_longer(spec, longest) });
    }
    // The planner looks for an index for each branch of an `$or`, and not for those of a `$nor`.
    doc! { "$nor": [{ "$nor": may_match }] }
}

/// Adds the condition of [`may_match`] to another one.
pub(super) fn add(condition: &mut Document, may_match: Document) {
    for (name, value) in may_match {
        match (condition.get_array_mut(&name), value) {
            (Ok(all), Bson::Array(more)) => all.extend(more),
            (_, value) => drop(condition.insert(name, value)),
        }
    }
}

/// The same find, for buckets that meet the condition of [`may_match`] as well.
pub(super) fn find(plan: FindPlan, may_match: Document) -> FindPlan {
    if may_match.is_empty() {
        return plan;
    }
    // The filter was written element by element, so it is valid.
    let mut filter = Document::try_from(&*plan.filter).unwrap_or_default();
    add(&mut filter, may_match);
    let filter = RawDocumentBuf::try_from(&filter).unwrap_or(plan.filter);
    FindPlan { filter, ..plan }
}

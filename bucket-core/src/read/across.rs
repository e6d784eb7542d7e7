//! The buckets of all keys that hold records of a span of time.

use bson::{DateTime, Document, RawDocumentBuf, doc};

use super::{FindPlan, ReadLevel};
use crate::{
    model::spec::BucketSpec,
    time::{range::TimeRange, window::MAX_SECONDS},
};

/// The longest span that any window can cover, in milliseconds.
pub const LONGEST_WINDOW: i64 = MAX_SECONDS as i64 * 1_000;

/// The buckets of all keys whose windows reach into `range`, in the order of their ends; `None` if
/// the form has no windows. `longest` is the longest span that a bucket covers, in milliseconds.
///
/// The server examines the index entries of the buckets that it returns, and one for each end of
/// shorter windows within `longest` after `range`.
#[must_use]
pub fn across_keys(spec: &BucketSpec, range: TimeRange, longest: i64) -> Option<FindPlan> {
    let hint = spec.span_index_name()?;
    let names = spec.names();
    // `$gt` and `$lt` would skip a bucket without these dates instead of reporting it.
    let not = |name: &str, bounds: Document| doc! { name: { "$not": bounds } };
    let mut conditions = Vec::new();
    if let Some(start) = range.start() {
        // The last possible window ends with time itself, and includes that moment.
        let ended = if start < DateTime::MAX { "$lte" } else { "$lt" };
        conditions.push(not(names.end, doc! { ended: start }));
    }
    if let Some(end) = range.end() {
        let last = end.timestamp_millis().saturating_add(longest);
        if last < i64::MAX {
            let last = DateTime::from_millis(last);
            conditions.push(not(names.end, doc! { "$gte": last }));
        }
        conditions.push(not(names.start, doc! { "$gte": end }));
    }
    let filter = if conditions.is_empty() {
        doc! {}
    } else {
        doc! { "$and": conditions }
    };
    Some(FindPlan {
        // A document of dates and names is valid BSON.
        filter: RawDocumentBuf::try_from(&filter).unwrap_or_default(),
        sort: doc! { names.end: 1, names.start: 1 },
        skip: 0,
        limit: 0,
        projection: Document::new(),
        hint,
        level: ReadLevel::Local,
    })
}

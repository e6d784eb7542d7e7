//! The newest record of every key, from what a [`KeyScan`](super::KeyScan) finds.
//!
//! For each bucket, the server sends the fields that identify the bucket and one item.

use std::borrow::Cow;

use bson::{DateTime, Document, RawDocument, RawDocumentBuf, doc};

use super::{AggregatePlan, ReadKey, overlapping, tails::header};
use crate::{
    bucket::{
        each_packed,
        edits::{is_removed, left},
        sealed,
    },
    codec::raw::RawWriter,
    error::Damage,
    model::{form::Order, spec::BucketSpec},
    time::range::TimeRange,
};

/// The result for a bucket: its fields without the array, its newest record, the index of that among
/// the records, and the length of the array.
pub(crate) const NEWEST: &str = "newest";
pub(super) const STORED: &str = "stored";
pub(super) const ITEM: &str = "item";
pub(super) const AT: &str = "at";
pub(super) const LENGTH: &str = "length";
/// How many of the items are records.
pub(super) const LEFT: &str = "left";
/// The packed items of a sealed bucket, from which the client makes the rest.
pub(crate) const PACKED: &str = "packed";

/// A key whose newest record may not be in its last bucket.
#[derive(Debug, Clone)]
#[must_use]
pub struct FurtherLook {
    /// The key.
    pub key: ReadKey,
    /// The time of the newest known record.
    pub since: DateTime,
    /// The longest span that a bucket of the key covers, in milliseconds.
    pub longest: i64,
}

/// The buckets that may hold records as new as the known ones, each with its newest item; several
/// keys in one command.
#[must_use]
pub fn newest_since(spec: &BucketSpec, looks: &[FurtherLook]) -> AggregatePlan {
    let mut hint = spec.pages_index_name();
    let mut filters: Vec<Document> = Vec::with_capacity(looks.len());
    for look in looks {
        let since = TimeRange::new(Some(look.since), None);
        let plan = overlapping(spec, &look.key, since, look.longest);
        hint = plan.hint;
        // Plans of this crate are valid BSON.
        filters.push(Document::try_from(plan.filter).unwrap_or_default());
    }
    let filter = if filters.len() == 1 {
        filters.remove(0)
    } else {
        doc! { "$or": filters }
    };
    AggregatePlan {
        pipeline: vec![
            doc! { "$match": filter },
            doc! { "$replaceWith": { NEWEST: newest(spec) } },
        ],
        hint,
        spills: false,
    }
}

/// The parts of a bucket that [`Newest::read`](super::Newest::read) reads. The expression never
/// fails on the server, whatever is stored; one failure would end the read of all keys.
pub(super) fn newest(spec: &BucketSpec) -> Document {
    let all = format!("${}", spec.items());
    let items = "$$left";
    let mut stored = key_fields(spec);
    for (name, _) in header(spec) {
        let value = format!("${name}");
        stored.insert(name, value);
    }
    if let Some(name) = spec.dated_by() {
        stored.insert(name, format!("${name}"));
    }
    let of_array = |value: Document| doc! { "$cond": [{ "$isArray": items }, value, null] };
    let item = doc! { "$arrayElemAt": [items, "$$at"] };
    let newest = doc! {
        STORED: stored,
        ITEM: of_array(item),
        AT: "$$at",
        LENGTH: of_array(doc! { "$size": &all }),
        LEFT: of_array(doc! { "$size": items }),
        PACKED: sealed::aside(spec),
    };
    let at = of_array(place_of_newest(spec, items));
    let newest = doc! { "$let": { "vars": { "at": at }, "in": newest } };
    let is_array = doc! { "$isArray": &all };
    let left = doc! { "$cond": [is_array, left(&*all), null] };
    doc! { "$let": { "vars": { "left": left }, "in": newest } }
}

/// The result for a bucket, with what the server would have said of the items of a sealed one.
pub(super) fn unpacked<'a>(
    spec: &BucketSpec,
    newest: &'a RawDocument,
) -> Result<Cow<'a, RawDocument>, Damage> {
    let Some(packed) = sealed::packed(PACKED, newest) else {
        return Ok(Cow::Borrowed(newest));
    };
    let by_arrival = spec.form().order() == Order::Arrival;
    let (mut length, mut left, mut all_have_one) = (0, 0, true);
    let mut found: Option<(i32, DateTime, RawDocumentBuf)> = None;
    each_packed(packed, |item| {
        length += 1;
        if is_removed(item) {
            return;
        }
        let time = item.get_datetime(spec.time().name).ok();
        all_have_one &= time.is_some();
        let time = time.unwrap_or(DateTime::MIN);
        if by_arrival || found.as_ref().is_none_or(|(_, latest, _)| time >= *latest) {
            found = Some((left, time, item.to_owned()));
        }
        left += 1;
    })?;
    let found = found.filter(|_| by_arrival || all_have_one);
    Ok(Cow::Owned(RawWriter::build(|writer| {
        if let Ok(stored) = newest.get_document(STORED) {
            writer.document(STORED, stored);
        }
        if let Some((at, _, item)) = found {
            writer.document(ITEM, &item);
            writer.int32(AT, at);
        }
        writer.int32(LENGTH, length);
        writer.int32(LEFT, left);
    })))
}

/// The index of the newest item of an array.
fn place_of_newest(spec: &BucketSpec, items: &str) -> Document {
    let length = doc! { "$size": items };
    let last = doc! { "$subtract": [&length, 1] };
    if spec.form().order() == Order::Arrival {
        return last;
    }
    let times = format!("{items}.{}", spec.time().name);
    let behind = doc! { "$indexOfArray": [{ "$reverseArray": "$$times" }, "$$latest"] };
    // Usually it is the last one, and nothing must be reversed.
    let is_last = doc! { "$eq": [{ "$arrayElemAt": ["$$times", -1] }, "$$latest"] };
    let at = doc! { "$cond": [is_last, &last, { "$subtract": [&last, behind] }] };
    // An item without a time would shift the later ones.
    let all_have_one = doc! { "$eq": [{ "$size": "$$times" }, length] };
    let at = doc! { "$cond": [all_have_one, at, null] };
    let latest = doc! { "$let": { "vars": { "latest": { "$max": "$$times" } }, "in": at } };
    doc! { "$let": { "vars": { "times": times }, "in": latest } }
}

/// The key fields of a bucket, as an expression.
pub(super) fn key_fields(spec: &BucketSpec) -> Document {
    let fields = spec.keys().iter();
    fields
        .map(|key| (key.path.to_owned(), format!("${}", key.path).into()))
        .collect()
}

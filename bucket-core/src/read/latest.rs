//! The newest record of every key: one index seek for each.
//!
//! For `$sort` before `$group` on *one* field, with only `$first`, the server jumps from value to
//! value of an index (`DISTINCT_SCAN`). It also does so after equalities on the preceding fields.
//! For several fields at once it would scan the whole index, so keys of several fields are read
//! field by field.
//!
//! For each bucket, the server sends the fields that identify the bucket and one item.

use bson::{Bson, DateTime, Document, RawDocument, RawDocumentBuf, doc};

use super::{AggregatePlan, ReadKey, order, overlapping, tails::header};
use crate::{
    model::{
        form::{Order, OrderedBy},
        spec::{BucketSpec, ID},
    },
    time::range::TimeRange,
};

/// The result for a bucket: its fields without the array, its newest item, that item's index, and
/// the length of the array.
pub(super) const NEWEST: &str = "newest";
pub(super) const STORED: &str = "stored";
pub(super) const ITEM: &str = "item";
pub(super) const AT: &str = "at";
pub(super) const LENGTH: &str = "length";

/// For each value of the key field after `prefix`, the newest bucket of the last key that has it.
/// The value is `_id`; `newest` contains what [`Newest::read`](super::Newest::read) reads. If
/// `prefix` contains all key fields but one, that is one document per key.
///
/// `prefix` contains the values of the first key fields, as stored. Values in `except` are left
/// out.
#[must_use]
pub fn newest_by_field(spec: &BucketSpec, prefix: &[Bson], except: &[Bson]) -> AggregatePlan {
    let mut filter = equalities(spec, prefix);
    if let Some(key) = spec.keys().get(prefix.len()).filter(|_| !except.is_empty()) {
        filter.insert(key.path, doc! { "$nin": except });
    }
    first_of_each(
        spec,
        prefix,
        filter,
        toward_newest(spec),
        Some(newest(spec)),
    )
}

/// For each value of the key field after `prefix` between these two, which are the first and the
/// last result of [`newest_by_field`]: the key fields of the key at the other end of those that
/// have the value. If both keys are the same, the value has only one key.
///
/// `None` if one of the two is not a key value, because the server might not compare it with
/// anything.
#[must_use]
pub fn other_ends(
    spec: &BucketSpec,
    prefix: &[Bson],
    between: (&Bson, &Bson),
) -> Option<AggregatePlan> {
    let (mut low, mut high) = between;
    if direction(spec) < 0 {
        (low, high) = (high, low);
    }
    let key = spec.keys().get(prefix.len())?;
    if !is_key_value(low) || !is_key_value(high) {
        return None;
    }
    let mut filter = equalities(spec, prefix);
    filter.insert(key.path, doc! { "$gte": low, "$lte": high });
    let away: Document = toward_newest(spec)
        .into_iter()
        .map(|(name, direction)| (name, Bson::Int32(-direction.as_i32().unwrap_or(1))))
        .collect();
    let of_each = doc! { STORED: key_fields(spec) };
    Some(first_of_each(spec, prefix, filter, away, Some(of_each)))
}

/// For each of the values `among` of the key field after `prefix`: the newest bucket of the keys
/// with this value in the next field, in the form of [`newest_by_field`].
#[must_use]
pub fn newest_by_next(
    spec: &BucketSpec,
    prefix: &[Bson],
    among: &[Bson],
    next: &Bson,
) -> AggregatePlan {
    let filter = of_two_fields(spec, prefix, among, doc! { "$eq": next });
    first_of_each(
        spec,
        prefix,
        filter,
        toward_newest(spec),
        Some(newest(spec)),
    )
}

/// Those of the values `among` of the key field after `prefix` that have keys whose next field is
/// not in `known`.
#[must_use]
pub fn with_others(
    spec: &BucketSpec,
    prefix: &[Bson],
    among: &[Bson],
    known: &[Bson],
) -> AggregatePlan {
    let filter = of_two_fields(spec, prefix, among, doc! { "$nin": known });
    first_of_each(spec, prefix, filter, toward_newest(spec), None)
}

/// Whether a key can have this value. The server may compare other stored values with nothing, or
/// take them for a pattern.
#[must_use]
pub fn is_key_value(value: &Bson) -> bool {
    matches!(
        value,
        Bson::Boolean(_)
            | Bson::Int32(_)
            | Bson::Int64(_)
            | Bson::Double(_)
            | Bson::String(_)
            | Bson::ObjectId(_)
            | Bson::Binary(_)
    )
}

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
    }
}

/// The buckets after `prefix` whose next key field is one of `among`, and whose field after that
/// meets a condition.
fn of_two_fields(
    spec: &BucketSpec,
    prefix: &[Bson],
    among: &[Bson],
    condition: Document,
) -> Document {
    let mut filter = equalities(spec, prefix);
    if let [key, behind, ..] = spec.keys().get(prefix.len()..).unwrap_or_default() {
        filter.insert(key.path, doc! { "$in": among });
        filter.insert(behind.path, condition);
    }
    filter
}

/// For each value of the key field after `prefix`, the requested fields of the first bucket in this
/// order.
fn first_of_each(
    spec: &BucketSpec,
    prefix: &[Bson],
    filter: Document,
    order: Document,
    of_first: Option<Document>,
) -> AggregatePlan {
    let mut group = doc! { "_id": field(spec, prefix.len()) };
    if let Some(of_first) = of_first {
        group.insert(NEWEST, doc! { "$first": of_first });
    }
    AggregatePlan {
        pipeline: vec![
            doc! { "$match": filter },
            doc! { "$sort": order },
            doc! { "$group": group },
        ],
        hint: spec.pages_index_name(),
    }
}

/// `$eq`, because a damaged key may be a document that would be read as an operator.
fn equalities(spec: &BucketSpec, prefix: &[Bson]) -> Document {
    let fields = spec.keys().iter().zip(prefix);
    fields
        .map(|(key, value)| (key.path.to_owned(), doc! { "$eq": value }.into()))
        .collect()
}

fn field(spec: &BucketSpec, index: usize) -> Option<String> {
    spec.keys().get(index).map(|key| format!("${}", key.path))
}

/// The sort direction of the key fields that puts each key's newest bucket first. The index can
/// only be read backwards fully, not in part.
fn direction(spec: &BucketSpec) -> i32 {
    match spec.ordered_by() {
        // They descend in the index.
        OrderedBy::Number => 1,
        OrderedBy::Id | OrderedBy::Start => -1,
    }
}

fn toward_newest(spec: &BucketSpec) -> Document {
    let keys = spec.keys().iter();
    let mut sort: Document = keys
        .map(|key| (key.path.to_owned(), Bson::Int32(direction(spec))))
        .collect();
    sort.extend(order(spec, -1));
    sort
}

fn key_fields(spec: &BucketSpec) -> Document {
    let fields = spec.keys().iter();
    fields
        .map(|key| (key.path.to_owned(), format!("${}", key.path).into()))
        .collect()
}

/// The parts of a bucket that [`Newest::read`](super::Newest::read) reads. The expression never
/// fails on the server, whatever is stored; one failure would end the read of all keys.
fn newest(spec: &BucketSpec) -> Document {
    let items = format!("${}", spec.items());
    let mut stored = key_fields(spec);
    for (name, _) in header(spec) {
        let value = format!("${name}");
        stored.insert(name, value);
    }
    if let Some(name) = spec.dated_by() {
        stored.insert(name, format!("${name}"));
    }
    let of_array = |value: Document| doc! { "$cond": [{ "$isArray": &items }, value, null] };
    let item = doc! { "$arrayElemAt": [&items, "$$at"] };
    let newest = doc! {
        STORED: stored,
        ITEM: of_array(item),
        AT: "$$at",
        LENGTH: of_array(doc! { "$size": &items }),
    };
    let at = of_array(place_of_newest(spec, &items));
    doc! { "$let": { "vars": { "at": at }, "in": newest } }
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

/// A value of a key field and what a plan found for it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FieldValue {
    /// The value as it is stored.
    pub value: Bson,
    /// The document, for [`Newest::read`](super::Newest::read).
    pub found: RawDocumentBuf,
}

impl FieldValue {
    /// Takes a document of [`newest_by_field`] or [`other_ends`].
    #[must_use]
    pub fn new(found: RawDocumentBuf) -> Self {
        let value = found.get(ID).ok().flatten();
        // A value that is not valid BSON matches nothing below and ends as a damaged bucket.
        let value = value.and_then(|value| Bson::try_from(value).ok());
        Self {
            value: value.unwrap_or(Bson::Null),
            found,
        }
    }

    /// Whether both belong to the same key.
    #[must_use]
    pub fn is_same_key(&self, other: &Self, spec: &BucketSpec) -> bool {
        let (Some(one), Some(two)) = (self.stored(), other.stored()) else {
            return false;
        };
        spec.keys().iter().all(|key| {
            let value = |of: &RawDocument| -> Option<Bson> {
                of.get(key.path).ok().flatten()?.try_into().ok()
            };
            value(one) == value(two)
        })
    }

    fn stored(&self) -> Option<&RawDocument> {
        let newest = self.found.get_document(NEWEST).ok()?;
        newest.get_document(STORED).ok()
    }
}

//! The newest record of every key: one index seek for each.
//!
//! `$sort` behind `$group` on *one* field with `$first` alone is what the server answers by jumping
//! from value to value of an index (`DISTINCT_SCAN`), also behind equalities on the fields before it.
//! On several fields at once it would go through the whole index, so keys of several fields are gone
//! through field by field.
//!
//! Of each bucket the server sends the fields that tell buckets apart and one item.

use bson::{Bson, DateTime, Document, RawDocument, RawDocumentBuf, doc};

use super::{AggregatePlan, ReadKey, order, overlapping, tails::header};
use crate::{
    model::{
        form::{Order, OrderedBy},
        spec::{BucketSpec, ID},
    },
    time::range::TimeRange,
};

/// What a bucket is sent as: its fields but for the array, its newest item, the place of that item
/// in the array, and the length of the array.
pub(super) const NEWEST: &str = "newest";
pub(super) const STORED: &str = "stored";
pub(super) const ITEM: &str = "item";
pub(super) const AT: &str = "at";
pub(super) const LENGTH: &str = "length";

/// For each value of the key field behind `prefix`, the newest bucket of the last key that has it:
/// the value as `_id`, what [`Newest::read`](super::Newest::read) reads under `newest`. With all key fields but one in
/// the prefix that is one document for each key.
///
/// `prefix` holds the values of the first key fields, as they are stored; values in `except` are
/// left out.
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

/// For each value of the key field behind `prefix` between these two, the first and the last one that
/// [`newest_by_field`] gives, the key fields of the key at the other end of those that have it. Where
/// both are the same the value has one key alone.
///
/// None where one of the two is no value that a key has: it may be one that the server compares with
/// nothing.
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

/// For those of the values `among` of the key field behind `prefix` that have it, the newest bucket
/// of the keys with this value of the field behind that; as [`newest_by_field`] gives it.
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

/// Those of the values `among` of the key field behind `prefix` that have keys whose next field is none
/// of `known`.
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

/// Whether a key can have this value. What else is stored may be compared with nothing by the server,
/// or be taken for a pattern.
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

/// A key whose newest record may be in another bucket than the last one.
#[derive(Debug, Clone)]
#[must_use]
pub struct FurtherLook {
    /// The key.
    pub key: ReadKey,
    /// The time of the newest record that is known.
    pub since: DateTime,
    /// The longest span that a bucket of the key covers, in milliseconds.
    pub longest: i64,
}

/// The buckets that may hold records as new as those that are known, each as its newest item; those
/// of several keys in one command.
#[must_use]
pub fn newest_since(spec: &BucketSpec, looks: &[FurtherLook]) -> AggregatePlan {
    let mut hint = spec.pages_index_name();
    let mut filters: Vec<Document> = Vec::with_capacity(looks.len());
    for look in looks {
        let since = TimeRange::new(Some(look.since), None);
        let plan = overlapping(spec, &look.key, since, look.longest);
        hint = plan.hint;
        // A plan of this crate is valid BSON.
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

/// The buckets behind `prefix` whose next key field is `among` these and whose field behind that
/// fulfils a condition.
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

/// For each value of the key field behind `prefix`, what is asked for of the first bucket in this order.
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

/// `$eq`, because a damaged key may be a document that reads as an operator.
fn equalities(spec: &BucketSpec, prefix: &[Bson]) -> Document {
    let fields = spec.keys().iter().zip(prefix);
    fields
        .map(|(key, value)| (key.path.to_owned(), doc! { "$eq": value }.into()))
        .collect()
}

fn field(spec: &BucketSpec, index: usize) -> Option<String> {
    spec.keys().get(index).map(|key| format!("${}", key.path))
}

/// How the key fields are ordered where each key's newest bucket comes first: the index can be read
/// backwards as a whole, not in part.
fn direction(spec: &BucketSpec) -> i32 {
    match spec.ordered_by() {
        // In the index they descend.
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

/// The parts of a bucket that [`Newest::read`](super::Newest::read) reads. Whatever is stored, none of it fails on the
/// server, where one failure would end the read of all keys.
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

/// The place of the newest item of an array.
fn place_of_newest(spec: &BucketSpec, items: &str) -> Document {
    let length = doc! { "$size": items };
    let last = doc! { "$subtract": [&length, 1] };
    if spec.form().order() == Order::Arrival {
        return last;
    }
    let times = format!("{items}.{}", spec.time().name);
    let behind = doc! { "$indexOfArray": [{ "$reverseArray": "$$times" }, "$$latest"] };
    // Which it is as a rule, and then nothing is turned around.
    let is_last = doc! { "$eq": [{ "$arrayElemAt": ["$$times", -1] }, "$$latest"] };
    let at = doc! { "$cond": [is_last, &last, { "$subtract": [&last, behind] }] };
    // An item without a time would shift those behind it.
    let all_have_one = doc! { "$eq": [{ "$size": "$$times" }, length] };
    let at = doc! { "$cond": [all_have_one, at, null] };
    let latest = doc! { "$let": { "vars": { "latest": { "$max": "$$times" } }, "in": at } };
    doc! { "$let": { "vars": { "times": times }, "in": latest } }
}

/// A value of a key field and what a plan found of it.
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
        // A value that is no valid BSON matches nothing below and ends as a damaged bucket.
        let value = value.and_then(|value| Bson::try_from(value).ok());
        Self {
            value: value.unwrap_or(Bson::Null),
            found,
        }
    }

    /// Whether both are of one key.
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

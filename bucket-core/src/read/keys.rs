//! Every key: one index seek for each.
//!
//! For `$sort` before `$group` on *one* field, with only `$first`, the server jumps from value to
//! value of an index (`DISTINCT_SCAN`). It also does so after equalities on the preceding fields.
//! For several fields at once it would scan the whole index, so keys of several fields are read
//! field by field.

use bson::{Bson, Document, RawDocument, RawDocumentBuf, doc};

use super::{
    AggregatePlan, aggregate,
    latest::{NEWEST, STORED, key_fields, newest},
    order,
};
use crate::{
    bucket::{self, record::Record},
    error::{Damage, DamagedBucket},
    model::{
        form::OrderedBy,
        spec::{BucketSpec, ID},
    },
};

/// Which keys a read of all keys visits, and what it brings of each.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyScan {
    with_newest: bool,
    /// The bounds of the first key field.
    bounds: Document,
}

impl KeyScan {
    /// Every key, with the newest item of its newest bucket, in the form that
    /// [`Newest::read`](super::Newest::read) reads.
    #[must_use]
    pub fn newest_items() -> Self {
        Self {
            with_newest: true,
            bounds: Document::new(),
        }
    }

    /// Every key, with its key fields only.
    #[must_use]
    pub fn keys() -> Self {
        Self {
            with_newest: false,
            bounds: Document::new(),
        }
    }

    /// Only keys whose first field is a text that starts with this one.
    ///
    /// ```
    /// # use bucket_core::{BucketSpec, read::KeyScan};
    /// fn is_bounded(spec: &BucketSpec) -> bool {
    ///     KeyScan::keys().starting_with("dev_").by_field(spec, &[], &[]) != KeyScan::keys().by_field(spec, &[], &[])
    /// }
    /// ```
    #[must_use]
    pub fn starting_with(mut self, text: &str) -> Self {
        self.bounds = doc! { "$gte": text };
        if let Some(end) = end_of(text) {
            self.bounds.insert("$lt", end);
        }
        self
    }

    /// For each value of the key field after `prefix`, the newest bucket of the last key that has
    /// it. The value is `_id`; `newest` contains what the scan brings. If `prefix` contains all key
    /// fields but one, that is one document per key.
    ///
    /// `prefix` contains the values of the first key fields, as stored. Values in `except` are left
    /// out.
    #[must_use]
    pub fn by_field(&self, spec: &BucketSpec, prefix: &[Bson], except: &[Bson]) -> AggregatePlan {
        let mut filter = equalities(spec, prefix);
        if let Some(key) = spec.keys().get(prefix.len()) {
            let mut condition = Document::new();
            if prefix.is_empty() {
                condition.extend(self.bounds.clone());
            }
            if !except.is_empty() {
                condition.insert("$nin", except);
            }
            if !condition.is_empty() {
                filter.insert(key.path, condition);
            }
        }
        let brought = self.brings(spec);
        first_of_each(spec, prefix, filter, toward_newest(spec), Some(brought))
    }

    /// For each of the values `among` of the key field after `prefix`: the newest bucket of the
    /// keys with this value in the next field, in the form of [`by_field`](Self::by_field).
    #[must_use]
    pub fn by_next(
        &self,
        spec: &BucketSpec,
        prefix: &[Bson],
        among: &[Bson],
        next: &Bson,
    ) -> AggregatePlan {
        let filter = of_two_fields(spec, prefix, among, doc! { "$eq": next });
        let brought = self.brings(spec);
        first_of_each(spec, prefix, filter, toward_newest(spec), Some(brought))
    }

    fn brings(&self, spec: &BucketSpec) -> Document {
        if self.with_newest {
            newest(spec)
        } else {
            doc! { STORED: key_fields(spec) }
        }
    }
}

/// The first text after all that start with this one; `None` if there is none. Texts are compared
/// byte by byte, and the bytes of UTF-8 order as the code points do.
pub(crate) fn end_of(text: &str) -> Option<String> {
    let mut end = text.to_owned();
    while let Some(last) = end.pop() {
        // A range of `char` leaves out what is no code point of text.
        if let Some(next) = (last..=char::MAX).nth(1) {
            end.push(next);
            return Some(end);
        }
    }
    None
}

/// For each value of the key field after `prefix` between these two, which are the first and the
/// last result of [`KeyScan::by_field`]: the key fields of the key at the other end of those that
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
    let stages = vec![
        doc! { "$match": filter },
        doc! { "$sort": order },
        doc! { "$group": group },
    ];
    aggregate(spec, stages)
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
    /// Takes a document of [`KeyScan::by_field`] or [`other_ends`].
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
        key_fields_of(&self.found)
    }
}

fn key_fields_of(found: &RawDocument) -> Option<&RawDocument> {
    let newest = found.get_document(NEWEST).ok()?;
    newest.get_document(STORED).ok()
}

/// The key that a [`KeyScan`] found.
///
/// # Errors
///
/// [`DamagedBucket`] if its fields do not have the model's types.
pub fn found_key<T: Record>(found: &RawDocument) -> Result<T::Key, DamagedBucket> {
    let stored = key_fields_of(found).unwrap_or(found);
    bucket::key_of::<T>(stored).map_err(|damage| of_key(stored, damage))
}

/// The damage of a bucket of which only the key fields were read.
pub(super) fn of_key(key: &RawDocument, damage: Damage) -> DamagedBucket {
    let key = Document::try_from(key).map_or_else(|_| "?".to_owned(), |key| key.to_string());
    DamagedBucket::new(format!("of the key {key}"), damage)
}

//! The expiry indexes, and the date that they use.

use bson::{DateTime, Document, doc};

use super::{
    Drift, IndexPlan,
    listed::Listed,
    removal::Removal,
    same_index::{self, expire_after, keys},
};
use crate::{
    bucket::sealed::{LAST, SEALED},
    model::{spec::BucketSpec, whole},
    read::has_records,
};

/// The name of the expiry index, which makes the server remove buckets.
const EXPIRE_INDEX: &str = "bucket_expire";

/// The name of the second expiry index, for buckets that are closed by bytes and carry no mark.
const EXPIRE_BYTES_INDEX: &str = "bucket_expire_bytes";

impl BucketSpec {
    /// The name of the expiry index, if the model has a limit.
    ///
    /// ```
    /// # use bucket_core::BucketSpec;
    /// fn forgets(spec: &BucketSpec) -> bool {
    ///     spec.expire_index_name().is_some()
    /// }
    /// ```
    #[must_use]
    pub fn expire_index_name(&self) -> Option<String> {
        self.removed_after().map(|_| EXPIRE_INDEX.to_owned())
    }
}

/// The expiry indexes; none without a limit.
///
/// Buckets of the manual's form carry no mark. With `max_bytes`, either the count or the size makes one full,
/// and only servers from 6.0 on can say that in the condition of one index.
pub(super) fn plan(spec: &BucketSpec) -> Vec<IndexPlan> {
    let Some(seconds) = spec.removed_after() else {
        return Vec::new();
    };
    let index = |name: &str, partial: Option<Document>| IndexPlan {
        name: name.to_owned(),
        keys: doc! { spec.age_field(): 1 },
        unique: false,
        partial,
        expire_after: Some(seconds),
    };
    let closed = spec.closed_conditions();
    if closed.is_empty() {
        return vec![index(EXPIRE_INDEX, None)];
    }
    let names = [EXPIRE_INDEX, EXPIRE_BYTES_INDEX].into_iter();
    let indexes = names.zip(closed);
    indexes
        .map(|(name, closed)| index(name, Some(closed)))
        .collect()
}

/// An update of many buckets by a pipeline.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct UpdatePlan {
    /// The filter for the buckets.
    pub filter: Document,
    /// The stages.
    pub pipeline: Vec<Document>,
}

/// Plans an update that gives buckets from before the model had a limit the date from which their age counts, and raises a
/// date that is earlier than one of their records.
/// `None` for forms whose buckets always have the date. The server looks at every bucket. Documents that are no buckets,
/// because they lack a key field or the items, stay as they are.
///
/// ```
/// # use bson::DateTime;
/// # use bucket_core::{BucketSpec, index};
/// fn has_dates_of_its_own(spec: &BucketSpec) -> bool {
///     index::date_buckets(spec, DateTime::now()).is_some()
/// }
/// ```
#[must_use]
pub fn date_buckets(spec: &BucketSpec, now: DateTime) -> Option<UpdatePlan> {
    let name = spec.dated_by()?;
    let mut filter = has_records(spec);
    // Documents that are no buckets get no date: the server would remove them.
    for key in spec.keys() {
        filter.insert(key.path, doc! { "$exists": true });
    }
    filter.insert(spec.items(), doc! { "$type": ["array", "binData"] });
    Some(UpdatePlan {
        filter,
        // A writer without the limit has stored records and left an earlier date as it was.
        pipeline: vec![
            doc! { "$set": { name: { "$max": [format!("${name}"), latest(spec, now)] } } },
        ],
    })
}

/// The date for a bucket that has none.
fn latest(spec: &BucketSpec, now: DateTime) -> Document {
    let times = format!("${}.{}", spec.items(), spec.time().name);
    // Packed items have no field that the server could read.
    let packed = format!("${SEALED}.{LAST}");
    doc! { "$min": [{ "$ifNull": [{ "$max": times }, packed] }, now] }
}

/// The aggregation that counts what the server would remove; see [`removal`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RemovalPlan {
    /// The stages of the aggregation, which returns at most one document.
    pub pipeline: Vec<Document>,
    until: DateTime,
}

impl RemovalPlan {
    /// Reads the result of the aggregation.
    ///
    /// ```
    /// # use bson::DateTime;
    /// # use bucket_core::{BucketSpec, index};
    /// fn nothing_goes(spec: &BucketSpec, index: &str) -> bool {
    ///     let plan = index::removal(spec, index, DateTime::now());
    ///     plan.is_none_or(|plan| plan.counted(None).buckets == 0)
    /// }
    /// ```
    #[must_use]
    pub fn counted(&self, found: Option<&Document>) -> Removal {
        let number = |name| found.and_then(|found| whole::field(found, name));
        let number = |name| number(name).and_then(|number| u64::try_from(number).ok());
        Removal {
            until: self.until,
            buckets: number("buckets").unwrap_or_default(),
            records: number("records").unwrap_or_default(),
        }
    }
}

/// Counts what the server would remove at once if the model's index with this name came into force; `None` if
/// the model has no such index. The server looks at every bucket.
///
/// ```
/// # use bson::DateTime;
/// # use bucket_core::{BucketSpec, index};
/// fn stages(spec: &BucketSpec) -> usize {
///     let plan = index::removal(spec, "bucket_expire", DateTime::now());
///     plan.map_or(0, |plan| plan.pipeline.len())
/// }
/// ```
#[must_use]
pub fn removal(spec: &BucketSpec, index: &str, now: DateTime) -> Option<RemovalPlan> {
    let until = spec.removed_until(now)?;
    let index = plan(spec).into_iter().find(|plan| plan.name == index)?;
    let date = doc! { "$ifNull": [format!("${}", spec.age_field()), latest(spec, now)] };
    let is_past = doc! { "$and": [
        { "$eq": [{ "$type": &date }, "date"] },
        { "$lte": [&date, until] },
    ] };
    let count = format!("${}", spec.names().count);
    let group = doc! { "_id": null, "buckets": { "$sum": 1 }, "records": { "$sum": count } };
    Some(RemovalPlan {
        pipeline: vec![
            doc! { "$match": index.partial.unwrap_or_default() },
            doc! { "$match": { "$expr": is_past } },
            doc! { "$group": group },
        ],
        until,
    })
}

/// Takes the indexes out that would make the server remove stored buckets, and returns them as drift. An
/// index that is being built will remove buckets whether the model asks for it or not, so it is not taken
/// out.
pub(super) fn without_consent(missing: &mut Vec<IndexPlan>, found: &[Listed<'_>]) -> Vec<Drift> {
    let is_listed = |plan: &IndexPlan| {
        let has_the_name = |index: &Listed<'_>| index.name() == Some(plan.name.as_str());
        found.iter().any(has_the_name)
    };
    let mut drift = Vec::new();
    missing.retain(|plan| {
        let removes = plan.expire_after.filter(|_| !is_listed(plan));
        if let Some(limit) = removes {
            drift.push(Drift::Expiry {
                name: plan.name.clone(),
                expected: Some(limit),
                found: None,
                removes: None,
            });
        }
        removes.is_none()
    });
    drift
}

/// What a call that replaces indexes does with an expiry index of another definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExpiryReplacement {
    /// The server removes by the same date and limit: the new index follows the old one at once.
    Replaced,
    /// The server removes by the same date and another limit, which only a call that changes the expiry may change.
    Kept,
    /// It is no such index: it goes, and the model's is drift.
    Dropped,
}

/// Compares an expiry index with the model's of the same name, where their definitions differ. `None` if the
/// model has no expiry index of this name.
///
/// ```
/// # use bucket_core::{BucketSpec, index::{self, ExpiryReplacement}};
/// fn stays(spec: &BucketSpec, found: &bson::Document) -> bool {
///     index::expiry_replacement(spec, found) == Some(ExpiryReplacement::Kept)
/// }
/// ```
#[must_use]
pub fn expiry_replacement(spec: &BucketSpec, found: &Document) -> Option<ExpiryReplacement> {
    let name = same_index::name(found)?;
    let own = plan(spec).into_iter().find(|plan| plan.name == name)?;
    let is_same_date = keys(&own.definition()) == keys(found);
    Some(match expire_after(found) {
        Some(limit) if is_same_date && own.expire_after == Some(limit) => {
            ExpiryReplacement::Replaced
        }
        Some(_) if is_same_date => ExpiryReplacement::Kept,
        _ => ExpiryReplacement::Dropped,
    })
}

/// This library's expiry indexes that the model does not have.
pub(super) fn drift(spec: &BucketSpec, found: &[Listed<'_>]) -> Vec<Drift> {
    let own = plan(spec);
    let foreign = found.iter().filter_map(|index| {
        let name = index.name()?;
        let is_ours = [EXPIRE_INDEX, EXPIRE_BYTES_INDEX].contains(&name);
        let is_own = own.iter().any(|plan| plan.name == name);
        (is_ours && !is_own).then(|| Drift::Expiry {
            name: name.to_owned(),
            expected: None,
            found: Some(expire_after(index.definition).unwrap_or_default()),
            removes: None,
        })
    });
    foreign.collect()
}

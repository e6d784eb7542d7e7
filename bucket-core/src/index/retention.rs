//! The indexes by which the server removes buckets, and the date that they go by.

use bson::{DateTime, Document, doc};

use super::{Drift, IndexPlan, listed::Listed, same_index::expire_after};
use crate::{model::spec::BucketSpec, read::has_records};

/// The name of the index by which the server removes buckets.
const EXPIRE_INDEX: &str = "bucket_expire";

/// That of the second one, for buckets that are closed by bytes and carry no mark.
const EXPIRE_BYTES_INDEX: &str = "bucket_expire_bytes";

impl BucketSpec {
    /// The name of the index by which the server removes buckets, where the model has a limit.
    ///
    /// ```
    /// # use bucket_core::BucketSpec;
    /// fn forgets(spec: &BucketSpec) -> bool {
    ///     spec.expire_index_name().is_some()
    /// }
    /// ```
    #[must_use]
    pub fn expire_index_name(&self) -> Option<String> {
        self.expire_after().map(|_| EXPIRE_INDEX.to_owned())
    }
}

/// The indexes by which the server removes buckets; none without a limit.
///
/// Buckets of the manual's form carry no mark. Where they are closed by bytes too, either is enough,
/// which the condition of one index can say on servers from 6.0 on alone.
pub(super) fn plan(spec: &BucketSpec) -> Vec<IndexPlan> {
    let Some(seconds) = spec.expire_after() else {
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
    /// Which buckets.
    pub filter: Document,
    /// The stages.
    pub pipeline: Vec<Document>,
}

/// Gives buckets from before the model had a limit the date from which their age counts; nothing for
/// forms whose buckets have one anyway. The server looks at every bucket.
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
    let mut filter = doc! { name: { "$exists": false } };
    filter.extend(has_records(spec));
    let latest = doc! { "$max": format!("${}.{}", spec.items(), spec.time().name) };
    Some(UpdatePlan {
        filter,
        pipeline: vec![doc! { "$set": { name: { "$min": [latest, now] } } }],
    })
}

/// Indexes of this library by which the server removes buckets that are not the model's.
pub(super) fn drift(spec: &BucketSpec, found: &[Listed<'_>]) -> Vec<Drift> {
    let own = plan(spec);
    let foreign = found.iter().filter_map(|index| {
        let name = index.name()?;
        let is_ours = [EXPIRE_INDEX, EXPIRE_BYTES_INDEX].contains(&name);
        let is_own = own.iter().any(|plan| plan.name == name);
        (is_ours && !is_own).then(|| Drift::Expiry {
            name: name.to_owned(),
            expected: None,
            found: expire_after(index.definition).unwrap_or_default(),
        })
    });
    foreign.collect()
}

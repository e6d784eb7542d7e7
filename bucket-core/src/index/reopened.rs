//! Closed buckets of the manual's form that another index on open buckets would have.
//!
//! Room follows from the count and the size, and the limits are part of the index. So a model with larger limits may have
//! buckets in its index that were full under the old ones. That is right for the newest bucket of a key, which goes on, and
//! for no other: records would go into it although others came after it, or into none if it is sealed.

use bson::{Document, doc};

use super::{listed::Listed, plan::OPEN_INDEX, same_index::same_index};
use crate::{
    bucket::sealed::SEALED,
    model::{
        form::Form,
        spec::{BucketSpec, ID},
    },
};

/// How to find the buckets that must stay closed, before the model's index on open buckets replaces another one.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ReopenedPlan {
    /// The name of the model's index.
    pub index: String,
    /// The buckets that the model's index would have, and the one that it replaces has not.
    pub filter: Document,
    /// What [`later`](Self::later) needs of them.
    pub projection: Document,
    spec: &'static BucketSpec,
}

impl ReopenedPlan {
    /// Whether it takes no more records, whatever comes after it.
    #[must_use]
    pub fn is_sealed(&self, bucket: &Document) -> bool {
        bucket.contains_key(SEALED)
    }

    /// The filter for the buckets of the same key that come after this one.
    #[must_use]
    pub fn later(&self, bucket: &Document) -> Document {
        let field = |name: &str| bucket.get(name).cloned().unwrap_or_default();
        let key = self.spec.keys().iter();
        let key = key.map(|key| (key.path.to_owned(), doc! { "$eq": field(key.path) }.into()));
        let mut filter: Document = key.collect();
        filter.insert(ID, doc! { "$gt": field(ID) });
        filter
    }
}

/// What to look for before the model's index on open buckets replaces another one; `None` if it replaces none.
///
/// ```
/// # use bucket_core::{BucketSpec, index};
/// fn replaces_none(spec: &'static BucketSpec) -> bool {
///     index::reopened(spec, &[]).is_none()
/// }
/// ```
#[must_use]
pub fn reopened(spec: &'static BucketSpec, found: &[Document]) -> Option<ReopenedPlan> {
    let is_count = matches!(spec.form(), Form::Count { .. });
    let name = spec.open_index_name().filter(|_| is_count)?;
    let plan = super::plan(spec)
        .into_iter()
        .find(|plan| plan.name == name)?;
    let own = plan.definition();
    let found = Listed::all(found);
    let mut others = Vec::new();
    for index in found {
        if !index
            .name()
            .is_some_and(|name| name.starts_with(OPEN_INDEX))
            || index.is_unfinished
        {
            continue;
        }
        if same_index(&own, index.definition) {
            return None;
        }
        let condition = index.definition.get_document("partialFilterExpression");
        others.push(condition.cloned().unwrap_or_default());
    }
    if others.is_empty() {
        return None;
    }
    let mut projection: Document = doc! { ID: 1, SEALED: 1 };
    projection.extend(
        spec.keys()
            .iter()
            .map(|key| (key.path.to_owned(), 1.into())),
    );
    Some(ReopenedPlan {
        index: name,
        filter: doc! { "$and": [spec.open_condition(), { "$nor": [{ "$and": others }] }] },
        projection,
        spec,
    })
}

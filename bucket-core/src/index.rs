//! The indexes that a model needs, and how a collection's indexes differ from them.

use bson::{Document, doc};

mod attributes;
mod definition;
mod drift;
mod listed;
mod other_model;
mod plan;
mod removal;
mod reopened;
mod retention;
mod rivals;
mod same_index;

pub(crate) use self::listed::CLUSTERED;
pub use self::{
    attributes::{AttributeIndexes, compare_attributes, in_the_way},
    definition::IndexPlan,
    drift::Drift,
    listed::list,
    other_model::{other_buckets, sample},
    plan::plan,
    removal::Removal,
    reopened::{ReopenedPlan, reopened},
    retention::{
        ExpiryReplacement, RemovalPlan, UpdatePlan, date_buckets, expiry_replacement, removal,
    },
    rivals::{Rivalry, is_left_over, rivalry},
};
use self::{
    definition::EXPIRE_AFTER,
    drift::drifted,
    listed::Listed,
    plan::OPEN_INDEX,
    same_index::{expire_after, same_index},
};
use crate::model::{
    form::Form,
    spec::{BucketSpec, UNIQUE_INDEX},
};

/// Finds what writes cannot do without: the unique indexes, the index that finds the next bucket, and the one by
/// which others know the model. Writes
/// also stop if an expiry index has another definition than the model's; another limit is allowed. And they stop
/// while the index on open buckets of another capacity is beside the model's.
///
/// Returns the collation of the collection, which its index on `_id` shows, or an index of another model's
/// form. Otherwise it returns the first missing index, else an index of another capacity, else the first index that
/// differs, else the first unfinished build.
///
/// ```
/// use bucket_core::index::Unmet;
/// # use bucket_core::{BucketSpec, index};
/// fn must_be_set_up(spec: &BucketSpec) -> bool {
///     matches!(index::unmet(spec, &[]), Some(Unmet::Missing { .. }))
/// }
/// ```
#[must_use]
pub fn unmet(spec: &BucketSpec, found: &[Document]) -> Option<Unmet> {
    let (pages, mark) = (spec.pages_index_name(), spec.mark_name());
    // Only the mark tells a window model's collection from one that another model uses.
    let is_needed =
        |plan: &&IndexPlan| plan.unique || plan.name == pages || Some(&plan.name) == mark.as_ref();
    let (missing, drift) = compare(spec, found);
    let listed = Listed::all(found);
    let other_model = other_model::drift(spec, &listed).into_iter().next();
    let of_collection = listed.iter().find_map(Listed::collection_drift);
    if let Some(drift) = of_collection.or(other_model) {
        return Some(Unmet::Differs(drift));
    }
    let is_unfinished = |plan: &IndexPlan| {
        let has_the_name = |it: &Listed<'_>| it.name() == Some(plan.name.as_str());
        listed.iter().any(|it| it.is_unfinished && has_the_name(it))
    };
    let missing = missing.into_iter().filter(|plan| is_needed(&plan));
    let (unfinished, missing): (Vec<IndexPlan>, Vec<IndexPlan>) = missing.partition(is_unfinished);
    if let Some(IndexPlan { name, .. }) = missing.into_iter().next() {
        // `ensure` creates it only where it replaces the other one.
        let is_of_other = |drift: &Drift| matches!(drift, Drift::Capacity { .. });
        let other = name
            .starts_with(OPEN_INDEX)
            .then(|| drift.into_iter().find(is_of_other));
        return Some(match other.flatten() {
            Some(other) => Unmet::Differs(other),
            None => Unmet::Missing { name },
        });
    }
    // Writers of both would open buckets, and each would be refused by the other's index.
    let is_beside = |drift: &Drift| match drift {
        Drift::Capacity { name, .. } => {
            let has_the_name = |it: &&Listed<'_>| it.name() == Some(name.as_str());
            let mut others = listed.iter().filter(has_the_name);
            others.any(|it| !it.is_unfinished)
        }
        _ => false,
    };
    if let Some(at) = drift.iter().position(is_beside) {
        return drift.into_iter().nth(at).map(Unmet::Differs);
    }
    let plans = plan(spec);
    let counts = |drift: &Drift| match drift {
        Drift::Index { name, found, .. } => plans
            .iter()
            .filter(|plan| plan.name == *name)
            .any(|plan| is_needed(&plan) || found.contains_key(EXPIRE_AFTER)),
        _ => false,
    };
    if let Some(drift) = drift.into_iter().find(counts) {
        return Some(Unmet::Differs(drift));
    }
    let IndexPlan { name, .. } = unfinished.into_iter().next()?;
    Some(Unmet::Unfinished { name })
}

/// What a collection lacks for exact writes.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Unmet {
    /// There is no index with this name.
    Missing {
        /// The name of the index.
        name: String,
    },
    /// An index with this name has another definition.
    Differs(Drift),
    /// The index with this name is still being built.
    Unfinished {
        /// The name of the index.
        name: String,
    },
}

/// Takes the missing indexes out that would make the server remove stored buckets.
///
/// ```
/// # use bucket_core::{BucketSpec, index};
/// fn is_safe_to_create(spec: &BucketSpec) -> bool {
///     let (mut missing, _) = index::compare(spec, &[]);
///     index::take_removing(&mut missing, &[]).is_empty()
/// }
/// ```
#[must_use]
pub fn take_removing(missing: &mut Vec<IndexPlan>, found: &[Document]) -> Vec<Drift> {
    retention::without_consent(missing, &Listed::all(found))
}

/// Takes the index on open buckets out of the missing ones if another capacity has one. Writers of both would
/// open buckets side by side and be refused by each other's index, so only a call that replaces it may create it.
/// In the collection of another model, takes all of them.
///
/// ```
/// # use bucket_core::{BucketSpec, index};
/// fn is_left_out(spec: &BucketSpec, found: &[bson::Document]) -> bool {
///     let (mut missing, drift) = index::compare(spec, found);
///     let before = missing.len();
///     index::take_rivals(&mut missing, &drift);
///     missing.len() < before
/// }
/// ```
pub fn take_rivals(missing: &mut Vec<IndexPlan>, drift: &[Drift]) {
    let is_of_other = |drift: &Drift| matches!(drift, Drift::Capacity { .. });
    if drift.iter().any(is_of_other) {
        missing.retain(|plan| !plan.name.starts_with(OPEN_INDEX));
    }
    if drift.iter().any(Drift::shows_other_model) {
        missing.clear();
    }
}

/// Of the indexes of a collection: that it is no collection of buckets, if they show it.
#[must_use]
pub fn other_kind(found: &[Document]) -> Option<Drift> {
    let drift = Listed::all(found)
        .iter()
        .find_map(Listed::collection_drift)?;
    matches!(drift, Drift::Kind { .. }).then_some(drift)
}

/// Compares the definitions that `listIndexes` returns with the model: what is missing, and what differs.
///
/// An index with an unfinished build counts as missing: asked to create the index again, the server waits for
/// that build. If the list does not say that the build is unfinished, the index counts as present.
///
/// ```
/// # use bucket_core::{BucketSpec, index};
/// fn missing(spec: &BucketSpec) -> usize {
///     let (missing, drift) = index::compare(spec, &[]);
///     assert!(drift.is_empty());
///     missing.len()
/// }
/// ```
#[must_use]
pub fn compare(spec: &BucketSpec, found: &[Document]) -> (Vec<IndexPlan>, Vec<Drift>) {
    let mut missing = Vec::new();
    let mut drift = Vec::new();
    let found = Listed::all(found);
    for plan in plan(spec) {
        let expected = plan.definition();
        let named = found
            .iter()
            .find(|index| index.name() == Some(plan.name.as_str()));
        match named {
            None => missing.push(plan),
            Some(index) if same_index(&expected, index.definition) => {
                if index.is_unfinished {
                    missing.push(plan);
                    continue;
                }
                let limits = plan.expire_after.zip(expire_after(index.definition));
                if let Some((model, found)) = limits.filter(|(model, found)| model != found) {
                    drift.push(Drift::Expiry {
                        name: plan.name,
                        expected: Some(model),
                        found: Some(found),
                        removes: None,
                    });
                }
            }
            Some(index) => {
                drift.push(drifted(plan.name, expected, index.definition));
            }
        }
    }
    drift.extend(retention::drift(spec, &found));
    let own = spec.open_index_name();
    let others = found.iter().filter_map(Listed::name);
    let (ids, others): (Vec<&str>, Vec<&str>) = others.partition(|name| *name == UNIQUE_INDEX);
    if spec.unique().is_none() {
        drift.extend(ids.into_iter().map(|name| Drift::RecordIds {
            name: name.to_owned(),
        }));
    }
    // In other forms it shows another model.
    let is_count = matches!(spec.form(), Form::Count { .. });
    let others = others
        .into_iter()
        .filter(|name| is_count && name.starts_with(OPEN_INDEX));
    for name in others.filter(|name| Some(*name) != own.as_deref()) {
        drift.push(Drift::Capacity {
            name: name.to_owned(),
            expected: own.clone(),
        });
    }
    drift.extend(other_model::drift(spec, &found));
    (missing, drift)
}

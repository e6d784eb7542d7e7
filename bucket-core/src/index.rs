//! The indexes that a model needs, and how a collection's indexes differ from them.

use bson::{Bson, Document, doc};

mod attributes;
mod definition;
mod drift;
mod listed;
mod removal;
mod retention;
mod same_index;

pub(crate) use self::listed::CLUSTERED;
pub use self::{
    attributes::{AttributeIndexes, compare_attributes, in_the_way},
    definition::IndexPlan,
    drift::Drift,
    listed::list,
    removal::Removal,
    retention::{RemovalPlan, UpdatePlan, date_buckets, removal},
};
use self::{
    definition::EXPIRE_AFTER,
    drift::drifted,
    listed::Listed,
    same_index::{expire_after, same_index},
};
use crate::model::spec::{BucketSpec, UNIQUE_INDEX};

/// The indexes of a model.
///
/// | form | unique | for reads |
/// | --- | --- | --- |
/// | count | key fields, over buckets with room | key fields and `_id` |
/// | window | only `_id` | key fields and `_id`; key fields and start; end and start |
/// | window with object ids | key fields, start and part | the same; end and start |
/// | hybrid | key fields, over buckets that are not closed | key fields and `_id`; key fields, closed and start |
/// | numbered | key fields and full, over buckets that are not full; key fields and number | the latter |
///
/// An array of attributes has the index that the model asks for. An array that a bucket holds for its items
/// has a second one, on the attributes that items have of their own.
///
/// A model with record ids has one more in every form: a unique index on the key fields and the ids. A model
/// with `expire_after` has one more, on the date from which the age of a bucket counts; in the manual's form
/// with `max_bytes` it has two.
///
/// ```
/// # use bucket_core::{BucketSpec, index};
/// fn names(spec: &BucketSpec) -> Vec<String> {
///     index::plan(spec).into_iter().map(|index| index.name).collect()
/// }
/// ```
#[must_use]
pub fn plan(spec: &BucketSpec) -> Vec<IndexPlan> {
    let names = spec.names();
    let plain = |name: String, keys: Document| IndexPlan {
        name,
        keys,
        unique: false,
        partial: None,
        expire_after: None,
    };
    let of_key = |fields: &[(&str, i32)]| -> Document {
        let keys = spec.keys().iter().map(|key| (key.path, 1));
        let fields = keys.chain(fields.iter().copied());
        fields
            .map(|(name, direction)| (name.to_owned(), Bson::Int32(direction)))
            .collect()
    };
    let of_form = spec.form_indexes().into_iter().map(|index| IndexPlan {
        unique: index.unique,
        partial: index.partial,
        ..plain(index.name, of_key(&index.fields))
    });
    let mut plans: Vec<IndexPlan> = of_form.collect();
    let record_ids = spec.unique_path().map(|path| IndexPlan {
        unique: true,
        ..plain(UNIQUE_INDEX.to_owned(), of_key(&[(&path, 1)]))
    });
    plans.extend(spec.arrays().iter().flat_map(|array| {
        let keys = array.index_keys().into_iter().enumerate();
        keys.map(|(at, keys)| {
            // A prefix, because with a suffix the name could be that of another array.
            let own = if at == 0 { "" } else { "own_" };
            plain(format!("{own}attributes_{}", array.name), keys)
        })
    }));
    // The end of a window never changes, so appends do not touch the index entry.
    plans.extend(
        spec.span_index_name()
            .map(|name| plain(name, doc! { names.end: 1, names.start: 1 })),
    );
    plans.extend(record_ids);
    plans.extend(retention::plan(spec));
    plans
}

/// How the names of the manual's indexes on open buckets begin; the capacity follows.
const OPEN_INDEX: &str = "bucket_open_";

/// Finds what writes cannot do without: the unique indexes, and the index that finds the next bucket. Writes
/// also stop if an expiry index has another definition than the model's; another limit is allowed.
///
/// Returns the collation of the collection, which its index on `_id` shows. Otherwise it returns the first
/// missing index, else the first index that differs, else the first unfinished build.
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
    let pages = spec.pages_index_name();
    let is_needed = |plan: &&IndexPlan| plan.unique || plan.name == pages;
    let (missing, drift) = compare(spec, found);
    let listed = Listed::all(found);
    if let Some(drift) = listed.iter().find_map(Listed::collection_drift) {
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
    let others = others
        .into_iter()
        .filter(|name| name.starts_with(OPEN_INDEX));
    for name in others.filter(|name| Some(*name) != own.as_deref()) {
        drift.push(Drift::Capacity {
            name: name.to_owned(),
            expected: own.clone(),
        });
    }
    (missing, drift)
}

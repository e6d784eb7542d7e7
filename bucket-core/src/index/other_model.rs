//! What shows that a collection holds the buckets of another model, of another form or with other key fields.
//!
//! Each form has indexes that no other form has. Unique ones refuse the buckets of other forms: those lack its
//! fields, so that all of them have the same entry for a key.

use bson::{Bson, Document, doc};

use super::{
    Drift,
    listed::Listed,
    plan::{OPEN_INDEX, plan},
    same_index::{is_set, keys},
};
use crate::model::{
    form::{Form, SPAN_INDEX},
    spec::{BucketSpec, tutorial_name},
};

/// How many stored buckets are looked at, at most.
const SAMPLE: u32 = 100;

/// What an index says of the model that it belongs to. Of two models that set up one collection at the same
/// moment, the lesser one keeps it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mark {
    rank: u8,
    /// Of a name that is not this library's: `None`, which is below all others.
    limits: Option<(u64, u64)>,
    name: String,
}

impl Mark {
    pub(super) fn of(listed: &Listed<'_>) -> Option<Self> {
        let name = listed.name()?;
        let Owner { form, .. } = owner_of(listed.definition, name)?;
        Some(Self {
            rank: RANKS.iter().position(|it| *it == form)?.try_into().ok()?,
            limits: limits(name),
            name: name.to_owned(),
        })
    }

    /// That of the index that `ensure` creates first.
    pub(super) fn of_model(spec: &BucketSpec) -> Option<Self> {
        let name = spec.first_index_name()?;
        let is_first = |plan: &super::IndexPlan| plan.name == name;
        let definition = plan(spec).into_iter().find(is_first)?.definition();
        Self::of(&Listed::of(&definition))
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whether this is a smaller capacity of the manual's form than that one. A name that this library did
    /// not make says nothing of a capacity.
    pub(super) fn is_smaller_capacity_than(&self, other: &Self) -> bool {
        let is_count = self.name.starts_with(OPEN_INDEX) && other.name.starts_with(OPEN_INDEX);
        is_count && self.limits.is_some() && self.limits < other.limits
    }
}

/// The forms, from the one that keeps a collection.
const RANKS: [&str; 4] = ["count", "hybrid", "numbered", "window"];

/// The capacity and the bytes in the name of an index on open buckets of the manual's form.
fn limits(name: &str) -> Option<(u64, u64)> {
    let limits = name.strip_prefix(OPEN_INDEX)?;
    match limits.split_once('_') {
        None => Some((limits.parse().ok()?, u64::MAX)),
        Some((capacity, bytes)) => Some((capacity.parse().ok()?, bytes.parse().ok()?)),
    }
}

impl BucketSpec {
    /// The name of the index by which others know that the collection is this model's.
    ///
    /// ```
    /// # use bucket_core::BucketSpec;
    /// fn is_of_windows(spec: &BucketSpec) -> bool {
    ///     spec.mark_name().as_deref() == Some("bucket_times")
    /// }
    /// ```
    #[must_use]
    #[doc(hidden)]
    pub fn mark_name(&self) -> Option<String> {
        self.open_index_name().or_else(|| self.span_index_name())
    }

    /// The name of the index that `ensure` creates before all others: of several models that set up one collection
    /// at the same moment, each sees those of the others. So it is one that only models with the same form and key
    /// have. All windows have the same mark.
    ///
    /// ```
    /// # use bucket_core::BucketSpec;
    /// fn is_created_first(spec: &BucketSpec, index: &str) -> bool {
    ///     spec.first_index_name().as_deref() == Some(index)
    /// }
    /// ```
    #[must_use]
    #[doc(hidden)]
    pub fn first_index_name(&self) -> Option<String> {
        self.open_index_name().or_else(|| self.time_index_name())
    }
}

/// What an index or a bucket says of the model that it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Owner {
    form: &'static str,
    /// Whether its ids are object ids, which models with other ids cannot read; `None` if it does not say.
    object_ids: Option<bool>,
}

impl Owner {
    fn of_form(form: &'static str) -> Self {
        Self {
            form,
            object_ids: None,
        }
    }

    fn of_model(spec: &BucketSpec) -> Self {
        Self {
            form: spec.form().name(),
            object_ids: Some(spec.object_ids()),
        }
    }

    fn may_be(self, other: Self) -> bool {
        let ids = self.object_ids.zip(other.object_ids);
        self.form == other.form && ids.is_none_or(|(own, other)| own == other)
    }
}

/// The model whose index this is, if it is one that only models of one form have.
fn owner_of(definition: &Document, name: &str) -> Option<Owner> {
    let of_form = |form| Some(Owner::of_form(form));
    let count = Form::Count { capacity: 1 }.name();
    if name.starts_with(OPEN_INDEX) {
        return of_form(count);
    }
    if name == SPAN_INDEX {
        return of_form("window");
    }
    let fields = keys(definition);
    // Whether the name is made from all fields but the last ones.
    let is_named = |role: &str, others: usize| {
        let length = fields.len().checked_sub(others).filter(|left| *left > 0);
        length.is_some_and(|length| {
            name == tutorial_name(fields.iter().take(length).map(|(name, _)| *name), role)
        })
    };
    let windows = |object_ids| Owner {
        form: "window",
        object_ids: Some(object_ids),
    };
    let partial = definition.get_document("partialFilterExpression").ok();
    if !is_set(definition, "unique") {
        return (partial.is_none() && is_named("time", 1)).then_some(windows(false));
    }
    let marks = |partial: &Document| {
        let mut fields = partial.iter();
        let first = fields.next();
        fields.next().is_none() && matches!(first, Some((_, Bson::Boolean(false))))
    };
    if partial.is_some_and(marks) {
        return match () {
            () if is_named("open", 0) => of_form("hybrid"),
            () if is_named("full", 1) => of_form("numbered"),
            () => None,
        };
    }
    let descends = matches!(fields.last(), Some((_, Bson::Int32(-1))));
    match partial {
        None if is_named("order", 1) && descends => of_form("numbered"),
        None if is_named("time", 2) => Some(windows(true)),
        _ => None,
    }
}

/// Whether an index that has a name of the model's form begins with the model's key fields; `None` if it says
/// nothing about key fields.
///
/// The same fields in another order are the model's own: its buckets have them all.
fn has_own_keys(spec: &BucketSpec, definition: &Document, name: &str) -> Option<bool> {
    let fields = keys(definition);
    let indexes = spec.form_indexes();
    let is_open = |name: &str| name.starts_with(OPEN_INDEX);
    let is_like = |own: &str| own == name || is_open(own) && is_open(name);
    let index = indexes.iter().find(|index| is_like(&index.name))?;
    let (found, rest) = fields.split_at_checked(fields.len().checked_sub(index.fields.len())?)?;
    let rest = rest.iter().map(|(name, _)| *name);
    if found.is_empty() || !rest.eq(index.fields.iter().map(|(name, _)| *name)) {
        return None;
    }
    let is_own = |name: &str| spec.keys().iter().any(|key| key.path == name);
    Some(found.len() == spec.keys().len() && found.iter().all(|(name, _)| is_own(name)))
}

/// The indexes of other models. Those of the manual's form with other limits are left to their own drift.
pub(super) fn drift(spec: &BucketSpec, found: &[Listed<'_>]) -> Vec<Drift> {
    let own: Vec<String> = plan(spec).into_iter().map(|it| it.name).collect();
    let is_count = matches!(spec.form(), Form::Count { .. });
    let keys_of = |listed: &Listed<'_>| has_own_keys(spec, listed.definition, listed.name()?);
    // One index that somebody has changed does not make the collection another model's: the one that orders the
    // buckets of a key decides, if it is there.
    let pages = spec.pages_index_name();
    let is_pages = |listed: &&Listed<'_>| listed.name() == Some(pages.as_str());
    let of_pages = found.iter().find(is_pages).and_then(keys_of);
    let of_any = || found.iter().any(|listed| keys_of(listed) == Some(true));
    let has_own = of_pages.unwrap_or_else(of_any);
    let others = found.iter().filter_map(|listed| {
        let name = listed.name()?;
        if !has_own && keys_of(listed) == Some(false) {
            return Some(Drift::OtherModel {
                index: Some(name.to_owned()),
                form: spec.form().name(),
            });
        }
        let owner = owner_of(listed.definition, name)?;
        let is_own = own.iter().any(|own| own == name) && owner.may_be(Owner::of_model(spec));
        let is_capacity = is_count && name.starts_with(OPEN_INDEX);
        (!is_own && !is_capacity).then(|| Drift::OtherModel {
            index: Some(name.to_owned()),
            form: owner.form,
        })
    });
    others.collect()
}

/// The field of a sample that says what kind a key field has.
fn of_key(at: usize) -> String {
    format!("_key_{at}")
}

/// A find for some buckets, to be passed to [`other_buckets`]: its projection, and the number of buckets.
///
/// ```
/// # use bucket_core::{BucketSpec, index};
/// fn looks_at(spec: &BucketSpec) -> u32 {
///     index::sample(spec).1
/// }
/// ```
#[must_use]
#[doc(hidden)]
pub fn sample(spec: &BucketSpec) -> (Document, u32) {
    let names = spec.names();
    let mut projection = doc! {
        "_id": { "$type": "$_id" }, names.count: 1, names.number: 1, names.closed: 1, names.start: 1,
        // Only whether it is there.
        spec.items(): { "$type": format!("${}", spec.items()) },
    };
    for (at, key) in spec.keys().iter().enumerate() {
        projection.insert(of_key(at), doc! { "$type": format!("${}", key.path) });
    }
    (projection, SAMPLE)
}

/// The drift of a collection with buckets of another form and none of the model's, as far as a sample shows.
///
/// ```
/// # use bucket_core::{BucketSpec, index};
/// fn is_empty_of_others(spec: &BucketSpec) -> bool {
///     index::other_buckets(spec, &[]).is_none()
/// }
/// ```
#[must_use]
#[doc(hidden)]
pub fn other_buckets(spec: &BucketSpec, sample: &[Document]) -> Option<Drift> {
    let names = spec.names();
    let owner = |stored: &Document| {
        let has = |name: &str| stored.contains_key(name);
        let is_bucket = has(names.count)
            && stored
                .get_str(spec.items())
                .is_ok_and(|kind| kind == "array" || kind == "binData");
        let form = match () {
            () if has(names.number) => "numbered",
            () if has(names.closed) => "hybrid",
            () if has(names.start) => "window",
            () => "count",
        };
        is_bucket.then(|| Owner {
            form,
            object_ids: Some(stored.get_str("_id").is_ok_and(|kind| kind == "objectId")),
        })
    };
    let has_key = |stored: &Document| {
        let mut kinds = (0..spec.keys().len()).map(|at| stored.get_str(of_key(at)));
        kinds.all(|kind| kind.is_ok_and(|kind| kind != "missing"))
    };
    let buckets = sample
        .iter()
        .filter_map(|stored| Some((owner(stored)?, has_key(stored))));
    let owners: Vec<(Owner, bool)> = buckets.collect();
    // One without its own fields may be damaged.
    let has_own = owners.contains(&(Owner::of_model(spec), true));
    let (Owner { form, .. }, _) = owners.first().copied().filter(|_| !has_own)?;
    Some(Drift::OtherModel { index: None, form })
}

//! The indexes that a model needs, and how a collection's indexes differ from them.

use bson::{Bson, Document, doc};

mod attributes;
mod same;

pub use self::attributes::{AttributeIndexes, compare_attributes, in_the_way};
use self::same::{EXPIRE_AFTER, expire_after, same};
pub use crate::expiry::date_buckets;
use crate::{
    expiry::{self, EXPIRE_BYTES_INDEX, EXPIRE_INDEX},
    spec::{BucketSpec, UNIQUE_INDEX},
};

/// An index as the server's `createIndexes` takes it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct IndexPlan {
    /// The name.
    pub name: String,
    /// The fields and their directions.
    pub keys: Document,
    /// Whether it is unique.
    pub unique: bool,
    /// The condition of a partial index.
    pub partial: Option<Document>,
    /// The server removes what is older than this, in seconds.
    pub expire_after: Option<u32>,
}

impl IndexPlan {
    /// The definition, as `createIndexes` takes it and `listIndexes` gives it.
    #[must_use]
    pub fn definition(&self) -> Document {
        let mut definition = doc! { "name": &self.name, "key": self.keys.clone() };
        if self.unique {
            definition.insert("unique", true);
        }
        if let Some(partial) = &self.partial {
            definition.insert("partialFilterExpression", partial.clone());
        }
        if let Some(seconds) = self.expire_after {
            definition.insert(EXPIRE_AFTER, i32::try_from(seconds).unwrap_or(i32::MAX));
        }
        definition
    }
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

/// A difference between a collection and its model.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Drift {
    /// An index of this name exists with another definition.
    Index {
        /// The name of the index.
        name: String,
        /// What the model needs.
        expected: Document,
        /// What the server has.
        found: Document,
    },
    /// An index on open buckets of another capacity exists: it refuses buckets that this model
    /// wants to open.
    Capacity {
        /// The name of that index.
        name: String,
        /// The name of the model's own, where it has one.
        expected: Option<String>,
    },
    /// The index on record ids exists, and the model has none: it refuses records whose id is stored.
    RecordIds {
        /// The name of the index.
        name: String,
    },
    /// The index by which the server removes buckets has another limit than the model. It counts
    /// until it is changed on purpose.
    Expiry {
        /// The name of the index.
        name: String,
        /// The model's limit in seconds; none where the model has no such index.
        expected: Option<u32>,
        /// The limit of the index, in seconds.
        found: u32,
    },
    /// The collection orders text by a collation: ids would not order as the library needs it.
    Collation {
        /// The locale of the collation.
        locale: String,
    },
    /// The collection was created with another block compressor; only a new collection can have
    /// the model's.
    Compression {
        /// The model's.
        expected: String,
        /// The storage options of the collection; empty for the server's own.
        found: String,
    },
    /// The name belongs to a view or a time series collection.
    Kind {
        /// What the server calls it.
        found: String,
    },
}

impl std::fmt::Display for Drift {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Index {
                name,
                expected,
                found,
            } => {
                write!(f, "index `{name}` is {found}, the model needs {expected}")
            }
            Self::Capacity { name, expected } => {
                let expected = expected.as_deref().unwrap_or("none");
                write!(
                    f,
                    "index `{name}` is of another capacity, the model needs `{expected}`; drop \
                     `{name}` once no writer of that capacity is left"
                )
            }
            Self::RecordIds { name } => write!(
                f,
                "index `{name}` is on record ids, of which the model has none; drop `{name}` once no \
                 writer is left whose model has them"
            ),
            Self::Expiry {
                name,
                expected: Some(expected),
                found,
            } => write!(
                f,
                "index `{name}` removes buckets after {found} s, the model after {expected} s; \
                 `ensure().change_expiry()` makes it the model's"
            ),
            Self::Expiry {
                name,
                expected: None,
                found,
            } => write!(
                f,
                "index `{name}` removes buckets after {found} s, the model has no such index; \
                 `ensure().change_expiry()` drops it"
            ),
            Self::Collation { locale } => {
                write!(
                    f,
                    "the collection has the collation `{locale}`, ids need the simple one"
                )
            }
            Self::Compression { expected, found } => {
                let found = match found.as_str() {
                    "" => "without storage options".to_owned(),
                    found => format!("with the storage options `{found}`"),
                };
                write!(
                    f,
                    "the collection was created {found}, the model asks for the compressor \
                     `{expected}`"
                )
            }
            Self::Kind { found } => {
                write!(
                    f,
                    "the name belongs to a {found}, the model needs a collection"
                )
            }
        }
    }
}

/// The indexes of a model.
///
/// | form | unique | for reads |
/// | --- | --- | --- |
/// | count | key fields, over buckets with room | key fields and `_id` |
/// | window | none beside `_id` | key fields and `_id`; key fields and start; end and start |
/// | window with object ids | key fields, start and part | the same; end and start |
/// | hybrid | key fields, over buckets that are not closed | key fields and `_id`; key fields, closed and start |
/// | numbered | key fields and full, over buckets that are not full; key fields and number | the latter |
///
/// An array of attributes has the one that the model asks for; one that a bucket holds for its items a
/// second one, on those that items have of their own.
///
/// A model with record ids has one more, whatever its form: a unique one on the key fields and the ids.
/// So has one with `expire_after`: on the date from which the age of a bucket counts. In the manual's form
/// with `max_bytes` it is two.
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
            // Before the name: behind it, it could be that of another array.
            let own = if at == 0 { "" } else { "own_" };
            plain(format!("{own}attributes_{}", array.name), keys)
        })
    }));
    // The end of a window never moves: one entry for each bucket, whatever is appended to it.
    plans.extend(
        spec.span_index_name()
            .map(|name| plain(name, doc! { names.end: 1, names.start: 1 })),
    );
    plans.extend(record_ids);
    plans.extend(expiry::plan(spec));
    plans
}

/// Those of the indexes that writes rest on, whatever is read: the unique ones, and the one by which the
/// next bucket is found. Gives the first that is missing, or else how the first that is another one differs.
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
    if let Some(plan) = missing.iter().find(is_needed) {
        let name = plan.name.clone();
        return Some(Unmet::Missing { name });
    }
    let plans = plan(spec);
    let needed: Vec<&IndexPlan> = plans.iter().filter(is_needed).collect();
    let differs = |drift: &Drift| match drift {
        Drift::Index { name, .. } => needed.iter().any(|plan| plan.name == *name),
        _ => false,
    };
    drift.into_iter().find(differs).map(Unmet::Differs)
}

/// What a collection lacks for writes to be exact.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Unmet {
    /// There is no index of this name.
    Missing {
        /// The name of the index.
        name: String,
    },
    /// An index of the name does something else.
    Differs(Drift),
}

/// Compares the definitions that `listIndexes` gives with the model: what is missing, and what
/// differs.
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
    for plan in plan(spec) {
        let expected = plan.definition();
        match found
            .iter()
            .find(|index| index.get_str("name").is_ok_and(|name| name == plan.name))
        {
            None => missing.push(plan),
            Some(index) if same(&expected, index) => {
                let limits = plan.expire_after.zip(expire_after(index));
                if let Some((model, found)) = limits.filter(|(model, found)| model != found) {
                    drift.push(Drift::Expiry {
                        name: plan.name,
                        expected: Some(model),
                        found,
                    });
                }
            }
            Some(index) => {
                drift.push(drifted(plan.name, expected, index));
            }
        }
    }
    drift.extend(foreign_expiry(spec, found));
    let own = spec.open_index_name();
    let others = found.iter().filter_map(|index| index.get_str("name").ok());
    let (ids, others): (Vec<&str>, Vec<&str>) = others.partition(|name| *name == UNIQUE_INDEX);
    if spec.unique().is_none() {
        drift.extend(ids.into_iter().map(|name| Drift::RecordIds {
            name: name.to_owned(),
        }));
    }
    let others = others
        .into_iter()
        .filter(|name| name.starts_with("bucket_open_"));
    for name in others.filter(|name| Some(*name) != own.as_deref()) {
        drift.push(Drift::Capacity {
            name: name.to_owned(),
            expected: own.clone(),
        });
    }
    (missing, drift)
}

fn drifted(name: String, expected: Document, found: &Document) -> Drift {
    Drift::Index {
        name,
        expected,
        found: without_version(found),
    }
}

fn name(index: &Document) -> Option<&str> {
    index.get_str("name").ok()
}

/// Indexes of this library by which the server removes buckets that are not the model's.
fn foreign_expiry(spec: &BucketSpec, found: &[Document]) -> Vec<Drift> {
    let own = expiry::plan(spec);
    let drift = found.iter().filter_map(|index| {
        let name = index.get_str("name").ok()?;
        let is_ours = [EXPIRE_INDEX, EXPIRE_BYTES_INDEX].contains(&name);
        let is_own = own.iter().any(|plan| plan.name == name);
        (is_ours && !is_own).then(|| Drift::Expiry {
            name: name.to_owned(),
            expected: None,
            found: expire_after(index).unwrap_or_default(),
        })
    });
    drift.collect()
}

fn without_version(index: &Document) -> Document {
    index
        .iter()
        .filter(|(name, _)| *name != "v")
        .map(|(n, v)| (n.clone(), v.clone()))
        .collect()
}

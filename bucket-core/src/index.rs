//! The indexes that a model needs, and how a collection's indexes differ from them.

use bson::{Bson, Document, doc};

use crate::spec::{BucketSpec, COUNT, ID};

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
        definition
    }
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
        /// The name of the model's own.
        expected: String,
    },
    /// The collection orders text by a collation: ids would not order as the library needs it.
    Collation {
        /// The locale of the collation.
        locale: String,
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
            Self::Capacity { name, expected } => write!(
                f,
                "index `{name}` is of another capacity, the model needs `{expected}`; drop \
                 `{name}` once no writer of that capacity is left"
            ),
            Self::Collation { locale } => {
                write!(
                    f,
                    "the collection has the collation `{locale}`, ids need the simple one"
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

/// The indexes of a model: the unique partial one that lets a key have one open bucket, and the
/// one that orders the buckets of a key.
///
/// ```
/// # use bucket_core::{BucketSpec, index};
/// fn names(spec: &BucketSpec) -> Vec<String> {
///     index::plan(spec).into_iter().map(|index| index.name).collect()
/// }
/// ```
#[must_use]
pub fn plan(spec: &BucketSpec) -> Vec<IndexPlan> {
    let keys: Document = spec
        .keys()
        .iter()
        .map(|key| (key.path.to_owned(), Bson::Int32(1)))
        .collect();
    let capacity = i32::try_from(spec.capacity()).unwrap_or(i32::MAX);
    let mut pages = keys.clone();
    pages.insert(ID, 1);
    vec![
        IndexPlan {
            name: spec.open_index_name(),
            keys,
            unique: true,
            partial: Some(doc! { COUNT: { "$lt": capacity } }),
        },
        IndexPlan {
            name: spec.pages_index_name().to_owned(),
            keys: pages,
            unique: false,
            partial: None,
        },
    ]
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
            Some(index) if same(&expected, index) => {}
            Some(index) => {
                let found = without_version(index);
                drift.push(Drift::Index {
                    name: plan.name,
                    expected,
                    found,
                });
            }
        }
    }
    let own = spec.open_index_name();
    let others = found.iter().filter_map(|index| index.get_str("name").ok());
    for name in others.filter(|name| name.starts_with("bucket_open_") && **name != own) {
        drift.push(Drift::Capacity {
            name: name.to_owned(),
            expected: own.clone(),
        });
    }
    (missing, drift)
}

/// Whether an index does what the definition asks for. Options that change neither order nor
/// uniqueness (such as storage options) are left out of account.
fn same(expected: &Document, found: &Document) -> bool {
    let flag = |index: &Document, name: &str| index.get_bool(name).unwrap_or(false);
    let keys = |index: &Document| -> Vec<(String, Option<i64>)> {
        let keys = index.get_document("key").cloned().unwrap_or_default();
        keys.into_iter()
            .map(|(name, direction)| (name, whole(&direction)))
            .collect()
    };
    let partial = |index: &Document| {
        index
            .get_document("partialFilterExpression")
            .ok()
            .map(numbers)
    };
    keys(expected) == keys(found)
        && flag(expected, "unique") == flag(found, "unique")
        && partial(expected) == partial(found)
        && ["sparse", "hidden"].iter().all(|name| !flag(found, name))
        && ["collation", "expireAfterSeconds"]
            .iter()
            .all(|name| !found.contains_key(name))
}

/// A condition with its integers of one type: the shell writes doubles where drivers write
/// integers.
fn numbers(condition: &Document) -> Document {
    let one = |value: &Bson| match value {
        Bson::Document(inner) => Bson::Document(numbers(inner)),
        other => whole(other).map_or_else(|| other.clone(), Bson::Int64),
    };
    condition
        .iter()
        .map(|(name, value)| (name.clone(), one(value)))
        .collect()
}

fn whole(value: &Bson) -> Option<i64> {
    match value {
        Bson::Int32(value) => Some(i64::from(*value)),
        Bson::Int64(value) => Some(*value),
        Bson::Double(value) => crate::key::whole_number(*value),
        _ => None,
    }
}

fn without_version(index: &Document) -> Document {
    index
        .iter()
        .filter(|(name, _)| *name != "v")
        .map(|(n, v)| (n.clone(), v.clone()))
        .collect()
}

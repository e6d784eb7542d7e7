//! How a collection differs from its model.

use bson::{Bson, Document};

use super::{definition::EXPIRE_AFTER, removal::Removal};
use crate::text::REDACTED;

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
    /// An index on open buckets belongs to another capacity: it refuses buckets that this model must open.
    Capacity {
        /// The name of that index.
        name: String,
        /// The name of the model's index, if it has one.
        expected: Option<String>,
    },
    /// An index on record ids exists, but the model has none: the index refuses records whose id is stored.
    RecordIds {
        /// The name of the index.
        name: String,
    },
    /// The server removes buckets by another limit than the model's, or by none. It keeps doing so until
    /// someone changes the index.
    Expiry {
        /// The name of the index.
        name: String,
        /// The model's limit in seconds; `None` if the model has no such index.
        expected: Option<u32>,
        /// The limit of the index, in seconds; `None` if the collection has no such index.
        found: Option<u32>,
        /// What the server would remove at once under the model's limit. `None` if that limit removes no
        /// more, and if counting took too long.
        removes: Option<Removal>,
    },
    /// The collection orders text by a collation, so ids would not sort as the library needs.
    Collation {
        /// The locale of the collation.
        locale: String,
    },
    /// The collection was created with another block compressor; only a new collection can have the model's.
    Compression {
        /// The model's compressor.
        expected: String,
        /// The storage options of the collection; empty for the server's default.
        found: String,
    },
    /// The name belongs to a view, or to a time series, capped or clustered collection.
    Kind {
        /// The server's name for it.
        found: String,
    },
}

/// Options of an index whose values are not data of users: names, directions, switches and locales.
const PLAIN_OPTIONS: [&str; 7] = [
    "key",
    "name",
    "unique",
    "sparse",
    "hidden",
    "collation",
    EXPIRE_AFTER,
];

impl Drift {
    /// The same difference without data of users. The server's definition of an index can quote values, such
    /// as those of a `partialFilterExpression`. Where it differs from the model's, its values are `REDACTED`;
    /// names of fields, operators and options stay. What the server would remove under another limit is left
    /// out, because it has the time of a record.
    ///
    /// ```
    /// use bson::doc;
    /// use bucket_core::Drift;
    ///
    /// let drift = Drift::Index {
    ///     name: "bucket_pages".to_owned(),
    ///     expected: doc! { "key": { "owner": 1 } },
    ///     found: doc! { "key": { "owner": 1 }, "partialFilterExpression": { "owner": "alice" } },
    /// };
    /// assert!(drift.to_string().contains("alice"));
    /// assert!(!drift.redacted().to_string().contains("alice"));
    /// ```
    #[must_use]
    pub fn redacted(&self) -> Self {
        match self {
            Self::Index {
                name,
                expected,
                found,
            } => Self::Index {
                name: name.clone(),
                expected: expected.clone(),
                found: foreign(found, expected),
            },
            Self::Expiry {
                name,
                expected,
                found,
                removes: _,
            } => Self::Expiry {
                name: name.clone(),
                expected: *expected,
                found: *found,
                removes: None,
            },
            // Names and options of the model, the operator and the server.
            Self::Capacity { .. }
            | Self::RecordIds { .. }
            | Self::Collation { .. }
            | Self::Compression { .. }
            | Self::Kind { .. } => self.clone(),
        }
    }
}

/// A definition of the server's, without the values that the model's has not.
fn foreign(found: &Document, expected: &Document) -> Document {
    let options = found.iter().map(|(option, value)| {
        let is_plain = PLAIN_OPTIONS.contains(&option.as_str());
        let value = if is_plain || expected.get(option) == Some(value) {
            value.clone()
        } else {
            without_values(value)
        };
        (option.clone(), value)
    });
    options.collect()
}

/// Documents and arrays with their names, and nothing of what they hold.
fn without_values(value: &Bson) -> Bson {
    match value {
        Bson::Document(fields) => {
            let fields = fields.iter();
            Bson::Document(
                fields
                    .map(|(name, value)| (name.clone(), without_values(value)))
                    .collect(),
            )
        }
        Bson::Array(values) => Bson::Array(values.iter().map(without_values).collect()),
        _ => Bson::String(REDACTED.to_owned()),
    }
}

impl std::fmt::Display for Drift {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Index {
                name,
                expected,
                found,
            } => {
                write!(
                    f,
                    "index `{name}` is {found}, but the model needs {expected}"
                )
            }
            Self::Capacity { name, expected } => {
                let expected = expected.as_deref().unwrap_or("none");
                write!(
                    f,
                    "index `{name}` belongs to another capacity, but the model needs `{expected}`; call \
                     `ensure().replace_indexes()` once no writer uses that capacity"
                )
            }
            Self::RecordIds { name } => write!(
                f,
                "index `{name}` is on record ids, but the model has none; drop `{name}` once no writer \
                 uses a model with record ids"
            ),
            Self::Expiry {
                name,
                expected,
                found,
                removes,
            } => expiry(f, name, *expected, *found, removes.as_ref()),
            Self::Collation { locale } => {
                write!(
                    f,
                    "the collection has the collation `{locale}`, but ids need the simple collation"
                )
            }
            Self::Compression { expected, found } => {
                let found = match found.as_str() {
                    "" => "without storage options".to_owned(),
                    found => format!("with the storage options `{found}`"),
                };
                write!(
                    f,
                    "the collection was created {found}, but the model asks for the compressor \
                     `{expected}`"
                )
            }
            Self::Kind { found } => {
                write!(
                    f,
                    "the name belongs to a {found}, but the model needs a plain collection"
                )
            }
        }
    }
}

fn expiry(
    f: &mut std::fmt::Formatter<'_>,
    name: &str,
    expected: Option<u32>,
    found: Option<u32>,
    removes: Option<&Removal>,
) -> std::fmt::Result {
    let Some(expected) = expected else {
        let found = found.unwrap_or_default();
        return write!(
            f,
            "index `{name}` removes buckets after {found} s, but the model has no such index; \
             `ensure().change_expiry()` drops it"
        );
    };
    match found {
        Some(found) => write!(
            f,
            "index `{name}` removes buckets after {found} s, but the model's limit is {expected} s; "
        ),
        None => write!(
            f,
            "the model's limit is {expected} s, but the collection has data and no index `{name}`, so nothing is \
             removed; "
        ),
    }?;
    write!(f, "`ensure().change_expiry()` applies the model's limit")?;
    match removes {
        None => Ok(()),
        Some(removes) => write!(
            f,
            ": the server then removes {} buckets with {} records, all from {} or earlier",
            removes.buckets, removes.records, removes.until
        ),
    }
}

/// The difference between the index that the model needs and the stored index with its name.
pub(super) fn drifted(name: String, expected: Document, found: &Document) -> Drift {
    Drift::Index {
        name,
        expected,
        found: without_version(found),
    }
}

fn without_version(index: &Document) -> Document {
    index
        .iter()
        .filter(|(name, _)| *name != "v")
        .map(|(n, v)| (n.clone(), v.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use bson::doc;

    use super::*;

    #[test]
    fn the_definition_of_the_server_is_redacted_where_it_differs_from_the_models() {
        let partial = doc! { "count": { "$lt": 10 } };
        let expected = doc! { "key": { "owner": 1 }, "partialFilterExpression": &partial };
        let drift = |found: Document| Drift::Index {
            name: "bucket_open_10".to_owned(),
            expected: expected.clone(),
            found,
        };
        let same = doc! {
            "key": { "owner": -1 }, "name": "bucket_open_10", "unique": true,
            "collation": { "locale": "de" }, "partialFilterExpression": partial,
        };
        assert_eq!(drift(same.clone()).redacted(), drift(same));

        let other = doc! {
            "key": { "owner": 1 },
            "partialFilterExpression": { "$and": [{ "owner": "alice" }, { "age": { "$gt": 47 } }] },
            "weights": { "note": 4_711 },
        };
        let redacted = doc! {
            "key": { "owner": 1 },
            "partialFilterExpression": {
                "$and": [{ "owner": REDACTED }, { "age": { "$gt": REDACTED } }],
            },
            "weights": { "note": REDACTED },
        };
        assert_eq!(drift(other).redacted(), drift(redacted));
    }
}

//! How a collection differs from its model.

mod text;

use bson::{Bson, DateTime, Document};

use super::{definition::EXPIRE_AFTER, removal::Removal};
use crate::text::REDACTED;

/// A difference between a collection and its model.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Drift {
    /// An index of this name exists with another definition.
    #[non_exhaustive]
    Index {
        /// The name of the index.
        name: String,
        /// What the model needs.
        expected: Document,
        /// What the server has.
        found: Document,
    },
    /// An index on open buckets belongs to another capacity: it refuses buckets that this model must open.
    #[non_exhaustive]
    Capacity {
        /// The name of that index.
        name: String,
        /// The name of the model's index, if it has one.
        expected: Option<String>,
    },
    /// The collection holds the buckets of another model: of another form, with other key fields, or of windows of
    /// which only one model has object ids. Its unique indexes refuse buckets of this model, and those of this model
    /// would refuse its buckets.
    #[non_exhaustive]
    OtherModel {
        /// The name of an index that only the other form has; `None` if stored buckets show the form.
        index: Option<String>,
        /// The form of the other model: `count`, `window`, `hybrid` or `numbered`.
        form: &'static str,
    },
    /// An index on record ids exists, but the model has none: the index refuses records whose id is stored.
    #[non_exhaustive]
    RecordIds {
        /// The name of the index.
        name: String,
    },
    /// The server removes buckets by another limit than the model's, or by none. It keeps doing so until
    /// someone changes the index.
    #[non_exhaustive]
    Expiry {
        /// The name of the index; of an index of the archive, after the names of its database and collection.
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
    #[non_exhaustive]
    Collation {
        /// The locale of the collation.
        locale: String,
    },
    /// The collection was created with another block compressor; only a new collection can have the model's.
    #[non_exhaustive]
    Compression {
        /// The model's compressor.
        expected: String,
        /// The storage options of the collection; empty for the server's default.
        found: String,
    },
    /// The collection was described by a model with another form, or with other names for the same parts.
    #[non_exhaustive]
    Described {
        /// What differs.
        what: String,
        /// What it was described as.
        described: String,
        /// What the model has.
        expected: String,
    },
    /// The document about the collection in `bucket_models` is no description.
    #[non_exhaustive]
    Unreadable {
        /// What is wrong with it.
        message: String,
    },
    /// Stored items may have a field in a form that the model's type does not read, or may lack it.
    #[non_exhaustive]
    Field {
        /// The stored name of the field.
        name: String,
        /// What it was described as; `None` if it is new, and records without it cannot be read.
        described: Option<String>,
        /// What the model's type reads.
        expected: String,
    },
    /// Another aggregate has been stored under the path of one of the model's.
    #[non_exhaustive]
    Aggregate {
        /// The path.
        path: String,
        /// What it was described as.
        described: String,
        /// What the model stores.
        expected: String,
    },
    /// An aggregate is newer than some buckets, which do not have it.
    #[non_exhaustive]
    PartialAggregate {
        /// Its path.
        path: String,
        /// Since when the model has it, by the clock of the service that described it first.
        since: Option<DateTime>,
    },
    /// The collection has another validator than the model's, or the server does not refuse what fails it. The
    /// library's own ones of an earlier model can refuse what this model writes.
    #[non_exhaustive]
    Validator {
        /// The options that the model's validator needs: `validator`, `validationLevel` and `validationAction`.
        expected: Document,
        /// Those of the collection.
        found: Document,
        /// Whether it is a validator of this library.
        is_own: bool,
    },
    /// The name belongs to a view, to a time series, capped or clustered collection, or to an archive of another collection.
    #[non_exhaustive]
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

/// For `bucket-mongo`: other crates cannot build variants that may get fields.
#[doc(hidden)]
impl Drift {
    /// An index of this name with another definition.
    #[must_use]
    pub fn __index(name: String, expected: Document, found: Document) -> Self {
        Self::Index {
            name,
            expected,
            found,
        }
    }

    /// Another limit, in seconds.
    #[must_use]
    pub fn __expiry(name: String, expected: u32, found: u32) -> Self {
        Self::Expiry {
            name,
            expected: Some(expected),
            found: Some(found),
            removes: None,
        }
    }

    /// A collation with this locale.
    #[must_use]
    pub fn __collation(locale: &str) -> Self {
        let locale = locale.to_owned();
        Self::Collation { locale }
    }

    /// A description that cannot be read.
    #[must_use]
    pub fn __unreadable(message: String) -> Self {
        Self::Unreadable { message }
    }

    /// Another block compressor.
    #[must_use]
    pub fn __compression(expected: &str, found: String) -> Self {
        let expected = expected.to_owned();
        Self::Compression { expected, found }
    }

    /// The name belongs to something else.
    #[must_use]
    pub fn __kind(found: &str) -> Self {
        let found = found.to_owned();
        Self::Kind { found }
    }
}

impl Drift {
    /// Whether the collection is another model's.
    #[doc(hidden)]
    #[must_use]
    pub fn shows_other_model(&self) -> bool {
        matches!(self, Self::OtherModel { .. })
    }

    /// Whether the name belongs to another model, or to something else than a collection of buckets.
    #[doc(hidden)]
    #[must_use]
    pub fn belongs_to_others(&self) -> bool {
        self.shows_other_model() || matches!(self, Self::Kind { .. })
    }

    /// The same difference without data of users. The server's definition of an index can quote values, such
    /// as those of a `partialFilterExpression`. Where it differs from the model's, its values are `REDACTED`;
    /// names of fields, operators and options stay. What the server would remove under another limit is left
    /// out, because it has the time of a record.
    ///
    /// ```
    /// use bucket_core::Drift;
    ///
    /// fn log(drift: &Drift) {
    ///     eprintln!("{}", drift.redacted());
    /// }
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
            Self::Validator {
                expected,
                found,
                is_own,
            } => Self::Validator {
                expected: expected.clone(),
                found: if *is_own {
                    found.clone()
                } else {
                    foreign(found, expected)
                },
                is_own: *is_own,
            },
            // Names and options of the model, the operator and the server.
            Self::Capacity { .. }
            | Self::OtherModel { .. }
            | Self::RecordIds { .. }
            | Self::Collation { .. }
            | Self::Compression { .. }
            | Self::Described { .. }
            | Self::Unreadable { .. }
            | Self::Field { .. }
            | Self::Aggregate { .. }
            | Self::PartialAggregate { .. }
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

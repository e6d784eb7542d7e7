//! The validation of a collection: its validator, and what the server does about a document that fails it.

use bson::{Document, doc};

use super::validator::{TITLE, validator};
use crate::{index::Drift, model::spec::BucketSpec};

/// The options that belong together.
const VALIDATOR: &str = "validator";
const LEVEL: &str = "validationLevel";
const ACTION: &str = "validationAction";

/// How the validation of a collection differs from the model's.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Validation {
    /// The collection has none.
    Missing,
    /// It has the model's.
    Same,
    /// It has another one.
    Differs(Drift),
}

/// The options that `create` and `collMod` take. Documents that failed before may still be changed, so that a
/// collection with damage goes on taking records, and can be repaired.
///
/// ```
/// # use bucket_core::{BucketSpec, schema};
/// fn refuses(spec: &BucketSpec) -> bool {
///     schema::validation(spec).get_str("validationAction").is_ok_and(|it| it == "error")
/// }
/// ```
#[must_use]
pub fn validation(spec: &BucketSpec) -> Document {
    doc! { VALIDATOR: validator(spec), LEVEL: "moderate", ACTION: "error" }
}

impl Validation {
    /// That of a collection, as `listCollections` returns it.
    ///
    /// ```
    /// use bson::doc;
    /// # use bucket_core::{BucketSpec, schema::Validation};
    ///
    /// fn has_none(spec: &BucketSpec) -> bool {
    ///     Validation::of_listed(spec, &doc! { "name": "trades", "options": {} }) == Validation::Missing
    /// }
    /// ```
    #[must_use]
    pub fn of_listed(spec: &BucketSpec, listed: &Document) -> Self {
        let none = Document::new();
        let options = listed.get_document("options").unwrap_or(&none);
        let Some(found) = options
            .get_document(VALIDATOR)
            .ok()
            .filter(|it| !it.is_empty())
        else {
            return Self::Missing;
        };
        let option = |name: &str, otherwise: &str| {
            let value = options.get_str(name).unwrap_or(otherwise);
            value.to_owned()
        };
        let found = doc! {
            VALIDATOR: found.clone(),
            LEVEL: option(LEVEL, "strict"),
            ACTION: option(ACTION, "error"),
        };
        let expected = validation(spec);
        if found == expected {
            return Self::Same;
        }
        let is_own = title(&found).is_some_and(|title| title.starts_with(TITLE));
        Self::Differs(Drift::Validator {
            expected,
            found,
            is_own,
        })
    }
}

fn title(validation: &Document) -> Option<&str> {
    let schema = validation.get_document(VALIDATOR).ok()?;
    let schema = schema.get_document("$jsonSchema").ok()?;
    schema.get_str("title").ok()
}

//! The manual's movies.

use std::collections::BTreeMap;

use bucket_mongo::{Attributed, bson::DateTime};
use serde::{Deserialize, Serialize};

/// A movie with the dates on which it was released. The stored names are those of the manual.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Attributed)]
#[bucket(collection = "movies")]
#[bucket(attributes(array = "releases", k = "location", v = "date"))]
pub(crate) struct Movie {
    #[serde(rename = "_id")]
    pub(crate) id: i32,
    pub(crate) title: String,
    pub(crate) runtime: i32,
    pub(crate) directors: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[bucket(attribute(array = "releases", k = "USA"))]
    pub(crate) release_us: Option<DateTime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[bucket(attribute(array = "releases", k = "France"))]
    pub(crate) release_france: Option<DateTime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[bucket(attribute(array = "releases", k = "Italy"))]
    pub(crate) release_italy: Option<DateTime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[bucket(attribute(array = "releases", k = "UK"))]
    pub(crate) release_uk: Option<DateTime>,
    /// The places that the struct does not name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    #[bucket(attribute(array = "releases", rest))]
    pub(crate) elsewhere: BTreeMap<String, DateTime>,
}

//! The manual's bottles of water.

use bucket_mongo::Attributed;
use serde::{Deserialize, Serialize};

/// A bottle, whose values are numbers and are compared as numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Attributed)]
#[bucket(collection = "bottles")]
pub(crate) struct Bottle {
    #[serde(rename = "_id")]
    pub(crate) id: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[bucket(attribute(array = "specs", k = "volume", u = "ml", factor = 1))]
    pub(crate) volume_ml: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[bucket(attribute(array = "specs", k = "volume", u = "ounces", factor = 29.5735))]
    pub(crate) volume_ounces: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[bucket(attribute(array = "specs", k = "height", u = "inches"))]
    pub(crate) height_inches: Option<i32>,
    /// Not in the manual.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[bucket(attribute(array = "specs", k = "weight", u = "g"))]
    pub(crate) weight_g: Option<i32>,
}

/// A bottle exactly as in the manual, whose values are text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Attributed)]
#[bucket(collection = "manual_bottles")]
pub(crate) struct ManualBottle {
    #[serde(rename = "_id")]
    pub(crate) id: i32,
    #[bucket(attribute(array = "specs", k = "volume", u = "ml", text))]
    pub(crate) volume_ml: Option<i32>,
    #[bucket(attribute(array = "specs", k = "volume", u = "ounces", text))]
    pub(crate) volume_ounces: Option<i32>,
    #[bucket(attribute(array = "specs", k = "height", u = "inches", text))]
    pub(crate) height_inches: Option<i32>,
}

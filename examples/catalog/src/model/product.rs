//! Products of all kinds, each with a few of many attributes.

use bucket_mongo::Attributed;
use serde::{Deserialize, Serialize};

/// A product.
///
/// Its serde form, which leaves out absent attributes, is the document of many fields.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Attributed)]
#[bucket(collection = "products")]
pub(crate) struct Product {
    #[serde(rename = "_id")]
    pub(crate) id: i32,
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[bucket(attribute(array = "specs", k = "volume", u = "ml"))]
    pub(crate) volume_ml: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[bucket(attribute(array = "specs", k = "height", u = "cm"))]
    pub(crate) height_cm: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[bucket(attribute(array = "specs", k = "width", u = "cm"))]
    pub(crate) width_cm: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[bucket(attribute(array = "specs", k = "depth", u = "cm"))]
    pub(crate) depth_cm: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[bucket(attribute(array = "specs", k = "weight", u = "g"))]
    pub(crate) weight_g: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[bucket(attribute(array = "specs", k = "power", u = "W"))]
    pub(crate) power_w: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[bucket(attribute(array = "specs", k = "memory", u = "GB"))]
    pub(crate) memory_gb: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[bucket(attribute(array = "specs", k = "screen", u = "inches"))]
    pub(crate) screen_inches: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[bucket(attribute(array = "specs", k = "pages"))]
    pub(crate) pages: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[bucket(attribute(array = "specs", k = "color"))]
    pub(crate) color: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[bucket(attribute(array = "specs", k = "size"))]
    pub(crate) size: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[bucket(attribute(array = "specs", k = "material"))]
    pub(crate) material: Option<String>,
    /// Added after the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[bucket(attribute(array = "specs", k = "warranty", u = "months"))]
    pub(crate) warranty_months: Option<i32>,
}

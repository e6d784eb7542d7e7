//! A reading in `--json`: plain numbers, its time as RFC 3339.

use example_kit::text;
use serde::Serialize;

use crate::model::Reading;

/// The names are those of the columns of the file.
#[derive(Debug, Serialize)]
pub(crate) struct Shown<'a> {
    device_id: &'a str,
    sensor_type: &'a str,
    timestamp: String,
    value: f64,
    quality: f64,
}

impl<'a> From<&'a Reading> for Shown<'a> {
    fn from(reading: &'a Reading) -> Self {
        let Reading {
            device_id,
            sensor_type,
            timestamp,
            value,
            quality,
        } = reading;
        Self {
            device_id,
            sensor_type,
            timestamp: text::date(*timestamp),
            value: *value,
            quality: *quality,
        }
    }
}

//! Records of every form, some without a value and some with one that is not finite.
#![allow(unreachable_pub, missing_docs)]

use bucket_mongo::bson::DateTime;

use super::sample::{Sample, SampleKey};

pub fn record<const F: usize>(device: &str, millis: i64, unique: i64) -> Sample<F> {
    Sample {
        device: device.to_owned(),
        at: DateTime::from_millis(millis),
        unique,
        value: unique * 7_919 % 1_000 - 400,
        level: match unique % 5 {
            0 => None,
            1 => Some(f64::NAN),
            _ => Some(f64::from(i32::try_from(unique).unwrap()) / 7.0),
        },
        code: ["200", "a.b", "$inc", ""][usize::try_from(unique % 4).unwrap()].to_owned(),
    }
}

pub fn key(device: &str) -> SampleKey {
    SampleKey(device.to_owned())
}

//! Generated records: late, repeated, before 1970, far in the future, not finite.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::panic)]

use bucket_core::private::bson::DateTime;
use proptest::prelude::*;

use super::sample::Sample;

/// A generated record.
#[derive(Debug, Clone)]
pub struct Drawn {
    pub device: u8,
    pub at: i64,
    pub value: i32,
    pub level: Option<f64>,
    pub code: String,
}

impl Drawn {
    /// One of the device 0 at this time.
    pub fn at(at: i64) -> Self {
        Self {
            device: 0,
            at,
            value: 1,
            level: None,
            code: String::new(),
        }
    }
}

pub fn drawn() -> impl Strategy<Value = Drawn> {
    let at = prop_oneof![
        4 => 0..8_000_i64,
        2 => -4_000..0_i64,
        1 => Just(1_500_i64),
        1 => any::<i64>(),
    ];
    let level = prop_oneof![
        3 => (-1e6..1e6_f64).prop_map(Some),
        1 => Just(None),
        1 => Just(Some(f64::NAN)),
        1 => Just(Some(f64::INFINITY)),
    ];
    let code = prop_oneof![Just(""), Just("200"), Just("a.b"), Just("$inc"), Just("%")];
    (0..2_u8, at, any::<i32>(), level, code).prop_map(|(device, at, value, level, code)| Drawn {
        device,
        at,
        value,
        level,
        code: code.to_owned(),
    })
}

impl Drawn {
    pub fn sample<const F: usize>(&self, unique: usize) -> Sample<F> {
        Sample {
            device: self.device.to_string(),
            at: DateTime::from_millis(self.at),
            unique: i64::try_from(unique).unwrap(),
            value: i64::from(self.value),
            level: self.level,
            code: self.code.clone(),
        }
    }
}

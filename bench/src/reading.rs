//! The generated records: readings of 100 sensors, one after the other, every ten seconds.

use std::sync::Arc;

use bucket_mongo::bson::DateTime;
use serde::{Deserialize, Serialize};

/// The number of sensors.
pub(crate) const SENSORS: usize = 100;
/// 2024-01-01T00:00:00Z
const START: i64 = 1_704_067_200_000;
/// The time between two readings of a sensor, in milliseconds.
const INTERVAL: i64 = 10_000;

/// A reading as a flat collection stores it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Reading {
    pub(crate) sensor_id: String,
    pub(crate) ts: DateTime,
    pub(crate) v: f64,
    pub(crate) q: f64,
}

/// Readings that several contestants share.
pub(crate) type Readings = Arc<Vec<Reading>>;

/// This many readings of all sensors, the same ones in every run.
pub(crate) fn readings(number: usize) -> Readings {
    readings_of(SENSORS, number)
}

/// The reading at a position in an endless sequence, without the history that gives the other
/// readings their values.
pub(crate) fn reading_at(index: usize) -> Reading {
    let seed = u64::try_from(index)
        .unwrap_or(u64::MAX)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    reading(index, &mut [20.0; SENSORS], &mut Numbers(seed | 1))
}

/// The same of this number of sensors, which take turns.
pub(crate) fn reading_of(index: usize, sensors: usize) -> Reading {
    let mut reading = reading_at(index);
    let turn = i64::try_from(index / sensors).unwrap_or(i64::MAX);
    reading.sensor_id = format!("sensor_{:03}", index % sensors);
    reading.ts = DateTime::from_millis(START + turn * INTERVAL);
    reading
}

/// This many readings of the first sensors, which take turns.
pub(crate) fn readings_of(sensors: usize, number: usize) -> Readings {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let mut values = vec![20.0; sensors];
    let made = (0..number).map(|index| reading(index, &mut values, &mut numbers));
    Arc::new(made.collect())
}

/// A sensor reports every ten seconds, give or take half a second. Its value goes up or down a
/// little, in hundredths; one reading in a hundred is not of full quality.
fn reading(index: usize, values: &mut [f64], numbers: &mut Numbers) -> Reading {
    let sensor = index % values.len();
    let turn = i64::try_from(index / values.len()).unwrap_or(i64::MAX);
    let jitter = i64::from(numbers.below(1_000)) - 500;
    let step = f64::from(numbers.below(41)) - 20.0;
    values[sensor] = (values[sensor].mul_add(100.0, step)).round() / 100.0;
    let q = if numbers.below(100) == 0 { 0.5 } else { 1.0 };
    Reading {
        sensor_id: format!("sensor_{sensor:03}"),
        ts: DateTime::from_millis(START + turn * INTERVAL + jitter),
        v: values[sensor],
        q,
    }
}

/// Numbers that look random and are the same in every run (xorshift64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        // The remainder is below `bound`.
        u32::try_from(self.0 % u64::from(bound)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_has_the_same_readings_in_the_same_order() {
        assert_eq!(readings(1_000), readings(1_000));
        assert_eq!(readings(1_000)[..10], readings(10)[..]);
    }

    #[test]
    fn sensors_take_turns_and_their_times_rise() {
        let readings = readings(1_000);
        assert_eq!(readings[105].sensor_id, "sensor_005");
        let of_one = readings.iter().skip(7).step_by(SENSORS);
        let times: Vec<_> = of_one.map(|reading| reading.ts).collect();
        assert!(times.is_sorted() && times.len() == 10);
    }
}

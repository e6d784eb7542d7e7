//! A span of time that is read for one sensor, among others that reported at the same time.

use std::sync::Arc;

use bucket_mongo::bson::{DateTime, Document, doc};

use crate::{
    data::of_sensor,
    reading::{Reading, Readings, readings_of},
    scale::Scale,
};

/// The sensors that report.
const SENSORS: usize = 5;
/// The sensor that is read.
pub(crate) const SENSOR: &str = "sensor_002";

/// The readings of a call that brings ten of each sensor.
pub(crate) const BATCH: usize = 10 * SENSORS;

/// What is read.
#[derive(Clone)]
pub(crate) struct Span {
    pub(crate) from: DateTime,
    /// The time of the first reading after the span.
    pub(crate) to: DateTime,
    /// The readings of the sensor in the span.
    pub(crate) readings: Readings,
}

/// All readings of all sensors, and the span of one of them. Both ends are inside an hour: no
/// bucket begins or ends with them.
pub(crate) fn span(scale: Scale) -> (Readings, Span) {
    let (length, margin) = (scale.pick(100_000, 1_000), 200);
    let all = readings_of(SENSORS, SENSORS * (length + 2 * margin));
    let of_one = of_sensor(&all, SENSOR);
    let span = Span {
        from: of_one[margin].ts,
        to: of_one[margin + length].ts,
        readings: Arc::new(of_one[margin..margin + length].to_vec()),
    };
    (all, span)
}

impl Span {
    /// The query for them in a collection with one document per record.
    pub(crate) fn filter(&self) -> Document {
        doc! { "sensor_id": SENSOR, "ts": { "$gte": self.from, "$lt": self.to } }
    }

    /// The values of the readings.
    pub(crate) fn values(&self) -> impl Iterator<Item = f64> {
        self.readings.iter().map(|Reading { v, .. }| *v)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_span_has_all_readings_of_the_sensor_from_its_start_up_to_its_end() {
        let (all, span) = span(Scale::Quick);
        let inside = |reading: &&Reading| reading.ts >= span.from && reading.ts < span.to;
        let of_sensor = of_sensor(&all, SENSOR);
        let inside: Vec<_> = of_sensor.iter().filter(inside).cloned().collect();
        assert_eq!(inside, *span.readings);
        assert!(inside.len() < of_sensor.len());
    }

    #[test]
    fn an_hour_is_cut_at_each_end() {
        for scale in [Scale::Quick, Scale::Full] {
            let (all, span) = span(scale);
            let hour = |time: DateTime| time.timestamp_millis().div_euclid(3_600_000);
            let of_sensor = of_sensor(&all, SENSOR);
            let before = of_sensor.iter().rfind(|reading| reading.ts < span.from);
            assert_eq!(
                before.map(|reading| hour(reading.ts)),
                Some(hour(span.from))
            );
            let last = span.readings.last().map(|reading| hour(reading.ts));
            assert_eq!(last, Some(hour(span.to)));
        }
    }
}

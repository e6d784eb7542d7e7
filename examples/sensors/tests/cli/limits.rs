//! The limits of each type of sensor.

use std::{collections::BTreeMap, fmt::Write as _};

use bucket_mongo::bson::DateTime;

use crate::app::{HEADER, SENSORS, buckets, readings};

/// Type, window in milliseconds, capacity, and the milliseconds between two readings, so that each
/// window takes more readings than a bucket.
const TYPES: [(&str, i64, usize, i64); 5] = [
    ("temperature", 3_600_000, 60, 30_000),
    ("humidity", 3_600_000, 60, 30_000),
    ("pressure", 1_800_000, 30, 30_000),
    ("vibration", 60_000, 1_000, 40),
    ("co2", 3_600_000, 100, 20_000),
];
/// 2026-01-30T10:00:00Z, where windows of all types begin.
const START: i64 = 1_769_767_200_000;

#[tokio::test]
async fn every_bucket_has_the_window_and_the_capacity_of_its_type() {
    let mut content = format!("{HEADER}\n");
    for (sensor, window, _, step) in TYPES {
        // Two windows and a half.
        for millis in (0..window * 5 / 2).step_by(step.try_into().unwrap()) {
            let time = DateTime::from_millis(START + millis);
            let time = time.try_to_rfc3339_string().unwrap();
            writeln!(content, "device_1,{sensor},{time},1").unwrap();
        }
    }
    let app = SENSORS.app("limits").await;
    let ran = app.run(&["load", &SENSORS.file("limits.csv", content)]);
    assert_eq!(ran.code, Some(0), "{ran:?}");

    let stored = buckets(&app).await;
    for (sensor, window, capacity, step) in TYPES {
        let mut counts = BTreeMap::<i64, Vec<usize>>::new();
        let own = |name: &str| name == sensor;
        for bucket in stored
            .iter()
            .filter(|b| own(b.get_str("sensor_type").unwrap()))
        {
            let millis = |name| bucket.get_datetime(name).unwrap().timestamp_millis();
            let (start, end) = (millis("bucket_start"), millis("bucket_end"));
            assert_eq!((start % window, end - start), (0, window), "{sensor}");
            let readings = readings(bucket);
            for reading in &readings {
                let time = reading.get_datetime("ts").unwrap().timestamp_millis();
                assert!((start..end).contains(&time), "{sensor}: {reading}");
            }
            counts.entry(start).or_default().push(readings.len());
        }
        let per_window = usize::try_from(window / step).unwrap();
        let full = |readings: usize| {
            let mut counts = vec![capacity; readings / capacity];
            counts.extend(Some(readings % capacity).filter(|rest| *rest > 0));
            counts
        };
        let expected = BTreeMap::from([
            (START, full(per_window)),
            (START + window, full(per_window)),
            (START + 2 * window, full(per_window / 2)),
        ]);
        assert_eq!(counts, expected, "{sensor}");
    }
}

//! `sensors latest`.

use serde_json::Value;

use crate::app::{HEADER, SENSORS, expected, rows, with_real_file};

#[tokio::test]
async fn the_newest_reading_of_every_sensor_is_a_line_by_device_and_type() {
    let app = with_real_file("latest").await;
    let ran = app.run(&["latest", "--json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let lines = ran.stdout.lines();
    let found: Vec<Value> = lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let expected = expected();
    assert_eq!(found.len(), expected.len());
    for (reading, (device, sensor)) in found.iter().zip(expected.keys()) {
        assert_eq!(reading["device_id"], device.as_str());
        assert_eq!(reading["sensor_type"], sensor.as_str());
        let rows = rows(device, sensor, "", "");
        let (newest, _) = rows.last().unwrap();
        assert_eq!(reading["timestamp"], newest.replace('Z', ".000Z"));
        // Times may repeat.
        let value = reading["value"].as_f64().unwrap();
        assert!(rows.contains(&(newest.clone(), value)), "{reading}");
    }
}

#[tokio::test]
async fn the_table_shows_the_newest_reading_and_not_the_last_to_arrive() {
    let app = SENSORS.app("latest_table").await;
    let rows = "b,co2,2014-02-14T16:31:00Z,4.25\nb,co2,2014-02-14T14:30:00Z,2\n\
                a,co2,2014-02-14T14:30:00Z,3\n";
    let path = SENSORS.file("latest_table.csv", format!("{HEADER}\n{rows}"));
    assert_eq!(app.run(&["load", &path]).code, Some(0));
    let ran = app.run(&["latest"]);
    let expected = "\
device  type  time                 value  quality
---------------------------------------------------
a       co2   2014-02-14 14:30:00    3.0      1.0
b       co2   2014-02-14 16:31:00   4.25      1.0
";
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (Some(0), expected, "")
    );
}

#[tokio::test]
async fn an_empty_database_has_no_newest_reading() {
    let app = SENSORS.app("latest_empty").await;
    let ran = app.run(&["latest"]);
    let expected = format!("no readings in `{}.iot_buckets`\n", app.database().name());
    assert_eq!((ran.code, ran.stdout), (Some(0), expected));
    let ran = app.run(&["latest", "--json"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (Some(0), "", "")
    );
}

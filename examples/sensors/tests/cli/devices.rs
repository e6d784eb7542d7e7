//! `sensors devices`.

use serde_json::json;

use crate::app::{HEADER, SENSORS, expected, real_file};

#[tokio::test]
async fn figures_are_exact_and_percentiles_within_one_percent() {
    let app = SENSORS.app("figures").await;
    assert_eq!(app.run(&["load", &real_file()]).code, Some(0));
    let ran = app.run(&["devices", "--json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let report = ran.json();
    let devices = report["devices"].as_array().unwrap();
    let expected = expected();
    assert_eq!(devices.len(), expected.len());
    for (device, (key, sensor)) in devices.iter().zip(&expected) {
        assert_eq!(device["device_id"], key.0.as_str());
        assert_eq!(device["sensor_type"], key.1.as_str());
        assert_eq!(device["buckets"], sensor.buckets(), "{device}");
        assert_eq!(device["readings"], sensor.values.len(), "{device}");
        assert_eq!(device["min"], sensor.min(), "{device}");
        assert_eq!(device["max"], sensor.max(), "{device}");
        let average = device["average"].as_f64().unwrap();
        assert!((average - sensor.average()).abs() < 1e-9, "{device}");
        for percent in [50, 95, 99] {
            let found = device[format!("p{percent}")].as_f64().unwrap();
            assert!(sensor.is_percentile(percent, found), "{percent}: {device}");
        }
    }
}

#[tokio::test]
async fn each_device_is_a_line() {
    let app = SENSORS.app("line").await;
    let rows = "a,co2,2014-02-14T14:30:00Z,2\na,co2,2014-02-14T14:31:00Z,4\n";
    let path = SENSORS.file("line.csv", format!("{HEADER}\n{rows}"));
    assert_eq!(app.run(&["load", &path]).code, Some(0));
    let ran = app.run(&["devices"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert_eq!(lines.len(), 3, "{ran:?}");
    assert!(lines[2].starts_with("a       co2"), "{ran:?}");
    let columns: Vec<_> = lines[2].split_whitespace().collect();
    assert_eq!(columns[2..7], ["1", "2", "2.00", "4.00", "3.00"]);
}

#[tokio::test]
async fn an_empty_database_is_no_error_and_stays_empty() {
    let app = SENSORS.app("empty").await;
    let ran = app.run(&["devices"]);
    let expected = format!("no readings in `{}.iot_buckets`\n", app.database().name());
    assert_eq!((ran.code, ran.stdout), (Some(0), expected));
    assert_eq!(
        app.run(&["devices", "--json"]).json(),
        json!({ "devices": [] })
    );
    let names = app.database().list_collection_names().await.unwrap();
    assert!(names.is_empty(), "reading creates nothing: {names:?}");
}

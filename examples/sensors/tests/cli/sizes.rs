//! `sensors sizes`.

use serde_json::json;

use crate::app::{HEADER, SENSORS};

#[tokio::test]
async fn the_sizes_are_those_of_what_was_loaded_by_the_limits_of_each_type() {
    let app = SENSORS.app("sizes").await;
    // Vibration has windows of a minute and 1,000 readings, pressure of half an hour and 30.
    let row = |second: u32| {
        let at = format!("2014-02-14T14:30:{second:02}Z,1");
        format!("a,vibration,{at}\na,pressure,{at}\n")
    };
    let rows: String = (0..30).map(row).collect();
    let path = SENSORS.file("sizes.csv", format!("{HEADER}\n{rows}"));
    assert_eq!(app.run(&["load", &path]).code, Some(0));
    let report = app.run(&["sizes", "--json"]).json();
    let fill = &report["fill"];
    assert_eq!(
        (&fill["buckets"], &fill["records"]),
        (&json!(2), &json!(60))
    );
    assert_eq!(fill["full"]["buckets"], 1, "{report}");
    assert_eq!(fill["over"]["buckets"], 1, "{report}");
    assert_eq!(fill["capacity"]["places"], 1_030);
    assert_eq!(
        (&fill["damaged"], &fill["expiry"]),
        (&json!(0), &json!(null))
    );
    let sizes = &report["sizes"];
    assert_eq!(
        (&sizes["documents"], &sizes["data"]),
        (&json!(2), &fill["bytes"])
    );
    assert!(
        sizes["indexes"]["bucket_pages"].as_u64() > Some(0),
        "{report}"
    );
    assert!(report["bytes_per_reading"].as_f64() > Some(0.0));
    let text = app.run(&["sizes"]).stdout;
    assert!(text.starts_with("2 documents, "), "{text}");
    let expected = "60 records in 2 buckets, ";
    assert!(
        text.lines().any(|line| line.starts_with(expected)),
        "{text}"
    );
}

#[tokio::test]
async fn a_database_without_readings_takes_no_space() {
    let app = SENSORS.app("sizes_empty").await;
    let report = app.run(&["sizes", "--json"]).json();
    assert_eq!(
        (&report["fill"]["buckets"], &report["sizes"]["documents"]),
        (&json!(0), &json!(0))
    );
    assert_eq!(report["bytes_per_reading"], json!(null));
}

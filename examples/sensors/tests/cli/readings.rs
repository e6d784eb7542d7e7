//! `sensors readings`.

use std::process::Stdio;

use example_kit::testing::{Ran, uri};
use serde_json::{Value, json};

use crate::app::{HEADER, Row, SENSORS, rows, select, sort, with_real_file};

const MACHINE: [&str; 2] = ["machine_1", "temperature"];
/// Some of its readings came late, and some times repeat.
const ROAD: [&str; 2] = ["road_t4013", "speed"];

fn lines(ran: &Ran) -> Vec<Value> {
    let lines = ran.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Time and value of each line.
fn found(ran: &Ran) -> Vec<Row> {
    let row = |line: &Value| {
        let time = line["timestamp"].as_str().unwrap().replace(".000Z", "Z");
        (time, line["value"].as_f64().unwrap())
    };
    lines(ran).iter().map(row).collect()
}

#[tokio::test]
async fn a_span_is_exact_at_both_ends_and_in_time_order() {
    let app = with_real_file("readings").await;
    for (sensor, span) in [
        (MACHINE, ["", ""]),
        (ROAD, ["", ""]),
        // From one reading up to another: both are in the middle of a bucket.
        (MACHINE, ["2014-01-01T00:30:00Z", "2014-01-03T11:40:00Z"]),
        (MACHINE, ["2014-01-01T00:30:01Z", "2014-01-01T00:40:01Z"]),
        (MACHINE, ["2014-02-19T00:00:00Z", ""]),
        (ROAD, ["", "2015-09-01T00:00:00Z"]),
        (ROAD, ["2015-09-08T12:00:00Z", "2015-09-09T12:00:00Z"]),
        (ROAD, ["2015-09-08T12:00:00Z", "2015-09-08T12:00:00Z"]),
    ] {
        let ran = app.run(&select("readings", sensor, span));
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{span:?}");
        let mut found = found(&ran);
        assert!(found.is_sorted_by(|a, b| a.0 <= b.0), "{span:?}");
        sort(&mut found);
        let expected = rows(sensor[0], sensor[1], span[0], span[1]);
        assert!(
            found == expected,
            "{span:?}: {} of {}",
            found.len(),
            expected.len()
        );
    }
}

#[tokio::test]
async fn a_reading_is_a_line_with_all_its_fields() {
    let app = SENSORS.app("reading_line").await;
    let rows = "a,co2,2014-02-14T14:31:00.5Z,4,0\na,co2,2014-02-14T14:30:00Z,-2.125,0.5\n";
    let path = SENSORS.file("reading_line.csv", format!("{HEADER},quality\n{rows}"));
    assert_eq!(app.run(&["load", &path]).code, Some(0));
    let ran = app.run(&["readings", "a", "co2", "--json"]);
    let reading = |time: &str, value: f64, quality: f64| {
        json!({
            "device_id": "a", "sensor_type": "co2", "timestamp": time, "value": value,
            "quality": quality,
        })
    };
    let expected = [
        reading("2014-02-14T14:30:00.000Z", -2.125, 0.5),
        reading("2014-02-14T14:31:00.500Z", 4.0, 0.0),
    ];
    assert_eq!((ran.code, lines(&ran)), (Some(0), expected.to_vec()));

    let ran = app.run(&["readings", "a", "co2"]);
    let expected = "\
a co2

time                                    value  quality
------------------------------------------------------
2014-02-14 14:30:00                    -2.125      0.5
2014-02-14 14:31:00.500                   4.0      0.0

2 readings
";
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (Some(0), expected, "")
    );
}

#[tokio::test]
async fn no_readings_are_no_error_and_nothing_is_created() {
    let app = SENSORS.app("no_readings").await;
    let ran = app.run(&["readings", "a", "co2", "--from", "2014-02-14T14:30:00Z"]);
    let expected = "no readings of a co2 from 2014-02-14 14:30:00 UTC\n";
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), expected),
        "{ran:?}"
    );
    let ran = app.run(&["readings", "a", "co2", "--json"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (Some(0), "", "")
    );
    let names = app.database().list_collection_names().await.unwrap();
    assert!(names.is_empty(), "reading creates nothing: {names:?}");
}

#[tokio::test]
async fn a_closed_pipe_ends_it_without_an_error() {
    let app = with_real_file("readings_pipe").await;
    let mut command = SENSORS.command(Some(&uri(app.database().name())));
    command.args(["readings", "machine_1", "temperature"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.as_str()), (Some(0), ""));
}

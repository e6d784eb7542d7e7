//! `sensors stats`.

use std::collections::BTreeSet;

use serde_json::json;

use crate::app::{HEADER, SENSORS, rows, select, with_real_file};

#[tokio::test]
async fn figures_are_exact_for_any_span_and_open_at_most_two_buckets() {
    let app = with_real_file("stats").await;
    for (sensor, span, opened) in [
        (["machine_1", "temperature"], ["", ""], 0),
        (
            ["machine_1", "temperature"],
            ["2014-01-01T00:30:00Z", "2014-02-01T00:30:00Z"],
            2,
        ),
        (
            ["machine_1", "temperature"],
            ["2014-01-01T00:00:00Z", "2014-02-01T00:00:00Z"],
            0,
        ),
        (
            ["machine_1", "temperature"],
            ["2014-01-01T00:10:00Z", "2014-01-01T00:20:00Z"],
            1,
        ),
        (
            ["machine_1", "temperature"],
            ["2014-01-01T00:10:00Z", ""],
            1,
        ),
        (["office_1", "temperature"], ["", "2014-01-01T00:00:00Z"], 0),
        (
            ["road_t4013", "speed"],
            ["2015-09-08T12:00:00Z", "2015-09-09T12:00:00Z"],
            0,
        ),
    ] {
        let ran = app.run(&select("stats", sensor, span));
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
        let found = ran.json();
        let rows = rows(sensor[0], sensor[1], span[0], span[1]);
        let values = || rows.iter().map(|(_, value)| *value);
        let hours: BTreeSet<&str> = rows.iter().map(|(time, _)| &time[..13]).collect();
        let bound = |text: &str| match text {
            "" => json!(null),
            _ => json!(text.replace('Z', ".000Z")),
        };
        assert_eq!([&found["device_id"], &found["sensor_type"]], sensor);
        assert_eq!(
            [&found["from"], &found["to"]],
            [&bound(span[0]), &bound(span[1])]
        );
        assert_eq!(found["readings"], rows.len(), "{found}");
        assert_eq!(found["buckets"], hours.len(), "{found}");
        assert_eq!(found["opened"], opened, "{span:?}: {found}");
        assert_eq!(found["min"].as_f64(), values().reduce(f64::min), "{found}");
        assert_eq!(found["max"].as_f64(), values().reduce(f64::max), "{found}");
        let sum: f64 = values().sum();
        let average = sum / f64::from(u32::try_from(rows.len()).unwrap());
        assert!(
            (found["sum"].as_f64().unwrap() - sum).abs() < 1e-6,
            "{sum}: {found}"
        );
        assert!(
            (found["average"].as_f64().unwrap() - average).abs() < 1e-9,
            "{average}: {found}"
        );
    }
}

#[tokio::test]
async fn statistics_are_a_table_with_one_line() {
    let app = SENSORS.app("stats_table").await;
    let rows = "a,co2,2014-02-14T14:30:00Z,2\na,co2,2014-02-14T15:31:00Z,4\n\
                a,co2,2014-02-14T15:32:00Z,-8\n";
    let path = SENSORS.file("stats_table.csv", format!("{HEADER}\n{rows}"));
    assert_eq!(app.run(&["load", &path]).code, Some(0));
    let ran = app.run(&["stats", "a", "co2", "--to", "2014-02-14T15:32:00Z"]);
    let expected = "\
a co2 to 2014-02-14 15:32:00 UTC
2 readings in 2 buckets, 1 of them opened for their readings

min   max   average  sum
---------------------------
2.00  4.00     3.00  6.00
";
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (Some(0), expected, "")
    );
    let ran = app.run(&["stats", "a", "co2"]);
    let expected = "a co2\n3 readings in 2 buckets, read from their aggregates only\n\n";
    assert!(ran.stdout.starts_with(expected), "{ran:?}");
}

#[tokio::test]
async fn without_readings_there_are_no_statistics() {
    let app = SENSORS.app("no_stats").await;
    let ran = app.run(&["stats", "a", "co2"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "no readings of a co2\n"),
        "{ran:?}"
    );
    let expected = json!({
        "device_id": "a", "sensor_type": "co2", "from": null, "to": null, "readings": 0,
        "min": null, "max": null, "average": null, "sum": null, "buckets": 0, "opened": 0,
    });
    let ran = app.run(&["stats", "a", "co2", "--json"]);
    assert_eq!((ran.code, ran.json()), (Some(0), expected));
}

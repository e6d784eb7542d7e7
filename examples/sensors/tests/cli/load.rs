//! `sensors load`.

use bucket_mongo::bson::{Bson, Document};
use serde_json::json;

use crate::app::{HEADER, SENSORS, buckets, expected, readings, real_file};

fn names(document: &Document) -> Vec<&str> {
    let mut names: Vec<_> = document.keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

#[tokio::test]
async fn the_real_file_is_stored_fully_in_the_shape_of_the_tutorial() {
    let app = SENSORS.app("whole").await;
    let ran = app.run(&["load", &real_file()]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let number: usize = expected().values().map(crate::app::Expected::buckets).sum();
    let expected = format!(
        "53060 readings of 10 sensors -> {number} new buckets in `{}.iot_buckets`\n",
        app.database().name()
    );
    assert_eq!(ran.stdout, expected);

    let stored = buckets(&app).await;
    assert_eq!(stored.len(), number);
    let mut sum = 0;
    for bucket in &stored {
        let expected = [
            "_id",
            "bucket_end",
            "bucket_start",
            "count",
            "created_at",
            "device_id",
            "readings",
            "sensor_type",
            "stats",
        ];
        assert_eq!(names(bucket), expected);
        assert!(matches!(bucket.get("created_at"), Some(Bson::DateTime(_))));
        let items = readings(bucket);
        sum += items.len();
        assert!(items.iter().all(|item| names(item) == ["q", "ts", "v"]));
        let count = bucket.get("count").unwrap();
        let count = count.as_i64().or(count.as_i32().map(i64::from));
        assert_eq!(count, i64::try_from(items.len()).ok());

        let stats = bucket.get_document("stats").unwrap();
        assert_eq!(names(stats), ["max", "min", "sum"]);
        let values = items.iter().map(|item| item.get_f64("v").unwrap());
        let stat = |name| stats.get_f64(name).unwrap();
        assert_eq!(Some(stat("min")), values.clone().reduce(f64::min));
        assert_eq!(Some(stat("max")), values.clone().reduce(f64::max));
        assert!((stat("sum") - values.sum::<f64>()).abs() < 1e-9);
    }
    assert_eq!(sum, 53_060);
}

#[tokio::test]
async fn a_file_that_is_loaded_twice_is_stored_twice_in_the_same_buckets() {
    let app = SENSORS.app("twice").await;
    let rows = "a,co2,2014-02-14T14:30:00Z,2\na,co2,2014-02-14T14:31:00Z,4\n";
    let path = SENSORS.file("twice.csv", format!("{HEADER}\n{rows}"));
    for opened in [1, 0] {
        let ran = app.run(&["load", &path, "--json"]);
        let expected = json!({ "read": 2, "stored": 2, "buckets": opened, "failed": [] });
        assert_eq!((ran.code, ran.json()), (Some(0), expected));
    }
    let stored = buckets(&app).await;
    assert_eq!((stored.len(), readings(&stored[0]).len()), (1, 4));
}

#[tokio::test]
async fn wrong_rows_are_reported_and_the_others_loaded() {
    let content = format!(
        "{HEADER},quality\r\n\
         a,co2,2014-02-14T14:30:00Z,2,0\r\n\
         ,co2,2014-02-14T14:30:00Z,2\r\n\
         a,co2,2014-02-14T14:30:00Z,NaN,1\r\n\
         \r\n\
         a,co2,2014-02-30T14:30:00Z,2,1\r\n\
         a,co2,2014-02-14T14:30:00Z,-inf,1\r\n\
         a,co2,2014-02-14T14:30:00Z,warm,1\r\n\
         a,co2,2014-02-14T14:30:00Z,2,bad\r\n\
         a,co2,2014-02-14T14:31:00Z,3\r\n"
    );
    let path = SENSORS.file("wrong_rows.csv", content);
    let app = SENSORS.app("wrong_rows").await;

    let ran = app.run(&["load", &path]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let summary = "2 readings of 1 sensor -> 1 new bucket in ";
    assert!(ran.stdout.starts_with(summary), "{ran:?}");
    assert!(ran.stdout.ends_with("6 of 8 rows not loaded\n"), "{ran:?}");
    let refused = "which aggregates cannot include; `non_finite = \"skip\"` stores such records \
                   and leaves them out of the aggregates";
    let expected = format!(
        "\
line 3, column device_id: is empty
line 4: `value` is NaN, {refused}
line 6, column timestamp: `2014-02-30T14:30:00Z` does not exist
line 7: `value` is -inf, {refused}
line 8, column value: `warm` is not a number
line 9, column quality: `bad` is not a number
"
    );
    assert_eq!(ran.stderr, expected);

    let ran = app.run(&["load", &path, "--json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), ""), "{ran:?}");
    let report = ran.json();
    assert_eq!((&report["read"], &report["stored"]), (&json!(8), &json!(2)));
    let nan = json!({
        "line": 4, "column": null, "reason": format!("`value` is NaN, {refused}"),
    });
    assert_eq!(report["failed"][1], nan);
}

#[tokio::test]
async fn a_quality_of_0_is_stored_as_0_and_a_missing_one_as_1() {
    let content = format!(
        "{HEADER},quality\n\
         a,co2,2014-02-14T14:30:00Z,2,0\n\
         a,co2,2014-02-14T14:31:00Z,2,0.5\n\
         a,co2,2014-02-14T14:32:00Z,2,\n"
    );
    let app = SENSORS.app("quality").await;
    let ran = app.run(&["load", &SENSORS.file("quality.csv", content)]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let stored = buckets(&app).await;
    let qualities: Vec<_> = readings(&stored[0])
        .iter()
        .map(|r| r.get_f64("q").unwrap())
        .collect();
    assert_eq!(qualities, [0.0, 0.5, 1.0]);
}

#[tokio::test]
async fn a_wrong_file_is_named_with_the_expected_columns() {
    let app = SENSORS.app("no_use").await;
    let path = SENSORS.file("no_use.csv", "device_id,value\n");
    let ran = app.run(&["load", &path]);
    let expected = format!(
        "error: `{path}` has no column `sensor_type`, `timestamp`; expected the columns {HEADER}, \
         if need be quality\n"
    );
    assert_eq!((ran.code, ran.stderr), (Some(1), expected));
    let error = app.run(&["load", "no_such_file.csv", "--json"]).error();
    let error = error["error"].as_str().unwrap();
    assert!(
        error.starts_with("`no_such_file.csv` cannot be read"),
        "{error}"
    );
    assert!(buckets(&app).await.is_empty());
}

//! `sensors correct` and `sensors forget`.

use serde_json::json;

use crate::app::{HEADER, SENSORS};

const ROWS: &str = "a,co2,2014-02-14T14:30:00Z,2\n\
                    a,co2,2014-02-14T14:31:00Z,400\n\
                    a,light,2014-02-14T14:31:00Z,7\n\
                    b,co2,2014-02-14T14:31:00Z,5\n";

#[tokio::test]
async fn a_corrected_reading_changes_the_statistics_and_nothing_else() {
    let app = SENSORS.app("correct").await;
    let path = SENSORS.file("correct.csv", format!("{HEADER}\n{ROWS}"));
    assert_eq!(app.run(&["load", &path]).code, Some(0));
    let at = "2014-02-14T14:31:00Z";
    for (dry, sum) in [(true, 402.0), (false, 6.0)] {
        let mut correct = vec!["correct", "a", "co2", "--at", at, "--value", "4", "--json"];
        if dry {
            correct.push("--dry-run");
        }
        let corrected = app.run(&correct).json();
        assert_eq!(corrected["readings"][0]["value"], 4.0, "{corrected}");
        let stats = app.run(&["stats", "a", "co2", "--json"]).json();
        assert_eq!(
            (&stats["sum"], &stats["readings"]),
            (&json!(sum), &json!(2))
        );
    }
    let ran = app.run(&["correct", "a", "co2", "--at", at, "--value", "-3"]);
    assert!(ran.stdout.ends_with("\n1 reading corrected\n"), "{ran:?}");
    let at = "2014-02-14T14:32:00Z";
    let none = app.run(&["correct", "a", "co2", "--at", at, "--value", "4"]);
    let expected = "a co2 has no reading of 2014-02-14T14:32:00.000Z\n";
    assert_eq!((none.code, none.stdout.as_str()), (Some(0), expected));
}

#[tokio::test]
async fn a_device_is_forgotten_only_with_yes() {
    let app = SENSORS.app("forget").await;
    let path = SENSORS.file("forget.csv", format!("{HEADER}\n{ROWS}"));
    assert_eq!(app.run(&["load", &path]).code, Some(0));
    let devices = || {
        let devices = app.run(&["devices", "--json"]).json();
        let devices = devices["devices"].as_array().unwrap().clone();
        devices.len()
    };
    let ran = app.run(&["forget", "a"]);
    let expected = "a: 3 readings in 2 buckets would be removed; with --yes they are\n";
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), expected));
    assert_eq!(devices(), 3);
    let ran = app.run(&["forget", "a", "--yes"]);
    assert_eq!(ran.stdout, "a: 3 readings in 2 buckets removed\n");
    assert_eq!(devices(), 1);
    let gone = app.run(&["forget", "a", "--yes", "--json"]).json();
    let expected = json!({ "device_id": "a", "removed": true, "readings": 0, "buckets": 0 });
    assert_eq!(gone, expected);
}

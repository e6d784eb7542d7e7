//! `trades watch`.

use std::io::{BufRead as _, BufReader};

use example_kit::testing::ending_signals;
use serde_json::{Value, json};

use crate::app::{App, start};

/// Reads the next line of the app, which it prints when the event comes.
fn next(lines: &mut impl Iterator<Item = std::io::Result<String>>) -> Value {
    let line = lines.next().unwrap().unwrap();
    serde_json::from_str(&line).unwrap()
}

#[tokio::test]
async fn trades_of_other_processes_come_as_they_happen_until_a_signal() {
    let app = App::loaded("watch").await;
    for (signal, code) in ending_signals() {
        let arguments = ["watch", "17850", "--json"];
        let mut running = start(&arguments, app.database().name());
        let mut lines = BufReader::new(running.0.stdout.take().unwrap()).lines();
        let newest = next(&mut lines);
        assert_eq!(
            (&newest["event"], &newest["customer"]),
            (&json!("stored"), &json!(17850))
        );

        let last = [
            "feed",
            "17850",
            "--limit",
            "1",
            "--newest-first",
            "--refs",
            "--json",
        ];
        let last = app.run(&last).json()["records"][0].clone();
        let reference = last["ref"].as_str().unwrap();
        let amended = app.run(&["amend", "17850", reference, "--qty", "77"]);
        assert_eq!(amended.code, Some(0), "{amended:?}");
        let event = next(&mut lines);
        assert_eq!(event["event"], "amended");
        assert_eq!(event["record"]["qty"], 77);
        assert_eq!(event["before"], newest["record"]);

        let last = [
            "feed",
            "17850",
            "--limit",
            "1",
            "--newest-first",
            "--refs",
            "--json",
        ];
        let last = app.run(&last).json()["records"][0].clone();
        let reference = last["ref"].as_str().unwrap();
        let cancelled = app.run(&["cancel", "17850", reference]);
        assert_eq!(cancelled.code, Some(0), "{cancelled:?}");
        let removed = next(&mut lines);
        assert_eq!(removed["event"], "cancelled");
        assert_eq!(removed["before"], event["record"]);

        running.signal(signal);
        let ran = running.end();
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(code), ""), "{ran:?}");
        assert!(lines.next().is_none());
    }
}

#[tokio::test]
async fn it_begins_with_the_newest_trades_and_ends_after_a_number_of_events() {
    let app = App::loaded("watch_newest").await;
    let arguments = ["watch", "17850", "--latest", "3", "--limit", "3", "--json"];
    let ran = app.run(&arguments);
    let shown = ran.stdout.lines().map(|line| {
        let event: Value = serde_json::from_str(line).unwrap();
        event["record"].clone()
    });
    let feed = app.run(&["feed", "17850", "--limit", "3", "--newest-first", "--json"]);
    let mut expected = feed.json()["records"].as_array().unwrap().clone();
    expected.reverse();
    assert_eq!(shown.collect::<Vec<Value>>(), expected);

    // Of all customers, one each.
    let ran = app.run(&["watch", "--limit", "48"]);
    assert_eq!(
        (ran.code, ran.stdout.lines().count()),
        (Some(0), 48),
        "{ran:?}"
    );
    assert!(
        ran.stdout
            .lines()
            .all(|line| line.starts_with("stored ") && line.len() <= 80)
    );
}

#[tokio::test]
async fn wrong_numbers_are_wrong_usage() {
    let app = App::new("watch_wrong").await;
    let ran = app.run(&["watch", "--latest", "10001"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    assert!(
        ran.stderr.contains("a whole number from 0 to 10000"),
        "{ran:?}"
    );
}

//! `trades load`, stopped by a signal.

use std::{fmt::Write as _, io::Write as _};

use bucket_mongo::bson::{Document, doc};
use example_kit::testing::ending_signals;

use crate::app::{App, file, server, start};

/// The rows of a chunk of the app.
const ROWS: u64 = 10_000;

fn rows(number: u64) -> String {
    let mut rows = "customer_id,ticker,type,qty,price,date\n".to_owned();
    for number in 0..number {
        writeln!(rows, "7,T{number},buy,1,1,2023-10-26T15:47:03Z").unwrap();
    }
    rows
}

/// Starts a load whose file does not end, and waits until its first chunk is stored.
async fn stopped(app: &App, arguments: &[&str], signal: &str) -> example_kit::testing::Ran {
    server().await;
    let mut running = start(arguments, app.database().name());
    let mut input = running.0.stdin.take().unwrap();
    input.write_all(rows(ROWS + 5).as_bytes()).unwrap();
    let trades = app.database().collection::<Document>("trades");
    running
        .until(async || trades.count_documents(doc! {}).await.unwrap() >= ROWS / 10)
        .await;
    // The buckets are visible a moment before the app gets the reply.
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    running.signal(signal);
    let ran = running.end();
    drop(input);
    ran
}

#[tokio::test]
async fn it_reports_what_is_stored_and_what_to_type_for_the_rest() {
    let app = App::new("stopped").await;
    for (signal, code) in ending_signals() {
        app.database().drop().await.unwrap();
        let ran = stopped(&app, &["load", "/dev/stdin"], signal).await;
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(
            ran.stdout
                .starts_with("10000 trades of 1 customer -> 1000 new buckets "),
            "{ran:?}"
        );
        let how = "the rest of the file is not loaded; to go on:\n  \
            trades load /dev/stdin --from-line 10002\nerror: interrupted";
        assert!(ran.stderr.starts_with(how), "{ran:?}");
    }
    let ran = app.run(&[
        "load",
        &file("stopped.csv", rows(ROWS + 5)),
        "--from-line",
        "10002",
    ]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.starts_with("5 trades of 1 customer "), "{ran:?}");
    let last = app.run(&["page", "7", "1001", "--json"]).json();
    let tickers: Vec<_> = last["records"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| &r["ticker"])
        .collect();
    assert_eq!(tickers, ["T10000", "T10001", "T10002", "T10003", "T10004"]);
}

#[tokio::test]
async fn in_json_the_report_has_the_next_line() {
    let app = App::new("stopped_json").await;
    let ran = stopped(&app, &["load", "/dev/stdin", "--json"], "TERM").await;
    assert_eq!(ran.code, Some(143), "{ran:?}");
    let report = ran.json();
    assert_eq!(
        (&report["stored"], &report["next_line"]),
        (&10_000.into(), &10_002.into())
    );
    assert_eq!(ran.error()["error"], "interrupted (SIGTERM)");
}

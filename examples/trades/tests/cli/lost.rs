//! `trades load` when the server goes away.

use std::{
    io::Write as _,
    process::{Child, ChildStdin, Stdio},
    thread,
    time::Duration,
};

use bucket_mongo::{
    bson::{Document, doc},
    mongodb::Database,
    testing::DevServer,
};
use serde_json::Value;

use crate::app::command;

const ROWS: u64 = 10_000;

/// Rows of one customer, two chunks of the app. The app may stop reading at any row.
fn write_rows(mut input: ChildStdin) {
    let row = "7,MDB,buy,1,1,2023-10-26T15:47:03Z\n";
    let rows = row.repeat((2 * ROWS).try_into().unwrap());
    let header = "customer_id,ticker,type,qty,price,date\n";
    let _ = input.write_all(header.as_bytes());
    let _ = input.write_all(rows.as_bytes());
}

async fn wait_for_buckets(database: &Database, buckets: u64, app: &mut Child) {
    let trades = database.collection::<Document>("trades");
    while trades.count_documents(doc! {}).await.unwrap() < buckets {
        assert_eq!(app.try_wait().unwrap(), None, "the app waits for more rows");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_lost_server_ends_the_load_and_no_row_is_forgotten() {
    let server = DevServer::builder().own().standalone().await.unwrap();
    let separator = if server.uri().contains('?') { '&' } else { '?' };
    let uri = format!("{}{separator}serverSelectionTimeoutMS=1000", server.uri());
    let mut command = command(Some(&uri));
    command.args(["load", "/dev/stdin", "--json"]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let input = child.stdin.take().unwrap();
    let writer = thread::spawn(|| write_rows(input));
    let database = server.client().await.unwrap().database("trades");
    wait_for_buckets(&database, ROWS / 20, &mut child).await;
    server.kill().await.unwrap();

    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    writer.join().unwrap();
    let number = |name: &str| report[name].as_u64().unwrap();
    let failed = report["failed"].as_array().unwrap();
    let lines: Vec<u64> = failed
        .iter()
        .map(|row| row["line"].as_u64().unwrap())
        .collect();
    assert!(lines.is_sorted_by(|a, b| a < b), "a row is listed twice");
    assert!(!lines.is_empty());
    // Every row that was read is either stored or listed, and the first one is on line 2.
    assert_eq!(number("read"), number("stored") + lines.len() as u64);
    assert!(
        lines
            .iter()
            .all(|line| (2..number("read") + 2).contains(line))
    );
    let error: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert!(
        error["error"].as_str().unwrap().contains("insert_many"),
        "{error}"
    );
}

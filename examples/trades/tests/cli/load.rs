//! `trades load`.

use std::{collections::HashMap, fmt::Write as _};

use bucket_mongo::bson::{Bson, Document};
use serde_json::json;

use crate::app::{App, file, real_file};

const HEADER: &str = "customer_id,ticker,type,qty,price,date";

fn names(document: &Document) -> Vec<&str> {
    document.keys().map(String::as_str).collect()
}

fn items(bucket: &Document) -> Vec<&Document> {
    let history = bucket.get_array("history").unwrap();
    history
        .iter()
        .map(|item| item.as_document().unwrap())
        .collect()
}

#[tokio::test]
async fn the_real_file_is_stored_fully() {
    let app = App::new("whole").await;
    let ran = app.run(&["load", &real_file()]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let expected = format!(
        "998 trades of 48 customers -> 125 new buckets (10 per bucket) in `{}.trades`\n",
        app.database().name()
    );
    assert_eq!(ran.stdout, expected);
    let documents = app.documents().await;
    assert_eq!(documents.len(), 125);
    assert_eq!(
        documents
            .iter()
            .map(|bucket| items(bucket).len())
            .sum::<usize>(),
        998
    );
}

#[tokio::test]
async fn a_stored_document_has_the_shape_of_the_manual() {
    for bucket in App::loaded("shape").await.documents().await {
        assert_eq!(names(&bucket), ["_id", "customerId", "count", "history"]);
        assert!(matches!(
            bucket.get("customerId"),
            Some(Bson::Int32(_) | Bson::Int64(_))
        ));
        assert!(matches!(
            bucket.get("count"),
            Some(Bson::Int32(_) | Bson::Int64(_))
        ));
        for item in items(&bucket) {
            assert_eq!(names(item), ["type", "ticker", "qty", "price", "date"]);
            assert!(matches!(item.get("date"), Some(Bson::DateTime(_))));
            assert!(matches!(item.get("qty"), Some(Bson::Int32(_))));
            assert!(matches!(item.get("price"), Some(Bson::Double(_))));
        }
    }
}

#[tokio::test]
async fn every_page_of_a_customer_except_the_last_is_full() {
    let mut counts = HashMap::<Bson, Vec<usize>>::new();
    for bucket in App::loaded("full").await.documents().await {
        let customer = bucket.get("customerId").unwrap().clone();
        counts
            .entry(customer)
            .or_default()
            .push(items(&bucket).len());
    }
    assert_eq!(counts.len(), 48);
    for (customer, counts) in counts {
        let (last, others) = counts.split_last().unwrap();
        assert!(
            others.iter().all(|count| *count == 10),
            "{customer}: {counts:?}"
        );
        assert!((1..=10).contains(last), "{customer}: {counts:?}");
    }
}

#[tokio::test]
async fn a_file_that_is_loaded_twice_is_stored_twice() {
    let app = App::loaded("twice").await;
    let ran = app.run(&["load", &real_file(), "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let stored: usize = app
        .documents()
        .await
        .iter()
        .map(|bucket| items(bucket).len())
        .sum();
    assert_eq!(stored, 1996);
    assert_eq!(app.run(&["show", "17968", "--json"]).json()["records"], 170);
}

#[tokio::test]
async fn wrong_rows_are_reported_and_the_others_loaded() {
    let content = format!(
        "{HEADER}\r\n\
         1,MDB,buy,5,2.5,2023-10-26T15:47:03.434Z\r\n\
         x,MDB,buy,5,2.5,2023-10-26T15:47:03Z\r\n\
         1,MDB,hold,5,2.5,2023-10-26T15:47:03Z\r\n\
         \r\n\
         1,MDB,buy,0,2.5,2023-10-26T15:47:03Z\r\n\
         1,MDB,buy,5,2.5,2023-02-30T00:00:00Z\r\n\
         1,MDB,buy\r\n\
         1,MDB,sell,5,,2023-10-26T15:47:04Z\r\n"
    );
    let path = file("wrong_rows.csv", content);
    let app = App::new("wrong_rows").await;

    let ran = app.run(&["load", &path]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stdout
            .starts_with("2 trades of 1 customer -> 1 new bucket "),
        "{ran:?}"
    );
    assert!(ran.stdout.ends_with("5 of 7 rows not loaded\n"), "{ran:?}");
    let expected = "\
line 3, column customer_id: `x` is not a whole number
line 4, column type: `hold` is neither `buy` nor `sell`
line 6, column qty: `0` is less than 1
line 7, column date: `2023-02-30T00:00:00Z` does not exist
line 8, column qty: is missing
";
    assert_eq!(ran.stderr, expected);
    let stored = app.documents().await;
    assert_eq!(
        names(items(&stored[0])[1]),
        ["type", "ticker", "qty", "date"]
    );

    let ran = app.run(&["load", &path, "--json"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(ran.stderr, "");
    let report = ran.json();
    assert_eq!((&report["read"], &report["stored"]), (&json!(7), &json!(2)));
    assert_eq!(report["buckets"], 0, "the open bucket is filled first");
    let first = json!({
        "line": 3, "column": "customer_id", "reason": "`x` is not a whole number",
    });
    assert_eq!(report["failed"][0], first);
    assert_eq!(report["failed"].as_array().unwrap().len(), 5);
}

#[tokio::test]
async fn a_file_of_many_chunks_is_stored_fully_and_in_order() {
    let mut content = format!("\u{feff}{HEADER}\n");
    for number in 0..24_999 {
        let customer = number % 3;
        writeln!(content, "{customer},T{number},buy,1,1,2023-10-26T15:47:03Z").unwrap();
    }
    content.push_str("0,\"never closed,buy,1,1,2023-10-26T15:47:03Z\n");
    let app = App::new("chunks").await;
    let ran = app.run(&["load", &file("chunks.csv", content)]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(
        ran.stderr,
        "line 25001: has a quote that is not closed on the line\n"
    );
    let page = app.run(&["page", "1", "100", "--json"]).json();
    let tickers: Vec<_> = page["records"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| &r["ticker"])
        .collect();
    let expected: Vec<_> = (990..1000)
        .map(|index| json!(format!("T{}", index * 3 + 1)))
        .collect();
    assert_eq!(tickers, expected.iter().collect::<Vec<_>>());
    let buckets = app.documents().await;
    assert_eq!(
        buckets.len(),
        3 * 834,
        "8333 trades of each customer in buckets of 10"
    );
}

#[tokio::test]
async fn there_is_no_progress_bar_in_a_pipe() {
    let ran = App::new("pipe").await.run(&["load", &real_file()]);
    assert_eq!(ran.stderr, "");
    assert!(!ran.stdout.contains(['\r', '\u{1b}']), "{ran:?}");
}

#[tokio::test]
async fn a_wrong_file_is_named_with_the_expected_columns() {
    let app = App::new("no_use").await;
    let folder = env!("CARGO_TARGET_TMPDIR");
    let columns = format!("expected the columns {HEADER}");
    for (path, expected) in [
        (
            "no_such_file.csv".to_owned(),
            "cannot be read: No such file".to_owned(),
        ),
        (
            folder.to_owned(),
            "cannot be read: Is a directory".to_owned(),
        ),
        (file("empty.csv", ""), format!("is empty; {columns}")),
        (file("blank.csv", "\n\r\n"), format!("is empty; {columns}")),
        (file("binary.csv", [0, 255, 13, 10]), columns.clone()),
        (
            file("part.csv", "customer_id,ticker,type,date"),
            "column `qty`, `price`".to_owned(),
        ),
    ] {
        let ran = app.run(&["load", &path]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
        assert!(
            ran.stderr.starts_with(&format!("error: `{path}` ")),
            "{ran:?}"
        );
        assert!(ran.stderr.contains(&expected), "{expected}: {ran:?}");
        let error = app.run(&["load", &path, "--json"]).error();
        assert!(
            error["error"].as_str().unwrap().contains(&expected),
            "{error}"
        );
    }
    assert!(app.documents().await.is_empty());
}

#[tokio::test]
async fn a_file_without_rows_is_no_error() {
    let app = App::new("no_rows").await;
    let ran = app.run(&[
        "load",
        &file("no_rows.csv", format!("{HEADER}\n")),
        "--json",
    ]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(
        ran.json(),
        json!({ "read": 0, "stored": 0, "buckets": 0, "failed": [] })
    );
}

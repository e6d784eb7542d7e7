//! `trades show`.

use bucket_mongo::bson::{Document, doc};
use serde_json::json;

use crate::app::{App, file};

/// The manual's trades as a file; it gives them no price.
const MANUAL: &str = "\
customer_id,ticker,type,qty,price,date
123,MDB,buy,419,,2023-10-26T15:47:03.434Z
123,MDB,sell,29,,2023-10-30T09:32:57.765Z
456,GOOG,buy,50,,2023-10-31T11:16:02.120Z
123,MSFT,buy,42,,2023-11-02T11:43:10Z
";

#[tokio::test]
async fn documents_print_as_in_the_manual() {
    let app = App::new("print").await;
    app.run(&["load", &file("manual.csv", MANUAL)]);
    let ran = app.run(&["show", "456"]);
    let expected = "\
customer 456: 1 trade in 1 page

[
  {
    _id: '456_1698750962',
    customerId: 456,
    count: 1,
    history: [
      {
        type: 'buy',
        ticker: 'GOOG',
        qty: 50,
        date: ISODate(\"2023-10-31T11:16:02.120Z\")
      }
    ]
  }
]
";
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (Some(0), expected, "")
    );
}

#[tokio::test]
async fn json_has_plain_numbers_and_rfc_3339_dates() {
    let app = App::new("json").await;
    app.run(&["load", &file("manual_json.csv", MANUAL)]);
    let ran = app.run(&["show", "123", "--json"]);
    let expected = json!({
        "customer": 123, "pages": 1, "records": 3,
        "buckets": [{
            "_id": "123_1698335223", "customerId": 123, "count": 3,
            "history": [
                { "type": "buy", "ticker": "MDB", "qty": 419, "date": "2023-10-26T15:47:03.434Z" },
                { "type": "sell", "ticker": "MDB", "qty": 29, "date": "2023-10-30T09:32:57.765Z" },
                { "type": "buy", "ticker": "MSFT", "qty": 42, "date": "2023-11-02T11:43:10.000Z" },
            ],
        }],
    });
    assert_eq!((ran.code, ran.json()), (Some(0), expected));
}

#[tokio::test]
async fn trades_of_one_second_fill_page_after_page() {
    let app = App::loaded("one_second").await;
    let shown = app.run(&["show", "17968", "--json"]).json();
    assert_eq!(
        (&shown["pages"], &shown["records"]),
        (&json!(9), &json!(85))
    );
    let buckets = shown["buckets"].as_array().unwrap();
    let counts: Vec<_> = buckets
        .iter()
        .map(|bucket| bucket["count"].as_i64().unwrap())
        .collect();
    assert_eq!(counts, [10, 10, 10, 10, 10, 10, 10, 10, 5]);
    assert_eq!(buckets[0]["_id"], "17968_1291206180");
    assert_eq!(buckets[8]["_id"], "17968_1291206180_8");
    let text = app.run(&["show", "17968"]).stdout;
    assert!(
        text.starts_with("customer 17968: 85 trades in 9 pages\n\n[\n  {\n"),
        "{text}"
    );
    assert_eq!(text.matches("ISODate(").count(), 85);
}

#[tokio::test]
async fn an_unknown_customer_is_no_error() {
    let app = App::new("nobody").await;
    let ran = app.run(&["show", "5"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "customer 5 has no trades\n")
    );
    let ran = app.run(&["show", "5", "--json"]);
    let expected = json!({ "customer": 5, "pages": 0, "records": 0, "buckets": [] });
    assert_eq!((ran.code, ran.json()), (Some(0), expected));
}

#[tokio::test]
async fn a_damaged_document_is_named() {
    let app = App::loaded("damaged").await;
    let trades = app.database().collection::<Document>("trades");
    let id = "17968_1291206180";
    trades
        .update_one(doc! { "_id": id }, doc! { "$set": { "count": 12 } })
        .await
        .unwrap();
    let ran = app.run(&["page", "17968", "1", "--json"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    assert!(
        ran.error()["error"].as_str().unwrap().contains(id),
        "{ran:?}"
    );
}

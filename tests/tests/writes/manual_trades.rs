//! The manual's own example on a real server: its three trades, its printed result, its pages.

use bucket_mongo::{
    Bucketed, Record,
    bson::{DateTime, Document, doc},
};
use bucket_tests::{Load, database, date, documents};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[serde(rename_all = "camelCase")]
#[bucket(collection = "trades", items = "history", capacity = 10)]
struct Trade {
    #[bucket(key)]
    customer_id: i64,
    #[serde(rename = "type")]
    side: Side,
    ticker: String,
    qty: i32,
    #[bucket(time)]
    date: DateTime,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Side {
    Buy,
    Sell,
}

fn trade(customer_id: i64, side: Side, ticker: &str, qty: i32, at: &str) -> Trade {
    Trade {
        customer_id,
        side,
        ticker: ticker.into(),
        qty,
        date: date(at),
    }
}

fn before_the_insert() -> [Trade; 3] {
    [
        trade(123, Side::Buy, "MDB", 419, "2023-10-26T15:47:03.434Z"),
        trade(123, Side::Sell, "MDB", 29, "2023-10-30T09:32:57.765Z"),
        trade(456, Side::Buy, "GOOG", 50, "2023-10-31T11:16:02.120Z"),
    ]
}

fn msft() -> Trade {
    trade(123, Side::Buy, "MSFT", 42, "2023-11-02T11:43:10.000Z")
}

/// The manual's result, with ids computed from the dates and `qty` throughout.
fn printed_by_the_manual() -> [Document; 2] {
    let item = |side: &str, ticker: &str, qty: i32, at: &str| {
        doc! { "type": side, "ticker": ticker, "qty": qty, "date": date(at) }
    };
    [
        doc! {
            "_id": "123_1698335223",
            "customerId": 123_i64,
            "count": 3,
            "history": [
                item("buy", "MDB", 419, "2023-10-26T15:47:03.434Z"),
                item("sell", "MDB", 29, "2023-10-30T09:32:57.765Z"),
                item("buy", "MSFT", 42, "2023-11-02T11:43:10.000Z"),
            ],
        },
        doc! {
            "_id": "456_1698750962",
            "customerId": 456_i64,
            "count": 1,
            "history": [item("buy", "GOOG", 50, "2023-10-31T11:16:02.120Z")],
        },
    ]
}

#[tokio::test]
async fn single_inserts_leave_the_documents_that_the_manual_prints() {
    let database = database().await;
    let trades = Trade::buckets(&database);
    trades.ensure().await.unwrap();
    for trade in &before_the_insert() {
        trades.insert(trade).await.unwrap();
    }
    let inserted = trades.insert(&msft()).await.unwrap();
    assert!(!inserted.opened_bucket);
    // Equal as documents: the same fields, of the same types, in the same order.
    assert_eq!(
        documents(&database, "trades").await,
        printed_by_the_manual()
    );
}

#[tokio::test]
async fn a_batch_leaves_the_same_documents() {
    let database = database().await;
    let trades = Trade::buckets(&database);
    trades.ensure().await.unwrap();
    let mut batch = before_the_insert().to_vec();
    batch.push(msft());
    let report = trades.insert_many(&batch).await.unwrap();
    assert_eq!(
        (report.tried(), report.stored(), report.opened_buckets()),
        (4, 4, 2)
    );
    assert_eq!(
        documents(&database, "trades").await,
        printed_by_the_manual()
    );
}

#[tokio::test]
async fn pages_are_those_of_the_manual() {
    let database = database().await;
    let trades = Trade::buckets(&database);
    trades.ensure().await.unwrap();
    let history: Vec<Trade> = (0..25)
        .map(|n| Trade {
            qty: n,
            date: DateTime::from_millis(1_698_335_223_000 + i64::from(n)),
            ..msft()
        })
        .collect();
    trades.load(&history).await;

    assert_eq!(trades.page(123, 1).await.unwrap().records(), history[..10]);
    assert_eq!(trades.page(123, 3).await.unwrap().records(), history[20..]);
    let past = trades.page(123, 4).await.unwrap();
    assert!(past.is_empty() && past.bucket().is_none() && past.number() == 4);
    assert!(trades.page(124, 1).await.unwrap().is_empty());
    assert_eq!(trades.page_count(123).await.unwrap(), 3);
    assert_eq!(trades.page_count(124).await.unwrap(), 0);
    assert_eq!(trades.count(123).await.unwrap(), 25);
    assert_eq!(trades.count(124).await.unwrap(), 0);
    let all: Vec<Trade> = trades.records(123).collect().await.unwrap();
    assert_eq!(all, history);
    let pages: Vec<TradeBucket> = trades.pages(123).stream().try_collect().await.unwrap();
    let counts: Vec<u32> = pages.iter().map(|page| page.count).collect();
    assert_eq!(counts, [10, 10, 5]);
    assert_eq!(pages[0].id.to_string(), "123_1698335223");
    assert_eq!(pages[1].id.to_string(), "123_1698335223_1");
    assert_eq!(pages[0].history[3].qty, 3);
    assert_eq!(pages[0].key(), 123.into());
    assert_eq!(pages[2].clone().into_records(), history[20..]);
}

#[tokio::test]
async fn the_typed_bucket_works_with_the_plain_driver_in_both_directions() {
    let database = database().await;
    let trades = Trade::buckets(&database);
    trades.ensure().await.unwrap();
    trades.load(&before_the_insert()).await;
    let collection = trades.collection::<TradeBucket>();
    let filter = doc! { TradeBucket::FIELDS.customer_id: 123, TradeItem::FIELDS.ticker: "MDB" };
    let bucket = collection.find_one(filter).await.unwrap().unwrap();
    assert_eq!(bucket.count, 2);
    let before = documents(&database, "trades").await;
    collection
        .replace_one(doc! { "_id": bucket.id.as_str() }, &bucket)
        .await
        .unwrap();
    let after = documents(&database, "trades").await;
    assert_eq!(after, before);
    assert_eq!(
        trades.page(123, 1).await.unwrap().into_bucket().unwrap(),
        bucket
    );
}

#[tokio::test]
async fn documents_of_the_manuals_own_code_are_read_and_filled() {
    let database = database().await;
    let trades = Trade::buckets(&database);
    let item = doc! { "type": "buy", "ticker": "MDB", "qty": 419, "date": date("2023-10-26T15:47:03.434Z") };
    let from_the_shell = doc! {
        "_id": "123_1698349623", "customerId": 123.0, "count": 2.0, "history": [item.clone(), item],
    };
    database
        .collection("trades")
        .insert_one(from_the_shell)
        .await
        .unwrap();
    trades.ensure().await.unwrap();
    trades.insert(&msft()).await.unwrap();
    let page = trades.page(123, 1).await.unwrap();
    assert_eq!(page.len(), 3);
    assert_eq!(page.records()[2], msft());
    assert_eq!(trades.page_count(123).await.unwrap(), 1);
    assert_eq!(<Trade as Record>::SPEC.capacity(), Some(Trade::CAPACITY));
}

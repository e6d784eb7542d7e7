//! The smallest program: a model, a bucket, a page. The README shows it.

use bucket_mongo::{Bucketed, bson::DateTime, testing::DevServer};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[serde(rename_all = "camelCase")]
#[bucket(collection = "trades", items = "history", capacity = 10)]
struct Trade {
    #[bucket(key)]
    customer_id: i64,
    ticker: String,
    qty: i32,
    #[bucket(time)]
    date: DateTime,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = DevServer::start().await?; // uses MONGODB_URI if set, else starts a temporary server
    let database = server.database("quickstart").await?; // in a service: client.database("shop")

    let trades = Trade::buckets(&database);
    println!("{}", trades.ensure().await?); // creates the collection and its indexes

    let trade = Trade {
        customer_id: 123,
        ticker: "MDB".into(),
        qty: 419,
        date: DateTime::parse_rfc3339_str("2023-10-26T15:47:03.434Z")?,
    };
    trades.insert(&trade).await?;
    let report = trades.insert_many(vec![trade; 24]).await?.into_result()?; // an error if a record failed
    println!("{} buckets opened", report.opened_buckets());

    let page = trades.page(123, 1).await?; // a page is one bucket
    println!("page {} has {} trades", page.number(), page.len());

    let feed = trades.records(123).newest_first().limit(4).await?; // pages of any size
    println!("newest {} of {}", feed.len(), trades.count(123).await?);
    for trade in feed.into_records() {
        println!("{} {}", trade.qty, trade.ticker);
    }

    let client = database.client().clone();
    database.drop_database().await?;
    client.shutdown().await; // sessions go back to the server before the runtime ends
    Ok(())
}

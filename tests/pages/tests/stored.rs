//! The documents that the book shows are what a server stores.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use bucket_mongo::{
    Attributed, Bucketed, Buckets,
    bson::{Bson, DateTime, Document},
    mongodb::Database,
    testing::DevServer,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

mod model {
    use super::{Attributed, Bucketed, DateTime, Deserialize, Serialize};

    #[derive(Serialize, Deserialize, Bucketed)]
    #[serde(rename_all = "camelCase")]
    #[bucket(collection = "trades", items = "history", capacity = 10)]
    pub(crate) struct Trade {
        #[bucket(key)]
        pub(crate) customer_id: i64,
        pub(crate) ticker: String,
        pub(crate) qty: i32,
        #[bucket(time)]
        pub(crate) date: DateTime,
    }

    #[derive(Serialize, Deserialize, Bucketed)]
    #[bucket(
        collection = "windows",
        items = "readings",
        window = "1h",
        capacity = 60,
        stats = "stats"
    )]
    pub(crate) struct InWindow {
        #[bucket(key)]
        pub(crate) device_id: String,
        #[bucket(key)]
        pub(crate) sensor_type: String,
        #[bucket(time)]
        #[serde(rename = "ts")]
        pub(crate) timestamp: DateTime,
        #[bucket(min, max, sum, avg)]
        #[serde(rename = "v")]
        pub(crate) value: f64,
    }

    #[derive(Serialize, Deserialize, Bucketed)]
    #[bucket(
        collection = "hybrids",
        items = "readings",
        capacity = 200,
        max_duration = "1h"
    )]
    pub(crate) struct InHybrid {
        #[bucket(key)]
        pub(crate) device_id: String,
        #[bucket(time)]
        pub(crate) timestamp: DateTime,
        #[bucket(min = "min_value", max = "max_value")]
        pub(crate) value: f64,
    }

    #[derive(Serialize, Deserialize, Bucketed)]
    #[bucket(collection = "numbered", items = "requests", capacity = 100, numbered)]
    pub(crate) struct Numbered {
        #[bucket(key)]
        pub(crate) service_name: String,
        #[bucket(key)]
        pub(crate) endpoint: String,
        #[bucket(time, first = "first_timestamp", last = "last_timestamp")]
        pub(crate) timestamp: DateTime,
        pub(crate) duration_ms: i64,
    }

    #[derive(Serialize, Deserialize, Attributed)]
    #[bucket(collection = "bottles")]
    pub(crate) struct Bottle {
        #[serde(rename = "_id")]
        pub(crate) id: i32,
        #[bucket(attribute(array = "specs", k = "volume", u = "ml"))]
        pub(crate) volume_ml: Option<f64>,
        #[bucket(attribute(array = "specs", k = "height", u = "inches"))]
        pub(crate) height_inches: Option<i32>,
    }
}

use model::{Bottle, InHybrid, InWindow, Numbered, Trade};

fn at(text: &str) -> DateTime {
    DateTime::parse_rfc3339_str(text).unwrap()
}

/// The document of a page: its first block of JSON.
fn shown(page: &str) -> Value {
    let (_, rest) = page.split_once("```json\n").unwrap();
    serde_json::from_str(rest.split_once("```").unwrap().0).unwrap()
}

/// A stored value as the pages show it: dates are text.
fn plain(value: Bson) -> Value {
    match value {
        Bson::Document(document) => {
            let fields = document
                .into_iter()
                .map(|(name, value)| (name, plain(value)));
            Value::Object(fields.collect())
        }
        Bson::Array(values) => values.into_iter().map(plain).collect(),
        Bson::DateTime(date) => json!(date.try_to_rfc3339_string().unwrap()),
        Bson::Double(number) => json!(number),
        Bson::Int32(number) => json!(number),
        Bson::Int64(number) => json!(number),
        Bson::Boolean(value) => json!(value),
        Bson::String(text) => json!(text),
        other => json!(format!("{other:?}")),
    }
}

async fn only_document(database: &Database, collection: &str) -> Value {
    let collection = database.collection::<Document>(collection);
    let found = collection.find_one(Document::new()).await.unwrap();
    plain(Bson::Document(found.unwrap()))
}

/// What is stored once these records are.
async fn stored<T: Bucketed>(database: &Database, records: &[T]) -> Value {
    let buckets: Buckets<T> = T::buckets(database);
    buckets.ensure().await.unwrap();
    for record in records {
        buckets.insert(record).await.unwrap();
    }
    only_document(database, T::SPEC.collection()).await
}

#[tokio::test]
async fn the_documents_of_the_book_are_what_the_server_stores() {
    let server = DevServer::start().await.unwrap();
    let database = server.database("book").await.unwrap();

    let trade = |qty, date| Trade {
        customer_id: 123,
        ticker: "MDB".into(),
        qty,
        date: at(date),
    };
    let first = trade(419, "2023-10-26T15:47:03.434Z");
    let page = shown(include_str!("../../../docs/book/src/quickstart.md"));
    assert_eq!(stored(&database, &[first]).await, page);
    assert_eq!(page, shown(include_str!("../../../README.md")));
    let second = trade(29, "2023-10-30T09:32:57.765Z");
    let page = shown(include_str!("../../../docs/book/src/form-count.md"));
    assert_eq!(stored(&database, &[second]).await, page);

    let reading = |timestamp, value| InWindow {
        device_id: "device_001".into(),
        sensor_type: "temperature".into(),
        timestamp: at(timestamp),
        value,
    };
    let readings = [
        reading("2026-01-30T10:00:00Z", 18.5),
        reading("2026-01-30T10:01:00Z", 24.2),
    ];
    let page = shown(include_str!("../../../docs/book/src/form-window.md"));
    assert_eq!(stored(&database, &readings).await, page);

    let reading = |timestamp, value| InHybrid {
        device_id: "device_001".into(),
        timestamp: at(timestamp),
        value,
    };
    let readings = [
        reading("2026-01-30T10:00:15Z", 18.5),
        reading("2026-01-30T10:07:40Z", 24.2),
    ];
    let page = shown(include_str!("../../../docs/book/src/form-hybrid.md"));
    assert_eq!(stored(&database, &readings).await, page);

    let request = Numbered {
        service_name: "api-gateway".into(),
        endpoint: "/api/v1/users".into(),
        timestamp: at("2026-01-30T10:15:23Z"),
        duration_ms: 45,
    };
    let page = shown(include_str!("../../../docs/book/src/form-numbered.md"));
    assert_eq!(stored(&database, &[request]).await, page);

    let bottles = Bottle::documents(&database);
    bottles.ensure().await.unwrap();
    let bottle = Bottle {
        id: 1,
        volume_ml: Some(500.0),
        height_inches: Some(8),
    };
    bottles.insert(&bottle).await.unwrap();
    let page = shown(include_str!("../../../docs/book/src/attributes.md"));
    assert_eq!(only_document(&database, "bottles").await, page);
}

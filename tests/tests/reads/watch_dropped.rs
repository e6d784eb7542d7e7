//! A watch that is dropped, at any moment, leaves no cursor on the server.

use std::time::Duration;

use bucket_mongo::{
    Bucketed,
    bson::{DateTime, doc},
    mongodb::Database,
    testing::DevServer,
};
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep, timeout};

const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "events", items = "items", capacity = 5)]
struct Event {
    #[bucket(key)]
    device: i32,
    #[bucket(time)]
    at: DateTime,
}

async fn open_cursors(admin: &Database) -> i64 {
    let status = admin.run_command(doc! { "serverStatus": 1 }).await.unwrap();
    let metrics = status.get_document("metrics").unwrap();
    let open = metrics.get_document("cursor").unwrap().get_document("open");
    let total = open.unwrap().get("total").unwrap();
    total.as_i64().or(total.as_i32().map(i64::from)).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_that_is_dropped_leaves_no_cursor() {
    let server = DevServer::builder().own().await.unwrap();
    let client = server.client().await.unwrap();
    let (database, admin) = (client.database("watched"), client.database("admin"));
    let events = Event::buckets(&database);
    events.ensure().await.unwrap();
    let event = |device| Event {
        device,
        at: DateTime::now(),
    };
    events
        .insert_many((0..20).map(event))
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let before = open_cursors(&admin).await;
    for step in 0..100 {
        let moment = Duration::from_micros(step * 150);
        drop(timeout(moment, events.watch().into_future()).await);
        drop(timeout(moment, events.watch_from(DateTime::now()).into_future()).await);
        drop(timeout(moment, events.tail().into_future()).await);
        let read = async {
            let mut stream = events.watch().await.unwrap();
            stream.next().await.map(drop)
        };
        drop(timeout(moment, read).await);
    }
    let begun = Instant::now();
    while open_cursors(&admin).await > before {
        let open = open_cursors(&admin).await;
        assert!(
            begun.elapsed() < PATIENCE,
            "{open} cursors are open, {before} were"
        );
        sleep(Duration::from_millis(200)).await;
    }
}

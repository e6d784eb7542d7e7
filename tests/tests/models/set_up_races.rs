//! What others store between two steps of `ensure()`.

use std::time::Duration;

use bucket_mongo::{
    Bucketed,
    bson::{DateTime, Document, doc},
    mongodb::{Client, Database, options::ClientOptions},
    testing::DevServer,
};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};
use tokio::{join, time::sleep};

macro_rules! models {
    ($($name:ident [$($attributes:tt)*];)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "events", items = "items", capacity = 3, $($attributes)*)]
        struct $name {
            #[bucket(key)]
            device: i32,
            #[bucket(time)]
            at: DateTime,
        }
    )*};
}

models! {
    Counted [];
    Hybrid [max_duration = "1h"];
    Windowed [window = "1h"];
    Limited [window = "1h", expire_after = "1h"];
}

fn hours_ago(hours: i64) -> DateTime {
    DateTime::from_millis(DateTime::now().timestamp_millis() - hours * 3_600_000)
}

/// A server with fail points.
async fn server() -> DevServer {
    let arguments = ["--setParameter", "enableTestCommands=1"];
    let server = DevServer::builder().own().arguments(arguments);
    server.await.unwrap()
}

/// The same database for two services; the second one's commands of this name wait, as the mode says.
async fn services(
    server: &DevServer,
    command: &str,
    mode: Document,
    millis: i32,
) -> (Database, Database) {
    let client = server.client().await.unwrap();
    let mut options = ClientOptions::parse(server.uri()).await.unwrap();
    options.app_name = Some("slow".to_owned());
    let slow = Client::with_options(options).unwrap();
    let fail = doc! {
        "configureFailPoint": "failCommand",
        "mode": mode,
        "data": { "failCommands": [command], "blockConnection": true, "blockTimeMS": millis, "appName": "slow" },
    };
    client.database("admin").run_command(fail).await.unwrap();
    (client.database("events"), slow.database("events"))
}

async fn index_names(database: &Database) -> Vec<String> {
    let events = database.collection::<Document>("events");
    events.list_index_names().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn records_that_come_before_the_first_limit_are_not_removed_by_it() {
    let server = server().await;
    let (database, slow) = services(&server, "createIndexes", doc! { "times": 1 }, 1_500).await;
    let windows = Windowed::buckets(&database);
    windows.ensure().await.unwrap();
    let limited = Limited::buckets(&slow);
    let (report, ()) = join!(limited.ensure().into_future(), async {
        sleep(Duration::from_millis(500)).await;
        let old = Windowed {
            device: 1,
            at: hours_ago(24),
        };
        windows.insert(&old).await.unwrap();
    });
    let report = report.unwrap();
    assert!(report.to_string().contains("change_expiry()"), "{report}");
    assert!(!report.created_indexes.contains(&"bucket_expire".to_owned()));
    let names = index_names(&database).await;
    assert!(!names.contains(&"bucket_expire".to_owned()), "{names:?}");
}

/// The other call waits for this one, and then takes its index for one that was left.
#[tokio::test(flavor = "multi_thread")]
async fn a_slow_replacement_and_a_call_beside_it_leave_the_index_of_the_model() {
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
    #[bucket(collection = "events", items = "items", capacity = 5, raised_from = 3)]
    struct Raised {
        #[bucket(key)]
        device: i32,
        #[bucket(time)]
        at: DateTime,
    }
    let server = server().await;
    // The first one only asks whether it may.
    let (database, slow) = services(&server, "dropIndexes", doc! { "skip": 1 }, 4_500).await;
    Counted::buckets(&database).ensure().await.unwrap();
    let replacing = Raised::buckets(&slow);
    let raised = Raised::buckets(&database);
    let (replaced, ensured) = join!(replacing.ensure().replace_indexes().into_future(), async {
        sleep(Duration::from_millis(500)).await;
        raised.ensure().await
    });
    replaced.unwrap();
    ensured.unwrap();
    let names = index_names(&database).await;
    assert!(names.contains(&"bucket_open_5".to_owned()), "{names:?}");
    assert!(!names.contains(&"bucket_open_3".to_owned()), "{names:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_indexes_of_a_model_that_stores_meanwhile_are_put_back() {
    let server = server().await;
    let (database, slow) = services(&server, "dropIndexes", doc! { "times": 1 }, 1_500).await;
    let hybrid = Hybrid::buckets(&database);
    hybrid.ensure().await.unwrap();
    let before = index_names(&database).await;
    let windows = Windowed::buckets(&slow);
    let (report, ()) = join!(windows.ensure().replace_indexes().into_future(), async {
        sleep(Duration::from_millis(500)).await;
        for _ in 0..2 {
            let event = Hybrid {
                device: 1,
                at: hours_ago(1),
            };
            hybrid.insert(&event).await.unwrap();
        }
    });
    let report = report.unwrap();
    assert!(!report.drift.is_empty(), "{report}");
    let (mut before, mut after) = (before, index_names(&database).await);
    before.sort();
    after.sort();
    assert_eq!(before, after, "{report}");
    let event = Windowed {
        device: 1,
        at: hours_ago(1),
    };
    assert!(windows.insert(&event).await.is_err());
    assert_eq!(hybrid.count(1).await.unwrap(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_model_stores_nothing_where_the_owners_mark_is_lost() {
    let server = server().await;
    let database = server.database("events").await.unwrap();
    let counted = Counted::buckets(&database);
    counted.ensure().await.unwrap();
    let event = |hours| Counted {
        device: 1,
        at: hours_ago(hours),
    };
    counted.insert(&event(2)).await.unwrap();
    let drop = doc! { "dropIndexes": "events", "index": "bucket_open_3" };
    database.run_command(drop).await.unwrap();
    let windows = Windowed::buckets(&database);
    let intruder = Windowed {
        device: 1,
        at: hours_ago(3),
    };
    let error = windows.insert(&intruder).await.unwrap_err();
    assert!(error.needs_ensure(), "{error}");
    let report = windows.ensure().await.unwrap();
    assert!(
        !report.drift.is_empty() && report.created_indexes.is_empty(),
        "{report}"
    );
    counted.ensure().await.unwrap();
    counted.insert(&event(1)).await.unwrap();
    let stored: Vec<Counted> = counted.records(1).stream().try_collect().await.unwrap();
    assert_eq!(stored.len(), 2);
}

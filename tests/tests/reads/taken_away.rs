//! A read of several commands gives what one collection has, or an error that says to read again, if its collection is
//! dropped, renamed or made anew between two of them.

use std::{
    fmt::Debug,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bucket_mongo::{
    Bucketed, Buckets, Fill, Interval, Result,
    bson::{DateTime, Document, doc},
    mongodb::{
        Client, Database,
        event::{EventHandler, command::CommandEvent},
        options::ClientOptions,
    },
    testing::DevServer,
};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "readings",
    items = "readings",
    stats = "stats",
    window = "1m"
)]
struct Reading {
    #[bucket(key)]
    device: i64,
    #[bucket(time)]
    at: DateTime,
    #[bucket(sum)]
    number: i64,
}

const MINUTE: i64 = 60_000;

fn reading(device: i64, number: i64) -> Reading {
    let at = DateTime::from_millis(1_700_000_040_000 + number * MINUTE);
    Reading { device, at, number }
}

fn all() -> Vec<Reading> {
    let others = (0..130).map(|device| reading(device, 0));
    // Two minutes without records.
    let numbers = (1..12).filter(|number| ![7, 8].contains(number));
    let first = numbers.map(|number| reading(1, number));
    first.chain(others).collect()
}

#[derive(Debug, Clone, Copy)]
enum Away {
    Dropped,
    Renamed,
    MadeAnew,
}

struct Server {
    own: DevServer,
    client: Client,
    /// A client that counts the finds it has sent.
    reader: Client,
    finds: Arc<AtomicUsize>,
}

impl Server {
    async fn start() -> Self {
        let arguments = ["--setParameter", "enableTestCommands=1"];
        let own = DevServer::builder().own().arguments(arguments);
        let own = own.await.unwrap();
        let finds: Arc<AtomicUsize> = Arc::default();
        let mut options = ClientOptions::parse(own.uri()).await.unwrap();
        options.app_name = Some("reader".to_owned());
        options.command_event_handler = Some(EventHandler::callback({
            let finds = Arc::clone(&finds);
            move |event| match event {
                CommandEvent::Started(started) if started.command_name == "find" => {
                    finds.fetch_add(1, Ordering::Relaxed);
                }
                _ => {}
            }
        }));
        Self {
            client: own.client().await.unwrap(),
            own,
            reader: Client::with_options(options).unwrap(),
            finds,
        }
    }

    /// Every find of the reader but the first ones waits until the collection is away.
    async fn hold(&self, after: i32) {
        let hold = doc! {
            "configureFailPoint": "failCommand",
            "mode": { "skip": after },
            "data": {
                "failCommands": ["find"], "appName": "reader",
                "blockConnection": true, "blockTimeMS": 150,
            },
        };
        self.client
            .database("admin")
            .run_command(hold)
            .await
            .unwrap();
    }

    async fn release(&self) {
        let off = doc! { "configureFailPoint": "failCommand", "mode": "off" };
        self.client
            .database("admin")
            .run_command(off)
            .await
            .unwrap();
    }
}

async fn prepare(database: &Database) {
    database
        .collection::<Document>("readings")
        .drop()
        .await
        .unwrap();
    let readings = Reading::buckets(database);
    readings.ensure().await.unwrap();
    let report = readings.insert_many(all()).await.unwrap();
    report.into_result().unwrap();
}

async fn take_away(database: &Database, away: Away) {
    let collection = database.collection::<Document>("readings");
    match away {
        Away::Dropped => collection.drop().await.unwrap(),
        Away::Renamed => {
            let name = |name: &str| format!("{}.{name}", database.name());
            let rename = doc! { "renameCollection": name("readings"), "to": name("old"), "dropTarget": true };
            let admin = database.client().database("admin");
            admin.run_command(rename).await.unwrap();
        }
        Away::MadeAnew => {
            collection.drop().await.unwrap();
            Reading::buckets(database).ensure().await.unwrap();
        }
    }
}

/// Takes the collection away while the read waits before its command with this number.
async fn meets_one_collection<R: Debug + PartialEq>(
    server: &Server,
    command: i32,
    read: impl AsyncFn(Buckets<Reading>) -> Result<R>,
) {
    let database = server.client.database("away");
    let buckets = || Reading::buckets(&server.reader.database("away"));
    prepare(&database).await;
    let expected = read(buckets()).await.unwrap();
    for away in [Away::Dropped, Away::Renamed, Away::MadeAnew] {
        // A handle that has met the collection, and one that has met none.
        for has_met in [true, false] {
            prepare(&database).await;
            let handle = buckets();
            if has_met {
                assert_eq!(read(handle.clone()).await.unwrap(), expected);
            }
            server.hold(command - 1).await;
            let before = server.finds.load(Ordering::Relaxed);
            let remove = async {
                let until = before + usize::try_from(command).unwrap();
                while server.finds.load(Ordering::Relaxed) < until {
                    sleep(Duration::from_millis(1)).await;
                }
                take_away(&database, away).await;
                server.release().await;
            };
            let (found, ()) = tokio::join!(read(handle.clone()), remove);
            let late = match found {
                Ok(found) if found == expected => continue,
                Ok(found) => found,
                Err(error) => {
                    // Between its creation and its indexes a collection cannot be read.
                    let is_half_made = matches!(away, Away::MadeAnew) && error.needs_ensure();
                    assert!(error.is_retryable() || is_half_made, "{away:?}: {error:?}");
                    continue;
                }
            };
            // As if it had begun after that.
            assert_eq!(late, read(handle).await.unwrap(), "{away:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_read_mixes_two_collections_or_ends_early_without_an_error() {
    let server = Server::start().await;
    let page = async |readings: Buckets<Reading>| {
        let page = readings.records(1).limit(8).await?;
        let next = page.next_token().is_some();
        Ok((page.into_records(), next))
    };
    meets_one_collection(&server, 2, page).await;
    meets_one_collection(&server, 3, page).await;
    let latest = async |readings: Buckets<Reading>| readings.latest_n(1, 8).await;
    meets_one_collection(&server, 2, latest).await;
    let many = async |readings: Buckets<Reading>| readings.range_many(0..130, ..).await;
    meets_one_collection(&server, 2, many).await;
    let stream = async |readings: Buckets<Reading>| {
        let stream = readings.range_many(0..130, ..).stream();
        stream.try_collect::<Vec<Reading>>().await
    };
    meets_one_collection(&server, 2, stream).await;
    let from = DateTime::from_millis(1_700_000_040_000 + 7 * MINUTE);
    let to = DateTime::from_millis(1_700_000_040_000 + 10 * MINUTE);
    let rollup = async |readings: Buckets<Reading>| {
        let every = Interval::minutes(1);
        let rollup = readings.rollup(1, from..to, every).fill(Fill::Previous);
        let rollup = rollup.await?;
        let sum = |sum: i64| f64::from(i32::try_from(sum).unwrap());
        Ok(rollup.series(|stats| stats.number().sum().map(sum)))
    };
    // The first command for the value of an earlier step.
    meets_one_collection(&server, 3, rollup).await;
    drop(server.own);
}

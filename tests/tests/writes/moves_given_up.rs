//! Moves that are given up, by their deadline or by dropping the call: their transaction keeps nobody out.
//!
//! The server ends a transaction by itself only after a minute. Until then others could not write to its buckets.

use std::time::Duration;

use bucket_mongo::{
    Bucketed, Buckets, Which,
    bson::{Bson, DateTime, Document, doc},
    mongodb::{
        Client, Database,
        options::{ClientOptions, ServerApi, ServerApiVersion},
    },
    testing::DevServer,
};
use bucket_tests::documents;
use serde::{Deserialize, Serialize};

/// Long before the server ends a transaction by itself.
const SOON: Duration = Duration::from_secs(10);
/// How long the server holds a command.
const HELD: Duration = Duration::from_millis(1_500);
/// After it, a move is given up. The server still holds its command then.
const PATIENCE: Duration = Duration::from_millis(700);
/// Of the client whose commands the server holds or loses.
const GIVES_UP: &str = "gives_up";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "events", items = "items", window = "1m", capacity = 3)]
struct Event {
    #[bucket(key)]
    device: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(unique)]
    id: i64,
}

fn date(second: i64) -> DateTime {
    DateTime::from_millis(1_698_335_220_000 + second * 1_000)
}

fn event(id: i64) -> Event {
    Event {
        device: "a".to_owned(),
        at: date(id),
        id,
    }
}

async fn server() -> DevServer {
    let parameters = ["--setParameter", "enableTestCommands=1"];
    let server = DevServer::builder().own().arguments(parameters);
    server.await.unwrap()
}

/// The database for a client of its own.
async fn database_of_another(server: &DevServer, is_strict: bool) -> Database {
    let mut options = ClientOptions::parse(server.uri()).await.unwrap();
    options.app_name = Some(GIVES_UP.to_owned());
    if is_strict {
        let api = ServerApi::builder().version(ServerApiVersion::V1);
        options.server_api = Some(api.strict(true).build());
    }
    let client = Client::with_options(options).unwrap();
    client.database("given_up")
}

/// What the server does with commands of the client that gives up.
async fn fail(server: &DevServer, mode: impl Into<Bson>, mut data: Document) {
    data.insert("appName", GIVES_UP);
    let fail = doc! { "configureFailPoint": "failCommand", "mode": mode.into(), "data": data };
    let admin = server.client().await.unwrap().database("admin");
    admin.run_command(fail).await.unwrap();
}

/// Moves a record, and gives up.
async fn move_and_give_up(events: &Buckets<Event>, id: i64, is_dropped: bool) {
    let change = |event: &mut Event| {
        "b".clone_into(&mut event.device);
        event.at = date(500);
    };
    let update = events.update("a", Which::id(&id), change);
    if is_dropped {
        let update = tokio::time::timeout(PATIENCE, update.into_future()).await;
        update.unwrap_err();
    } else {
        update.deadline(PATIENCE).await.unwrap_err();
    }
}

/// Writes into the bucket that the record was to leave.
async fn others_can_write(others: &Buckets<Event>, id: i64) {
    let next = event(10 + id);
    others.insert(&next).deadline(SOON).await.unwrap();
    let moved = others.delete("a", Which::id(&id)).deadline(SOON);
    assert!(moved.await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_that_is_given_up_at_its_commit_keeps_nobody_out() {
    let server = server().await;
    let database = server.database("given_up").await.unwrap();
    let others = Event::buckets(&database);
    others.ensure().await.unwrap();
    let mut id = 0;
    for is_strict in [false, true] {
        let gives_up = database_of_another(&server, is_strict).await;
        let events = Event::buckets(&gives_up.client().database(database.name()));
        for is_dropped in [false, true] {
            id += 1;
            others.insert(&event(id)).await.unwrap();
            let lost = doc! { "failCommands": ["commitTransaction"], "closeConnection": true };
            fail(&server, "alwaysOn", lost).await;
            move_and_give_up(&events, id, is_dropped).await;
            fail(&server, "off", doc! {}).await;
            others_can_write(&others, id).await;
        }
    }
    assert!(others.verify().await.unwrap().is_clean());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_that_is_given_up_while_the_server_holds_its_command_keeps_nobody_out() {
    let server = server().await;
    let database = server.database("given_up").await.unwrap();
    let others = Event::buckets(&database);
    others.ensure().await.unwrap();
    let gives_up = database_of_another(&server, false).await;
    let events = Event::buckets(&gives_up.client().database(database.name()));
    let mut id = 0;
    // The first command of the transaction, its first write, and its second.
    for (command, skipped) in [("find", 0), ("update", 0), ("update", 1)] {
        for is_dropped in [false, true] {
            id += 1;
            others.insert(&event(id)).await.unwrap();
            let held = i32::try_from(HELD.as_millis()).unwrap();
            let held = doc! {
                "failCommands": [command],
                "blockConnection": true,
                "blockTimeMS": held,
            };
            let mode = if skipped == 0 {
                doc! { "times": 1 }
            } else {
                doc! { "skip": skipped }
            };
            fail(&server, mode, held).await;
            move_and_give_up(&events, id, is_dropped).await;
            fail(&server, "off", doc! {}).await;
            // The server begins the held command only now.
            tokio::time::sleep(HELD).await;
            others_can_write(&others, id).await;
        }
    }
    let stored = documents(&database, "events").await;
    assert!(
        stored
            .iter()
            .all(|bucket| bucket.get_str("device").unwrap() == "a")
    );
    assert!(others.verify().await.unwrap().is_clean());
}

/// As a member does that is no longer primary, or that finds that a transaction took too long.
#[tokio::test(flavor = "multi_thread")]
async fn a_move_whose_transactions_the_server_aborts_until_its_deadline_may_be_made_again() {
    let server = server().await;
    let database = server.database("given_up").await.unwrap();
    let others = Event::buckets(&database);
    others.ensure().await.unwrap();
    others.insert(&event(1)).await.unwrap();
    let gives_up = database_of_another(&server, false).await;
    let events = Event::buckets(&gives_up.client().database(database.name()));
    let move_it = || {
        let change = |event: &mut Event| event.at = date(500);
        let update = events.update("a", Which::id(&1_i64), change);
        update.deadline(PATIENCE).into_future()
    };
    let aborted = doc! {
        "failCommands": ["update"],
        "errorCode": 251,
        "errorLabels": ["TransientTransactionError"],
        // The second reply comes shortly after the deadline.
        "blockConnection": true,
        "blockTimeMS": 400,
    };
    fail(&server, "alwaysOn", aborted).await;
    let error = move_it().await.unwrap_err();
    assert!(
        error.is_retryable() && !error.is_outcome_unknown(),
        "{error}"
    );
    fail(&server, "off", doc! {}).await;
    assert!(move_it().await.unwrap().is_some());
    assert!(others.verify().await.unwrap().is_clean());
}

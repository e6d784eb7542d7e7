//! Every command of a write has its own transaction number in its session, so that it can be
//! retried.
//!
//! If this fails with a new version of the driver, see "Numbers" in `docs/architecture.md`.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use bucket_mongo::{
    Bucketed,
    bson::{DateTime, Document, doc},
    mongodb::{
        Client,
        event::{EventHandler, command::CommandEvent},
        options::ClientOptions,
    },
};
use bucket_tests::{Load, database, is_from, server};
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "numbered_commands", items = "events", capacity = 3)]
struct Event {
    #[bucket(key)]
    source: i32,
    #[bucket(time)]
    at: DateTime,
}

#[tokio::test]
async fn numbers_come_from_the_driver_and_are_unique_in_a_session() {
    let seen: Arc<Mutex<Vec<Document>>> = Arc::default();
    let mut options = ClientOptions::parse(server().await.uri()).await.unwrap();
    options.command_event_handler = Some(EventHandler::callback({
        let seen = Arc::clone(&seen);
        move |event| {
            if let CommandEvent::Started(started) = event {
                seen.lock().unwrap().push(started.command);
            }
        }
    }));
    let client = Client::with_options(options).unwrap();
    let database = database().await;
    let events = Event::buckets(&client.database(database.name()));
    events.ensure().await.unwrap();
    let plain = client.database(database.name()).collection("plain");
    for round in 0..8 {
        let event = |source| Event {
            source,
            at: DateTime::from_millis(1_698_335_223_000 + round),
        };
        let records = [event(1), event(2), event(3)];
        let inserts = records
            .iter()
            .map(|record| async { events.insert(record).await });
        for inserted in join_all(inserts).await {
            inserted.unwrap();
        }
        // The client's own writes take their sessions from the same pool.
        plain.insert_one(doc! { "round": round }).await.unwrap();
        events.load(&records).await;
    }
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    let names_collections = is_from(6).await;
    let mut last: HashMap<String, (i64, bool)> = HashMap::new();
    let mut updates = 0;
    for command in seen {
        let is_update = command.contains_key("update");
        if !is_update && !command.contains_key("insert") {
            continue;
        }
        let session = command.get_document("lsid").unwrap().to_string();
        let number = command.get_i64("txnNumber");
        let number = number.unwrap_or_else(|_| panic!("a command has no number: {command}"));
        let is_named = command.contains_key("collectionUUID");
        let before = last.insert(session, (number, is_named));
        let (before, was_named) = before.unwrap_or_default();
        // A server that does not know the field has executed nothing: the same command is sent
        // without it.
        let is_again = !names_collections && before == number && was_named && !is_named;
        assert!(before < number || is_again, "{number} comes after {before}");
        updates += u32::from(is_update);
    }
    assert!(updates >= 8 * 4, "{updates}");
}

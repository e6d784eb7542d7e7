//! Repairs that move a bucket while writers append to it: each record is in the collection or in the quarantine, once.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
    time::Duration,
};

use bucket_core::repair::{leave, quarantine, rely_on, take_back};
use bucket_mongo::{
    Bucketed,
    bson::{DateTime, Document, RawDocumentBuf, doc, oid::ObjectId, rawdoc},
    testing::DevServer,
};
use bucket_tests::{Load, database, documents};
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use super::verify::date;

/// A record with a number.
trait Numbered: bucket_mongo::Record + Send + Sync + 'static {
    fn of(number: i64) -> Self;
}

macro_rules! models {
    ($($name:ident [$($attributes:tt)*],)*) => {$(
        #[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "events", items = "items", $($attributes)*)]
        struct $name {
            #[bucket(key)]
            device: String,
            #[bucket(time)]
            at: DateTime,
            number: i64,
            text: Option<String>,
        }

        impl Numbered for $name {
            fn of(number: i64) -> Self {
                let device = "a".to_owned();
                // One window, whatever the number.
                Self { device, at: date(number % 8), number, text: None }
            }
        }
    )*};
}

models! {
    Counted [capacity = 400],
    Paged [numbered, capacity = 400],
    Windowed [window = "1h", capacity = 400],
    Hybrid [capacity = 400, max_duration = "1h"],
}

/// How often each record is in these buckets.
fn count_records<'a>(buckets: impl Iterator<Item = &'a Document>) -> BTreeMap<i64, usize> {
    let mut found = BTreeMap::new();
    for bucket in buckets {
        for item in bucket.get_array("items").unwrap() {
            let number = item.as_document().unwrap().get_i64("number").unwrap();
            *found.entry(number).or_default() += 1;
        }
    }
    found
}

async fn moved_beside_writers<T: Numbered>(repairs: usize, pause: u64) {
    let database = database().await;
    let events = T::buckets(&database);
    events.ensure().await.unwrap();
    let next = Arc::new(AtomicI64::new(0));
    let is_over = Arc::new(AtomicBool::new(false));
    let write = |events: bucket_mongo::Buckets<T>| {
        let (next, is_over) = (Arc::clone(&next), Arc::clone(&is_over));
        async move {
            while !is_over.load(Ordering::Relaxed) {
                let number = next.fetch_add(1, Ordering::Relaxed);
                events.insert(&T::of(number)).await.unwrap();
                sleep(Duration::from_millis(pause)).await;
            }
        }
    };
    for _ in 0..3 {
        let number = next.fetch_add(1, Ordering::Relaxed);
        events.insert(&T::of(number)).await.unwrap();
    }
    let collection = database.collection::<Document>("events");
    let damage = doc! { "$set": { "items.0.text": 1 } };
    collection.update_one(doc! {}, damage).await.unwrap();
    let found = events.verify().await.unwrap();
    assert_eq!(found.harmful(), 1, "{found}");
    let writers: Vec<_> = (0..3)
        .map(|_| tokio::spawn(write(T::buckets(&database))))
        .collect();
    sleep(Duration::from_millis(50)).await;
    let repairing = (0..repairs).map(|_| {
        let (events, found) = (T::buckets(&database), found.clone());
        tokio::spawn(async move { events.repair(&found).await.unwrap() })
    });
    let mut moved = 0;
    for repairing in repairing.collect::<Vec<_>>() {
        let report = repairing.await.unwrap();
        assert_eq!(report.left, 0, "{report}");
        moved += report.quarantined;
    }
    is_over.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.await.unwrap();
    }
    let copies = documents(&database, "events_quarantine").await;
    let moved_buckets = copies
        .iter()
        .map(|copy| copy.get_document("document").unwrap());
    let buckets = documents(&database, "events").await;
    let records = count_records(moved_buckets.chain(&buckets));
    let expected = (0..next.load(Ordering::Relaxed)).map(|number| (number, 1));
    assert_eq!(
        records,
        expected.collect(),
        "{} copies, {moved} moved",
        copies.len()
    );
    assert_eq!(u64::try_from(copies.len()).unwrap(), moved);
}

/// Each repair loses its bucket several times.
#[tokio::test(flavor = "multi_thread")]
async fn a_record_is_never_in_the_quarantine_and_in_the_collection() {
    for pause in [2, 8] {
        moved_beside_writers::<Counted>(1, pause).await;
        moved_beside_writers::<Paged>(1, pause).await;
        moved_beside_writers::<Windowed>(1, pause).await;
        moved_beside_writers::<Hybrid>(1, pause).await;
    }
}

/// One may go on with the copy of another one. In windows the next writer opens a bucket with the id of the one that moved.
#[tokio::test(flavor = "multi_thread")]
async fn nor_does_one_repair_take_the_copy_that_another_one_relies_on() {
    for _ in 0..4 {
        moved_beside_writers::<Windowed>(3, 40).await;
        moved_beside_writers::<Counted>(3, 40).await;
        moved_beside_writers::<Windowed>(4, 8).await;
    }
}

/// A server without transaction numbers executes a statement again whose reply was lost.
#[tokio::test(flavor = "multi_thread")]
async fn a_statement_for_the_quarantine_that_arrives_twice_changes_nothing_more() {
    let database = database().await;
    let send = async |command: RawDocumentBuf| {
        for _ in 0..2 {
            database.run_raw_command(command.clone()).await.unwrap();
        }
    };
    let copies = async || documents(&database, "moved").await.len();
    let [one, other] = [ObjectId::new(), ObjectId::new()];
    let document = rawdoc! { "_id": "a_1", "items": [] };
    let by = (DateTime::now(), one);
    let (id, command) = quarantine(&Counted::SPEC, "moved", &document, &[], 0, by);
    send(command).await;
    send(rely_on("moved", &id, other)).await;
    for (call, left) in [(one, 1), (other, 0)] {
        send(take_back("moved", &id)).await;
        assert_eq!(copies().await, 1);
        send(leave("moved", &id, call)).await;
        send(take_back("moved", &id)).await;
        assert_eq!(copies().await, left);
    }
    // Those of earlier releases stay.
    let copy = doc! { "_id": Document::try_from(&*id).unwrap(), "document": { "_id": "a_1" } };
    let moved = database.collection::<Document>("moved");
    moved.insert_one(copy).await.unwrap();
    send(rely_on("moved", &id, one)).await;
    send(leave("moved", &id, one)).await;
    send(take_back("moved", &id)).await;
    assert_eq!(copies().await, 1);
}

/// Otherwise whoever uses the records in the quarantine again has them twice.
#[tokio::test(flavor = "multi_thread")]
async fn a_removal_that_the_server_refuses_leaves_no_copy() {
    let server = DevServer::builder().own();
    let server = server.arguments(["--setParameter", "enableTestCommands=1"]);
    let server = server.await.unwrap();
    let client = server.client().await.unwrap();
    let database = client.database("refused");
    let number = async |name: &str| {
        let documents = database.collection::<Document>(name);
        documents.count_documents(doc! {}).await.unwrap()
    };
    let events = Counted::buckets(&database);
    events.ensure().await.unwrap();
    events.load((0..5).map(Counted::of)).await;
    let collection = database.collection::<Document>("events");
    let damage = doc! { "$set": { "items.2": 7 } };
    collection.update_one(doc! {}, damage).await.unwrap();
    let found = events.verify().await.unwrap();
    let refuse = doc! {
        "configureFailPoint": "failCommand", "mode": "alwaysOn",
        "data": { "failCommands": ["delete"], "errorCode": 2, "namespace": "refused.events" },
    };
    let admin = client.database("admin");
    admin.run_command(refuse).await.unwrap();
    let report = events.repair(&found).await.unwrap();
    let off = doc! { "configureFailPoint": "failCommand", "mode": "off" };
    admin.run_command(off).await.unwrap();
    assert_eq!((report.left, report.quarantined), (1, 0), "{report}");
    assert_eq!(number("events").await, 1);
    assert_eq!(number("events_quarantine").await, 0);
    let report = events.repair(&found).await.unwrap();
    assert_eq!((report.left, report.quarantined), (0, 1), "{report}");
    assert_eq!(number("events").await, 0);
    assert_eq!(number("events_quarantine").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_that_a_transaction_holds_keeps_no_other_from_its_repair() {
    let database = database().await;
    let events = Windowed::buckets(&database);
    events.ensure().await.unwrap();
    let ends = [0, 4_000, 8_000];
    for start in ends {
        let record = Windowed {
            at: date(start),
            ..Windowed::of(start)
        };
        events.insert(&record).await.unwrap();
    }
    let collection = database.collection::<Document>("events");
    let wrong = doc! { "$set": { "count": 7 } };
    collection.update_many(doc! {}, wrong).await.unwrap();
    let found = events.verify().await.unwrap();
    assert_eq!(found.harmful(), 3, "{found}");
    let client = collection.client();
    let mut holder = client.start_session().await.unwrap();
    holder.start_transaction().await.unwrap();
    let held = doc! { "items.at": date(4_000) };
    collection
        .update_one(held, doc! { "$set": { "note": 1 } })
        .session(&mut holder)
        .await
        .unwrap();
    let repair = events.repair(&found).deadline(Duration::from_secs(1));
    let report = repair.await.unwrap();
    assert_eq!((report.mended, report.left), (2, 1), "{report}");
    let held: Vec<_> = report
        .buckets
        .iter()
        .filter_map(|of| of.refused.as_ref())
        .collect();
    assert_eq!(held.len(), 1, "{report}");
    holder.abort_transaction().await.unwrap();
    let found = events.verify().await.unwrap();
    let report = events.repair(&found).await.unwrap();
    assert_eq!((report.mended, report.left), (1, 0), "{report}");
}

/// The server has no room in its cache for the change of a large document, until others have less there.
#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_for_which_the_server_has_no_room_keeps_no_other_from_its_repair() {
    let parameters = ["--setParameter", "enableTestCommands=1"];
    let server = DevServer::builder().own().arguments(parameters);
    let server = server.await.unwrap();
    let database = server.database("no_room").await.unwrap();
    let events = Windowed::buckets(&database);
    events.ensure().await.unwrap();
    events.insert(&Windowed::of(0)).await.unwrap();
    let collection = database.collection::<Document>("events");
    let admin = collection.client().database("admin");
    for (command, damage) in [
        ("update", "count"),
        ("delete", "device"),
        // Of the copy.
        ("update", "device"),
    ] {
        let wrong = doc! { "$set": { damage: 7 } };
        collection.update_many(doc! {}, wrong).await.unwrap();
        let found = events.verify().await.unwrap();
        assert!(found.harmful() > 0, "{found}");
        let fail = |mode: &str| {
            doc! {
                "configureFailPoint": "failCommand",
                "mode": mode,
                "data": { "failCommands": [command], "errorCode": 388 },
            }
        };
        admin.run_command(fail("alwaysOn")).await.unwrap();
        let repair = events.repair(&found).deadline(Duration::from_millis(300));
        let report = repair.await.unwrap();
        assert_eq!(
            (report.mended, report.quarantined, report.left),
            (0, 0, 1),
            "{report}"
        );
        assert!(report.buckets[0].refused.is_some(), "{report}");
        admin.run_command(fail("off")).await.unwrap();
    }
    let found = events.verify().await.unwrap();
    let report = events.repair(&found).await.unwrap();
    assert_eq!(report.quarantined, 1, "{report}");
    assert!(events.verify().await.unwrap().is_clean());
}

//! Collections migrated while others write to them: nothing is lost, in any order.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use bucket_mongo::{
    Attributed, Documents,
    attribute::{DocumentForm, FormBatch, Migration, encode},
    bson::{Bson, Document, RawDocumentBuf, doc, serialize_to_raw_document_buf},
    documents::MigrationReport,
    testing::TestDatabase,
};
use bucket_tests::{database, documents};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Attributed)]
#[bucket(collection = "things")]
struct Thing {
    #[serde(rename = "_id")]
    id: i32,
    #[serde(default)]
    note: i32,
    #[bucket(attribute(array = "specs", k = "weight", u = "g"))]
    weight: Option<i32>,
    #[bucket(attribute(array = "specs", k = "colour"))]
    colour: Option<String>,
}

const NUMBER: i32 = 600;

fn many(id: i32) -> Document {
    doc! { "_id": id, "note": 0, "weight": 0, "colour": "Red" }
}

async fn things(number: i32) -> (TestDatabase, Documents<Thing>) {
    let database = database().await;
    let things = Thing::documents(&database);
    let all = (0..number).map(many);
    things.collection().insert_many(all).await.unwrap();
    (database, things)
}

fn is_complete(report: &MigrationReport) -> bool {
    let parts = report.changed + report.already + report.refused + report.unsettled + report.gone;
    assert_eq!(parts, report.looked_at, "{report}");
    (report.left, report.refused, report.unsettled) == (0, 0, 0)
}

fn weight(stored: &Document) -> i32 {
    if let Some(weight) = stored.get("weight") {
        assert!(!stored.contains_key("specs"), "{stored}");
        return weight.as_i32().unwrap();
    }
    let entries = stored.get_array("specs").unwrap().iter();
    let mut entries = entries.filter_map(Bson::as_document);
    let entry = entries.find(|entry| entry.get_str("k").is_ok_and(|k| k == "weight"));
    entry.unwrap().get_i32("v").unwrap()
}

/// Adds one to the weight of every document, in its current form, and to its note. The writer knows
/// both forms: it reads the weight first and writes it only if nobody else did in between.
async fn write(things: &Documents<Thing>, form: DocumentForm, stop: &AtomicBool) -> i32 {
    let collection = things.collection::<Document>();
    let mut written = 0;
    for id in (0..NUMBER).cycle() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let (filter, path) = match form {
            DocumentForm::Fields => (doc! { "weight": { "$exists": true } }, "weight"),
            DocumentForm::Attributes => (doc! { "specs.k": "weight" }, "specs.$.v"),
        };
        let mut this = doc! { "_id": id };
        this.extend(filter);
        let update = doc! { "$inc": { path: 1, "note": 1 } };
        let result = collection.update_one(this, update).await.unwrap();
        written += i32::try_from(result.modified_count).unwrap();
    }
    written
}

async fn total(database: &TestDatabase, name: impl Fn(&Document) -> i32) -> i32 {
    let all = documents(database, "things").await;
    assert_eq!(all.len(), usize::try_from(NUMBER).unwrap());
    all.iter().map(name).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_writes_are_not_lost() {
    let (database, things) = things(NUMBER).await;
    let mut expected = 0;
    for _ in 0..2 {
        let stop = AtomicBool::new(false);
        let moves = async {
            let there = things.migrate_to_attributes().batch_size(50).await.unwrap();
            assert!(is_complete(&there), "{there}");
            let back = things.migrate_to_fields().batch_size(50).await.unwrap();
            assert!(is_complete(&back), "{back}");
            let there = things.migrate_to_attributes().await.unwrap();
            assert!(is_complete(&there), "{there}");
            let back = things.migrate_to_fields().await.unwrap();
            assert!(is_complete(&back), "{back}");
            stop.store(true, Ordering::Relaxed);
        };
        let (fields, attributes) = (DocumentForm::Fields, DocumentForm::Attributes);
        let ((), a, b, c, d) = tokio::join!(
            moves,
            write(&things, fields, &stop),
            write(&things, fields, &stop),
            write(&things, attributes, &stop),
            write(&things, attributes, &stop),
        );
        assert!(a + b > 0 && c + d > 0, "{a} {b} {c} {d}");
        expected += a + b + c + d;
        assert_eq!(total(&database, weight).await, expected);
        let note = |stored: &Document| stored.get_i32("note").unwrap();
        assert_eq!(total(&database, note).await, expected);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writers_of_entire_documents_in_either_form_and_two_migrations_converge() {
    let (database, things) = things(NUMBER).await;
    let (next, inserted) = (AtomicI32::new(NUMBER), AtomicI32::new(0));
    let stop = AtomicBool::new(false);
    // Replaces documents by those of its form, and sometimes stores one more.
    let writer = async |form: DocumentForm| {
        let collection = things.collection::<RawDocumentBuf>();
        while !stop.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let is_new = number % 16 == 0;
            let thing = Thing {
                id: if is_new { number } else { number * 7 % NUMBER },
                note: number,
                weight: Some(number),
                colour: None,
            };
            let stored = match form {
                DocumentForm::Fields => serialize_to_raw_document_buf(&thing).unwrap(),
                DocumentForm::Attributes => encode(&thing).unwrap(),
            };
            if is_new {
                collection.insert_one(stored).await.unwrap();
                inserted.fetch_add(1, Ordering::Relaxed);
            } else {
                let this = doc! { "_id": thing.id };
                collection.replace_one(this, stored).await.unwrap();
            }
        }
    };
    let reader = async {
        while !stop.load(Ordering::Relaxed) {
            let found = things.find(doc! {}).limit(100).await.unwrap();
            assert!(found.iter().all(|thing| thing.weight.is_some()));
        }
    };
    let moves = async {
        for _ in 0..4 {
            let (one, other) = tokio::join!(
                things.migrate_to_attributes().batch_size(150).into_future(),
                things.migrate_to_attributes().batch_size(200).into_future(),
            );
            for report in [one.unwrap(), other.unwrap()] {
                let refused = (report.refused, report.unsettled);
                assert_eq!(refused, (0, 0), "{report}");
            }
            things.migrate_to_fields().await.unwrap();
        }
        stop.store(true, Ordering::Relaxed);
    };
    let (old, new) = (DocumentForm::Fields, DocumentForm::Attributes);
    tokio::join!(
        moves,
        writer(old),
        writer(old),
        writer(old),
        writer(new),
        reader
    );
    // No writer of many fields is left.
    let last = things.migrate_to_attributes().await.unwrap();
    assert!(is_complete(&last), "{last}");
    let all = documents(&database, "things").await;
    let number = NUMBER + inserted.into_inner();
    assert_eq!(all.len(), usize::try_from(number).unwrap());
    for stored in &all {
        let has = |name: &str| stored.contains_key(name);
        assert!(!has("weight") && !has("colour"), "{stored}");
        // Both were written together.
        assert_eq!(weight(stored), stored.get_i32("note").unwrap(), "{stored}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_dropped_run_can_be_continued_from_anywhere() {
    let (database, things) = things(NUMBER).await;
    let all: Vec<Thing> = things.find(doc! {}).sort(doc! { "_id": 1 }).await.unwrap();
    let mut last = None;
    let mut changed = 0;
    for stop_at in [1, 3, 4, 8] {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let mut sender = Some(sender);
        let mut batches = 0;
        let run = things.migrate_to_attributes().batch_size(25);
        // With and without the place where the previous run stopped.
        let run = match last.clone().filter(|_| stop_at % 2 == 0) {
            Some(last) => run.after(last),
            None => run,
        };
        let run = run.on_progress(|done| {
            batches += 1;
            last = Some(done.last_id.clone());
            if batches == stop_at {
                let _ = sender.take().unwrap().send(());
            }
        });
        // The next batch is in flight, or sent, when it is dropped.
        tokio::select! {
            _ = run.into_future() => panic!("it has ended"),
            _ = receiver => {}
        }
        // Requests that were sent may still be executed.
        let found = things.find(doc! {}).sort(doc! { "_id": 1 }).await.unwrap();
        assert_eq!(found, all);
        let moved = things.collection::<Document>();
        let moved = moved
            .count_documents(doc! { "specs": { "$exists": true } })
            .await
            .unwrap();
        assert!(moved >= changed && moved < u64::try_from(NUMBER).unwrap());
        changed = moved;
    }
    let report = things.migrate_to_attributes().await.unwrap();
    assert!(is_complete(&report), "{report}");
    assert!(report.already >= changed && report.changed > 0, "{report}");
    for stored in documents(&database, "things").await {
        let names: Vec<&String> = stored.keys().collect();
        assert_eq!(names, ["_id", "note", "specs"]);
    }
    let found = things.find(doc! {}).sort(doc! { "_id": 1 }).await.unwrap();
    assert_eq!(found, all);
}

#[tokio::test]
async fn a_change_is_made_only_if_each_field_is_as_it_was_read() {
    let database = database().await;
    let create = doc! { "create": "things", "collation": { "locale": "en", "strength": 1 } };
    database.run_command(create).await.unwrap();
    let things = Thing::documents(&database);
    let collection = things.collection::<Document>();
    let entry = doc! { "k": "weight", "v": 1, "u": "g" };
    let fields = doc! { "_id": 1, "weight": 1, "colour": "Red" };
    let nothing = doc! { "_id": 1, "weight": 1 };
    let array = doc! { "_id": 1, "specs": [entry.clone()] };
    for (to, read, now) in [
        (
            DocumentForm::Attributes,
            &fields,
            doc! { "weight": 2, "colour": "Red" },
        ),
        (
            DocumentForm::Attributes,
            &fields,
            doc! { "weight": [1], "colour": "Red" },
        ),
        (
            DocumentForm::Attributes,
            &fields,
            doc! { "weight": 1, "colour": "RED" },
        ),
        (DocumentForm::Attributes, &fields, doc! { "weight": 1 }),
        (
            DocumentForm::Attributes,
            &fields,
            doc! { "weight": 1, "colour": "Red", "specs": [] },
        ),
        (DocumentForm::Attributes, &fields, doc! {}),
        (
            DocumentForm::Attributes,
            &nothing,
            doc! { "weight": 1, "colour": null },
        ),
        (
            DocumentForm::Attributes,
            &nothing,
            doc! { "weight": 1, "colour": "Red" },
        ),
        (
            DocumentForm::Fields,
            &array,
            doc! { "specs": [entry.clone(), 1] },
        ),
        (
            DocumentForm::Fields,
            &array,
            doc! { "specs": [[entry.clone()]] },
        ),
        (
            DocumentForm::Fields,
            &array,
            doc! { "specs": [entry.clone()], "weight": null },
        ),
        (DocumentForm::Fields, &array, doc! { "weight": 1 }),
    ] {
        let migration = Migration::new(things.spec(), to).unwrap();
        let raw = RawDocumentBuf::try_from(read).unwrap();
        let change = migration.plan(&raw).unwrap().unwrap();
        let mut stored = doc! { "_id": 1 };
        stored.extend(now);
        collection.delete_many(doc! {}).await.unwrap();
        collection.insert_one(&stored).await.unwrap();
        let mut batch = FormBatch::default();
        assert!(batch.push(change).unwrap().is_none());
        let send = || {
            database
                .run_raw_command(batch.command("things"))
                .into_future()
        };
        assert_eq!(send().await.unwrap()["n"], Bson::Int32(0), "{stored}");
        assert_eq!(documents(&database, "things").await, [stored]);
        // And it is made if they are.
        collection.delete_many(doc! {}).await.unwrap();
        collection.insert_one(read).await.unwrap();
        for n in [1, 0] {
            assert_eq!(send().await.unwrap()["n"], Bson::Int32(n));
        }
        let after = documents(&database, "things").await;
        assert!(
            migration
                .plan(&RawDocumentBuf::try_from(&after[0]).unwrap())
                .unwrap()
                .is_none()
        );
    }
}

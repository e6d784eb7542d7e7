//! Bytes of stored buckets that are others: `verify` finds what they damage, and `repair` loses no item.

use std::{collections::BTreeSet, time::Duration};

use bucket_mongo::{
    Bucketed, Buckets, ProblemKind, Which,
    bson::{Binary, Bson, DateTime, Document, RawDocumentBuf, doc, spec::BinarySubtype},
    testing::TestDatabase,
};
use bucket_tests::{database, documents};
use serde::{Deserialize, Serialize};

use super::verify::{
    AgingNumbers, Counted, Event, Hybrid, Numbered, Random, Windowed, WindowedObjects, kinds,
    stored,
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "events",
    items = "items",
    window = "1m",
    seal_after = "1h"
)]
struct Sealed {
    #[bucket(key)]
    device: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(sum)]
    number: i64,
    /// No aggregate includes it.
    note: String,
}

fn packed(bucket: &Document) -> Option<&Binary> {
    match bucket.get("items") {
        Some(Bson::Binary(items)) if items.subtype == BinarySubtype::UserDefined(128) => {
            Some(items)
        }
        _ => None,
    }
}

fn ids<'a>(ids: impl Iterator<Item = &'a Bson>) -> BTreeSet<String> {
    ids.map(ToString::to_string).collect()
}

async fn moved(database: &TestDatabase) -> Vec<Document> {
    let copies = documents(database, "events_quarantine").await.into_iter();
    copies
        .map(|copy| copy.get_document("document").unwrap().clone())
        .collect()
}

/// A bucket with a removed record in each window, and each sealed.
async fn sealed(database: &TestDatabase) -> Buckets<Sealed> {
    let events = Sealed::buckets(database);
    events.ensure().await.unwrap();
    let records = (0..2_000).map(|number| Sealed {
        device: ["a", "b"][usize::try_from(number % 2).unwrap()].to_owned(),
        at: DateTime::from_millis(1_698_335_220_000 + number * 1_500),
        number,
        note: format!("note {}", number % 7),
    });
    events
        .insert_many(records)
        .await
        .unwrap()
        .into_result()
        .unwrap();
    for device in ["a", "b"] {
        let found = events
            .range(device.to_owned(), ..)
            .with_refs()
            .await
            .unwrap();
        for found in found.into_iter().step_by(29) {
            let which = Which::from(found.reference);
            assert!(
                events
                    .delete(device.to_owned(), which)
                    .await
                    .unwrap()
                    .is_some()
            );
        }
    }
    let report = events.seal().after(Duration::ZERO).await.unwrap();
    assert!(report.buckets >= 100, "{report}");
    events
}

#[tokio::test(flavor = "multi_thread")]
async fn another_byte_of_packed_items_is_always_found() {
    let database = database().await;
    let events = sealed(&database).await;
    let collection = database.collection::<Document>("events");
    let right = documents(&database, "events").await;
    let mut random = Random(3);
    let mut number = 0;
    while number < 1_000 {
        let mut wrong = BTreeSet::new();
        let mut damaged = Vec::new();
        for bucket in &right {
            let mut bucket = bucket.clone();
            let Some(items) = packed(&bucket).filter(|_| random.below(8) > 0) else {
                damaged.push(bucket);
                continue;
            };
            let mut bytes = items.bytes.clone();
            // After the version of the format: another version is none that a program knows.
            let at = 8 + random.below(bytes.len() - 8);
            match random.below(4) {
                0 => bytes.truncate(at),
                1 => bytes.push(7),
                2 => bytes[at] ^= 1 << random.below(8),
                _ => {
                    bytes[at] =
                        bytes[at].wrapping_add(u8::try_from(1 + random.below(255)).unwrap());
                }
            }
            let subtype = items.subtype;
            bucket.insert("items", Binary { subtype, bytes });
            wrong.insert(bucket.get("_id").unwrap().to_string());
            damaged.push(bucket);
        }
        number += wrong.len();
        collection.delete_many(doc! {}).await.unwrap();
        collection.insert_many(&damaged).await.unwrap();
        let report = events.verify().await.unwrap();
        assert_eq!(ids(report.findings.iter().map(|it| &it.id)), wrong);
        let harmful = report
            .findings
            .iter()
            .all(bucket_mongo::Finding::is_harmful);
        assert!(harmful, "{report}");
        let done = events.repair(&report).await.unwrap();
        assert_eq!(
            done.quarantined,
            u64::try_from(wrong.len()).unwrap(),
            "{done}"
        );
        let left = events.verify().await.unwrap();
        assert!(left.is_clean(), "{left}");
        // All of it is where it was, or in the quarantine, as it was.
        let moved = moved(&database).await;
        assert_eq!(ids(moved.iter().map(|it| it.get("_id").unwrap())), wrong);
        let mut all = [documents(&database, "events").await, moved].concat();
        let place = |bucket: &Document| bucket.get("_id").unwrap().to_string();
        all.sort_by_key(place);
        damaged.sort_by_key(place);
        assert_eq!(all, damaged);
        database
            .collection::<Document>("events_quarantine")
            .drop()
            .await
            .unwrap();
    }
}

macro_rules! forms {
    ($($test:ident $name:ident,)*) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $test() {
            other_bytes_lose_no_item::<$name>().await;
        }
    )*};
}

forms! {
    bytes_of_counted_buckets Counted,
    bytes_of_windows Windowed,
    bytes_of_windows_with_object_ids WindowedObjects,
    bytes_of_hybrid_buckets Hybrid,
    bytes_of_numbered_buckets Numbered,
    bytes_of_aging_numbers AgingNumbers,
}

fn raw(bucket: &Document) -> Vec<u8> {
    RawDocumentBuf::try_from(bucket).unwrap().into_bytes()
}

/// The items of documents as text, sorted.
fn items_of(documents: &[Document]) -> Vec<String> {
    let mut all = Vec::new();
    for document in documents {
        match document.get("items") {
            Some(Bson::Array(items)) => all.extend(items.iter().map(ToString::to_string)),
            other => all.push(format!("{other:?}")),
        }
    }
    all.sort_unstable();
    all
}

/// Another byte somewhere, if that is a document with the same `_id`.
fn other_byte(bucket: &Document, random: &mut Random) -> Option<Document> {
    let mut bytes = raw(bucket);
    let at = 4 + random.below(bytes.len() - 4);
    bytes[at] ^= 1 << random.below(8);
    let read = RawDocumentBuf::from_bytes(bytes).ok()?;
    let read = Document::try_from(read).ok()?;
    // Names that are there twice, and a document that a driver writes otherwise, are no document to store.
    let is_same = read.get("_id") == bucket.get("_id") && read != *bucket;
    is_same.then_some(read)
}

async fn other_bytes_lose_no_item<T: Event>() {
    let database = database().await;
    let events = stored::<T>(&database).await;
    for name in ["a 1", "b 4", "full 8"] {
        let device = name.split(' ').next().unwrap();
        let removed = events.delete(T::key_of(device), Which::id(&name)).await;
        assert!(removed.unwrap().is_some());
    }
    let right = documents(&database, "events").await;
    let collection = database.collection::<Document>("events");
    let mut random = Random(41);
    let mut number = 0;
    for _ in 0..14 {
        let before = collection.delete_many(doc! {}).await.unwrap();
        assert!(before.deleted_count > 0);
        let mut damaged = BTreeSet::new();
        for bucket in &right {
            let other = (0..50).find_map(|_| other_byte(bucket, &mut random));
            let is_stored = match &other {
                Some(other) => collection.insert_one(other).await.is_ok(),
                None => false,
            };
            if is_stored {
                number += 1;
                damaged.insert(bucket.get("_id").unwrap().to_string());
            } else {
                // What is damaged may have an id of its items.
                let _ = collection.insert_one(bucket).await;
            }
        }
        let before = documents(&database, "events").await;
        let found = events.verify().await.unwrap();
        // A bucket that is right is named at most for one that seems to be missing or open beside it.
        for finding in &found.findings {
            use ProblemKind as Kind;
            let is_between = matches!(
                finding.problem.kind(),
                Kind::Gap | Kind::RoomBefore | Kind::OpenBefore | Kind::TwoOpen | Kind::SamePlace
            );
            assert!(
                is_between || damaged.contains(&finding.id.to_string()),
                "{finding}"
            );
        }
        let report = events.repair(&found).await.unwrap();
        let after = events.verify().await.unwrap();
        let context = format!("{found}\n{report}\n{after}");
        let is_left = |kind: &ProblemKind| !kind.is_harmful() || *kind == ProblemKind::Gap;
        assert!(kinds(&after.findings).iter().all(is_left), "{context}");
        let all = [documents(&database, "events").await, moved(&database).await].concat();
        // A mark that takes the place of a lost item names its place.
        let mut items = items_of(&all);
        items.retain(|item| !item.contains("moved_from"));
        assert_eq!(items, items_of(&before), "{context}");
        database
            .collection::<Document>("events_quarantine")
            .drop()
            .await
            .unwrap();
    }
    assert!(number > 100, "{number}");
}

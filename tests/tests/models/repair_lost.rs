//! Buckets that lost records by the hand of others: `repair` counts what is left, and they take no more records than before.

use std::time::Duration;

use bucket_mongo::{
    Bucketed, Buckets, ProblemKind, Which,
    bson::{Bson, DateTime, Document, doc},
    testing::TestDatabase,
};
use bucket_tests::{Load, database, documents};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use super::verify::{Counted, Event, buckets_of, date, kinds, stored};

/// A few records have more than 1 KB.
#[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "events",
    items = "items",
    stats = "stats",
    capacity = 100,
    max_bytes = "1KB",
    seal_after = "1h"
)]
struct BySize {
    #[bucket(key)]
    device: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(sum)]
    number: i64,
    name: String,
}

impl Event for BySize {
    fn of(device: &str, at: DateTime, number: i64) -> Self {
        let name = format!("{number:0300}");
        let device = device.to_owned();
        Self {
            device,
            at,
            number,
            name,
        }
    }

    fn key_of(device: &str) -> Self::Key {
        device.into()
    }
}

/// Another bucket of the key has room, and one of a key may have any.
async fn full_buckets_that_lost_records<T: Event>(device: &str, damages: &[Document]) {
    let database = database().await;
    let events = T::buckets(&database);
    events.ensure().await.unwrap();
    let record = |n| T::of(device, date(n), n);
    let number = 3 * i64::try_from(damages.len()).unwrap() + 1;
    let records: Vec<T> = (0..number).map(record).collect();
    let report = events.insert_many(records).await.unwrap();
    report.into_result().unwrap();
    let full = buckets_of(&database, device).await;
    let collection = database.collection::<Document>("events");
    let mut lost = 0;
    for (bucket, damage) in full.iter().zip(damages) {
        let id = doc! { "_id": bucket.get("_id").unwrap() };
        lost += usize::from(damage.contains_key("$pop"));
        collection.update_one(id, damage.clone()).await.unwrap();
    }
    // A writer does not see that this one is open.
    let open = doc! { "_id": full.last().unwrap().get("_id").unwrap() };
    for (path, value) in [("count", "1"), ("bytes", "x")] {
        if full[0].contains_key(path) {
            let damage = doc! { "$set": { path: value } };
            collection.update_one(open.clone(), damage).await.unwrap();
        }
    }
    T::buckets(&database).insert(&record(number)).await.unwrap();
    let before = buckets_of(&database, device).await.len();
    assert_eq!(before, full.len() + 1);
    let found = events.verify().await.unwrap();
    assert!(kinds(&found.findings).contains(&ProblemKind::Count));
    let dry = events.repair(&found).dry_run().await.unwrap();
    let report = events.repair(&found).await.unwrap();
    let buckets = u64::try_from(damages.len()).unwrap() + 1;
    assert_eq!((report.mended, report.left), (buckets, 0), "{report}");
    assert_eq!((dry.mended, &dry.buckets), (buckets, &report.buckets));
    let left = events.verify().await.unwrap();
    assert!(left.is_clean(), "{left}");
    let read = async || {
        let records = events.records(T::key_of(device));
        records.collect().await.unwrap().len()
    };
    let stored = usize::try_from(number).unwrap() + 1 - lost;
    assert_eq!(read().await, stored);
    // They take no more records, and nothing else has changed.
    events.insert(&record(number + 1)).await.unwrap();
    assert_eq!(buckets_of(&database, device).await.len(), before);
    assert!(events.verify().await.unwrap().is_clean());
    assert_eq!(read().await, stored + 1);
}

/// The last or the first record is lost, by itself or with the count.
fn losses() -> Vec<Document> {
    let last = doc! { "items": 1 };
    vec![
        doc! { "$pop": &last },
        doc! { "$pop": { "items": -1 } },
        doc! { "$pop": &last, "$set": { "count": "3" } },
        doc! { "$pop": &last, "$set": { "count": 3.5 } },
        doc! { "$pop": &last, "$unset": { "count": 1 } },
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn full_buckets_that_lost_records_stay_full() {
    full_buckets_that_lost_records::<Counted>("a", &losses()).await;
}

macro_rules! capacities {
    ($($name:ident [$($attributes:tt)*],)*) => {$(
        #[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "events", items = "items", stats = "stats", $($attributes)*)]
        struct $name {
            #[bucket(key)]
            device: String,
            #[bucket(time)]
            at: DateTime,
            #[bucket(sum)]
            number: i64,
        }

        impl $name {
            fn of(number: i64) -> Self {
                let device = "a".to_owned();
                Self { device, at: date(number), number }
            }
        }
    )*};
}

capacities! {
    BeforeRaised [capacity = 3],
    Raised [capacity = 6, raised_from = 3],
}

/// The index on open buckets has those of fewer records than the old capacity.
#[tokio::test(flavor = "multi_thread")]
async fn full_buckets_of_an_old_capacity_stay_full() {
    let database = database().await;
    let before = BeforeRaised::buckets(&database);
    before.ensure().await.unwrap();
    for number in 0..7 {
        before.insert(&BeforeRaised::of(number)).await.unwrap();
    }
    let events = Raised::buckets(&database);
    events.ensure().replace_indexes().await.unwrap();
    let collection = database.collection::<Document>("events");
    let first = buckets_of(&database, "a").await[0].clone();
    let first = doc! { "_id": first.get("_id").unwrap() };
    let pop = doc! { "$pop": { "items": 1 } };
    collection.update_one(first, pop).await.unwrap();
    let found = events.verify().await.unwrap();
    let report = events.repair(&found).await.unwrap();
    assert_eq!((report.mended, report.left), (1, 0), "{report}");
    let left = events.verify().await.unwrap();
    assert!(left.is_clean(), "{left}");
    assert_eq!(events.records("a").collect().await.unwrap().len(), 6);
    // It takes no more records, of a writer that knows nothing of it either.
    let mended = buckets_of(&database, "a").await[0].clone();
    let others = Raised::buckets(&database);
    for number in 7..20 {
        others.insert(&Raised::of(number)).await.unwrap();
    }
    assert_eq!(buckets_of(&database, "a").await[0], mended);
    assert_eq!(events.records("a").collect().await.unwrap().len(), 19);
    assert!(events.verify().await.unwrap().is_clean());
}

/// Items before the mark of a removed record were lost, so that its place is that of another item now.
#[tokio::test(flavor = "multi_thread")]
async fn places_that_are_named_twice_are_no_harm() {
    let database = database().await;
    let events = stored::<Counted>(&database).await;
    let key = || Counted::key_of("b");
    let removed = events.delete(key(), Which::id(&"b 2".to_owned()));
    assert!(removed.forget_ids().await.unwrap().is_some());
    let first = buckets_of(&database, "b").await[0].clone();
    let first = doc! { "_id": first.get("_id").unwrap() };
    let collection = database.collection::<Document>("events");
    let pop = doc! { "$pop": { "items": -1 } };
    collection.update_one(first, pop).await.unwrap();
    for mended in [1, 0] {
        let found = events.verify().await.unwrap();
        let report = events.repair(&found).await.unwrap();
        assert_eq!((report.mended, report.quarantined), (mended, 0), "{report}");
        assert!(events.verify().await.unwrap().is_clean());
        let left = usize::try_from(7 + mended).unwrap();
        assert_eq!(events.records(key()).collect().await.unwrap().len(), left);
        if mended > 0 {
            // Its mark names a place that another mark names.
            let removed = events.delete(key(), Which::id(&"b 1".to_owned()));
            assert!(removed.forget_ids().await.unwrap().is_some());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn buckets_that_lost_records_stay_full_by_their_bytes() {
    let mut damages = losses();
    let last = doc! { "items": 1 };
    damages.extend([
        doc! { "$pop": &last, "$set": { "bytes": "x" } },
        doc! { "$set": { "bytes": "x", "count": "3" } },
    ]);
    full_buckets_that_lost_records::<BySize>("a", &damages).await;
}

/// A sealed bucket takes no more records, but the index on open buckets only knows its count and its size.
async fn sealed_buckets_stay_closed(records: i64, size: Bson) {
    let database = database().await;
    let events = BySize::buckets(&database);
    events.ensure().await.unwrap();
    let record = |n| BySize::of("a", date(n), n);
    let report = events.insert_many((0..records).map(record)).await.unwrap();
    report.into_result().unwrap();
    let page = events.records("a").limit(1).with_refs().await.unwrap();
    let first = page.into_records().remove(0).reference;
    assert!(events.delete("a", first).await.unwrap().is_some());
    events.seal().await.unwrap();
    let sealed = documents(&database, "events").await[0].clone();
    assert!(matches!(sealed.get("items"), Some(Bson::Binary(_))));
    let collection = database.collection::<Document>("events");
    let id = doc! { "_id": sealed.get("_id").unwrap() };
    let damage = doc! { "$set": { "bytes": size } };
    collection.update_one(id, damage).await.unwrap();
    let found = events.verify().await.unwrap();
    assert!(!found.findings.is_empty(), "{found}");
    let dry = events.repair(&found).dry_run().await.unwrap();
    let report = events.repair(&found).await.unwrap();
    assert_eq!((report.mended, report.left), (1, 0), "{report}");
    assert_eq!(dry.buckets, report.buckets);
    let left = events.verify().await.unwrap();
    assert!(left.findings.is_empty(), "{left}");
    for number in 0..4 {
        let others = BySize::buckets(&database);
        let handle = if number % 2 == 0 { &events } else { &others };
        handle.insert(&record(records + number)).await.unwrap();
        if number == 1 {
            events.unseal().await.unwrap();
        }
    }
    let stored = events.records("a").collect().await.unwrap().len();
    assert_eq!(i64::try_from(stored).unwrap(), records + 3);
    assert!(events.verify().await.unwrap().findings.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn sealed_buckets_that_were_edited_stay_closed_by_their_bytes() {
    for size in [Bson::from("x"), Bson::Int64(900), Bson::Int64(1)] {
        sealed_buckets_stay_closed(6, size).await;
    }
    // The newest bucket is open: the index refuses a size that leaves room.
    sealed_buckets_stay_closed(7, Bson::from("x")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn emptied_buckets_with_others_after_them_stay_closed_by_their_bytes() {
    let database = database().await;
    let events = BySize::buckets(&database);
    events.ensure().await.unwrap();
    let record = |n| BySize::of("a", date(n), n);
    events.load((0..7).map(record)).await;
    let first = documents(&database, "events").await[0].clone();
    let first = doc! { "_id": first.get("_id").unwrap() };
    let damage = doc! { "$set": { "items": [], "count": 0, "bytes": "x" } };
    let collection = database.collection::<Document>("events");
    collection.update_one(first, damage).await.unwrap();
    let found = events.verify().await.unwrap();
    let dry = events.repair(&found).dry_run().await.unwrap();
    let report = events.repair(&found).await.unwrap();
    assert_eq!((report.mended, report.left), (1, 0), "{report}");
    assert_eq!(dry.buckets, report.buckets);
    assert!(events.verify().await.unwrap().is_clean());
    events.insert(&record(7)).await.unwrap();
    assert_eq!(events.records("a").collect().await.unwrap().len(), 5);
    assert_eq!(documents(&database, "events").await.len(), 3);
}

/// Each is a copy of the one before it. The first one may have to move for a reason of its own.
async fn many_copies_of_a_bucket(damage: Option<Document>) {
    let database = database().await;
    let events = stored::<Counted>(&database).await;
    let collection = database.collection::<Document>("events");
    collection.drop_index("bucket_unique").await.unwrap();
    let mut copy = buckets_of(&database, "full").await[0].clone();
    let id = copy.get_str("_id").unwrap().to_owned();
    for number in 1..4 {
        copy.insert("_id", format!("{id}_{number}"));
        collection.insert_one(&copy).await.unwrap();
    }
    if let Some(damage) = damage {
        let first = doc! { "_id": id };
        collection.update_one(first, damage).await.unwrap();
    }
    let found = events.verify().await.unwrap();
    let dry = events.repair(&found).dry_run().await.unwrap();
    let report = events.repair(&found).await.unwrap();
    assert_eq!((dry.quarantined, report.quarantined), (3, 3), "{report}");
    assert_eq!(dry.buckets, report.buckets);
    assert_eq!(report.created_indexes, ["bucket_unique"]);
    let left = events.verify().await.unwrap();
    assert!(left.findings.is_empty(), "{left}");
    let read = events.records(Counted::key_of("full")).collect().await;
    assert_eq!(read.unwrap().len(), 9);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_copies_of_a_bucket_one_repair_leaves_one() {
    many_copies_of_a_bucket(None).await;
    let damage = doc! { "$set": { "items.1.number": "x" } };
    many_copies_of_a_bucket(Some(damage)).await;
}

#[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "events", items = "items", capacity = 3)]
struct WithIds {
    #[bucket(key)]
    device: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(unique)]
    id: i64,
    number: i64,
}

/// Buckets of one key with these ids of records, the first of which may be damaged. No index prevents them.
async fn with_ids(database: &TestDatabase, buckets: &[(&[i64], bool)]) -> Buckets<WithIds> {
    let events = WithIds::buckets(database);
    events.ensure().await.unwrap();
    let first = WithIds {
        device: "a".to_owned(),
        at: date(0),
        id: 1,
        number: 1,
    };
    events.insert(&first).await.unwrap();
    let collection = database.collection::<Document>("events");
    let shape = documents(database, "events").await.remove(0);
    collection.delete_many(doc! {}).await.unwrap();
    for index in ["bucket_unique", "bucket_open_3"] {
        collection.drop_index(index).await.unwrap();
    }
    let item = shape.get_array("items").unwrap()[0].as_document().unwrap();
    let bucket = |(place, (ids, is_damaged)): (usize, &(&[i64], bool))| {
        let items = ids.iter().enumerate().map(|(index, id)| {
            let mut item = item.clone();
            item.insert("id", *id);
            if *is_damaged && index == 0 {
                item.insert("number", "x");
            }
            item
        });
        let mut bucket = shape.clone();
        bucket.insert("_id", format!("a_{}", 1_700_000_000 + place));
        bucket.insert("count", i32::try_from(ids.len()).unwrap());
        bucket.insert("items", items.collect::<Vec<_>>());
        bucket
    };
    let buckets = buckets.iter().enumerate().map(bucket);
    collection.insert_many(buckets).await.unwrap();
    events
}

/// One repair does all, and the dry run says the same. Returns how many buckets have moved.
async fn repaired_at_once(events: &Buckets<WithIds>) -> u64 {
    let found = events.verify().await.unwrap();
    let dry = events.repair(&found).dry_run();
    let dry = timeout(Duration::from_secs(60), dry).await;
    let dry = dry.unwrap().unwrap();
    let report = events.repair(&found).await.unwrap();
    assert_eq!(dry.buckets, report.buckets);
    let left = events.verify().await.unwrap();
    assert!(left.is_clean(), "{left}");
    assert!(left.indexes.is_empty(), "{left}");
    report.quarantined
}

/// The last buckets share ids with the one before the many, which has room and shares one with the first.
#[tokio::test(flavor = "multi_thread")]
async fn buckets_that_share_ids_with_each_other_are_each_looked_at_once() {
    let database = database().await;
    let many: Vec<[i64; 3]> = (0..20).map(|n| [2, 200 + 2 * n, 201 + 2 * n]).collect();
    let mut buckets: Vec<(&[i64], bool)> = vec![(&[1, 2, 3], false), (&[1, 100], false)];
    buckets.extend(many.iter().map(|ids| (&ids[..], false)));
    buckets.extend([(&[300, 100][..], true), (&[100, 400, 401], false)]);
    let events = with_ids(&database, &buckets).await;
    assert_eq!(repaired_at_once(&events).await, 22);
    assert_eq!(events.records("a").collect().await.unwrap().len(), 6);
}

/// The first one moves, and the others share its ids in pairs.
#[tokio::test(flavor = "multi_thread")]
async fn of_buckets_that_share_ids_with_one_that_moves_one_of_each_stays() {
    let database = database().await;
    let buckets: [(&[i64], bool); 6] = [
        (&[1, 2, 3], true),
        (&[1, 10, 11], false),
        (&[2, 20, 21], false),
        (&[2, 30, 31], false),
        (&[3, 40, 41], false),
        (&[3, 50, 51], false),
    ];
    let events = with_ids(&database, &buckets).await;
    assert_eq!(repaired_at_once(&events).await, 3);
    assert_eq!(events.records("a").collect().await.unwrap().len(), 9);
}

/// As after a call that was ended.
#[tokio::test(flavor = "multi_thread")]
async fn of_buckets_that_share_ids_with_one_that_is_gone_one_stays() {
    let database = database().await;
    let buckets: [(&[i64], bool); 3] = [
        (&[1, 2, 3], false),
        (&[1, 10, 11], false),
        (&[1, 20, 21], false),
    ];
    let events = with_ids(&database, &buckets).await;
    let found = events.verify().await.unwrap();
    let collection = database.collection::<Document>("events");
    let first = doc! { "_id": "a_1700000000" };
    collection.delete_one(first).await.unwrap();
    let report = events.repair(&found).await.unwrap();
    assert_eq!(report.quarantined, 1, "{report}");
    assert_eq!(report.indexes, Vec::<String>::new());
    assert_eq!(repaired_at_once(&events).await, 0);
}

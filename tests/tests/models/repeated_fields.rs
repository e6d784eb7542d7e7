//! A bucket that has a field twice, as only hand-made BSON has: readers and the server take the first one. `repair` mends
//! or moves it like any other.

use bucket_mongo::{
    Buckets, Finding, ProblemKind,
    bson::{Bson, Document, RawBson, RawDocumentBuf, doc},
    testing::TestDatabase,
};
use bucket_tests::{database, documents};

use super::verify::{
    Aging, Counted, Event, Hybrid, Numbered, Random, Windowed, WindowedObjects, buckets_of, other,
    stored,
};

macro_rules! forms {
    ($($test:ident $name:ident,)*) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $test() {
            each_field_twice::<$name>().await;
        }
    )*};
}

forms! {
    in_counted_buckets Counted,
    in_aging_buckets Aging,
    in_windows Windowed,
    in_windows_with_object_ids WindowedObjects,
    in_hybrid_buckets Hybrid,
    in_numbered_buckets Numbered,
}

const QUARANTINE: &str = "events_quarantine";

/// The bucket with another value before or after the one that it has.
fn twice(bucket: &Document, name: &str, value: &Bson, before: bool) -> RawDocumentBuf {
    let mut raw = RawDocumentBuf::new();
    let mut append = |name: &str, value: &Bson| {
        let name = <&bucket_mongo::bson::raw::CStr>::try_from(name).unwrap();
        raw.append(name, RawBson::try_from(value.clone()).unwrap());
    };
    for (field, stored) in bucket {
        if field == name && before {
            append(field, value);
        }
        append(field, stored);
        if field == name && !before {
            append(field, value);
        }
    }
    raw
}

/// Returns false if an index refuses the bucket.
async fn store(database: &TestDatabase, id: &Bson, bucket: &RawDocumentBuf) -> bool {
    let collection = database.collection::<RawDocumentBuf>("events");
    collection.delete_one(doc! { "_id": id }).await.unwrap();
    collection.insert_one(bucket).await.is_ok()
}

/// Repairs what `verify` finds until nothing is left but missing numbers, which only a backup gives back, and what harms
/// nobody.
async fn repaired<T: Event>(events: &Buckets<T>, what: &str) -> u64 {
    let mut moved = 0;
    for _ in 0..3 {
        let found = events.verify().await.unwrap();
        let stays = |it: &Finding| it.problem.kind() == ProblemKind::Gap || !it.is_harmful();
        if found.findings.iter().all(stays) {
            return moved;
        }
        let report = events.repair(&found).await.unwrap();
        assert_eq!(report.changed, 0, "{what}: {report}, {found}");
        moved += report.quarantined;
    }
    panic!("{what}: {}", events.verify().await.unwrap());
}

async fn each_field_twice<T: Event>() {
    let database = database().await;
    let events = stored::<T>(&database).await;
    let is_key = |name: &str| ["device", "sensor"].contains(&name);
    let mut random = Random(1);
    let bucket = buckets_of(&database, "a").await[1].clone();
    let id = bucket.get("_id").unwrap().clone();
    let records = events.records(T::key_of("a")).collect().await.unwrap();
    let rest = documents(&database, "events").await;
    for (name, value) in bucket.iter().filter(|(name, _)| *name != "_id") {
        for before in [true, false] {
            let value = other(value, &mut random);
            let what = format!("{name} = {value:?}, before: {before}");
            if store(&database, &id, &twice(&bucket, name, &value, before)).await {
                let moved = repaired(&events, &what).await;
                let quarantine = documents(&database, QUARANTINE).await;
                assert_eq!(quarantine.len() as u64, moved, "{what}");
                assert!(moved == 0 || before, "{what}");
                // An id that has no key says nothing of another one.
                let is_of_another = before && is_key(name) && T::SPEC.object_ids();
                let left = events.records(T::key_of("a")).collect().await.unwrap();
                let is_whole = left.len() == records.len();
                assert_eq!(is_whole, moved == 0 && !is_of_another, "{what}");
            }
            let collection = database.collection::<Document>("events");
            collection.delete_many(doc! {}).await.unwrap();
            collection.insert_many(&rest).await.unwrap();
            let quarantine = database.collection::<Document>(QUARANTINE);
            quarantine.delete_many(doc! {}).await.unwrap();
        }
    }
}

/// Too large to be in a statement twice: each field is compared by its name.
#[tokio::test(flavor = "multi_thread")]
async fn in_a_large_document() {
    let database = database().await;
    let events = stored::<Counted>(&database).await;
    let mut bucket = buckets_of(&database, "a").await[1].clone();
    bucket.insert("of_others", "x".repeat(9 << 20));
    let id = bucket.get("_id").unwrap().clone();
    let value = Bson::from("b");
    for before in [true, false] {
        bucket.insert("count", 7);
        let twice = twice(&bucket, "device", &value, before);
        assert!(store(&database, &id, &twice).await);
        let moved = repaired(&events, "a large document").await;
        assert_eq!(moved, u64::from(before));
    }
    assert_eq!(events.count(Counted::key_of("a")).await.unwrap(), 10);
}

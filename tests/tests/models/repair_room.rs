//! Buckets of the manual's form that have room although they should not: `verify` finds them, `repair` closes them, and
//! until then no record of a source is stored twice.

use std::time::Duration;

use bucket_mongo::{
    Bucketed, Buckets, ErrorKind, ProblemKind, Record, RepairReport, VerifyReport,
    bson::{DateTime, Document, doc},
    mongodb::IndexModel,
    testing::DevServer,
};
use bucket_tests::{Load, database, documents};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use super::verify::{date, kinds};

/// A record whose text has this many bytes.
trait Numbered: Record<Key: From<&'static str>> + Send + Sync {
    fn of(number: i64, bytes: usize) -> Self;
    fn number(&self) -> i64;
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
            text: String,
        }

        impl Numbered for $name {
            fn of(number: i64, bytes: usize) -> Self {
                let (device, text) = ("a".to_owned(), "x".repeat(bytes));
                Self { device, at: date(number), number, text }
            }

            fn number(&self) -> i64 {
                self.number
            }
        }
    )*};
}

models! {
    Four [capacity = 4],
    FourOfSix [capacity = 6, raised_from = 4],
    FourOrKilobyte [capacity = 4, max_bytes = "1KB", seal_after = "1h"],
    FourOrTwoKilobytes [capacity = 4, max_bytes = "2KB", seal_after = "1h"],
    FourOnly [capacity = 4, seal_after = "1h"],
    FourInNumbers [capacity = 4, numbered, seal_after = "1h"],
}

/// Repairs, as the dry run says.
async fn repaired<T: Record>(events: &Buckets<T>, found: &VerifyReport) -> RepairReport {
    let dry = events.repair(found).dry_run().await.unwrap();
    let report = events.repair(found).await.unwrap();
    assert_eq!(dry.buckets, report.buckets);
    report
}

async fn deliver<T: Numbered>(events: &Buckets<T>, from: i64, to: i64) -> (usize, usize) {
    let records: Vec<T> = (from..to).map(|number| T::of(number, 1)).collect();
    let from = u64::try_from(from).unwrap();
    let report = events.insert_many(&records).from_source("queue", from);
    let report = report.await.unwrap();
    (report.stored(), report.duplicates().len())
}

async fn stored<T: Numbered>(events: &Buckets<T>) -> Vec<i64> {
    let records = events.records("a").collect().await.unwrap();
    let mut numbers: Vec<i64> = records.iter().map(Numbered::number).collect();
    numbers.sort_unstable();
    numbers
}

/// Another tool takes records out of the first bucket of two, and counts right.
async fn an_older_bucket_with_room<Old: Numbered, T: Numbered>(lost: usize) {
    let database = database().await;
    let before = Old::buckets(&database);
    before.ensure().await.unwrap();
    deliver(&before, 1, 9).await;
    let events = T::buckets(&database).with_deadline(Duration::from_secs(20));
    events.ensure().replace_indexes().await.unwrap();
    // A living handle knows the newest bucket.
    deliver(&events, 9, 11).await;
    deliver(&events, 11, 13).await;
    if T::SPEC.raised_from().is_some() {
        // A newest bucket with room would take them.
        deliver(&events, 13, 17).await;
    }
    let next = i64::try_from(stored(&events).await.len()).unwrap() + 1;
    let mut first = documents(&database, "events").await[0].clone();
    let id = doc! { "_id": first.get("_id").unwrap() };
    let items = first.get_array_mut("items").unwrap();
    items.truncate(4 - lost);
    let size = i32::try_from(4 - lost).unwrap();
    let damage = doc! { "$set": { "items": &*items, "count": size } };
    let collection = database.collection::<Document>("events");
    collection.update_one(id, damage).await.unwrap();
    let before = documents(&database, "events").await;

    for handle in [&events, &T::buckets(&database)] {
        let records = [T::of(next, 1)];
        let from = u64::try_from(next).unwrap();
        let report = handle.insert_many(&records).from_source("queue", from);
        let report = report.await.unwrap();
        let error = &report.failed()[0].error;
        assert!(matches!(error.kind(), ErrorKind::Damaged(_)), "{error}");
        assert!(error.to_string().contains("`repair()`"), "{error}");
        assert!(!error.is_retryable());
    }
    assert_eq!(documents(&database, "events").await, before);
    let found = events.verify().await.unwrap();
    assert_eq!(
        kinds(&found.findings),
        [ProblemKind::OpenBefore].into(),
        "{found}"
    );
    assert_eq!(found.harmful(), 1);
    let report = repaired(&events, &found).await;
    assert_eq!((report.mended, report.left), (1, 0), "{report}");
    let left = events.verify().await.unwrap();
    assert!(left.findings.is_empty(), "{left}");

    // A follower gets all that arrives from here on.
    let page = events.records("a").limit(1_000).await.unwrap();
    let token = page.end_token().cloned();
    for handle in [&events, &T::buckets(&database)] {
        let expected = if std::ptr::eq(handle, &raw const events) {
            (5, 0)
        } else {
            (0, 5)
        };
        assert_eq!(deliver(handle, next, next + 5).await, expected);
    }
    let page = events.records("a").after(token).limit(1_000).await.unwrap();
    let numbers = page.records().iter().map(Numbered::number);
    assert_eq!(
        numbers.collect::<Vec<_>>(),
        (next..next + 5).collect::<Vec<_>>()
    );
    let kept = 4 - i64::try_from(lost).unwrap();
    let expected: Vec<i64> = (1..=kept).chain(5..next + 5).collect();
    assert_eq!(stored(&events).await, expected);
    assert!(events.verify().await.unwrap().findings.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_record_of_a_source_goes_into_an_older_bucket_with_room() {
    for lost in 1..4 {
        an_older_bucket_with_room::<Four, Four>(lost).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nor_while_a_capacity_is_raised() {
    for lost in 1..4 {
        an_older_bucket_with_room::<Four, FourOfSix>(lost).await;
    }
}

/// Records without a source go into the bucket that the index has.
#[tokio::test(flavor = "multi_thread")]
async fn an_older_bucket_with_room_takes_other_records_while_a_capacity_is_raised() {
    let database = database().await;
    let before = Four::buckets(&database);
    before.ensure().await.unwrap();
    for number in 0..9 {
        before.insert(&Four::of(number, 1)).await.unwrap();
    }
    let events = FourOfSix::buckets(&database);
    events.ensure().replace_indexes().await.unwrap();
    for number in 9..14 {
        events.insert(&FourOfSix::of(number, 1)).await.unwrap();
    }
    let first = documents(&database, "events").await[0].clone();
    let first = doc! { "_id": first.get("_id").unwrap() };
    let damage = doc! { "$pop": { "items": 1 }, "$set": { "count": 3 } };
    let collection = database.collection::<Document>("events");
    collection.update_one(first, damage).await.unwrap();
    for number in 14..22 {
        let others = FourOfSix::buckets(&database);
        let handle = if number % 2 == 0 { &events } else { &others };
        handle.insert(&FourOfSix::of(number, 1)).await.unwrap();
    }
    assert_eq!(stored(&events).await.len(), 21);
}

/// Two large records close the first bucket, and four the second.
async fn closed_by_bytes(events: &Buckets<FourOrKilobyte>, records: i64) {
    events.ensure().await.unwrap();
    for number in 1..=records {
        let bytes = if number < 3 { 600 } else { 1 };
        let record = FourOrKilobyte::of(number, bytes);
        events.insert(&record).await.unwrap();
    }
}

/// `repair` of the new model is the way to change the limit.
async fn changed_bytes_are_refused_until_old_buckets_are_closed<T: Numbered>() {
    let database = database().await;
    closed_by_bytes(&FourOrKilobyte::buckets(&database), 6).await;
    let before = documents(&database, "events").await;
    assert_eq!(before.len(), 2);
    let events = T::buckets(&database);
    for _ in 0..2 {
        let error = events.ensure().replace_indexes().await.unwrap_err();
        let ErrorKind::IndexBuild { name, message, .. } = error.kind() else {
            panic!("{error}");
        };
        assert_eq!(Some(name), T::SPEC.open_index_name().as_ref());
        assert!(
            message.contains(before[0].get_str("_id").unwrap()),
            "{message}"
        );
    }
    // The old model goes on.
    let old = FourOrKilobyte::buckets(&database);
    old.insert(&FourOrKilobyte::of(7, 1)).await.unwrap();
    let found = events.verify().await.unwrap();
    assert!(
        kinds(&found.findings).contains(&ProblemKind::OpenBefore),
        "{found}"
    );
    let report = events.repair(&found).await.unwrap();
    assert_eq!((report.mended, report.quarantined), (1, 0), "{report}");
    let report = events.ensure().replace_indexes().replace_description();
    report.await.unwrap();
    let left = events.verify().await.unwrap();
    assert!(left.is_clean(), "{left}");
    for number in 8..20 {
        T::buckets(&database)
            .insert(&T::of(number, 1))
            .await
            .unwrap();
    }
    assert_eq!(stored(&events).await, (1..20).collect::<Vec<_>>());
    assert!(events.verify().await.unwrap().is_clean());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_raised_limit_of_bytes_is_refused_until_old_buckets_are_closed() {
    changed_bytes_are_refused_until_old_buckets_are_closed::<FourOrTwoKilobytes>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_without_the_limit_of_bytes_is_refused_until_old_buckets_are_closed() {
    changed_bytes_are_refused_until_old_buckets_are_closed::<FourOnly>().await;
}

/// The newest bucket of a key only goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_limit_of_bytes_is_raised_where_it_has_closed_only_newest_buckets() {
    let database = database().await;
    closed_by_bytes(&FourOrKilobyte::buckets(&database), 2).await;
    let events = FourOrTwoKilobytes::buckets(&database);
    let report = events.ensure().replace_indexes().replace_description();
    report.await.unwrap();
    let record = FourOrTwoKilobytes::of(3, 1);
    events.insert(&record).await.unwrap();
    assert_eq!(documents(&database, "events").await.len(), 1);
}

/// It takes no more records, so it must not count as open.
async fn sealed_buckets_that_count_as_open_are_closed<T: Numbered>() {
    let database = database().await;
    let old = FourOrKilobyte::buckets(&database);
    closed_by_bytes(&old, 2).await;
    old.seal().await.unwrap();
    let events = T::buckets(&database).with_deadline(Duration::from_secs(5));
    let error = events.ensure().replace_indexes().await.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::IndexBuild { .. }),
        "{error}"
    );
    // Another tool takes the index away, and with it what was known of the old limit.
    let collection = database.collection::<Document>("events");
    let index = FourOrKilobyte::SPEC.open_index_name().unwrap();
    collection.drop_index(index).await.unwrap();
    events.ensure().replace_description().await.unwrap();
    let error = events.insert(&T::of(3, 1)).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Damaged(_)), "{error}");
    let found = events.verify().await.unwrap();
    assert!(
        kinds(&found.findings).contains(&ProblemKind::OpenSealed),
        "{found}"
    );
    let report = repaired(&events, &found).await;
    assert_eq!((report.mended, report.left), (1, 0), "{report}");
    let left = events.verify().await.unwrap();
    assert!(left.findings.is_empty(), "{left}");
    for number in 3..9 {
        events.insert(&T::of(number, 1)).await.unwrap();
    }
    assert_eq!(stored(&events).await, (1..9).collect::<Vec<_>>());
    assert!(events.verify().await.unwrap().findings.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn sealed_buckets_stay_closed_under_a_raised_limit_of_bytes() {
    sealed_buckets_that_count_as_open_are_closed::<FourOrTwoKilobytes>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sealed_buckets_stay_closed_without_a_limit_of_bytes() {
    sealed_buckets_that_count_as_open_are_closed::<FourOnly>().await;
}

/// Their items are in another collection, and only what follows from the bucket itself can be mended.
async fn archived_buckets_that_count_as_open_stay_readable<T: Numbered>(is_closed: bool) {
    let database = database().await;
    let cold = database.collection::<Document>("cold");
    let old = FourOrKilobyte::buckets(&database);
    closed_by_bytes(&old, 2).await;
    old.seal().await.unwrap();
    let moved = old.archive_to(&cold).await.unwrap();
    assert_eq!(moved.buckets, 1, "{moved}");
    let index = FourOrKilobyte::SPEC.open_index_name().unwrap();
    let collection = database.collection::<Document>("events");
    collection.drop_index(index).await.unwrap();
    let events = T::buckets(&database).with_archive(&cold);
    events.ensure().replace_description().await.unwrap();
    for handle in [T::buckets(&database), events.clone()] {
        let found = handle.verify().await.unwrap();
        let report = repaired(&handle, &found).await;
        assert_eq!(report.quarantined, 0, "{report}");
    }
    assert_eq!(stored(&events).await, [1, 2]);
    let insert = async |number| T::buckets(&database).insert(&T::of(number, 1)).await;
    if !is_closed {
        let error = insert(3).await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Damaged(_)), "{error}");
    }
    let restored = events.restore_from(&cold).await.unwrap();
    assert_eq!(restored.buckets, 1, "{restored}");
    let found = events.verify().await.unwrap();
    assert_eq!(found.harmful() > 0, !is_closed, "{found}");
    let report = events.repair(&found).await.unwrap();
    assert_eq!((report.quarantined, report.left), (0, 0), "{report}");
    for number in 3..9 {
        insert(number).await.unwrap();
    }
    assert_eq!(stored(&events).await, (1..9).collect::<Vec<_>>());
    assert!(events.verify().await.unwrap().is_clean());
}

#[tokio::test(flavor = "multi_thread")]
async fn archived_buckets_are_closed_by_their_bytes() {
    archived_buckets_that_count_as_open_stay_readable::<FourOrTwoKilobytes>(true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn archived_buckets_without_bytes_are_closed_once_they_are_back() {
    archived_buckets_that_count_as_open_stay_readable::<FourOnly>(false).await;
}

/// The later bucket of the problem is not there any more when the earlier one is looked at.
async fn room_before_a_bucket_that_moves<T: Numbered>() {
    let database = database().await;
    let events = T::buckets(&database);
    events.ensure().await.unwrap();
    deliver(&events, 1, 13).await;
    let buckets = documents(&database, "events").await;
    assert_eq!(buckets.len(), 3);
    let collection = database.collection::<Document>("events");
    let id = |at: usize| doc! { "_id": buckets[at].get("_id").unwrap() };
    let mut items = buckets[0].get_array("items").unwrap().clone();
    items.truncate(2);
    let mut room = doc! { "items": items, "count": 2 };
    if buckets[0].contains_key("is_full") {
        room.insert("is_full", false);
    }
    collection
        .update_one(id(0), doc! { "$set": room })
        .await
        .unwrap();
    let damage = doc! { "$set": { "items.0.number": "x" } };
    collection.update_one(id(1), damage).await.unwrap();
    let found = events.verify().await.unwrap();
    let report = repaired(&events, &found).await;
    assert_eq!((report.mended, report.quarantined), (1, 1), "{report}");
    let left = events.verify().await.unwrap();
    let kinds = kinds(&left.findings);
    assert!(!kinds.contains(&ProblemKind::OpenBefore), "{left}");
    let page = events.records("a").limit(1_000).await.unwrap();
    let token = page.end_token().cloned();
    deliver(&events, 13, 16).await;
    let page = events.records("a").after(token).limit(1_000).await.unwrap();
    assert_eq!(page.records().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_with_room_is_closed_though_the_next_one_moves() {
    room_before_a_bucket_that_moves::<Four>().await;
    room_before_a_bucket_that_moves::<FourOrKilobyte>().await;
    room_before_a_bucket_that_moves::<FourInNumbers>().await;
}

#[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "events", items = "items", capacity = 20_000)]
struct Many {
    #[bucket(key)]
    device: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(unique)]
    number: i64,
}

/// Each mark has an entry in the index of record ids.
#[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "events", items = "items", capacity = 20_002)]
struct TooMany {
    #[bucket(key)]
    device: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(unique)]
    number: i64,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_with_too_many_marks_for_one_command_moves() {
    let database = database().await;
    let events = TooMany::buckets(&database);
    events.ensure().await.unwrap();
    let record = |number| TooMany {
        device: "x".to_owned(),
        at: date(1),
        number,
    };
    events.insert(&record(1)).await.unwrap();
    // Another tool stores a later one.
    let collection = database.collection::<Document>("events");
    let index = TooMany::SPEC.open_index_name().unwrap();
    collection.drop_index(index).await.unwrap();
    let mut bucket = documents(&database, "events").await.remove(0);
    bucket.insert("_id", format!("x_{}", 1_800_000_000));
    let items = bucket.get_array_mut("items").unwrap();
    items[0].as_document_mut().unwrap().insert("number", 2_i64);
    collection.insert_one(&bucket).await.unwrap();
    let found = events.verify().await.unwrap();
    let report = repaired(&events, &found).await;
    assert_eq!((report.mended, report.quarantined), (0, 1), "{report}");
    assert!(events.verify().await.unwrap().is_clean());
    events.insert(&record(3)).await.unwrap();
    assert_eq!(events.count("x".to_owned()).await.unwrap(), 2);
}

/// Each mark has the bucket's id.
#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_whose_marks_would_be_too_large_moves_and_the_others_are_mended() {
    let database = database().await;
    let events = Many::buckets(&database);
    events.ensure().await.unwrap();
    let large = "x".repeat(800);
    for device in [&large, "y"] {
        let (device, at, number) = (device.to_owned(), date(1), 1);
        let record = Many { device, at, number };
        events.insert(&record).await.unwrap();
    }
    let collection = database.collection::<Document>("events");
    for mut bucket in documents(&database, "events").await {
        if bucket.get_str("device").unwrap() == large {
            // Another tool stores a later one.
            let index = Many::SPEC.open_index_name().unwrap();
            collection.drop_index(index).await.unwrap();
            bucket.insert("_id", format!("{large}_{}", 1_800_000_000));
            let items = bucket.get_array_mut("items").unwrap();
            items[0].as_document_mut().unwrap().insert("number", 2_i64);
            collection.insert_one(&bucket).await.unwrap();
        } else {
            let id = doc! { "_id": bucket.get("_id").unwrap() };
            let damage = doc! { "$set": { "count": 7 } };
            collection.update_one(id, damage).await.unwrap();
        }
    }
    let found = events.verify().await.unwrap();
    let report = repaired(&events, &found).await;
    assert_eq!((report.mended, report.quarantined), (1, 1), "{report}");
    assert!(events.verify().await.unwrap().is_clean());
}

/// It has no items that could be inserted again, and in the quarantine no archive would be asked for them.
#[tokio::test(flavor = "multi_thread")]
async fn an_archived_bucket_stays_whatever_another_one_has() {
    let database = database().await;
    let cold = database.collection::<Document>("cold");
    let events = FourInNumbers::buckets(&database).with_archive(&cold);
    events.ensure().await.unwrap();
    deliver(&events, 1, 13).await;
    events.seal().await.unwrap();
    events.archive_to(&cold).await.unwrap();
    let collection = database.collection::<Document>("events");
    let mut first = documents(&database, "events").await[0].clone();
    let name = FourInNumbers::SPEC.pages_index_name();
    let indexes = collection.list_indexes().await.unwrap();
    let indexes: Vec<_> = indexes.try_collect().await.unwrap();
    let is_of_order = |index: &&IndexModel| {
        let options = index.options.as_ref().unwrap();
        options.name.as_ref() == Some(&name)
    };
    let mut index = indexes.iter().find(is_of_order).unwrap().clone();
    index.options.as_mut().unwrap().unique = None;
    collection.drop_index(&name).await.unwrap();
    collection.create_index(index).await.unwrap();
    let id = first.get_str("_id").unwrap().to_owned();
    first.insert("_id", format!("{id}_1"));
    collection.insert_one(&first).await.unwrap();
    let before = documents(&database, "events").await;
    let found = events.verify().await.unwrap();
    assert!(
        kinds(&found.findings).contains(&ProblemKind::SamePlace),
        "{found}"
    );
    let report = repaired(&events, &found).await;
    assert_eq!(report.quarantined, 0, "{report}");
    assert_eq!(documents(&database, "events").await, before);
}

/// Its copy in the archive has them.
#[tokio::test(flavor = "multi_thread")]
async fn an_archived_bucket_without_its_times_comes_back() {
    let database = database().await;
    let cold = database.collection::<Document>("cold");
    let events = FourInNumbers::buckets(&database).with_archive(&cold);
    events.ensure().await.unwrap();
    deliver(&events, 1, 13).await;
    events.seal().await.unwrap();
    events.archive_to(&cold).await.unwrap();
    let collection = database.collection::<Document>("events");
    let damage = doc! { "$set": { "_sealed.first": null } };
    collection.update_one(doc! {}, damage).await.unwrap();
    let found = events.verify().await.unwrap();
    assert_eq!(events.repair(&found).await.unwrap().quarantined, 0);
    let restored = events.restore_from(&cold).await.unwrap();
    assert_eq!(restored.buckets, 3, "{restored}");
    let left = events.verify().await.unwrap();
    assert!(left.findings.is_empty(), "{left}");
    assert_eq!(stored(&events).await, (1..13).collect::<Vec<_>>());
}

#[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "events", items = "items", capacity = 2, numbered)]
struct Pairs {
    #[bucket(key)]
    device: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(unique)]
    number: i64,
}

/// The index on record ids has an entry for a bucket without any, and takes one of a key.
#[tokio::test(flavor = "multi_thread")]
async fn of_several_buckets_without_records_one_stays_where_records_have_ids() {
    let database = database().await;
    let events = Pairs::buckets(&database);
    events.ensure().await.unwrap();
    let record = |number| Pairs {
        device: "a".to_owned(),
        at: date(number),
        number,
    };
    events.load((0..7).map(record)).await;
    let collection = database.collection::<Document>("events");
    collection.drop_index("bucket_unique").await.unwrap();
    for number in [1, 2, 3] {
        let bucket = doc! { "bucket_number": number };
        let damage = doc! { "$set": { "items": [], "count": 0 } };
        let changed = collection.update_one(bucket, damage).await.unwrap();
        assert_eq!(changed.modified_count, 1);
    }
    let found = events.verify().await.unwrap();
    let report = repaired(&events, &found).await;
    assert_eq!(report.quarantined, 2, "{report}");
    assert_eq!(report.created_indexes, ["bucket_unique"]);
    events.insert(&record(7)).await.unwrap();
    assert_eq!(events.records("a").collect().await.unwrap().len(), 2);
}

/// The report of the check is older than the call.
#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_that_has_records_again_stays_whatever_the_report_says() {
    let database = database().await;
    // The longest deadline of all.
    let events = Pairs::buckets(&database).with_deadline(Duration::MAX);
    events.ensure().await.unwrap();
    let record = |number| Pairs {
        device: "a".to_owned(),
        at: date(number),
        number,
    };
    events.load((0..7).map(record)).await;
    let collection = database.collection::<Document>("events");
    collection.drop_index("bucket_unique").await.unwrap();
    for restored in [1, 2] {
        let before = documents(&database, "events").await;
        for number in [1, 2] {
            let bucket = doc! { "bucket_number": number };
            let damage = doc! { "$set": { "items": [], "count": 0 } };
            collection.update_one(bucket, damage).await.unwrap();
        }
        let found = events.verify().await.unwrap();
        for bucket in before {
            if bucket.get_i32("bucket_number").unwrap() == restored {
                let id = doc! { "_id": bucket.get("_id").unwrap() };
                collection.replace_one(id, bucket).await.unwrap();
            }
        }
        let report = events.repair(&found).await.unwrap();
        assert_eq!(report.quarantined, 0, "{report}");
        assert_eq!(report.created_indexes, ["bucket_unique"], "{report}");
        let number = doc! { "bucket_number": restored };
        collection.delete_one(number).await.unwrap();
        events.load((10..12).map(record)).await;
        collection.drop_index("bucket_unique").await.unwrap();
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "events",
    items = "items",
    capacity = 50,
    max_bytes = "1KB"
)]
struct Reserving {
    #[bucket(key)]
    device: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(unique)]
    number: i64,
}

/// A bulk load makes buckets without records in this form, so one of them is no fault.
#[tokio::test(flavor = "multi_thread")]
async fn two_buckets_without_records_are_found_where_one_is_no_fault() {
    let database = database().await;
    let events = Reserving::buckets(&database);
    events.ensure().await.unwrap();
    let record = |number| Reserving {
        device: "a".to_owned(),
        at: date(number),
        number,
    };
    events.load((0..100).map(record)).await;
    let collection = database.collection::<Document>("events");
    collection.drop_index("bucket_unique").await.unwrap();
    let emptied = documents(&database, "events").await;
    for bucket in &emptied[..2] {
        let id = doc! { "_id": bucket.get("_id").unwrap() };
        let damage = doc! { "$set": { "items": [], "count": 0 } };
        collection.update_one(id, damage).await.unwrap();
    }
    let found = events.verify().await.unwrap();
    assert_eq!(
        kinds(&found.findings),
        [ProblemKind::SharedId].into(),
        "{found}"
    );
    let report = repaired(&events, &found).await;
    assert_eq!(report.quarantined, 1, "{report}");
    assert_eq!(report.created_indexes, ["bucket_unique"]);
    events.insert(&record(200)).await.unwrap();
}

#[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "events", items = "items", capacity = 14)]
struct Large {
    #[bucket(key)]
    device: String,
    #[bucket(time)]
    at: DateTime,
    text: String,
}

/// A statement with such a bucket twice would be larger than a command.
#[tokio::test(flavor = "multi_thread")]
async fn a_large_bucket_gets_marks_and_stays() {
    let database = database().await;
    let events = Large::buckets(&database);
    events.ensure().await.unwrap();
    for number in 0..15 {
        let record = Large {
            device: "a".to_owned(),
            at: date(number),
            text: "x".repeat(900_000),
        };
        events.insert(&record).await.unwrap();
    }
    let collection = database.collection::<Document>("events");
    let lost = doc! { "$pop": { "items": 1 } };
    let full = doc! { "count": 14 };
    let changed = collection.update_one(full, lost).await.unwrap();
    assert_eq!(changed.modified_count, 1);
    let found = events.verify().await.unwrap();
    let report = repaired(&events, &found).await;
    assert_eq!((report.mended, report.quarantined), (1, 0), "{report}");
    assert!(events.verify().await.unwrap().is_clean());
    assert_eq!(events.records("a").collect().await.unwrap().len(), 14);
    let full = collection.find_one(doc! { "count": 14 }).await.unwrap();
    assert_eq!(full.unwrap().get_array("items").unwrap().len(), 14);
}

/// Its statement has no room for its items, which the order of the entries of an attribute asks for, and harm does not.
#[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "events", items = "items", capacity = 14)]
struct LargeTagged {
    #[bucket(key)]
    device: String,
    #[bucket(time)]
    at: DateTime,
    text: String,
    #[bucket(attribute(array = "tags", k = "level"))]
    level: i32,
    #[bucket(attribute(array = "tags", k = "other"))]
    other: i32,
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_no_harm_keeps_no_large_bucket_from_its_mend() {
    let database = database().await;
    let events = LargeTagged::buckets(&database);
    events.ensure().await.unwrap();
    for number in 0..15 {
        let record = LargeTagged {
            device: "a".to_owned(),
            at: date(number),
            text: "x".repeat(900_000),
            level: 1,
            other: 2,
        };
        events.insert(&record).await.unwrap();
    }
    let collection = database.collection::<Document>("events");
    let full = doc! { "count": 14 };
    let found = collection.find_one(full.clone()).await.unwrap().unwrap();
    let item = found.get_array("items").unwrap()[0].as_document().unwrap();
    let mut tags = item.get_array("tags").unwrap().clone();
    tags.reverse();
    let tool = doc! { "$set": { "items.0.tags": tags } };
    collection.update_one(full.clone(), tool).await.unwrap();
    let tool = doc! { "$pop": { "items": 1 } };
    collection.update_one(full, tool).await.unwrap();
    let found = events.verify().await.unwrap();
    assert!(
        kinds(&found.findings).contains(&ProblemKind::Count),
        "{found}"
    );
    let report = repaired(&events, &found).await;
    assert_eq!((report.mended, report.quarantined), (1, 0), "{report}");
    assert_eq!(events.records("a").collect().await.unwrap().len(), 14);
}

/// It gives the bucket the number of its edits.
#[tokio::test(flavor = "multi_thread")]
async fn the_first_edit_of_a_large_bucket_is_not_overlooked() {
    let server = DevServer::builder().own();
    let server = server.arguments(["--setParameter", "enableTestCommands=1"]);
    let server = server.await.unwrap();
    let client = server.client().await.unwrap();
    let database = client.database("events");
    let events = Large::buckets(&database);
    events.ensure().await.unwrap();
    for number in 0..15 {
        let record = Large {
            device: "a".to_owned(),
            at: date(number),
            text: "x".repeat(900_000),
        };
        events.insert(&record).await.unwrap();
    }
    let collection = database.collection::<Document>("events");
    let index = Large::SPEC.open_index_name().unwrap();
    collection.drop_index(index).await.unwrap();
    let lost = doc! { "$pop": { "items": 1 }, "$inc": { "count": -1 } };
    let full = doc! { "count": 14 };
    collection.update_one(full, lost).await.unwrap();
    let found = events.verify().await.unwrap();
    let hold = doc! {
        "configureFailPoint": "failCommand", "mode": { "times": 1 },
        "data": { "failCommands": ["update"], "blockConnection": true, "blockTimeMS": 3_000 },
    };
    client.database("admin").run_command(hold).await.unwrap();
    let repairing = {
        let events = events.clone();
        tokio::spawn(async move { events.repair(&found).await.unwrap() })
    };
    // The statement of the repair is held.
    sleep(Duration::from_millis(1_500)).await;
    let removed = events.delete_range("a", date(3)..date(4)).await.unwrap();
    assert_eq!(removed.records, 1);
    let report = repairing.await.unwrap();
    assert_eq!((report.mended, report.quarantined), (1, 0), "{report}");
    assert!(events.verify().await.unwrap().is_clean());
    assert_eq!(events.records("a").collect().await.unwrap().len(), 13);
    assert_eq!(events.count("a").await.unwrap(), 13);
}

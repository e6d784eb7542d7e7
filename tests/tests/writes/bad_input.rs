//! Bad arguments, records and documents: each is a typed error, and nothing is half-written.

use crate::common::event::{Event, assert_not_stored, event};
use bucket_core::EncodeError;
use bucket_mongo::{
    Bucketed, Buckets, Error, ErrorKind,
    bson::{Bson, DateTime, Document, doc},
    testing::TestDatabase,
};
use bucket_tests::{database, documents};
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};

async fn events() -> (TestDatabase, Buckets<Event>) {
    let database = database().await;
    let events = Event::buckets(&database);
    events.ensure().await.unwrap();
    (database, events)
}

#[tokio::test]
async fn page_0_is_an_invalid_argument() {
    let (_database, events) = events().await;
    let error = events.page(1, 0).await.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::InvalidArgument { .. }),
        "{error:?}"
    );
    assert!(!error.is_retryable());
    assert_eq!(error.operation(), "page");
    assert!(error.key().unwrap().contains("source: 1"));
    assert!(
        error
            .to_string()
            .starts_with("page on `events` for { source: 1 }: pages are")
    );
    assert!(events.page(1, u64::MAX).await.unwrap().is_empty());
}

/// Returns two records, then none, then two more: like a channel that is filled in between.
#[tokio::test]
async fn an_iterator_is_not_polled_after_its_end() {
    let (database, events) = events().await;
    let mut polled = 0;
    let source = std::iter::from_fn(|| {
        polled += 1;
        (polled != 3 && polled < 6).then(|| event(1, "a"))
    });
    let report = events.insert_many(source).await.unwrap();
    assert_eq!((report.tried(), report.stored()), (2, 2));
    assert_eq!(polled, 3);
    assert_eq!(events.count(1).await.unwrap(), 2);
    drop(database);
}

#[tokio::test]
async fn a_record_over_16_mb_is_refused_and_the_others_of_its_batch_are_stored() {
    let (database, events) = events().await;
    let huge = event(1, &"x".repeat(17 * 1024 * 1024));
    let error = events.insert(&huge).await.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Encode(_)),
        "{:?}",
        error.kind()
    );
    assert_not_stored(&error);
    assert!(!error.is_retryable());

    let batch = [event(1, "a"), huge, event(1, "b"), event(2, "c")];
    let report = events.insert_many(&batch).await.unwrap();
    assert_eq!(
        (report.tried(), report.stored(), report.failed().len()),
        (4, 3, 1)
    );
    assert_eq!(report.failed()[0].index, 1);
    // It names the key, as that of one record does.
    let of_one = error.key();
    let error = &report.failed()[0].error;
    assert!(of_one.is_some() && error.key() == of_one, "{error}");
    assert_eq!(
        (error.operation(), error.redacted().key()),
        ("insert_many", None)
    );
    assert!(report.is_stored(0) && !report.is_stored(1) && report.is_stored(3));
    assert!(!report.is_stored(4));
    let error = report.into_result().unwrap_err();
    assert!(
        error.to_string().contains("the record takes 178"),
        "{error}"
    );
    assert_eq!(documents(&database, "events").await.len(), 2);
}

#[tokio::test]
async fn records_of_the_largest_size_fill_a_bucket_that_the_server_accepts() {
    let (_database, events) = events().await;
    let room = bucket_core::size::max_record_bytes(Event::CAPACITY) - 200;
    let text = "x".repeat(room);
    for _ in 0..4 {
        events.insert(&event(1, &text)).await.unwrap();
    }
    assert_eq!(events.page(1, 1).await.unwrap().len(), 3);
    let many: Vec<Event> = (0..4).map(|_| event(2, &text)).collect();
    events
        .insert_many(&many)
        .await
        .unwrap()
        .into_result()
        .unwrap();
    assert_eq!(events.page_count(2).await.unwrap(), 2);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "named", items = "items", capacity = 1)]
struct Named {
    #[bucket(key)]
    name: String,
    #[bucket(time)]
    at: DateTime,
    text: String,
}

#[tokio::test]
async fn the_size_limit_of_a_record_includes_its_key_and_the_part_of_the_id() {
    let database = database().await;
    let named = Named::buckets(&database);
    named.ensure().await.unwrap();
    for bytes in [20_000, 2_500_000] {
        let name = "%".repeat(bytes);
        let mut record = Named {
            name,
            at: DateTime::from_millis(0),
            text: String::new(),
        };
        record.text = "x".repeat(16 * 1024 * 1024);
        let error = named.insert(&record).await.unwrap_err();
        let ErrorKind::Encode(EncodeError::TooLarge { bytes, limit }) = error.kind() else {
            panic!("{error:?}")
        };
        if *limit > 0 {
            record.text.truncate(record.text.len() - (bytes - limit));
            named.insert(&record).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_key_that_is_too_large_is_refused_with_its_size_and_the_limit() {
    let database = database().await;
    let named = Named::buckets(&database);
    named.ensure().await.unwrap();
    let mut record = Named {
        name: "%".repeat(17 * 1024 * 1024),
        at: DateTime::from_millis(0),
        text: String::new(),
    };
    let error = named.insert(&record).await.unwrap_err();
    let ErrorKind::Encode(EncodeError::TooLarge { bytes, limit }) = error.kind() else {
        panic!("{error:?}")
    };
    assert!(*bytes > record.name.len() && *limit > 0);
    record
        .name
        .truncate(record.name.len() - (bytes - limit) + 1);
    named.insert(&record).await.unwrap_err();
    record.name.pop();
    named.insert(&record).await.unwrap();
}

/// The server uses the same code for a reply that is too large. Only this error says that nothing
/// was changed.
#[tokio::test]
async fn a_statement_that_makes_a_document_too_large_is_refused_by_itself() {
    let database = database().await;
    let large = "x".repeat(15 * 1024 * 1024);
    let more = "x".repeat(2 * 1024 * 1024);
    for ordered in [true, false] {
        let all = database.collection::<Document>("documents");
        all.delete_many(doc! {}).await.unwrap();
        let first = doc! { "_id": 1, "text": &large };
        all.insert_one(first).await.unwrap();
        let opens =
            |id: i32| doc! { "q": { "_id": id }, "u": { "$set": { "n": 1 } }, "upsert": true };
        let grows = doc! { "q": { "_id": 1 }, "u": { "$push": { "items": &more } } };
        let reply = database
            .run_command(doc! {
                "update": "documents", "updates": [opens(0), grows, opens(2)], "ordered": ordered,
            })
            .await
            .unwrap();
        let errors = reply.get_array("writeErrors").unwrap();
        let error = errors[0].as_document().unwrap();
        assert_eq!(errors.len(), 1);
        let [index, code] = ["index", "code"].map(|name| error.get_i32(name).unwrap());
        assert_eq!((index, code), (1, 10_334));
        let stored = all.count_documents(doc! {}).await.unwrap();
        assert_eq!(stored, if ordered { 2 } else { 3 });
    }
}

#[tokio::test]
async fn a_damaged_bucket_is_named_with_what_is_wrong() {
    let (database, events) = events().await;
    let item = doc! { "at": DateTime::from_millis(0), "text": "a" };
    let id = "1_1698335223";
    let good = doc! { "_id": id, "source": 1, "count": 1, "events": [item] };
    let damage = |field: &str, value: Bson| {
        let mut bucket = good.clone();
        bucket.insert(field, value);
        bucket
    };
    let cases = [
        (
            damage("count", 2.into()),
            "its count is 2, but its array has 1 items",
        ),
        (
            damage("count", "1".into()),
            "`count` is missing or is not a whole number",
        ),
        (
            damage("count", 1.5.into()),
            "`count` is missing or is not a whole number",
        ),
        (
            damage("count", (-1).into()),
            "its count is -1, but its array has 1 items",
        ),
        (
            damage("events", "none".into()),
            "`events` is missing or is not an array",
        ),
        (
            damage("events", doc! { "0": 1 }.into()),
            "`events` is missing or is not an array",
        ),
        (
            damage("events", vec![1].into()),
            "`events.0` is missing or is not a document",
        ),
        (
            damage("events", vec![doc! { "at": 1, "text": "a" }].into()),
            "its item 0:",
        ),
        (
            damage("events", vec![doc! { "text": "a" }].into()),
            "its item 0:",
        ),
        (
            damage("_id", 7.into()),
            "`_id` is missing or is not a string",
        ),
        (
            damage("_id", "seven".into()),
            "`seven` is not a bucket id: the time is missing",
        ),
    ];
    let collection = database.collection::<Document>("events");
    for (bucket, expected) in cases {
        collection.delete_many(doc! {}).await.unwrap();
        collection.insert_one(&bucket).await.unwrap();
        let error = events.page(1, 1).await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Damaged(_)), "{error:?}");
        let text = error.to_string();
        assert!(text.contains(expected), "{text}");
        assert!(
            text.contains(&bucket.get("_id").unwrap().to_string()),
            "{text}"
        );
        assert_eq!(
            documents(&database, "events").await,
            [bucket],
            "a read changed something"
        );
    }
    collection.delete_many(doc! {}).await.unwrap();
    collection
        .insert_one(damage("count", "1".into()))
        .await
        .unwrap();
    let error = events.count(1).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Damaged(_)), "{error:?}");
}

#[tokio::test]
async fn a_stream_continues_after_a_damaged_bucket() {
    let (database, events) = events().await;
    let records: Vec<Event> = (0..7).map(|n| event(1, &n.to_string())).collect();
    events
        .insert_many(&records)
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let collection = database.collection::<Document>("events");
    let damage = doc! { "$set": { "count": 9 } };
    collection
        .update_one(doc! { "_id": "1_1698335223_1" }, damage)
        .await
        .unwrap();
    let found: Vec<Result<Event, Error>> = events.records(1).stream().collect().await;
    assert_eq!(found.len(), 5);
    assert!(found[3].is_err());
    assert_eq!(*found[4].as_ref().unwrap(), records[6]);
    let all: Result<Vec<Event>, Error> = events.records(1).collect().await;
    assert!(all.is_err());
}

/// Open according to its count, but not writable: the error names it, and it is neither overfilled
/// nor changed.
#[tokio::test]
async fn a_record_for_a_damaged_bucket_is_refused_and_changes_nothing() {
    let (database, events) = events().await;
    let item = doc! { "at": DateTime::from_millis(0), "text": "a" };
    let bucket = |count: Bson, items: Bson| doc! { "_id": "1_1698335223", "source": 1, "count": count, "events": items };
    let three = Bson::Array(vec![
        item.clone().into(),
        item.clone().into(),
        item.clone().into(),
    ]);
    let cases = [
        bucket(1.into(), "none".into()),
        bucket(1.into(), Bson::Null),
        bucket(1.into(), doc! { "0": 1 }.into()),
        bucket(1.into(), three.clone()),
        bucket((-5).into(), three),
        bucket(0.5.into(), vec![item.clone()].into()),
        bucket(Bson::Decimal128("1".parse().unwrap()), vec![item].into()),
    ];
    let collection = database.collection::<Document>("events");
    for damaged in cases {
        collection.delete_many(doc! {}).await.unwrap();
        collection.insert_one(&damaged).await.unwrap();
        let error = Event::buckets(&database)
            .insert(&event(1, "a"))
            .await
            .unwrap_err();
        assert_not_stored(&error);
        assert!(
            matches!(error.kind(), ErrorKind::Damaged(_)),
            "{damaged}: {error:?}"
        );
        assert!(!error.is_retryable());
        assert!(
            error
                .to_string()
                .contains("bucket \"1_1698335223\" is damaged"),
            "{error}"
        );
        let batch = [event(1, "a"), event(1, "b"), event(2, "c")];
        let report = events.insert_many(batch).await.unwrap();
        assert_eq!(
            (report.stored(), report.failed().len()),
            (1, 2),
            "{damaged}"
        );
        for failed in report.failed() {
            assert!(
                matches!(failed.error.kind(), ErrorKind::Damaged(_)),
                "{:?}",
                failed.error
            );
        }
        assert_eq!(documents(&database, "events").await[0], damaged);
    }
}

#[tokio::test]
async fn a_full_bucket_whose_successor_id_would_not_sort_after_it_is_named() {
    let (database, events) = events().await;
    let item = doc! { "at": DateTime::from_millis(0), "text": "a" };
    // The manual's own code writes nine digits for a date before September 2001.
    let full = doc! { "_id": "1_999999999", "source": 1, "count": 3, "events": vec![item; 3] };
    database
        .collection::<Document>("events")
        .insert_one(&full)
        .await
        .unwrap();
    assert_eq!(events.page(1, 1).await.unwrap().len(), 3);
    let error = events.insert(&event(1, "a")).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Damaged(_)), "{error:?}");
    assert!(
        error.to_string().contains("no bucket can follow it"),
        "{error}"
    );
}

#[tokio::test]
async fn a_count_that_is_not_a_number_is_named_when_records_are_counted() {
    let (database, events) = events().await;
    let collection = database.collection::<Document>("events");
    for count in [
        Bson::Double(f64::NAN),
        f64::INFINITY.into(),
        2.5.into(),
        (-1).into(),
        i64::MAX.into(),
    ] {
        collection.delete_many(doc! {}).await.unwrap();
        let bucket = doc! { "_id": "1_1698335223", "source": 1, "count": count, "events": [] };
        collection.insert_one(&bucket).await.unwrap();
        let error = events.count(1).await.unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Damaged(_)),
            "{bucket}: {error:?}"
        );
    }
}

#[tokio::test]
async fn a_record_that_a_validator_refuses_does_not_block_the_others() {
    let (database, events) = events().await;
    let rule = doc! { "events.text": { "$ne": "bad" } };
    let command = doc! { "collMod": "events", "validator": rule };
    database.run_command(command).await.unwrap();
    let texts = ["a", "b", "bad", "c", "d", "bad", "e"];
    let batch: Vec<Event> = texts.iter().map(|text| event(1, text)).collect();
    let report = events.insert_many(&batch).await.unwrap();
    let failed: Vec<usize> = report.failed().iter().map(|failed| failed.index).collect();
    assert_eq!((report.stored(), failed), (5, vec![2, 5]));
    for failed in report.failed() {
        assert!(matches!(
            failed.error.kind(),
            ErrorKind::Server { code: 121, .. }
        ));
    }
    let stored: Vec<Event> = events.records(1).collect().await.unwrap();
    let stored: Vec<&str> = stored.iter().map(|event| event.text.as_str()).collect();
    assert_eq!(stored, ["a", "b", "c", "d", "e"]);
}

#[tokio::test]
async fn a_users_unique_index_is_reported_as_a_duplicate_key() {
    let (database, events) = events().await;
    let index = doc! { "name": "text", "key": { "events.text": 1 }, "unique": true };
    let command = doc! { "createIndexes": "events", "indexes": [index] };
    database.run_command(command).await.unwrap();
    events.insert(&event(1, "a")).await.unwrap();
    let error = events.insert(&event(2, "a")).await.unwrap_err();
    assert!(
        error.is_duplicate_key() && !error.is_retryable(),
        "{error:?}"
    );
    assert!(matches!(error.kind(), ErrorKind::DuplicateKey { index, .. } if index == "text"));
    assert_eq!(documents(&database, "events").await.len(), 1);
}

#[tokio::test]
async fn a_missing_index_is_named_by_every_operation_that_needs_it() {
    let (database, events) = events().await;
    events.insert(&event(1, "a")).await.unwrap();
    let missing = |error: &Error| match error.kind() {
        ErrorKind::MissingIndex { name, .. } => name.clone(),
        other => panic!("{other:?}"),
    };
    let drop = |name: &str| {
        let command = doc! { "dropIndexes": "events", "index": name };
        async { database.run_command(command).await.unwrap() }
    };
    drop("bucket_pages").await;
    assert_eq!(
        missing(&events.page(1, 1).await.unwrap_err()),
        "bucket_pages"
    );
    assert_eq!(missing(&events.count(1).await.unwrap_err()), "bucket_pages");
    assert_eq!(missing(&events.pages(1).await.unwrap_err()), "bucket_pages");
    assert_eq!(
        missing(&events.insert(&event(2, "a")).await.unwrap_err()),
        "bucket_pages"
    );
    drop("bucket_open_3").await;
    // This handle knows the bucket of key 1 and needs no index to append to it; a new handle does.
    let events = Event::buckets(&database);
    let error = events.insert(&event(1, "b")).await.unwrap_err();
    assert_eq!(missing(&error), "bucket_open_3");
    assert!(error.to_string().contains("call `ensure()`"), "{error}");
    let report = events
        .insert_many([event(1, "b"), event(2, "b")])
        .await
        .unwrap();
    assert_eq!(report.stored(), 0);
    assert_eq!(missing(&report.failed()[1].error), "bucket_open_3");
    assert_eq!(documents(&database, "events").await.len(), 1);
    events.ensure().await.unwrap();
    events.insert(&event(1, "b")).await.unwrap();
}

#[tokio::test]
async fn a_collection_that_was_never_set_up_accepts_no_record() {
    let database = database().await;
    let events = Event::buckets(&database);
    let error = events.insert(&event(1, "a")).await.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::MissingIndex { .. }),
        "{error:?}"
    );
    let report = events.insert_many([event(1, "a")]).await.unwrap();
    assert_eq!(report.stored(), 0);
    assert!(documents(&database, "events").await.is_empty());
    events.ensure().await.unwrap();
    assert!(events.page(1, 1).await.unwrap().is_empty());
}

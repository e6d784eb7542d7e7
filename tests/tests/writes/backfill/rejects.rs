//! Documents that are no records, or would lose something, and records that the server refuses.

use super::*;
use bucket_mongo::{
    action::RejectedDocument,
    bson::{Bson, oid::ObjectId},
};

/// A document with one damage, or none.
fn damaged(number: i64) -> (Document, bool) {
    let record = Windowed::of(&format!("d{}", number % 3), number);
    let mut document = bucket_mongo::bson::serialize_to_document(&record).unwrap();
    document.insert("_id", ObjectId::new());
    let kinds: [fn(&mut Document); 8] = [
        |it| drop(it.remove("at")),
        |it| drop(it.insert("at", "2026-01-01T00:00:00Z")),
        |it| drop(it.insert("number", "seven")),
        |it| drop(it.remove("value")),
        |it| drop(it.insert("extra", 1)),
        |it| drop(it.insert("note", Bson::Null)),
        |it| drop(it.insert("device", Bson::Null)),
        |it| drop(it.insert("value", f64::NAN)),
    ];
    // The last one is a value like any other, without an aggregate.
    let is_damaged = number % 100 == 42;
    if is_damaged {
        let kind = usize::try_from(number / 100).unwrap() % (kinds.len() - 1);
        kinds[kind](&mut document);
    }
    (document, is_damaged)
}

#[tokio::test(flavor = "multi_thread")]
async fn each_damaged_document_is_a_reject_and_no_other_is_lost() {
    for by_index in [false, true] {
        let database = database().await;
        let buckets = handle::<Windowed>(&database).await;
        if by_index {
            index(&database, 1).await;
        }
        let (mut good, mut bad, mut all) = (Vec::new(), BTreeMap::new(), Vec::new());
        for number in 0..5_000 {
            let (document, is_damaged) = damaged(number);
            if is_damaged {
                let id = document.get_object_id("_id").unwrap();
                bad.insert(id, document.clone());
            } else {
                good.push(Windowed::of(&format!("d{}", number % 3), number));
            }
            all.push(document);
        }
        flat(&database).insert_many(&all).await.unwrap();
        let report = buckets.backfill_from(&flat(&database)).await.unwrap();
        assert_eq!(counts(&report), [5_000, 4_950, 0, 50], "{report}");
        assert!(!report.is_whole());
        assert_eq!(report.rejects.len(), 50);
        assert_stored(&buckets, good).await;
        let from = flat(&database).namespace().to_string();
        for reject in documents(&database, "events_rejects").await {
            let id = reject.get_document("_id").unwrap();
            assert_eq!(id.get_str("from").unwrap(), from.as_str());
            let id = id.get_object_id("id").unwrap();
            assert_eq!(Some(reject.get_document("document").unwrap()), bad.get(&id));
            assert!(!reject.get_str("reason").unwrap().is_empty());
            bad.remove(&id);
        }
        assert_eq!(bad.len(), 0, "no rejects: {bad:?}");
    }
}

/// What serde reads with a loss.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "events", items = "items", capacity = 20)]
struct Lossy {
    #[bucket(key)]
    device: String,
    #[bucket(time)]
    at: DateTime,
    narrow: f32,
    wide: f64,
    inner: BTreeMap<String, i64>,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_would_lose_something_is_a_reject() {
    let database = database().await;
    let buckets = Lossy::buckets(&database);
    buckets.ensure().await.unwrap();
    let base = doc! { "device": "a", "at": date(1), "narrow": 0.5, "wide": 1, "inner": { "x": 1 } };
    let with = |id: &str, name: &str, value: Bson| {
        let mut document = base.clone();
        document.insert("_id", id);
        document.insert(name, value);
        document
    };
    let all = [
        // Numbers of other types with the same value.
        with("good", "wide", 7_i64.into()),
        with("nan", "wide", f64::NAN.into()),
        with("narrow", "narrow", 0.1.into()),
        with("wide", "wide", 9_007_199_254_740_993_i64.into()),
        with("inner", "inner", doc! { "x": 1.5 }.into()),
        with("unknown", "__v", 0.into()),
    ];
    flat(&database).insert_many(&all).await.unwrap();
    let report = buckets.backfill_from(&flat(&database)).await.unwrap();
    let rejected: Vec<&str> = report
        .rejects
        .iter()
        .filter_map(|it| it.id.as_str())
        .collect();
    assert_eq!(
        rejected,
        ["inner", "narrow", "unknown", "wide"],
        "{report:?}"
    );
    let reasons = report.rejects.iter().map(|it| it.reason.as_str());
    for (reason, name) in reasons.zip(["cannot be read", "`narrow`", "`__v`", "`wide`"]) {
        assert!(reason.contains(name), "{reason}");
    }
    // Named, a field is left out.
    let report = buckets
        .backfill_from(&flat(&database))
        .named("again")
        .ignore_fields(["__v"]);
    assert_eq!(report.await.unwrap().rejected, 3);
    // The rejects of both jobs are there.
    assert_eq!(documents(&database, "events_rejects").await.len(), 7);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "events", items = "items", capacity = 20)]
#[serde(deny_unknown_fields)]
struct Strict {
    #[bucket(key)]
    device: String,
    #[bucket(time)]
    at: DateTime,
}

/// With the `_id` of its document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "with_ids", items = "items", capacity = 20)]
struct WithId {
    #[serde(rename = "_id")]
    #[bucket(unique)]
    id: i64,
    #[bucket(key)]
    device: String,
    #[bucket(time)]
    at: DateTime,
}

#[tokio::test(flavor = "multi_thread")]
async fn the_id_is_left_out_or_kept_as_the_struct_says() {
    let database = database().await;
    let strict = Strict::buckets(&database);
    strict.ensure().await.unwrap();
    let all = (0..10_i64).map(|id| doc! { "_id": id, "device": "a", "at": date(id) });
    flat(&database).insert_many(all).await.unwrap();
    let report = strict.backfill_from(&flat(&database)).await.unwrap();
    assert_eq!(counts(&report), [10, 10, 0, 0], "{report:?}");
    let with_ids = WithId::buckets(&database);
    with_ids.ensure().await.unwrap();
    let report = with_ids.backfill_from(&flat(&database)).await.unwrap();
    assert_eq!(counts(&report), [10, 10, 0, 0], "{report:?}");
    let page = with_ids.records("a".to_owned()).limit(100).await.unwrap();
    assert!(page.into_iter().map(|record| record.id).eq(0..10));
}

/// A unique index of the operator on the numbers in the buckets.
async fn unique_numbers(database: &Database) {
    let index = doc! { "name": "numbers", "key": { "items.number": 1 }, "unique": true };
    let command = doc! { "createIndexes": "events", "indexes": [index] };
    database.run_command(command).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_the_server_refuses_is_a_reject_and_the_others_of_its_statement_are_stored() {
    let database = database().await;
    let buckets = handle::<Counted>(&database).await;
    unique_numbers(&database).await;
    // These are in the way, under other devices.
    let taken = (0..5).map(|at| Counted::of("x", at * 300 + 7));
    let inserted = buckets.insert_many(taken.clone()).await.unwrap();
    inserted.into_result().unwrap();
    let records = fill::<Counted>(&database, 2, 2_000).await;
    let report = buckets.backfill_from(&flat(&database)).await.unwrap();
    assert_eq!(counts(&report), [2_000, 1_995, 0, 5], "{report:?}");
    assert!(
        report
            .rejects
            .iter()
            .all(|it| it.reason.contains("numbers")),
        "{report:?}"
    );
    let others = records
        .into_iter()
        .filter(|it| it.number % 300 != 7 || it.number > 1_207);
    assert_stored(&buckets, others.chain(taken)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_a_validator_refuses_is_a_reject_with_the_code_of_the_server() {
    let database = database().await;
    let buckets = handle::<Counted>(&database).await;
    index(&database, 1).await;
    let records = fill::<Counted>(&database, 2, 600).await;
    // All at one time: these are stored together or not at all.
    let mut all = records.clone();
    for number in 600..606 {
        let mut record = Counted::of("d0", number);
        record.at = date(600);
        all.push(record);
    }
    let typed = database.collection::<Counted>("flat");
    typed.insert_many(&all[600..]).await.unwrap();
    let refused = [17, 18, 411, 602, 604];
    let validator = doc! { "items.number": { "$nin": refused.to_vec() } };
    let command = doc! { "collMod": "events", "validator": validator };
    database.run_command(command).await.unwrap();
    let report = buckets.backfill_from(&flat(&database)).await.unwrap();
    assert_eq!(counts(&report), [606, 601, 0, 5], "{report:?}");
    let has_code = |it: &RejectedDocument| it.reason.contains("121");
    assert!(report.rejects.iter().all(has_code), "{report:?}");
    all.retain(|it| !refused.contains(&it.number));
    assert_stored(&buckets, all).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn records_that_are_refused_only_together_end_with_one_stored() {
    let database = database().await;
    let buckets = handle::<Counted>(&database).await;
    unique_numbers(&database).await;
    let mut records = fill::<Counted>(&database, 2, 300).await;
    // The same number under two devices, three times.
    for number in [10, 20, 30] {
        let twin = Counted::of("other", number);
        let typed = database.collection::<Counted>("flat");
        typed.insert_one(&twin).await.unwrap();
    }
    let report = buckets.backfill_from(&flat(&database)).await.unwrap();
    assert_eq!(counts(&report), [303, 300, 0, 3], "{report:?}");
    assert!(
        report
            .rejects
            .iter()
            .all(|it| it.reason.contains("numbers")),
        "{report:?}"
    );
    records.sort_by_key(|it| it.number);
    assert_stored(&buckets, records).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_refuses_everything_ends_the_call_and_rejects_nothing() {
    let database = database().await;
    let buckets = handle::<Counted>(&database).await;
    fill::<Counted>(&database, 2, 20).await;
    // A geo index on what is no place: a code that says nothing about records by itself.
    let index = doc! { "name": "places", "key": { "items.at": "2dsphere" } };
    let command = doc! { "createIndexes": "events", "indexes": [index] };
    database.run_command(command).await.unwrap();
    let error = buckets.backfill_from(&flat(&database)).await.unwrap_err();
    assert!(
        error.to_string().contains("stopped after 0 documents"),
        "{error}"
    );
    assert_eq!(documents(&database, "events_rejects").await.len(), 0);
    database
        .run_command(doc! { "dropIndexes": "events", "index": "places" })
        .await
        .unwrap();
    let report = buckets.backfill_from(&flat(&database)).await.unwrap();
    assert_eq!(counts(&report), [20, 20, 0, 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_record_is_a_reject_if_all_others_are_stored_already() {
    let database = database().await;
    let buckets = handle::<Identified>(&database).await;
    // Without notes.
    let records: Vec<Identified> = (0..20).map(|at| Identified::of("d0", at * 7 + 1)).collect();
    let typed = database.collection::<Identified>("flat");
    typed.insert_many(&records).await.unwrap();
    let report = buckets.backfill_from(&flat(&database)).await.unwrap();
    assert_eq!(counts(&report), [20, 20, 0, 0], "{report}");
    // A note is no place: a code that says nothing about records by itself.
    let index = doc! { "name": "places", "key": { "items.note": "2dsphere" } };
    let command = doc! { "createIndexes": "events", "indexes": [index] };
    database.run_command(command).await.unwrap();
    typed.insert_one(Identified::of("d0", 7)).await.unwrap();
    let again = buckets.backfill_from(&flat(&database)).named("again");
    let report = again.await.unwrap();
    assert_eq!(counts(&report), [21, 0, 20, 1], "{report}");
    assert_stored(&buckets, records).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rejects_are_stored_from_a_collection_of_their_documents() {
    let database = database().await;
    let buckets = handle::<Counted>(&database).await;
    let mut records = fill::<Counted>(&database, 2, 10).await;
    let late = Counted::of("d0", 10);
    let mut document = bucket_mongo::bson::serialize_to_document(&late).unwrap();
    document.insert("__v", 1);
    flat(&database).insert_one(document).await.unwrap();
    let report = buckets.backfill_from(&flat(&database)).await.unwrap();
    assert_eq!(counts(&report), [11, 10, 0, 1], "{report}");
    let copied = [
        doc! { "$match": { "document": { "$type": "object" } } },
        doc! { "$replaceWith": "$document" },
        doc! { "$out": "corrected" },
    ];
    let rejects = database.collection::<Document>("events_rejects");
    rejects.aggregate(copied).await.unwrap();
    let corrected = database.collection::<Document>("corrected");
    let none = doc! { "$unset": { "__v": "" } };
    corrected.update_many(doc! {}, none).await.unwrap();
    let report = buckets.backfill_from(&corrected).await.unwrap();
    assert_eq!(counts(&report), [1, 1, 0, 0], "{report}");
    records.push(late);
    assert_stored(&buckets, records).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_of_the_largest_size_is_a_reject_without_its_content() {
    let database = database().await;
    let buckets = handle::<Counted>(&database).await;
    let mut records = fill::<Counted>(&database, 1, 10).await;
    let mut large = Counted::of("d0", 10);
    large.note = Some("x".repeat(16 * 1024 * 1024 - 200));
    let typed = database.collection::<Counted>("flat");
    typed.insert_one(&large).await.unwrap();
    records.push(Counted::of("d0", 11));
    typed.insert_one(&records[10]).await.unwrap();
    let report = buckets.backfill_from(&flat(&database)).await.unwrap();
    assert_eq!(counts(&report), [12, 11, 0, 1], "{report:?}");
    assert_stored(&buckets, records).await;
    let rejects = documents(&database, "events_rejects").await;
    assert!(rejects[0].get_i32("bytes").unwrap() > 16_000_000);
}

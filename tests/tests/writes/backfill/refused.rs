//! Sources that are refused, missing or empty.

use std::num::NonZeroU32;

use super::*;
use bucket_mongo::{
    mongodb::options::{CollectionOptions, ReadPreference, SelectionCriteria},
    testing::DevServer,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_view_a_time_series_and_the_collections_of_the_buckets_are_refused() {
    let database = database().await;
    let buckets = handle::<Counted>(&database).await;
    fill::<Counted>(&database, 2, 10).await;
    let view = doc! { "create": "view", "viewOn": "flat", "pipeline": [] };
    database.run_command(view).await.unwrap();
    database.create_collection("events_rejects").await.unwrap();
    let series = doc! { "create": "series", "timeseries": { "timeField": "at" } };
    database.run_command(series).await.unwrap();
    for (name, text) in [
        ("view", "$out"),
        ("series", "$out"),
        ("events", "the collection of the buckets"),
        ("events_rejects", "$replaceWith"),
    ] {
        let source = database.collection::<Document>(name);
        for error in [
            buckets.backfill_from(&source).await.unwrap_err(),
            buckets.backfill_from(&source).plan().await.unwrap_err(),
        ] {
            assert!(
                error.is_invalid_input() && error.to_string().contains(text),
                "{error}"
            );
        }
    }
    assert_eq!(documents(&database, "bucket_backfills").await.len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_or_missing_source_is_a_report_of_zero() {
    let database = database().await;
    let buckets = handle::<Counted>(&database).await;
    let source = flat(&database);
    let plan = buckets.backfill_from(&source).plan().await.unwrap();
    assert_eq!((plan.expected, plan.is_done), (0, false));
    let report = buckets.backfill_from(&source).await.unwrap();
    assert_eq!(counts(&report), [0; 4]);
    assert_eq!(documents(&database, "bucket_backfills").await.len(), 0);
    database.create_collection("flat").await.unwrap();
    let report = buckets.backfill_from(&source).await.unwrap();
    assert_eq!((counts(&report), report.is_whole()), ([0; 4], true));
    assert_eq!(job(&database).await.get_str("pass").unwrap(), "done");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_is_read_from_the_primary_whatever_its_client_prefers() {
    let database = database().await;
    let buckets = handle::<Counted>(&database).await;
    let records = fill::<Counted>(&database, 2, 100).await;
    // The only member is the primary, so a read of a secondary would find no server.
    let secondary = SelectionCriteria::ReadPreference(ReadPreference::Secondary { options: None });
    let options = CollectionOptions::builder()
        .selection_criteria(secondary)
        .build();
    let source = database.collection_with_options::<Document>("flat", options);
    let buckets = buckets.with_deadline(Duration::from_secs(10));
    let report = buckets.backfill_from(&source).await.unwrap();
    assert_eq!(report.stored, 100);
    assert_stored(&buckets, records).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_capped_source_and_one_with_a_collation_are_read() {
    for options in [
        doc! { "capped": true, "size": 1_000_000 },
        doc! { "collation": { "locale": "en", "strength": 1 } },
        doc! { "clusteredIndex": { "key": { "_id": 1 }, "unique": true } },
    ] {
        let database = database().await;
        let buckets = handle::<Counted>(&database).await;
        let mut create = doc! { "create": "flat" };
        create.extend(options);
        database.run_command(create).await.unwrap();
        index(&database, 1).await;
        let records = fill::<Counted>(&database, 2, 2_500).await;
        let report = buckets.backfill_from(&flat(&database)).await.unwrap();
        assert_eq!(report.stored, 2_500);
        assert_stored(&buckets, records).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_simple_index_of_a_source_with_a_collation_is_read_by() {
    let database = database().await;
    let buckets = handle::<Counted>(&database).await;
    let create =
        doc! { "create": "flat", "collation": { "locale": "en", "numericOrdering": true } };
    database.run_command(create).await.unwrap();
    let index = doc! {
        "name": "by_device", "key": { "device": 1, "at": 1 }, "collation": { "locale": "simple" },
    };
    let command = doc! { "createIndexes": "flat", "indexes": [index] };
    database.run_command(command).await.unwrap();
    // Of the devices d2 and d10 the collation and the index have another one first.
    let records = fill::<Counted>(&database, 12, 5_000).await;
    let most = NonZeroU32::new(2_000).unwrap();
    let backfill = buckets.backfill_from(&flat(&database)).throttle(most);
    let report = backfill.await.unwrap();
    assert_eq!(counts(&report), [5_000, 5_000, 0, 0], "{report}");
    assert_eq!(job(&database).await.get_str("index").unwrap(), "by_device");
    assert_stored(&buckets, records).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_transactions_is_refused_as_target_and_read_as_source() {
    let server = DevServer::builder().own().standalone().await.unwrap();
    let old = server.database("old").await.unwrap();
    let buckets = handle::<Counted>(&old).await;
    let records = fill::<Counted>(&old, 2, 100).await;
    let error = buckets.backfill_from(&flat(&old)).await.unwrap_err();
    assert!(
        error.is_invalid_input() && error.to_string().contains("replica set"),
        "{error}"
    );
    let database = database().await;
    let buckets = handle::<Counted>(&database).await;
    let report = buckets.backfill_from(&flat(&old)).await.unwrap();
    assert_eq!(report.stored, 100);
    assert_stored(&buckets, records).await;
}

//! The indexes that the server uses to remove buckets, and that reads use to find the rest.

use bucket_core::{index::Drift, read};
use bucket_mongo::bson::{DateTime, Document, doc};

use super::{
    models::Event,
    stored::{COLLECTION, ago, database, documents, expire_index},
};
use crate::common::explained::{explain, find};

pub(crate) async fn every_bucket_has_the_date_that_the_index_is_on<L: Event, S: Event, W: Event>() {
    let database = database().await;
    let events = S::buckets(&database);
    let report = events.ensure().await.unwrap();
    assert!(
        report.created_indexes.contains(&"bucket_expire".to_owned()),
        "{report}"
    );
    assert!(events.ensure().await.unwrap().drift.is_empty());
    let now = DateTime::now();
    // One by one, as batches and as full buckets; in order and late.
    events.insert(&S::of(1, ago(now, 300), 0)).await.unwrap();
    let ages = [0, 2_400, 60, 1_800, 10];
    let batch: Vec<S> = (1..40)
        .map(|n| S::of(n % 3, ago(now, ages[usize::try_from(n % 5).unwrap()]), n))
        .collect();
    for part in batch.chunks(13) {
        events
            .insert_many(part)
            .await
            .unwrap()
            .into_result()
            .unwrap();
    }
    events.insert(&S::of(1, ago(now, 2_000), 40)).await.unwrap();

    let index = expire_index(&database).await.unwrap();
    assert_eq!(index.get_i32("expireAfterSeconds").unwrap(), 3_600);
    let (field, _) = index.get_document("key").unwrap().iter().next().unwrap();
    for bucket in documents(&database).await {
        let date = bucket
            .get_datetime(field)
            .unwrap_or_else(|_| panic!("{bucket}"));
        let items = bucket.get_array("items").unwrap().iter();
        let latest = items
            .map(|item| *item.as_document().unwrap().get_datetime("at").unwrap())
            .max();
        let latest = latest.unwrap();
        assert!(*date >= latest, "a record of {latest} in {bucket}");
        if field == "expire_from" {
            assert_eq!(*date, latest, "{bucket}");
        }
    }
}

pub(crate) async fn another_limit_is_drift_until_it_is_changed_on_purpose<
    L: Event,
    S: Event,
    W: Event,
>() {
    const LONG_S: u32 = 3_650 * 86_400;
    let database = database().await;
    let (long, short, without) = (
        L::buckets(&database),
        S::buckets(&database),
        W::buckets(&database),
    );
    let seconds = || async {
        let index = expire_index(&database).await;
        index.map(|index| index.get_i32("expireAfterSeconds").unwrap())
    };
    let differences = |drift: &[Drift]| -> Vec<(Option<u32>, u32)> {
        let limits = drift.iter().map(|drift| match drift {
            Drift::Expiry {
                expected,
                found: Some(found),
                name,
                ..
            } if name.starts_with("bucket_expire") => (*expected, *found),
            other => panic!("{other}"),
        });
        limits.collect()
    };
    long.ensure().await.unwrap();
    let indexes = if S::SPEC.max_bytes().is_some() && S::SPEC.capacity().is_some() {
        2
    } else {
        1
    };
    let report = short.ensure().await.unwrap();
    assert_eq!(
        differences(&report.drift),
        vec![(Some(3_600), LONG_S); indexes]
    );
    assert!(report.to_string().contains("change_expiry()"), "{report}");
    assert_eq!(seconds().await, Some(i32::try_from(LONG_S).unwrap()));
    // Nor with the call for other indexes.
    assert_eq!(
        short.ensure().replace_indexes().await.unwrap().drift.len(),
        indexes
    );
    let report = without.ensure().await.unwrap();
    assert_eq!(differences(&report.drift), vec![(None, LONG_S); indexes]);

    let report = short.ensure().change_expiry().await.unwrap();
    assert_eq!(
        (report.changed_indexes.len(), report.drift.len()),
        (indexes, 0),
        "{report}"
    );
    assert_eq!(seconds().await, Some(3_600));
    let report = short.ensure().change_expiry().await.unwrap();
    assert_eq!(
        (report.changed_indexes.len(), report.drift.len()),
        (0, 0),
        "{report}"
    );
    assert!(report.found_indexes.contains(&"bucket_expire".to_owned()));

    let report = without.ensure().change_expiry().await.unwrap();
    assert_eq!(
        (report.dropped_indexes.len(), report.drift.len()),
        (indexes, 0),
        "{report}"
    );
    assert_eq!(seconds().await, None);
}

pub(crate) async fn every_read_is_an_index_scan_over_the_buckets_of_the_key<
    L: Event,
    S: Event,
    W: Event,
>() {
    let database = database().await;
    let events = S::buckets(&database);
    events.ensure().await.unwrap();
    let now = DateTime::now();
    let records = (0..120).map(|n| S::of(n % 3, ago(now, 3_000 - 20 * n), n));
    let report = events.insert_many(records).await.unwrap();
    report.into_result().unwrap();
    let buckets = database.collection::<Document>(COLLECTION);
    let buckets = buckets
        .count_documents(doc! { "device": 1_i64 })
        .await
        .unwrap();
    let live = read::live(S::SPEC, DateTime::now());
    let key = read::key_elements::<S>(&S::key_of(1));
    let filter = doc! { "device": 1_i64 };
    let find = |plan| find(COLLECTION, plan);
    let aggregate = |plan: read::AggregatePlan| {
        doc! {
            "aggregate": COLLECTION, "pipeline": plan.pipeline, "cursor": {}, "hint": plan.hint,
            "collation": { "locale": read::SIMPLE },
        }
    };
    for command in [
        find(live.find(read::pages(S::SPEC, &key, None))),
        find(live.find(read::page(S::SPEC, &key, buckets))),
        aggregate(live.page_count(S::SPEC, &filter, None)),
        aggregate(live.record_count(S::SPEC, &filter)),
    ] {
        let explained = explain(&database, command.clone()).await;
        let plan = &explained.plan;
        assert!(
            plan.contains("IXSCAN") && !plan.contains("COLLSCAN"),
            "{command}: {plan}"
        );
        assert!(!plan.contains("\"SORT\""), "{command}: {plan}");
        let most = i64::try_from(buckets).unwrap() + 1;
        assert!(explained.keys <= most, "{command}: {} keys", explained.keys);
        assert!(
            explained.documents <= most,
            "{command}: {} documents",
            explained.documents
        );
    }
}

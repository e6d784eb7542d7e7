//! The orders of the source: what an index and what `_id` cannot order is not lost.

use super::*;
use bucket_mongo::bson::{Bson, oid::ObjectId};

/// `_id`s of many types, in no order.
fn ids(number: i32) -> Vec<Bson> {
    let ids = (0..number).map(|at| match at % 8 {
        0 => Bson::Int32(at),
        1 => Bson::Int64(i64::from(at)),
        2 => Bson::Double(f64::from(at) + 0.5),
        3 => Bson::String(format!("{at}")),
        4 => Bson::ObjectId(ObjectId::new()),
        5 => Bson::DateTime(date(i64::from(at))),
        6 => doc! { "a": at }.into(),
        _ => Bson::Decimal128(format!("{at}.25").parse().unwrap()),
    });
    ids.chain([
        Bson::Null,
        Bson::Boolean(true),
        Bson::MinKey,
        Bson::MaxKey,
        Bson::Double(f64::NAN),
    ])
    .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_of_all_types_are_read_in_chunks() {
    let database = database().await;
    let buckets = handle::<Counted>(&database).await;
    let (mut expected, mut all) = (Vec::new(), Vec::new());
    for (number, id) in (0..).zip(ids(3_000)) {
        let record = Counted::of(if number % 3 == 0 { "a" } else { "b" }, number);
        let mut document = bucket_mongo::bson::serialize_to_document(&record).unwrap();
        document.insert("_id", id);
        expected.push(record);
        all.push(document);
    }
    flat(&database).insert_many(&all).await.unwrap();
    let report = buckets
        .backfill_from(&flat(&database))
        .by_id()
        .await
        .unwrap();
    assert!(report.chunks >= 2, "{report:?}");
    assert_eq!(counts(&report), [3_005, 3_005, 0, 0], "{report:?}");
    assert_stored(&buckets, expected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_index_has_at_no_or_many_places_is_read_by_id() {
    for at in [1, -1] {
        let database = database().await;
        let buckets = handle::<Windowed>(&database).await;
        index(&database, at).await;
        let records = fill::<Windowed>(&database, 4, 2_500).await;
        let flat = flat(&database);
        let mut odd = Vec::new();
        for number in 0..100_i32 {
            odd.push(
                doc! { "_id": number, "device": ["d0", "d1", "d2"], "at": date(number.into()) },
            );
            odd.push(doc! { "_id": -1 - number, "device": "d1", "number": 1_i64 });
            odd.push(
                doc! { "_id": format!("{number}"), "device": "d1", "at": [date(1), date(2_000)] },
            );
        }
        flat.insert_many(&odd).await.unwrap();
        let report = buckets.backfill_from(&flat).await.unwrap();
        assert_eq!(counts(&report), [2_800, 2_500, 0, 300], "{report}");
        assert_stored(&buckets, records).await;
        let rejects = documents(&database, "events_rejects").await;
        assert_eq!(rejects.len(), 300);
        assert_eq!(job(&database).await.get_str("index").unwrap(), "by_device");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_at_places_that_the_server_takes_for_equal_are_read_once() {
    let database = database().await;
    let buckets = handle::<Counted>(&database).await;
    index(&database, 1).await;
    // Many at one place, so that chunks would end between them.
    let mut records = Vec::new();
    for number in 0..4_000 {
        let mut record = Counted::of("d0", number);
        record.at = date(number / 900);
        records.push(record);
    }
    let typed = database.collection::<Counted>("flat");
    typed.insert_many(&records).await.unwrap();
    // Times that are no dates, of numeric types that are equal.
    let mut odd = Vec::new();
    for number in 0..1_500_i32 {
        let at = match number % 3 {
            0 => Bson::Int32(number / 500),
            1 => Bson::Int64(i64::from(number / 500)),
            _ => Bson::Double(f64::from(number / 500)),
        };
        odd.push(doc! { "device": "d0", "at": at });
    }
    flat(&database).insert_many(&odd).await.unwrap();
    let report = buckets.backfill_from(&flat(&database)).await.unwrap();
    assert_eq!(counts(&report), [5_500, 4_000, 0, 1_500], "{report}");
    assert_stored(&buckets, records).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_index_of_the_call_is_used_or_refused() {
    let database = database().await;
    let buckets = handle::<Counted>(&database).await;
    fill::<Counted>(&database, 2, 10).await;
    let source = flat(&database);
    let error = buckets.backfill_from(&source).by_index("by_device").await;
    let error = error.unwrap_err();
    assert!(error.is_invalid_input(), "{error}");
    index(&database, 1).await;
    let plan = buckets.backfill_from(&source).plan().await.unwrap();
    assert_eq!(plan.index.as_deref(), Some("by_device"));
    assert_eq!((plan.expected, plan.sample, plan.read), (10, 10, 0));
    assert!(plan.rejects.is_empty());
    // It has stored nothing, not even a job.
    assert_eq!(documents(&database, "bucket_backfills").await.len(), 0);
    let report = buckets.backfill_from(&source).by_index("by_device").await;
    assert_eq!(report.unwrap().stored, 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_goes_on_only_in_its_own_order_and_with_its_own_source() {
    let database = database().await;
    let buckets = handle::<Counted>(&database).await;
    index(&database, 1).await;
    let records = fill::<Counted>(&database, 2, 3_000).await;
    let source = flat(&database);
    // Ended by its caller after the first chunk.
    let ended = tokio::spawn({
        let (buckets, source) = (buckets.clone(), source.clone());
        async move {
            let backfill = buckets.backfill_from(&source);
            backfill
                .on_progress(|_| panic!("a caller that fails"))
                .await
        }
    });
    assert!(ended.await.unwrap_err().is_panic());
    let error = buckets.backfill_from(&source).by_id().await.unwrap_err();
    assert!(
        error.is_invalid_input() && error.to_string().contains("order"),
        "{error}"
    );
    // Dropped, and created again: the places mean nothing there.
    source.drop_index("by_device").await.unwrap();
    let error = buckets.backfill_from(&source).await.unwrap_err();
    assert!(error.to_string().contains("by_device"), "{error}");
    index(&database, 1).await;
    let renamed = doc! {
        "renameCollection": source.namespace().to_string(),
        "to": format!("{}.kept", database.name()),
    };
    let admin = database.client().database("admin");
    admin.run_command(renamed).await.unwrap();
    let error = buckets.backfill_from(&source).await.unwrap_err();
    assert!(error.to_string().contains("is gone"), "{error}");
    source.insert_one(doc! { "device": "d0" }).await.unwrap();
    let error = buckets.backfill_from(&source).await.unwrap_err();
    assert!(error.to_string().contains("another collection"), "{error}");
    // The other one goes on under the name of the job.
    let kept = database.collection::<Document>("kept");
    let report = buckets
        .backfill_from(&kept)
        .named(source.namespace().to_string());
    assert_eq!(counts(&report.await.unwrap()), [3_000, 3_000, 0, 0]);
    assert_stored(&buckets, records).await;
}

/// Renames the source of a test, or back.
async fn rename(database: &Database, from: &str, to: &str) {
    let name = database.name();
    let renamed =
        doc! { "renameCollection": format!("{name}.{from}"), "to": format!("{name}.{to}") };
    let admin = database.client().database("admin");
    admin.run_command(renamed).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_goes_during_a_run_ends_it_and_the_job_goes_on_when_it_is_back() {
    for (by_index, is_replaced) in [(false, false), (true, false), (false, true), (true, true)] {
        let database = database().await;
        let buckets = handle::<Counted>(&database).await;
        if by_index {
            index(&database, 1).await;
        }
        let records = fill::<Counted>(&database, 2, 12_000).await;
        let source = flat(&database);
        let mut is_there = true;
        let call = buckets.backfill_from(&source).on_progress(|_| {
            if !std::mem::take(&mut is_there) {
                return;
            }
            let goes = async {
                rename(&database, "flat", "away").await;
                if is_replaced {
                    flat(&database).insert_one(doc! {}).await.unwrap();
                }
            };
            tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(goes));
        });
        let error = call.await.unwrap_err();
        let text = if is_replaced {
            "was replaced"
        } else {
            "is gone"
        };
        assert!(
            error.is_invalid_input() && error.to_string().contains(text),
            "{error}"
        );
        assert_ne!(job(&database).await.get_str("pass").unwrap(), "done");
        if is_replaced {
            flat(&database).drop().await.unwrap();
        }
        rename(&database, "away", "flat").await;
        let report = buckets.backfill_from(&source).await.unwrap();
        assert_eq!(counts(&report), [12_000, 12_000, 0, 0], "{report}");
        assert_stored(&buckets, records).await;
    }
}

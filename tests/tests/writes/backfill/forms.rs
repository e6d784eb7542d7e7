//! Every form: a backfill stores what an insert of the same records stores.

use super::*;

/// The buckets without what differs from one run to the next.
async fn shape<T: Event>(buckets: &Buckets<T>) -> Vec<(String, Vec<i64>)> {
    let collection = buckets.collection::<RawDocumentBuf>();
    let cursor = collection.find(doc! {}).await.unwrap();
    let found: Vec<RawDocumentBuf> = cursor.try_collect().await.unwrap();
    let mut shape: Vec<_> = found
        .iter()
        .map(|document| {
            let records = bucket::assemble_records(bucket::decode::<T>(document).unwrap());
            let device = document.get_str("device").unwrap().to_owned();
            (device, records.iter().map(T::number).collect())
        })
        .collect();
    shape.sort();
    shape
}

async fn stores_what_an_insert_stores<T: Event>(at: Option<i32>) {
    let database = database().await;
    let buckets = handle::<T>(&database).await;
    if let Some(at) = at {
        index(&database, at).await;
    }
    let records = fill::<T>(&database, 3, 3_000).await;
    let report = buckets.backfill_from(&flat(&database)).await.unwrap();
    assert_eq!(counts(&report), [3_000, 3_000, 0, 0], "{report}");
    assert!(report.is_whole() && report.chunks > 1);
    assert_stored(&buckets, records.clone()).await;
    // The same records in the same order, in the same buckets.
    let backfilled = shape(&buckets).await;
    let other = bucket_tests::database().await;
    let others = handle::<T>(&other).await;
    let report = others.insert_many(&records).await.unwrap();
    report.into_result().unwrap();
    // An insert opens a part for what one call brings.
    if T::SPEC.record() != "Parts" {
        assert_eq!(backfilled, shape(&others).await);
    }
    // The job is done: another call does nothing.
    let report = buckets.backfill_from(&flat(&database)).await.unwrap();
    assert_eq!((counts(&report), report.chunks), ([3_000, 3_000, 0, 0], 0));
    assert_stored(&buckets, records).await;
    let job = job(&database).await;
    assert_eq!(job.get_str("pass").unwrap(), "done");
    assert_eq!(job.get_array("sessions").unwrap().len(), 0);
}

macro_rules! forms {
    ($($name:ident $model:ident;)*) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $name() {
            for at in [None, Some(1), Some(-1)] {
                stores_what_an_insert_stores::<$model>(at).await;
            }
        }
    )*};
}

forms! {
    a_backfill_of_count_buckets_stores_what_an_insert_stores Counted;
    a_backfill_of_windows_stores_what_an_insert_stores Windowed;
    a_backfill_of_windows_with_object_ids_stores_what_an_insert_stores WindowedObjects;
    a_backfill_of_parts_stores_what_an_insert_stores Parts;
    a_backfill_of_merged_windows_stores_what_an_insert_stores Merged;
    a_backfill_of_hybrid_buckets_stores_what_an_insert_stores Hybrid;
    a_backfill_of_numbered_buckets_stores_what_an_insert_stores Numbered;
    a_backfill_of_numbered_buckets_with_object_ids_stores_what_an_insert_stores NumberedObjects;
    a_backfill_of_buckets_with_a_size_stores_what_an_insert_stores Bytes;
    a_backfill_of_records_with_ids_stores_what_an_insert_stores Identified;
    a_backfill_of_expiring_windows_stores_what_an_insert_stores Expiring;
}

#[tokio::test(flavor = "multi_thread")]
async fn records_that_are_stored_under_their_ids_are_not_stored_again() {
    let database = database().await;
    let buckets = handle::<Identified>(&database).await;
    let records = fill::<Identified>(&database, 3, 2_000).await;
    // As a service that writes to both, and one record with other data.
    let mut live = records[500..700].to_vec();
    live[7].value = 9.0;
    let inserted = buckets.insert_many(&live).await.unwrap();
    inserted.into_result().unwrap();
    let report = buckets.backfill_from(&flat(&database)).await.unwrap();
    assert_eq!(counts(&report), [2_000, 1_800, 199, 1], "{report}");
    assert!(
        report.rejects[0].reason.contains("other data"),
        "{report:?}"
    );
    let mut expected = records;
    expected[507].value = 9.0;
    assert_stored(&buckets, expected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_by_key_hold_in_a_backfill() {
    let database = database().await;
    let buckets = handle::<Windowed>(&database).await;
    let buckets = buckets.with_limits(|key| match key.device.as_str() {
        "d0" => Limits::new().window(Window::minutes(10)),
        _ => Limits::new(),
    });
    let records = fill::<Windowed>(&database, 2, 1_200).await;
    let report = buckets.backfill_from(&flat(&database)).await.unwrap();
    assert!(report.is_whole());
    assert_stored(&buckets, records).await;
    let count = async |device: &str| {
        let count = buckets.collection::<Document>();
        count
            .count_documents(doc! { "device": device })
            .await
            .unwrap()
    };
    assert!(count("d0").await * 5 < count("d1").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_in_another_database_and_client_is_read_there() {
    let (database, other) = (database().await, database().await);
    let buckets = handle::<Counted>(&database).await;
    let client = bucket_tests::server().await.client().await.unwrap();
    let old = client.database(other.name());
    let records = fill::<Counted>(&old, 2, 100).await;
    let report = buckets.backfill_from(&flat(&old)).await.unwrap();
    assert_eq!(report.stored, 100);
    assert_stored(&buckets, records).await;
    assert_eq!(other.list_collection_names().await.unwrap(), ["flat"]);
    client.shutdown().await;
}

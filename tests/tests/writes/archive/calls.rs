//! Each call before, while and after items are in the archive.

use super::*;

pub(super) async fn every_call_goes_on_as_before<T: Event>() {
    let database = database().await;
    let events = T::buckets(&database);
    events.ensure().await.unwrap();
    insert(&events, "a", 0..200).await;
    insert(&events, "b", 0..50).await;
    let ledger = stored(&events, "a").await;
    let places = references(&events, "a").await;
    let sealed = seal(&events).await;
    let stats = events.stats(T::key_of("a"), ..).await.unwrap().unwrap();

    let would = events.archive_to(archive(&database)).dry_run().await;
    let would = would.unwrap();
    assert_eq!(would.buckets, sealed);
    assert!(copies(&database).await.is_empty());
    let year = Duration::from_secs(365 * 24 * 60 * 60);
    let none = events.archive_to(archive(&database)).older_than(100 * year);
    assert_eq!(none.await.unwrap().buckets, 0);

    let mut told = 0;
    let moved = events
        .archive_to(archive(&database))
        .on_progress(|report| told = report.buckets);
    let moved: ArchiveReport = moved.await.unwrap();
    assert_eq!((moved.buckets, told), (sealed, sealed), "{moved}");
    assert_eq!((moved.records, moved.bytes), (would.records, would.bytes));
    assert_eq!((moved.changed, moved.damaged), (0, 0), "{moved}");
    assert_eq!(referred(&database).await, copies(&database).await);
    let again = events.archive_to(archive(&database)).await.unwrap();
    assert_eq!(again.buckets, 0);

    // What needs no items needs no archive.
    let whole = events.stats(T::key_of("a"), ..).await.unwrap().unwrap();
    assert_eq!(format!("{whole:?}"), format!("{stats:?}"));
    assert_eq!(events.count(T::key_of("a")).await.unwrap(), 200);
    assert_eq!(events.keys().summaries().await.unwrap().len(), 2);
    // What does says so.
    let error = try_stored(&events, "a").await.unwrap_err();
    assert!(error.is_archived() && !error.is_damaged(), "{error}");
    assert!(error.to_string().contains("with_archive"), "{error}");
    // No row of it was changed, and no bucket is taken for unsealed.
    assert_eq!(events.unseal().await.unwrap().buckets, 0);

    let both = events.clone().with_archive(archive(&database));
    assert_eq!(stored(&both, "a").await, ledger);
    assert_eq!(references(&both, "a").await, places);
    is_sound(&both).await;

    edits_are_refused(&both, &places).await;
    assert_eq!(stored(&both, "a").await, ledger);

    // Late and new records.
    insert(&both, "a", 300..320).await;
    let mut late = T::of("a", 1_000);
    *late.value() = 7.0;
    both.insert(&late).await.unwrap();
    assert_eq!(stored(&both, "a").await.len(), 221);

    let back = both.restore_from(archive(&database)).await.unwrap();
    assert_eq!(
        (back.buckets, back.records),
        (sealed, moved.records),
        "{back}"
    );
    assert!(copies(&database).await.is_empty());
    assert_eq!(stored(&events, "a").await.len(), 221);
    is_sound(&events).await;
    let corrected = events
        .update(T::key_of("a"), &places[0].0, |it| *it.value() = 9.0)
        .await;
    assert!(corrected.unwrap().is_some());

    erasure_reaches_the_archive(&database, &events).await;
}

async fn edits_are_refused<T: Event>(both: &Buckets<T>, places: &[(Which, T)]) {
    let key = || T::key_of("a");
    let refused = [
        both.update(key(), &places[0].0, |it| *it.value() = 9.0)
            .await
            .err(),
        both.delete(key(), &places[0].0).await.err(),
        both.delete_range(key(), date(0)..date(1)).await.err(),
    ];
    for error in refused {
        let error = error.unwrap();
        assert!(error.is_archived(), "{error:?}");
        assert!(error.to_string().contains("restore_from"), "{error}");
    }
}

async fn erasure_reaches_the_archive<T: Event>(database: &TestDatabase, events: &Buckets<T>) {
    let moved = events.archive_to(archive(database)).await.unwrap();
    let of = async |device| {
        let archive = archive(database);
        let copies = archive.count_documents(doc! { "device": device });
        copies.await.unwrap()
    };
    let (of_a, of_b) = (of("a").await, of("b").await);
    assert!(of_a > 0 && of_b > 0 && of_a + of_b == moved.buckets);
    let error = events.delete_key(T::key_of("a")).await.unwrap_err();
    assert!(error.is_archived(), "{error}");
    let both = events.clone().with_archive(archive(database));
    assert_eq!(stored(&both, "a").await.len(), 221, "something was removed");
    // A killed call left a copy that no bucket refers to.
    let stray = archive(database).find_one(doc! { "device": "a" }).await;
    let mut stray = stray.unwrap().unwrap();
    stray.insert("_id", bucket_mongo::bson::oid::ObjectId::new());
    archive(database).insert_one(stray).await.unwrap();
    let would = both.delete_key(T::key_of("a")).dry_run().await.unwrap();
    assert_eq!((would.records, would.archived), (221, of_a + 1));
    assert_eq!(of("a").await, of_a + 1);
    let removed = both.delete_key(T::key_of("a")).await.unwrap();
    assert_eq!((removed.records, removed.archived), (221, of_a + 1));
    assert_eq!((of("a").await, of("b").await), (0, of_b));
    assert!(stored(&both, "a").await.is_empty());
    assert_eq!(stored(&both, "b").await.len(), 50);
}

pub(super) async fn a_record_that_is_delivered_again_is_still_known<T: Event>() {
    let database = database().await;
    let events = T::buckets(&database);
    events.ensure().await.unwrap();
    let records: Vec<T> = (0..60).map(|number| T::of("a", number)).collect();
    let deliver = async |events: &Buckets<T>| {
        let report = events.insert_many(&records).from_source("s", 0).await;
        report.map(|report| (report.stored(), report.duplicates().len()))
    };
    // Hybrid buckets have no sources.
    let Ok(first) = deliver(&events).await else {
        return;
    };
    assert_eq!(first, (60, 0));
    seal(&events).await;
    assert!(events.archive_to(archive(&database)).await.unwrap().buckets > 0);
    for events in [T::buckets(&database), events] {
        assert_eq!(deliver(&events).await.unwrap(), (0, 60));
    }
}

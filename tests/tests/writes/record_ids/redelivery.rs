//! Redelivered records: in batches, one by one, through an ingestor and in a transaction.

use bucket_mongo::{Bucketed, RecordOutcome};
use bucket_tests::database;

use super::models::{Averaged, Counted, Numbered, Order, Sized, Timed, Windowed, deliver, stored};

/// Batches that overlap, in different orders and sizes, from handles that remember and handles that
/// do not, and single records.
async fn check_redelivery<T: Order>() {
    let database = database().await;
    let buckets = T::buckets(&database);
    buckets.ensure().await.unwrap();
    assert_eq!(deliver(&buckets, 0..60).await, (60, 0));
    assert_eq!(deliver(&buckets, 0..60).await, (0, 60));
    assert_eq!(deliver(&T::buckets(&database), 30..90).await, (30, 30));
    assert_eq!(deliver(&buckets, (0..100).rev()).await, (10, 90));
    assert_eq!(deliver(&buckets, (85..130).step_by(3)).await, (10, 5));
    assert_eq!(
        deliver(&buckets, (0..20).flat_map(|id| [id + 120, id + 120]))
            .await
            .0,
        17
    );
    for id in [5, 140, 141, 140, 99] {
        let inserted = buckets.insert(&T::of(id, id)).await.unwrap();
        let expected = match id {
            141 => RecordOutcome::Stored,
            _ if inserted.outcome == RecordOutcome::Stored => RecordOutcome::Stored,
            _ => RecordOutcome::Duplicate,
        };
        assert_eq!(inserted.outcome, expected);
        let again = buckets.insert(&T::of(id, id)).await.unwrap();
        assert_eq!(
            (again.outcome, again.opened_bucket),
            (RecordOutcome::Duplicate, false)
        );
    }
    deliver(&buckets, 0..2_000).await;
    assert_eq!(deliver(&T::buckets(&database), 0..2_000).await, (0, 2_000));
    let stored = stored(&database).await;
    assert!(stored.into_iter().eq((0..2_000).map(|id| (id, id))));
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_store_redelivered_records_once() {
    check_redelivery::<Counted>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn windows_store_redelivered_records_once() {
    check_redelivery::<Windowed>().await;
    check_redelivery::<Sized>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hybrid_buckets_store_redelivered_records_once() {
    check_redelivery::<Timed>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn numbered_buckets_store_redelivered_records_once() {
    check_redelivery::<Numbered>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn buckets_with_a_stored_average_store_redelivered_records_once() {
    check_redelivery::<Averaged>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ingestor_reports_for_each_record_whether_it_is_new() {
    let database = database().await;
    let buckets = Windowed::buckets(&database);
    buckets.ensure().await.unwrap();
    deliver(&buckets, 0..100).await;
    let ingestor = buckets.ingestor().start().unwrap();
    let mut receipts = Vec::new();
    for id in 50..150 {
        receipts.push((id, ingestor.push(&Windowed::of(id, id)).await.unwrap()));
    }
    let twice = ingestor.push(&Windowed::of(149, 149)).await.unwrap();
    let conflict = ingestor.push(&Windowed::of(3, 4)).await.unwrap();
    drop(ingestor.flush().await);
    for (id, receipt) in receipts {
        let new = receipt.await.unwrap();
        let expected = if id < 100 {
            RecordOutcome::Duplicate
        } else {
            RecordOutcome::Stored
        };
        assert_eq!(new, expected, "{id}");
    }
    assert_eq!(twice.await.unwrap(), RecordOutcome::Duplicate);
    assert!(conflict.await.unwrap_err().is_conflict());
    let report = ingestor.shutdown().await;
    assert_eq!(
        (report.stored(), report.duplicates(), report.not_stored()),
        (50, 51, 1)
    );
    assert_eq!((report.accepted(), report.pending()), (102, 0));
    assert!(
        stored(&database)
            .await
            .into_iter()
            .eq((0..150).map(|id| (id, id)))
    );
}

#[tokio::test]
async fn duplicates_inside_a_transaction_do_not_end_it() {
    let database = database().await;
    let buckets = Timed::buckets(&database);
    buckets.ensure().await.unwrap();
    deliver(&buckets, 0..40).await;
    let mut session = database.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    // Also late ones, which go into other buckets.
    let records: Vec<Timed> = (0..100).rev().map(|id| Timed::of(id, id)).collect();
    let report = buckets
        .insert_many(&records)
        .session(&mut session)
        .await
        .unwrap();
    assert_eq!(
        (report.stored(), report.duplicates().len()),
        (60, 40),
        "{:?}",
        report.failed()
    );
    let inserted = buckets
        .insert(&records[0])
        .session(&mut session)
        .await
        .unwrap();
    assert_eq!(inserted.outcome, RecordOutcome::Duplicate);
    session.commit_transaction().await.unwrap();
    assert!(
        stored(&database)
            .await
            .into_iter()
            .eq((0..100).map(|id| (id, id)))
    );
}

//! The ingestor without faults: every acknowledged record is stored once and in order, and batches
//! are sent at the right time.

use std::time::Duration;

use bucket_mongo::{
    Bucketed, Buckets, ErrorKind,
    bson::{Document, doc},
    ingest::Receipt,
    mongodb::{
        Database, IndexModel,
        options::{IndexOptions, WriteConcern},
    },
};
use bucket_tests::database;
use futures_util::{SinkExt, StreamExt, future::join_all, stream};

use crate::common::samples::{PANICS, Sample, sample, stored, stored_numbers, too_large};

/// Longer than any test takes.
const NEVER: Duration = Duration::from_secs(86_400);

async fn buckets(database: &Database) -> Buckets<Sample> {
    let samples = Sample::buckets(database);
    samples.ensure().await.unwrap();
    samples
}

#[tokio::test(flavor = "multi_thread")]
async fn records_of_many_tasks_are_stored_once_and_in_the_order_of_each_task() {
    let database = database().await;
    let samples = buckets(&database).await;
    // Small batches, so that each key has many of them.
    let ingestor = samples.ingestor().max_batch_records(300);
    let ingestor = ingestor.linger(Duration::ZERO).start().unwrap();
    let tasks = (0..8).map(|task| {
        let ingestor = ingestor.clone();
        tokio::spawn(async move {
            let mut receipts = Vec::new();
            for number in 0..5_000 {
                let record = sample(number % 13, task, number);
                receipts.push(ingestor.push(&record).await.unwrap());
            }
            assert!(receipts.is_sorted_by_key(Receipt::sequence));
            for receipt in receipts {
                receipt.await.unwrap();
            }
        })
    });
    for task in join_all(tasks).await {
        task.unwrap();
    }
    let report = ingestor.report();
    assert_eq!((report.accepted(), report.stored()), (40_000, 40_000));
    assert!(report.is_complete() && report.failed().is_empty());
    assert_eq!(
        (ingestor.buffered_bytes(), ingestor.buffered_records()),
        (0, 0)
    );
    let stored = stored(&database).await;
    for task in 0..8 {
        for device in 0..13 {
            let pushed: Vec<i64> = (0..5_000).filter(|n| n % 13 == device).collect();
            assert_eq!(
                stored[&(device, task)],
                pushed,
                "device {device}, task {task}"
            );
        }
    }
}

#[tokio::test]
async fn a_batch_is_sent_when_it_has_enough_records() {
    let database = database().await;
    let samples = buckets(&database).await;
    let ingestor = samples.ingestor().linger(NEVER).max_batch_records(10);
    let ingestor = ingestor.in_flight(1).start().unwrap();
    let mut receipts = Vec::new();
    for number in 0..15 {
        receipts.push(ingestor.push(&sample(1, 0, number)).await.unwrap());
    }
    for receipt in receipts.drain(..10) {
        receipt.await.unwrap();
    }
    assert_eq!(stored_numbers(&database).await, (0..10).collect());
    assert_eq!(ingestor.report().pending(), 5);
    assert_eq!(ingestor.buffered_records(), 5);
    assert_eq!(ingestor.shutdown().await.stored(), 15);
}

#[tokio::test]
async fn a_batch_is_sent_when_it_has_enough_bytes() {
    let database = database().await;
    let samples = buckets(&database).await;
    let ingestor = samples.ingestor().linger(NEVER).max_batch_bytes(100_000);
    let ingestor = ingestor.in_flight(1).start().unwrap();
    let large = |number| Sample {
        text: "x".repeat(50_000),
        ..sample(1, 0, number)
    };
    let first = ingestor.push(&large(0)).await.unwrap();
    assert_eq!(ingestor.report().pending(), 1);
    let second = ingestor.push(&large(1)).await.unwrap();
    let third = ingestor.push(&large(2)).await.unwrap();
    first.await.unwrap();
    second.await.unwrap();
    assert_eq!(ingestor.report().pending(), 1);
    ingestor.shutdown().await.into_result().unwrap();
    third.await.unwrap();
}

#[tokio::test]
async fn a_batch_is_sent_when_it_has_lingered() {
    let database = database().await;
    let samples = buckets(&database).await;
    let ingestor = samples.ingestor().linger(Duration::from_millis(20)).start();
    let ingestor = ingestor.unwrap();
    let receipt = ingestor.push(&sample(1, 0, 1)).await.unwrap();
    receipt.await.unwrap();
    assert_eq!(stored_numbers(&database).await, [1].into());
}

#[tokio::test]
async fn a_batch_is_sent_on_flush_and_the_ingestor_continues() {
    let database = database().await;
    let samples = buckets(&database).await;
    let ingestor = samples.ingestor().linger(NEVER).start().unwrap();
    for round in 1..=3 {
        for number in 0..100 {
            let record = sample(number, round, round * 100 + number);
            ingestor.push(&record).await.unwrap();
        }
        let report = ingestor.flush().await.into_result().unwrap();
        assert_eq!(report.stored(), u64::try_from(round * 100).unwrap());
        assert_eq!(report.pending(), 0);
    }
    assert_eq!(stored_numbers(&database).await.len(), 300);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_cannot_be_encoded_fails_without_the_others() {
    let database = database().await;
    let samples = buckets(&database).await;
    let ingestor = samples.ingestor().linger(NEVER).in_flight(1).start();
    let ingestor = ingestor.unwrap();
    ingestor.push(&sample(1, 0, 0)).await.unwrap();
    let error = ingestor.push(&too_large(1)).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Encode(_)), "{error:?}");
    assert!(error.key().is_some());
    ingestor.push(&sample(1, 0, 1)).await.unwrap();
    // The model's own code panics after the record's first value was taken.
    for device in [1, 2] {
        let panicking = ingestor.clone();
        let push = async move { panicking.push(&sample(device, 0, PANICS)).await.map(drop) };
        assert!(tokio::spawn(push).await.unwrap_err().is_panic());
    }
    for number in 2..200 {
        ingestor.push(&sample(1, 0, number)).await.unwrap();
    }
    let report = ingestor.shutdown().await;
    assert_eq!(
        (report.accepted(), report.stored()),
        (200, 200),
        "{report:?}"
    );
    // With exact sums.
    assert_eq!(
        stored(&database).await[&(1, 0)],
        (0..200).collect::<Vec<_>>()
    );
}

#[tokio::test]
async fn a_sink_stores_a_stream_and_reports_failures() {
    let database = database().await;
    let samples = buckets(&database).await;
    let ingestor = samples.ingestor().linger(NEVER).start().unwrap();
    let records = stream::iter((0..10_000).map(|number| Ok(sample(number % 7, 0, number))));
    records.forward(ingestor.sink()).await.unwrap();
    assert_eq!(stored_numbers(&database).await.len(), 10_000);

    // A closed sink does not affect the ingestor's other handles.
    let mut sink = ingestor.sink();
    sink.send(sample(1, 1, 10_000)).await.unwrap();
    let error = sink.send(too_large(1)).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Encode(_)), "{error:?}");
    sink.send(sample(1, 1, 10_001)).await.unwrap();

    // Failures of other handles do not affect it.
    let options = IndexOptions::builder()
        .unique(true)
        .partial_filter_expression(doc! { "device": { "$gte": 100 } });
    let unique = IndexModel::builder()
        .keys(doc! { "samples.text": 1 })
        .options(options.build());
    let collection = samples.collection::<Document>();
    collection.create_index(unique.build()).await.unwrap();
    let text = |device| Sample {
        text: "the same".into(),
        ..sample(device, 2, device)
    };
    samples.insert(&text(100)).await.unwrap();
    let refused = ingestor.push(&text(101)).await.unwrap();
    sink.close().await.unwrap();
    let error = refused.await.unwrap_err();
    assert!(error.is_duplicate_key(), "{error:?}");
    let error = sink.send(sample(1, 1, 10_002)).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::ShutDown), "{error:?}");

    let mut sink = ingestor.sink();
    sink.feed(text(102)).await.unwrap();
    sink.feed(sample(103, 2, 103)).await.unwrap();
    let error = sink.flush().await.unwrap_err();
    assert!(error.is_duplicate_key(), "{error:?}");
    sink.flush().await.unwrap();
    let report = ingestor.shutdown().await;
    assert_eq!((report.stored(), report.not_stored()), (10_003, 2));
    assert_eq!(report.failed()[0].sequence, 10_002);
}

#[tokio::test]
async fn invalid_settings_are_refused_before_anything_is_accepted() {
    let database = database().await;
    let samples = Sample::buckets(&database);
    let ingestor = || samples.ingestor();
    let unacknowledged = WriteConcern::builder().w(Some(0.into())).build();
    for refused in [
        ingestor().max_batch_records(0),
        ingestor().max_batch_bytes(0),
        ingestor().max_buffered_bytes(0),
        ingestor().in_flight(0),
        ingestor().in_flight(1_025),
        ingestor().write_concern(unacknowledged),
    ] {
        let error = refused.start().unwrap_err();
        let kind = error.kind();
        assert!(
            matches!(kind, ErrorKind::InvalidArgument { .. }),
            "{error:?}"
        );
    }
    let outside = std::thread::spawn(move || samples.ingestor().start().map(drop));
    let error = outside.join().unwrap().unwrap_err();
    let kind = error.kind();
    assert!(
        matches!(kind, ErrorKind::InvalidArgument { .. }),
        "{error:?}"
    );
}

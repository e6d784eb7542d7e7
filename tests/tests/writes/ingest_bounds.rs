//! The ingestor when the server is slower than the tasks: it waits or refuses, within its memory
//! limit.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use bucket_mongo::{Bucketed, ErrorKind, WhenFull};
use bucket_tests::database;
use futures_util::{FutureExt, SinkExt, future::join_all};

use crate::common::samples::{Held, Sample, own_server, sample, stored_numbers, until};

/// Longer than any test takes.
const NEVER: Duration = Duration::from_secs(86_400);

#[tokio::test(flavor = "multi_thread")]
async fn a_full_buffer_makes_a_push_wait_until_there_is_room() {
    let (server, database) = own_server().await;
    let samples = Sample::buckets(&database);
    // Room for one record, which never lingers: a full buffer is written at once.
    let ingestor = samples.ingestor().linger(NEVER).max_buffered_bytes(1);
    let ingestor = ingestor.start().unwrap();
    let held = Held::new(&server);
    let first = ingestor.push(&sample(1, 0, 0)).await.unwrap();
    let waiting: Vec<_> = (1..=20)
        .map(|number| {
            let ingestor = ingestor.clone();
            tokio::spawn(async move {
                let receipt = ingestor.push(&sample(number, 0, number)).await.unwrap();
                receipt.await.unwrap();
            })
        })
        .collect();
    let mut sink = ingestor.sink();
    for _ in 0..100 {
        tokio::task::yield_now().await;
        assert_eq!(ingestor.report().accepted(), 1);
        assert_eq!(ingestor.buffered_records(), 1);
        assert!(ingestor.push(&sample(99, 0, 99)).now_or_never().is_none());
        assert!(sink.feed(sample(98, 0, 98)).now_or_never().is_none());
        assert!(!waiting.iter().any(tokio::task::JoinHandle::is_finished));
    }
    // `try_push` never waits.
    let error = ingestor.try_push(&sample(1, 0, 99)).unwrap_err();
    assert!(matches!(
        error.kind(),
        ErrorKind::Overloaded { limit: 1, .. }
    ));
    drop(held);
    first.await.unwrap();
    for waiting in waiting {
        waiting.await.unwrap();
    }
    sink.send(sample(21, 0, 21)).await.unwrap();
    // The pushes that were dropped while they waited left nothing.
    assert_eq!(ingestor.shutdown().await.stored(), 22);
    assert_eq!(stored_numbers(&database).await, (0..=21).collect());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_buffer_refuses_at_once_and_accepts_nothing() {
    let (server, database) = own_server().await;
    let samples = Sample::buckets(&database);
    let ingestor = samples.ingestor().when_full(WhenFull::Refuse);
    let ingestor = ingestor.linger(NEVER).max_buffered_bytes(50_000);
    let ingestor = ingestor.start().unwrap();
    let held = Held::new(&server);
    let mut taken = 0;
    let error = loop {
        // The server is held, so a push that waited would wait for ever.
        match ingestor.push(&sample(taken % 5, 0, taken)).await {
            Ok(_) => taken += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(
        error.kind(),
        ErrorKind::Overloaded { limit: 50_000, .. }
    ));
    assert!(error.is_retryable() && !error.is_outcome_unknown());
    assert!(taken > 10, "{taken}");
    assert!(ingestor.buffered_bytes() >= 50_000);
    drop(held);
    let accepted = u64::try_from(taken).unwrap();
    let report = ingestor.flush().await;
    assert_eq!((report.accepted(), report.stored()), (accepted, accepted));
    // There is room again.
    ingestor.push(&sample(1, 0, taken)).await.unwrap();
    ingestor.shutdown().await.into_result().unwrap();
    assert_eq!(stored_numbers(&database).await, (0..=taken).collect());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_is_buffered_than_the_limit_and_one_record_per_task() {
    const LIMIT: usize = 100_000;
    const TASKS: i64 = 8;
    let database = database().await;
    let samples = Sample::buckets(&database);
    samples.ensure().await.unwrap();
    // Only the limit triggers writes: all shards write a full buffer at once.
    let ingestor = samples.ingestor().linger(NEVER).max_buffered_bytes(LIMIT);
    let ingestor = ingestor.start().unwrap();
    let (most, next) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicI64::new(0)));
    let tasks = (0..TASKS).map(|task| {
        let (ingestor, most, next) = (ingestor.clone(), Arc::clone(&most), Arc::clone(&next));
        tokio::spawn(async move {
            for _ in 0..2_000 {
                let number = next.fetch_add(1, SeqCst);
                let record = Sample {
                    text: "x".repeat(1_000),
                    ..sample(number % 3, task, number)
                };
                ingestor.push(&record).await.unwrap();
                most.fetch_max(ingestor.buffered_bytes(), SeqCst);
            }
        })
    });
    for task in join_all(tasks).await {
        task.unwrap();
    }
    ingestor.shutdown().await.into_result().unwrap();
    assert_eq!(ingestor.buffered_bytes(), 0);
    assert_eq!(stored_numbers(&database).await.len(), 16_000);
    // An item, its key and the overhead that is counted for both.
    let record = 1_000 + 2_500;
    let most = most.load(SeqCst);
    let bound = LIMIT + usize::try_from(TASKS).unwrap() * record;
    assert!((LIMIT..=bound).contains(&most), "{most} bytes");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shutdown_ends_waiting_pushes_with_a_typed_error() {
    let (server, database) = own_server().await;
    let samples = Sample::buckets(&database);
    let ingestor = samples.ingestor().max_buffered_bytes(1).start().unwrap();
    let held = Held::new(&server);
    let first = ingestor.push(&sample(1, 0, 0)).await.unwrap();
    let pushing = ingestor.clone();
    let waiting = tokio::spawn(async move { pushing.push(&sample(2, 0, 1)).await.map(drop) });
    let stopping = ingestor.clone();
    let shutdown = tokio::spawn(async move { stopping.shutdown().await });
    let error = waiting.await.unwrap().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::ShutDown), "{error:?}");
    assert!(!error.is_retryable() && !error.is_outcome_unknown());
    until(|| ingestor.try_push(&sample(1, 0, 2)).is_err()).await;
    drop(held);
    let report = shutdown.await.unwrap();
    assert_eq!((report.accepted(), report.stored()), (1, 1));
    first.await.unwrap();
}

//! How an ingestor ends: no accepted record is lost by a shutdown or by dropping it. After an abort
//! or the end of its runtime, the unstored records are known.

use std::{collections::BTreeSet, time::Duration};

use bucket_mongo::{
    Bucketed, ErrorKind,
    bson::DateTime,
    mongodb::{Client, options::ClientOptions},
};
use bucket_tests::database;
use futures_util::FutureExt;
use serde::{Deserialize, Serialize};
use tokio::runtime::{Builder, Runtime};

use crate::common::samples::{
    Held, HeldOpenings, Sample, own_server, sample, server_that_can_be_held, stored_numbers, until,
};

/// Longer than any test takes.
const NEVER: Duration = Duration::from_secs(86_400);

#[tokio::test(flavor = "multi_thread")]
async fn a_shutdown_loses_nothing_and_accepts_nothing_more() {
    let database = database().await;
    let samples = Sample::buckets(&database);
    samples.ensure().await.unwrap();
    let ingestor = samples.ingestor().linger(NEVER).max_batch_records(500);
    let ingestor = ingestor.start().unwrap();
    let tasks: Vec<_> = (0..4)
        .map(|task| {
            let ingestor = ingestor.clone();
            tokio::spawn(async move {
                for number in 0.. {
                    let record = sample(number % 11, task, number * 4 + task);
                    match ingestor.push(&record).await {
                        Ok(_) => {}
                        Err(error) => return (number, error),
                    }
                }
                unreachable!()
            })
        })
        .collect();
    until(|| ingestor.report().accepted() > 3_000).await;
    let report = ingestor.shutdown().await;
    let mut accepted = BTreeSet::new();
    for (task, pushed) in tasks.into_iter().enumerate() {
        let (number, error) = pushed.await.unwrap();
        assert!(matches!(error.kind(), ErrorKind::ShutDown), "{error:?}");
        let task = i64::try_from(task).unwrap();
        accepted.extend((0..number).map(|number| number * 4 + task));
    }
    assert_eq!(report.accepted(), u64::try_from(accepted.len()).unwrap());
    assert!(report.is_complete(), "{report:?}");
    assert_eq!(stored_numbers(&database).await, accepted);
    // A second one finds nothing to do.
    assert_eq!(ingestor.shutdown().await.stored(), report.stored());
}

#[tokio::test]
async fn accepted_records_are_stored_when_all_handles_are_dropped() {
    let database = database().await;
    let samples = Sample::buckets(&database);
    samples.ensure().await.unwrap();
    let ingestor = samples.ingestor().linger(NEVER).start().unwrap();
    let mut last = Vec::new();
    for number in 0..100 {
        let receipt = ingestor.push(&sample(number, 0, number)).await.unwrap();
        // Most receipts are dropped, some after they were polled.
        match number % 10 {
            0 => last.push(receipt),
            1 => assert!(receipt.now_or_never().is_none()),
            _ => {}
        }
    }
    drop((ingestor.clone(), ingestor));
    for receipt in last {
        receipt.await.unwrap();
    }
    while stored_numbers(&database).await.len() < 100 {}
}

#[tokio::test(flavor = "multi_thread")]
async fn an_abort_reports_each_record_as_stored_not_stored_or_unknown() {
    let (server, database) = server_that_can_be_held().await;
    let samples = Sample::buckets(&database);
    let ingestor = samples.ingestor().linger(NEVER).in_flight(2);
    let ingestor = ingestor.max_batch_records(20).start().unwrap();
    let mut receipts = Vec::new();
    for number in 0..100 {
        let receipt = ingestor.push(&sample(number % 4, 0, number)).await;
        receipts.push((number, receipt.unwrap()));
    }
    ingestor.flush().await.into_result().unwrap();
    // No bucket can be opened: each shard has a blocked batch, and more records after it.
    let openings = HeldOpenings::new(&server).await;
    for number in 100..200 {
        let receipt = ingestor.push(&sample(number % 16 + 10, 0, number)).await;
        receipts.push((number, receipt.unwrap()));
    }
    while openings.held().await == 0 {}
    let report = ingestor.abort().await;
    openings.release().await;
    assert_eq!(
        (report.accepted(), report.stored(), report.pending()),
        (200, 100, 0)
    );
    assert!(
        report.not_stored() > 0 && report.unknown() > 0,
        "{report:?}"
    );
    assert_eq!(
        (ingestor.buffered_bytes(), ingestor.buffered_records()),
        (0, 0)
    );

    let mut outcomes = [BTreeSet::new(), BTreeSet::new(), BTreeSet::new()];
    for (number, receipt) in receipts {
        let sequence = receipt.sequence();
        let at = match receipt.await {
            Ok(_) => 0,
            Err(error) => {
                let unknown = error.is_outcome_unknown();
                let back = matches!(error.kind(), ErrorKind::ShutDown);
                assert!(unknown != back, "{error:?}");
                let mut named = report.failed().iter();
                let named = named.find(|failure| failure.sequence == sequence).unwrap();
                assert_eq!(named.error.is_outcome_unknown(), unknown);
                if unknown { 2 } else { 1 }
            }
        };
        outcomes[at].insert(number);
    }
    let counts = outcomes.each_ref().map(|o| u64::try_from(o.len()).unwrap());
    assert_eq!(
        counts,
        [report.stored(), report.not_stored(), report.unknown()]
    );
    // The server executes the sent commands after all: that is why their outcome is unknown.
    let [stored, not_stored, not_known] = outcomes;
    let found = stored_numbers(&database).await;
    assert!(found.is_superset(&stored) && found.is_disjoint(&not_stored));
    assert!(!found.is_disjoint(&not_known), "{found:?}");
    let error = ingestor.push(&sample(1, 0, 0)).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::ShutDown), "{error:?}");
}

#[tokio::test]
async fn a_batch_that_cannot_be_sent_fails_with_its_cause_and_the_next_one_is_tried() {
    let client = unreachable().await;
    let samples = Sample::buckets(&client.database("none")).with_deadline(Duration::from_secs(1));
    let ingestor = samples.ingestor().linger(NEVER).start().unwrap();
    for round in 1..=2 {
        let receipt = ingestor.push(&sample(1, 0, 0)).await.unwrap();
        let report = ingestor.flush().await;
        assert_eq!((report.not_stored(), report.pending()), (round, 0));
        let error = receipt.await.unwrap_err();
        let kind = error.kind();
        assert!(matches!(kind, ErrorKind::Unreachable { .. }), "{error:?}");
        assert!(report.into_result().is_err());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_of_the_caller_s_code_ends_its_batch_and_no_other() {
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
    #[bucket(collection = "prices", items = "items", capacity = 10)]
    struct Price {
        #[bucket(key)]
        shop: i32,
        #[bucket(time)]
        at: DateTime,
        #[bucket(unique)]
        id: i32,
        value: i64,
    }
    let price = |id, value| Price {
        shop: 1,
        at: DateTime::from_millis(1_700_000_000_000),
        id,
        value,
    };
    let database = database().await;
    let prices = Price::buckets(&database);
    prices.ensure().await.unwrap();
    let ingestor = prices.ingestor().replace_if(|_, new| {
        assert!(new.value < 100, "expected by the test");
        true
    });
    let ingestor = ingestor.start().unwrap();
    let push = async |record: Price| {
        let receipt = ingestor.push(&record).await.unwrap();
        drop(ingestor.flush().await);
        receipt.await
    };
    push(price(1, 1)).await.unwrap();
    let error = push(price(1, 100)).await.unwrap_err();
    assert!(error.is_outcome_unknown(), "{error:?}");
    assert!(error.to_string().contains("panicked"), "{error}");
    push(price(1, 2)).await.unwrap();
    push(price(2, 3)).await.unwrap();
    let report = ingestor.shutdown().await;
    assert_eq!(
        (report.accepted(), report.failed().len()),
        (4, 1),
        "{report:?}"
    );
    assert_eq!(
        prices.range(1, ..).await.unwrap(),
        [price(1, 2), price(2, 3)]
    );
}

#[tokio::test]
async fn a_deadline_ends_calls_that_a_held_server_does_not_answer() {
    let (server, database) = own_server().await;
    let samples = Sample::buckets(&database);
    let ingestor = samples.ingestor().deadline(Duration::from_millis(300));
    let ingestor = ingestor.linger(Duration::ZERO).start().unwrap();
    ingestor
        .push(&sample(1, 0, 0))
        .await
        .unwrap()
        .await
        .unwrap();
    let held = Held::new(&server);
    let receipt = ingestor.push(&sample(1, 0, 1)).await.unwrap();
    let error = receipt.await.unwrap_err();
    assert!(error.is_outcome_unknown(), "{error:?}");
    assert!(error.to_string().contains("deadline"), "{error}");
    assert_eq!(ingestor.report().unknown(), 1);
    drop(held);
    let later = async || ingestor.push(&sample(1, 0, 2)).await.unwrap().await;
    while later().await.is_err() {}
    drop(ingestor.shutdown().await);
}

#[test]
fn the_end_of_the_runtime_settles_the_remaining_records() {
    let outside = Runtime::new().unwrap();
    let (server, database) = outside.block_on(server_that_can_be_held());
    let inside = Builder::new_current_thread().enable_all().build().unwrap();
    let ingestor = inside.block_on(async {
        let client = server.client().await.unwrap();
        let samples = Sample::buckets(&client.database(database.name()));
        let ingestor = samples.ingestor().linger(NEVER).in_flight(1);
        let ingestor = ingestor.max_batch_records(10).start().unwrap();
        for number in 0..10 {
            ingestor.push(&sample(1, 0, number)).await.unwrap();
        }
        ingestor.flush().await.into_result().unwrap();
        ingestor
    });
    let openings = outside.block_on(HeldOpenings::new(&server));
    let mut receipts = Vec::new();
    inside.block_on(async {
        for number in 10..25 {
            let receipt = ingestor.push(&sample(2, 0, number)).await.unwrap();
            receipts.push(receipt);
        }
        while openings.held().await == 0 {}
    });
    drop(inside);
    let report = outside.block_on(ingestor.shutdown());
    outside.block_on(openings.release());
    assert_eq!((report.accepted(), report.stored()), (25, 10));
    assert_eq!((report.unknown(), report.not_stored()), (10, 5));
    for (at, receipt) in receipts.into_iter().enumerate() {
        let error = outside.block_on(receipt).unwrap_err();
        let is_left = matches!(error.kind(), ErrorKind::ShutDown);
        assert_eq!((error.is_outcome_unknown(), is_left), (at < 10, at >= 10));
    }
    let error = outside.block_on(ingestor.push(&sample(1, 0, 0)));
    let error = error.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::ShutDown), "{error:?}");
    let found = outside.block_on(stored_numbers(&database));
    assert!(found.is_disjoint(&(20..25).collect()), "{found:?}");
    // The shared state of the tests belongs to the runtime that ends last.
    outside.block_on(async { drop((server, database)) });
}

#[tokio::test]
async fn a_report_names_the_first_failures_of_a_long_run_and_all_of_an_abort() {
    let client = unreachable().await;
    let samples = Sample::buckets(&client.database("none"));
    let ingestor = samples.ingestor().linger(NEVER).start().unwrap();
    let push = async |records: i64| {
        for number in 0..records {
            ingestor.push(&sample(number, 0, number)).await.unwrap();
        }
    };
    push(1_500).await;
    let report = ingestor.flush().await;
    assert_eq!((report.not_stored(), report.failed().len()), (1_500, 1_000));
    push(1_200).await;
    let report = ingestor.abort().await;
    assert_eq!((report.not_stored(), report.failed().len()), (2_700, 2_200));
    let named = report.failed().iter().map(|failure| failure.sequence);
    assert!(named.skip(1_000).eq(1_500..2_700));
}

/// A client without a server.
async fn unreachable() -> Client {
    let uri = "mongodb://127.0.0.1:1/?directConnection=true";
    let mut options = ClientOptions::parse(uri).await.unwrap();
    options.server_selection_timeout = Some(Duration::from_millis(100));
    Client::with_options(options).unwrap()
}

//! Many writers: nothing lost, nothing doubled, nothing over capacity, one open bucket per key.

use std::{collections::HashMap, time::Duration};

use bucket_mongo::{
    Bucketed, Buckets,
    bson::{DateTime, Document, doc},
};
use bucket_tests::{database, documents};
use serde::{Deserialize, Serialize};

const WRITERS: i32 = 8;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "trades", items = "history", capacity = 10)]
struct Trade {
    #[bucket(key)]
    customer: i64,
    #[bucket(time)]
    date: DateTime,
    writer: i32,
    number: i32,
}

/// Dates jump back and forth, most of them into the same few seconds.
fn trade(customer: i64, writer: i32, number: i32) -> Trade {
    let jump = i64::from(number) * 7919 % 5000 - i64::from(writer) * 1000;
    Trade {
        customer,
        date: DateTime::from_millis(1_698_335_223_000 + jump),
        writer,
        number,
    }
}

fn count(bucket: &Document) -> i32 {
    bucket.get_i32("count").unwrap()
}

/// Checks every promise on the stored documents and returns them by customer.
fn check(buckets: &[Document], expected: usize) -> HashMap<i64, Vec<Document>> {
    let mut by_customer: HashMap<i64, Vec<Document>> = HashMap::new();
    let mut stored = std::collections::HashSet::new();
    for bucket in buckets {
        let items = bucket.get_array("history").unwrap();
        assert_eq!(
            usize::try_from(count(bucket)),
            Ok(items.len()),
            "count of {bucket}"
        );
        assert!(items.len() <= 10, "over capacity: {bucket}");
        for item in items {
            let item = item.as_document().unwrap();
            let id = (
                item.get_i32("writer").unwrap(),
                item.get_i32("number").unwrap(),
            );
            assert!(stored.insert(id), "stored twice: {id:?}");
        }
        let customer = bucket.get_i64("customer").unwrap();
        by_customer
            .entry(customer)
            .or_default()
            .push(bucket.clone());
    }
    assert_eq!(stored.len(), expected, "records are missing");
    for (customer, buckets) in &by_customer {
        let open = buckets.iter().filter(|bucket| count(bucket) < 10).count();
        assert!(open <= 1, "customer {customer} has {open} open buckets");
        let (_, full) = buckets.split_last().unwrap();
        for bucket in full {
            assert_eq!(
                count(bucket),
                10,
                "a page before the last is not full: {bucket}"
            );
        }
    }
    by_customer
}

async fn run_writers<F>(trades: &Buckets<Trade>, write: impl Fn(Buckets<Trade>, i32) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| tokio::spawn(write(trades.clone(), writer)))
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn single_appends_of_8_writers_to_one_hot_key_are_exact() {
    let database = database().await;
    let trades = Trade::buckets(&database);
    trades.ensure().await.unwrap();
    run_writers(&trades, |trades, writer| async move {
        for number in 0..500 {
            trades.insert(&trade(1, writer, number)).await.unwrap();
        }
    })
    .await;
    let stored = check(&documents(&database, "trades").await, 4_000);
    assert_eq!(stored[&1].len(), 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn single_appends_of_8_writers_to_200_keys_are_exact() {
    let database = database().await;
    let trades = Trade::buckets(&database);
    trades.ensure().await.unwrap();
    run_writers(&trades, |trades, writer| async move {
        for number in 0..500 {
            trades
                .insert(&trade(i64::from(number % 200), writer, number))
                .await
                .unwrap();
        }
    })
    .await;
    let stored = check(&documents(&database, "trades").await, 4_000);
    assert_eq!(stored.len(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_of_8_writers_to_a_hot_key_and_200_others_are_exact_and_keep_their_order() {
    let database = database().await;
    let trades = Trade::buckets(&database);
    trades.ensure().await.unwrap();
    run_writers(&trades, |trades, writer| async move {
        for batch in 0..10 {
            let numbers = batch * 250..(batch + 1) * 250;
            let records: Vec<Trade> = numbers
                .map(|n| trade(if n % 2 == 0 { 0 } else { i64::from(n % 200) }, writer, n))
                .collect();
            trades
                .insert_many(&records)
                .await
                .unwrap()
                .into_result()
                .unwrap();
        }
    })
    .await;
    let stored = check(&documents(&database, "trades").await, 20_000);
    for (customer, buckets) in stored {
        let mut last = [-1; 8];
        let items = buckets
            .iter()
            .flat_map(|bucket| bucket.get_array("history").unwrap());
        for item in items {
            let item = item.as_document().unwrap();
            let writer = usize::try_from(item.get_i32("writer").unwrap()).unwrap();
            let number = item.get_i32("number").unwrap();
            assert!(
                number > last[writer],
                "customer {customer}: writer {writer} out of order"
            );
            last[writer] = number;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_records_of_one_millisecond_fill_a_thousand_buckets() {
    let database = database().await;
    let trades = Trade::buckets(&database);
    trades.ensure().await.unwrap();
    let date = DateTime::from_millis(1_698_335_223_434);
    let records: Vec<Trade> = (0..10_000)
        .map(|number| Trade {
            customer: 1,
            date,
            writer: 0,
            number,
        })
        .collect();
    for half in records.chunks(5_000) {
        trades
            .insert_many(half)
            .await
            .unwrap()
            .into_result()
            .unwrap();
    }
    let stored = check(&documents(&database, "trades").await, 10_000);
    assert_eq!(stored[&1].len(), 1_000);
    assert_eq!(trades.page_count(1).await.unwrap(), 1_000);
    assert_eq!(
        trades.page(1, 777).await.unwrap().records()[0].number,
        7_760
    );
}

/// Each future is dropped at some point; what was sent continues by itself.
#[tokio::test(flavor = "multi_thread")]
async fn dropped_futures_store_nothing_twice_and_leave_the_client_healthy() {
    let database = database().await;
    let trades = Trade::buckets(&database);
    trades.ensure().await.unwrap();
    for round in 0..=40 {
        // The last ones have all the time that they need.
        let after = match round {
            40 => Duration::from_secs(60),
            _ => Duration::from_micros(u64::try_from(round).unwrap() * 150),
        };
        let records: Vec<Trade> = (0..300)
            .map(|n| trade(i64::from(n % 7), round, n))
            .collect();
        let _ = tokio::time::timeout(after, trades.insert_many(&records)).await;
        let lone = trade(1, round, 300);
        let _ = tokio::time::timeout(after, trades.insert(&lone)).await;
    }
    // The last commands may still be in flight: a later write on each key shows that they ended.
    let last: Vec<Trade> = (0..7)
        .map(|customer| trade(customer, 99, i32::try_from(customer).unwrap()))
        .collect();
    trades
        .insert_many(&last)
        .await
        .unwrap()
        .into_result()
        .unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    let stored = documents(&database, "trades").await;
    let items = stored
        .iter()
        .map(|bucket| bucket.get_array("history").unwrap().len())
        .sum();
    assert!(items > 7);
    check(&stored, items);
    assert!(trades.count(1).await.unwrap() > 0);
}

/// A race inside the server: the upsert has found no bucket and not yet inserted one. All writers
/// are held at this point and released together.
#[tokio::test(flavor = "multi_thread")]
async fn openings_that_race_inside_the_server_leave_one_open_bucket() {
    use bucket_mongo::testing::DevServer;
    let server = DevServer::builder()
        .own()
        .arguments(["--setParameter", "enableTestCommands=1"])
        .await
        .unwrap();
    let database = server.database("race").await.unwrap();
    let trades = Trade::buckets(&database);
    trades.ensure().await.unwrap();
    let admin = server.client().await.unwrap().database("admin");
    let fail_point =
        |mode: &str| doc! { "configureFailPoint": "hangBeforeUpsertPerformsInsert", "mode": mode };
    admin.run_command(fail_point("alwaysOn")).await.unwrap();
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            // Clones of one handle would share a command.
            let trades = Trade::buckets(&database);
            tokio::spawn(async move { trades.insert(&trade(1, writer, 0)).await.unwrap() })
        })
        .collect();
    let held = doc! { "currentOp": 1, "failpointMsg": "hangBeforeUpsertPerformsInsert" };
    loop {
        let held = admin.run_command(held.clone()).await.unwrap();
        if held.get_array("inprog").unwrap().len() == 8 {
            break;
        }
        tokio::task::yield_now().await;
    }
    admin.run_command(fail_point("off")).await.unwrap();
    for writer in writers {
        writer.await.unwrap();
    }
    let stored = check(&documents(&database, "trades").await, 8);
    assert_eq!(stored[&1].len(), 1);
}

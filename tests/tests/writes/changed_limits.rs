//! Capacity and window change on a live collection: raised, lowered, and with old writers still
//! running.

use std::collections::BTreeMap;

use bucket_mongo::{
    Bucketed, ErrorKind, Limits, Window,
    bson::{DateTime, Document},
};
use bucket_tests::{database, documents};
use serde::{Deserialize, Serialize};

macro_rules! trade {
    ($name:ident, $($bucket:tt)+) => {
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "trades", items = "history", $($bucket)+)]
        struct $name {
            #[bucket(key)]
            customer: i64,
            #[bucket(time)]
            date: DateTime,
            qty: i32,
        }

        impl $name {
            #[allow(dead_code, reason = "some only set up indexes")]
            fn all(from: i32, to: i32) -> Vec<Self> {
                let one = |qty: i32| Self {
                    customer: 1,
                    date: DateTime::from_millis(1_700_000_000_000 + i64::from(qty) * 1_000),
                    qty,
                };
                (from..to).map(one).collect()
            }
        }
    };
}

trade!(Ten, capacity = 10);
trade!(Five, capacity = 5);
trade!(Twenty, capacity = 20);
trade!(TwentyFromTen, capacity = 20, raised_from = 10);
trade!(Small, capacity = 1000, max_bytes = "1KB");
trade!(Larger, capacity = 1000, max_bytes = "2KB");
trade!(Numbered, capacity = 10, numbered);
trade!(Hours, window = "1h", capacity = 10);

fn counts(found: &[Document]) -> Vec<i32> {
    found
        .iter()
        .map(|bucket| bucket.get_i32("count").unwrap())
        .collect()
}

fn quantities(found: &[Document]) -> Vec<i32> {
    let items = found
        .iter()
        .flat_map(|bucket| bucket.get_array("history").unwrap());
    let mut all: Vec<i32> = items
        .map(|item| item.as_document().unwrap().get_i32("qty").unwrap())
        .collect();
    all.sort_unstable();
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn the_manuals_capacity_is_lowered_and_old_writers_are_refused() {
    let database = database().await;
    let ten = Ten::buckets(&database);
    ten.ensure().await.unwrap();
    ten.insert_many(Ten::all(0, 27))
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let five = Five::buckets(&database);
    let report = five.ensure().replace_indexes().await.unwrap();
    assert_eq!(report.dropped_indexes, ["bucket_open_10"]);
    assert!(report.drift.is_empty(), "{report}");
    five.insert_many(Five::all(27, 40))
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let found = documents(&database, "trades").await;
    assert_eq!(counts(&found), [10, 10, 7, 5, 5, 3]);
    assert_eq!(quantities(&found), (0..40).collect::<Vec<_>>());
    let old = Ten::buckets(&database)
        .insert_many(Ten::all(40, 41))
        .await
        .unwrap();
    assert!(matches!(old.failed()[0].error.kind(), ErrorKind::Drift(_)));
}

/// As the guide says, old writers open no bucket, but may fill one that they remember.
#[tokio::test(flavor = "multi_thread")]
async fn an_old_writer_fills_the_bucket_that_it_remembers_and_opens_none() {
    let database = database().await;
    let ten = Ten::buckets(&database);
    ten.ensure().await.unwrap();
    ten.insert(&Ten::all(0, 1)[0]).await.unwrap();
    let five = Five::buckets(&database);
    five.ensure().replace_indexes().await.unwrap();
    for trade in Ten::all(1, 10) {
        ten.insert(&trade).await.unwrap();
    }
    let error = ten.insert(&Ten::all(10, 11)[0]).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Drift(_)), "{error}");
    five.insert(&Five::all(10, 11)[0]).await.unwrap();
    assert_eq!(counts(&documents(&database, "trades").await), [10, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn raised_bytes_of_the_manuals_form_are_refused_if_bytes_have_closed_buckets() {
    let database = database().await;
    let small = Small::buckets(&database);
    small.ensure().await.unwrap();
    small
        .insert_many(Small::all(0, 100))
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let larger = Larger::buckets(&database).ensure().replace_indexes().await;
    assert!(matches!(
        larger.unwrap_err().kind(),
        ErrorKind::IndexBuild { .. }
    ));
    let found = documents(&database, "trades").await;
    assert_eq!(quantities(&found), (0..100).collect::<Vec<_>>());
    assert!(found.len() > 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_manuals_capacity_is_raised_and_old_pages_do_not_change() {
    let database = database().await;
    let ten = Ten::buckets(&database);
    ten.ensure().await.unwrap();
    ten.insert_many(Ten::all(0, 25))
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let plain = Twenty::buckets(&database).ensure().replace_indexes().await;
    assert!(
        matches!(plain.unwrap_err().kind(), ErrorKind::IndexBuild { .. }),
        "full buckets of the old capacity would count as open"
    );
    let raised = TwentyFromTen::buckets(&database);
    raised.ensure().replace_indexes().await.unwrap();
    for trade in TwentyFromTen::all(25, 28) {
        raised.insert(&trade).await.unwrap();
    }
    let rest = TwentyFromTen::all(28, 70);
    raised
        .insert_many(rest)
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let found = documents(&database, "trades").await;
    assert_eq!(counts(&found), [10, 10, 20, 20, 10]);
    assert_eq!(quantities(&found), (0..70).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_numbered_bucket_is_filled_to_its_size_at_opening() {
    let database = database().await;
    let ten = Numbered::buckets(&database);
    ten.ensure().await.unwrap();
    ten.insert_many(Numbered::all(0, 13))
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let four = ten.clone().with_limits(|_| Limits::new().capacity(4));
    for trade in Numbered::all(13, 16) {
        four.insert(&trade).await.unwrap();
    }
    four.insert_many(Numbered::all(16, 30))
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let twenty = ten.clone().with_limits(|_| Limits::new().capacity(20));
    twenty
        .insert_many(Numbered::all(30, 60))
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let found = documents(&database, "trades").await;
    let sizes: Vec<i32> = found
        .iter()
        .map(|bucket| bucket.get_i32("bucket_size").unwrap())
        .collect();
    assert_eq!(counts(&found), [10, 10, 4, 4, 4, 20, 8]);
    assert_eq!(sizes, [10, 10, 4, 4, 4, 20, 20]);
    assert_eq!(quantities(&found), (0..60).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_window_opens_its_own_buckets_next_to_the_old_ones() {
    let database = database().await;
    let hours = Hours::buckets(&database);
    hours.ensure().await.unwrap();
    let minutes = hours
        .clone()
        .with_limits(|_| Limits::new().window(Window::minutes(1)).capacity(100));
    let writers = (0..8).map(|n| {
        let buckets = if n % 2 == 0 {
            hours.clone()
        } else {
            minutes.clone()
        };
        tokio::spawn(async move {
            let trades = Hours::all(n * 100, n * 100 + 100);
            for chunk in trades.chunks(1 + usize::try_from(n).unwrap() * 3) {
                buckets
                    .insert_many(chunk)
                    .await
                    .unwrap()
                    .into_result()
                    .unwrap();
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    let found = documents(&database, "trades").await;
    assert_eq!(quantities(&found), (0..800).collect::<Vec<_>>());
    let mut spans = BTreeMap::new();
    for bucket in &found {
        let (start, end) = (
            bucket.get_datetime("bucket_start").unwrap(),
            bucket.get_datetime("bucket_end").unwrap(),
        );
        let span = end.timestamp_millis() - start.timestamp_millis();
        *spans.entry(span).or_insert(0) += 1;
        assert!(bucket.get_i32("count").unwrap() <= if span == 60_000 { 100 } else { 10 });
        for item in bucket.get_array("history").unwrap() {
            let date = item.as_document().unwrap().get_datetime("date").unwrap();
            assert!(start <= date && date < end);
        }
    }
    assert_eq!(
        spans.keys().copied().collect::<Vec<_>>(),
        [60_000, 3_600_000]
    );
    assert_eq!(spans[&3_600_000], 40, "400 records in buckets of 10");
}

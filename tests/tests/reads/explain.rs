//! `explain` of every statement and read, for a key with 10,000 full buckets.

use bucket_core::{read, write::Batch};
use bucket_mongo::{
    Bucketed, Record,
    bson::{DateTime, Document, doc},
    testing::TestDatabase,
};
use bucket_tests::{PATIENCE, database};
use serde::{Deserialize, Serialize};

use crate::common::explained::{explain, find};

const FULL_BUCKETS: i64 = 10_000;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "trades", items = "history", capacity = 10)]
struct Trade {
    #[bucket(key)]
    customer: i64,
    #[bucket(time)]
    date: DateTime,
    qty: i32,
}

fn trade(second: i64) -> Trade {
    Trade {
        customer: 1,
        date: DateTime::from_millis(second * 1000),
        qty: 1,
    }
}

/// A key with a long history, and others with a short one.
async fn long_history(open: bool) -> TestDatabase {
    let database = database().await;
    let trades = Trade::buckets(&database);
    trades.ensure().await.unwrap();
    let mut records: Vec<Trade> = (0..FULL_BUCKETS * 10 + i64::from(open))
        .map(|n| trade(1_600_000_000 + n))
        .collect();
    records.extend((2..300).map(|customer| Trade {
        customer,
        ..trade(1_600_000_000)
    }));
    trades
        .insert_many(records)
        .deadline(PATIENCE)
        .await
        .unwrap()
        .into_result()
        .unwrap();
    assert_eq!(
        trades.page_count(1).await.unwrap(),
        10_000 + u64::from(open)
    );
    database
}

/// The statements that the library really sends, each as its own command.
fn statements(prepare: impl FnOnce(&mut Batch), record: &Trade) -> Vec<Document> {
    let mut batch = Batch::of::<Trade>();
    batch.push(0, record).unwrap();
    prepare(&mut batch);
    let rounds = batch.rounds(None).into_iter();
    rounds
        .map(|round| Document::try_from(round.command().body().to_owned()).unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_append_examines_at_most_2_keys_with_10_000_full_buckets() {
    for open in [true, false] {
        let database = long_history(open).await;
        let (newest, late) = (trade(1_700_000_000), trade(1_600_050_000));
        let append = statements(
            |batch| batch.guess(|_| Some("1_1600099990".to_owned())),
            &newest,
        );
        assert_eq!(append.len(), 1);
        let fill = statements(
            |batch| {
                let seen = bucket_mongo::bson::rawdoc! { "_id": "1_1600100000", "count": 1 };
                batch.chains_mut()[0].saw(&seen).unwrap();
            },
            &newest,
        );
        let open_in_time = statements(|batch| batch.chains_mut()[0].saw_none_open(), &newest);
        let open_late = statements(|batch| batch.chains_mut()[0].saw_none_open(), &late);
        for command in append
            .into_iter()
            .chain(fill)
            .chain(open_in_time)
            .chain(open_late)
        {
            let explained = explain(&database, command.clone()).await;
            assert!(
                explained.plan.contains("IXSCAN"),
                "{command}: {}",
                explained.plan
            );
            assert!(
                !explained.plan.contains("COLLSCAN"),
                "{command}: {}",
                explained.plan
            );
            assert!(
                explained.keys <= 2,
                "{command} examines {} keys",
                explained.keys
            );
            assert!(
                explained.documents <= 2,
                "{command} examines {} documents",
                explained.documents
            );
        }
        let key = read::key_elements::<Trade>(&1.into());
        let keys: [&[u8]; 2] = [&key, &read::key_elements::<Trade>(&7.into())];
        for (keys, plan) in [
            (1, read::newest(Trade::SPEC_REF, &key)),
            (1, read::open_buckets(Trade::SPEC_REF, &[&key])),
            (2, read::open_buckets(Trade::SPEC_REF, &keys)),
        ] {
            let explained = explain(&database, find("trades", plan.clone())).await;
            assert!(
                explained.plan.contains("IXSCAN"),
                "{plan:?}: {}",
                explained.plan
            );
            assert!(
                explained.keys <= 2 * keys,
                "{plan:?} examines {} keys",
                explained.keys
            );
            assert!(
                explained.documents <= keys,
                "{plan:?}: {} documents",
                explained.documents
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_scan_the_index_and_open_only_the_buckets_they_return() {
    let database = long_history(true).await;
    let key = read::key_elements::<Trade>(&1.into());
    for (number, keys) in [(1, 1), (1_000, 1_000), (10_001, 10_001), (20_000, 10_001)] {
        let explained = explain(
            &database,
            find("trades", read::page(Trade::SPEC_REF, &key, number)),
        )
        .await;
        assert!(explained.plan.contains("IXSCAN"), "{}", explained.plan);
        assert!(
            explained.keys <= keys + 1,
            "page {number} examines {} keys",
            explained.keys
        );
        assert!(
            explained.documents <= 1,
            "page {number}: {} documents",
            explained.documents
        );
    }
    let pages = explain(
        &database,
        find("trades", read::pages(Trade::SPEC_REF, &key, None)),
    )
    .await;
    assert!(
        pages.plan.contains("IXSCAN") && !pages.plan.contains("SORT"),
        "{}",
        pages.plan
    );
    assert_eq!((pages.keys, pages.documents), (10_001, 10_001));
    let behind = read::pages(Trade::SPEC_REF, &key, Some("1_1600099980"));
    let behind = explain(&database, find("trades", behind)).await;
    assert_eq!((behind.keys, behind.documents), (2, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_counted_only_from_the_index() {
    let database = long_history(false).await;
    let key = read::key_elements::<Trade>(&1.into());
    let last = read::last_page(Trade::SPEC_REF, &key).unwrap();
    let explained = explain(&database, find("trades", last)).await;
    assert_eq!((explained.keys, explained.documents), (1, 1));
    let of_key = doc! { "customer": 1_i64 };
    let plan = read::page_count(Trade::SPEC_REF, &of_key, Some("1_9"));
    let command = doc! {
        "aggregate": "trades", "pipeline": plan.pipeline, "cursor": {}, "hint": plan.hint,
            "collation": { "locale": read::SIMPLE },
    };
    let explained = explain(&database, command).await;
    assert_eq!(explained.documents, 0, "{}", explained.plan);
    // Two of them are after those of the key: the server looks for damaged buckets there.
    assert!(explained.keys <= 10_002);
}

/// The inherent constant is a value; plans take a reference.
trait SpecRef: Record {
    const SPEC_REF: &'static bucket_mongo::BucketSpec = <Self as Record>::SPEC;
}

impl<T: Record> SpecRef for T {}

//! Records with an id, through damaged messages and short deadlines: a caller that redelivers every
//! unacknowledged record stores each one once.

use std::{collections::BTreeMap, time::Duration};

use bucket_mongo::{
    Bucketed, Buckets, RecordOutcome,
    bson::{DateTime, Document},
    testing::TestDatabase,
};
use bucket_tests::{
    documents,
    faults::{Seed, plan::Plan, random::Random, server},
};
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};

/// This percentage of the writes is damaged.
const PERCENT: u64 = 12;
const ORDERS: i64 = 500;
const CONSUMERS: u64 = 3;
/// Shorter than a retry takes: outcomes stay unknown, and retries arrive late.
const DEADLINE: Duration = Duration::from_millis(60);

macro_rules! models {
    ($($name:ident: [$($attributes:tt)*])*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "orders", items = "items", $($attributes)*)]
        struct $name {
            #[bucket(key)]
            customer: i64,
            #[bucket(time)]
            at: DateTime,
            #[bucket(unique)]
            id: i64,
            #[bucket(sum = "total")]
            amount: i64,
        }

        impl From<i64> for $name {
            fn from(id: i64) -> Self {
                Self {
                    customer: id.rem_euclid(4),
                    at: DateTime::from_millis(1_700_000_000_000 + id * 400),
                    id,
                    amount: id,
                }
            }
        }
    )*};
}

models! {
    Counted: [capacity = 10]
    Windowed: [window = "20s", capacity = 10]
    Timed: [max_duration = "20s", capacity = 10]
    Numbered: [capacity = 10, numbered]
}

/// Redelivers everything until it is acknowledged; returns how many were reported as new.
async fn consume<T: Bucketed + From<i64>>(buckets: Buckets<T>, mut random: Random) -> usize {
    let mut new = 0;
    let mut from = 0;
    while from < ORDERS {
        let to = (from + 1 + i64::try_from(random.below(40)).unwrap()).min(ORDERS);
        let mut left: Vec<i64> = (from..to).collect();
        while !left.is_empty() {
            let records: Vec<T> = left.iter().map(|id| T::from(*id)).collect();
            let report = buckets
                .insert_many(&records)
                .deadline(DEADLINE)
                .await
                .unwrap();
            let mut again = Vec::new();
            for (index, id) in left.iter().enumerate() {
                match report.outcome(index) {
                    RecordOutcome::Stored => new += 1,
                    RecordOutcome::Duplicate => {}
                    RecordOutcome::Conflict => panic!("{id} is a conflict"),
                    _ => again.push(*id),
                }
            }
            left = again;
        }
        from = to;
    }
    new
}

fn counts(documents: &[Document]) -> BTreeMap<i64, usize> {
    let mut stored = BTreeMap::new();
    for document in documents {
        let items = document.get_array("items").unwrap();
        assert_eq!(
            usize::try_from(document.get_i32("count").unwrap()),
            Ok(items.len())
        );
        let ids = items
            .iter()
            .map(|item| item.as_document().unwrap().get_i64("id").unwrap());
        let ids: Vec<i64> = ids.collect();
        let total = document
            .get_document("stats")
            .unwrap()
            .get_i64("total")
            .unwrap();
        assert_eq!(total, ids.iter().sum::<i64>());
        for id in ids {
            *stored.entry(id).or_default() += 1;
        }
    }
    stored
}

async fn check<T: Bucketed + From<i64>>(seed: &Seed) {
    let calm: TestDatabase = server::start().await.database("faults").await.unwrap();
    T::buckets(&calm).ensure().await.unwrap();
    let proxy = server::proxy().await;
    proxy.set_plan(Plan::drawn(seed.get(), PERCENT));
    let mut consumers = Vec::new();
    for number in 0..CONSUMERS {
        let buckets = T::buckets(&proxy.client().await.database(calm.name()));
        let random = Random::new(seed.get(), number + 1);
        consumers.push(tokio::spawn(consume(buckets, random)));
    }
    let mut new = 0;
    for consumer in join_all(consumers).await {
        new += consumer.unwrap();
    }
    proxy.calm_down().await;
    let form = T::SPEC.form();
    assert!(!proxy.injected().is_empty(), "nothing was damaged");
    let stored = counts(&documents(&calm, "orders").await);
    assert!(
        stored.into_iter().eq((0..ORDERS).map(|id| (id, 1))),
        "{form:?}"
    );
    assert!(
        new <= usize::try_from(ORDERS).unwrap(),
        "{form:?}: {new} were reported as new"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn records_redelivered_until_acknowledged_are_stored_once_under_damaged_messages() {
    let seed = Seed::from_environment();
    tokio::join!(
        check::<Counted>(&seed),
        check::<Windowed>(&seed),
        check::<Timed>(&seed),
        check::<Numbered>(&seed),
    );
}

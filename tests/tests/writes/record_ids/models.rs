//! Models of every form, their stored records, and deliveries that are all accepted.

use std::collections::BTreeSet;

use bucket_mongo::{Bucketed, Buckets, bson::DateTime, testing::TestDatabase};
use bucket_tests::documents;
use serde::{Deserialize, Serialize};

/// A record whose id determines everything except the amount.
pub(crate) trait Order: Bucketed + Clone {
    fn of(id: i64, amount: i64) -> Self;
}

macro_rules! models {
    ($($name:ident: [$($attributes:tt)*] [$($aggregates:tt)*])*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "orders", items = "items", $($attributes)*)]
        pub(crate) struct $name {
            #[bucket(key)]
            pub(crate) customer: i64,
            #[bucket(time)]
            pub(crate) at: DateTime,
            #[bucket(unique)]
            #[serde(rename = "orderId")]
            pub(crate) id: i64,
            #[bucket(sum = "total", $($aggregates)*)]
            pub(crate) amount: i64,
        }

        impl Order for $name {
            fn of(id: i64, amount: i64) -> Self {
                Self {
                    customer: id.rem_euclid(3),
                    at: DateTime::from_millis(1_700_000_000_000 + id * 400),
                    id,
                    amount,
                }
            }
        }
    )*};
}

models! {
    Counted: [capacity = 10] [min, max]
    Windowed: [window = "20s", capacity = 10] [min, max]
    Sized: [window = "20s", max_bytes = "1KB"] [min, max]
    Timed: [max_duration = "20s", capacity = 10] [min, max]
    Numbered: [capacity = 10, numbered] [min, max]
    // Written by a pipeline.
    Averaged: [capacity = 10] [avg = "mean"]
}

/// The stored ids, each stored once, and their amounts; counts and sums match the items.
pub(crate) async fn stored(database: &TestDatabase) -> Vec<(i64, i64)> {
    let mut stored = Vec::new();
    for document in documents(database, "orders").await {
        let items = document.get_array("items").unwrap();
        let items = items.iter().map(|item| item.as_document().unwrap());
        let own = items.map(|item| {
            (
                item.get_i64("orderId").unwrap(),
                item.get_i64("amount").unwrap(),
            )
        });
        let own: Vec<(i64, i64)> = own.collect();
        assert_eq!(
            usize::try_from(document.get_i32("count").unwrap()),
            Ok(own.len())
        );
        let total: i64 = own.iter().map(|(_, amount)| amount).sum();
        let stats = document.get_document("stats").unwrap();
        assert_eq!(stats.get_i64("total").unwrap(), total);
        stored.extend(own);
    }
    stored.sort_unstable();
    let ids: BTreeSet<i64> = stored.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids.len(), stored.len(), "an id is stored twice");
    stored
}

/// Delivers records in this order; returns how many were stored and how many were duplicates.
pub(crate) async fn deliver<T: Order>(
    buckets: &Buckets<T>,
    ids: impl Iterator<Item = i64>,
) -> (usize, usize) {
    let records: Vec<T> = ids.map(|id| T::of(id, id)).collect();
    let report = buckets.insert_many(&records).await.unwrap();
    assert!(report.failed().is_empty(), "{:?}", report.failed());
    assert_eq!(report.stored() + report.duplicates().len(), records.len());
    (report.stored(), report.duplicates().len())
}

//! A batch of many new keys: the server is asked about all of them together, from an index.

use bucket_mongo::{
    Bucketed,
    bson::{DateTime, Document},
};
use bucket_tests::{database, documents, profiled};
use serde::{Deserialize, Serialize};

/// A record of one of the models.
trait Event: Bucketed + Clone {
    fn of(device: i64, at: i64) -> Self;
}

macro_rules! models {
    ($($test:ident $name:ident: [$($second:tt)*] [$($attributes:tt)*];)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "events", items = "items", capacity = 10, $($attributes)*)]
        struct $name {
            #[bucket(key)]
            device: String,
            $($second)*
            sensor: i64,
            #[bucket(time)]
            at: DateTime,
        }

        impl Event for $name {
            fn of(device: i64, at: i64) -> Self {
                let at = DateTime::from_millis(1_700_000_000_000 + at);
                Self { device: device.to_string(), sensor: device, at }
            }
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn $test() {
            looked_up_together::<$name>().await;
        }
    )*};
}

models! {
    of_hybrid_buckets Hybrid: [] [max_duration = "1m"];
    of_hybrid_buckets_of_two_fields HybridOfTwo: [#[bucket(key)]] [max_duration = "1m"];
    of_numbered_buckets Numbered: [] [numbered];
    of_numbered_buckets_of_two_fields NumberedOfTwo: [#[bucket(key)]] [numbered];
    of_numbered_buckets_with_object_ids NumberedObjects: [] [numbered, object_ids];
}

async fn looked_up_together<T: Event>() {
    let database = database().await;
    let events = T::buckets(&database);
    events.ensure().await.unwrap();
    let store = async |devices: std::ops::Range<i64>, at| {
        let records: Vec<T> = devices.map(|device| T::of(device, at)).collect();
        let report = events.insert_many(&records).await.unwrap();
        assert_eq!(report.stored(), records.len(), "{:?}", report.failed());
    };
    store(0..20, 0).await;
    let ((), profile) = profiled(&database, "events", store(20..820, 0)).await;
    let is_query = |done: &&Document| done.get_str("op").is_ok_and(|done| done == "query");
    let queries: Vec<&Document> = profile.iter().filter(is_query).collect();
    // Up to 500 keys at a time: their open buckets, and whether they have any.
    assert_eq!(queries.len(), 4, "{queries:?}");
    for query in queries {
        let examined = ["keysExamined", "docsExamined"].map(|name| query.get_i32(name).unwrap());
        assert!(examined[0] <= 1_010 && examined[1] == 0, "{query}");
        let plan = query.get_str("planSummary").unwrap();
        assert!(plan.contains("IXSCAN"), "{plan}");
    }
    // Keys that exist are looked up as ever.
    store(0..820, 1).await;
    let stored = documents(&database, "events").await;
    assert_eq!(stored.len(), 820);
    assert!(events.verify().await.unwrap().is_clean());
}

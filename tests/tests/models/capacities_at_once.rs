//! Of two capacities that set up one new collection at the same moment, one stores.

use std::{
    fmt::Debug,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use bucket_mongo::{
    Bucketed,
    mongodb::bson::{DateTime, Document},
    testing::TestDatabase,
};
use bucket_tests::database;
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

macro_rules! capacities {
    ($($name:ident $capacity:literal)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "readings", items = "items", capacity = $capacity)]
        struct $name {
            #[bucket(key)]
            sensor: String,
            #[bucket(time)]
            at: DateTime,
        }

        impl $name {
            fn new() -> Self {
                let at = DateTime::from_millis(1_700_000_000_000);
                Self { sensor: "a".to_owned(), at }
            }
        }
    )*};
}

capacities! { Three 3 Four 4 }

/// A service that sets the collection up, and stores if it can; returns whether it did.
async fn sets_up<T: Bucketed + Debug>(database: &TestDatabase, of: fn() -> T, millis: u64) -> bool {
    sleep(Duration::from_millis(millis)).await;
    let buckets = T::buckets(database);
    buckets.ensure().await.unwrap();
    buckets.insert(&of()).await.is_ok()
}

/// A service that only writes, and begins again until the others have set the collection up; returns whether
/// anything of it was stored.
async fn writes<T: Bucketed + Debug>(
    database: &TestDatabase,
    of: fn() -> T,
    done: &AtomicBool,
) -> bool {
    let mut stored = false;
    while !done.load(Ordering::SeqCst) {
        match T::buckets(database).insert(&of()).await {
            Ok(_) => stored = true,
            Err(error) => assert!(error.is_drift() || error.needs_ensure(), "{error:?}"),
        }
    }
    stored
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_capacities_at_once_one_stores() {
    let database = database().await;
    for round in 0..40 {
        let collection = database.collection::<Document>("readings");
        collection.drop().await.unwrap();
        database.create_collection("readings").await.unwrap();
        let pause = |turn: u64| (round * 7 + turn * 3) % 5 * round / 3;
        let done = AtomicBool::new(false);
        let ((three, four), small, large) = tokio::join!(
            async {
                let told = tokio::join!(
                    sets_up(&database, Three::new, pause(0)),
                    sets_up(&database, Four::new, pause(1)),
                );
                done.store(true, Ordering::SeqCst);
                told
            },
            writes(&database, Three::new, &done),
            writes(&database, Four::new, &done),
        );
        let stored = [three || small, four || large];
        assert!(
            stored == [true, false] || stored == [false, true],
            "round {round}: {stored:?}"
        );
    }
}

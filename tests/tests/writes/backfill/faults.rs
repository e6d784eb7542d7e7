//! Lost primaries and other writers.

use std::num::NonZeroU32;

use bucket_mongo::testing::DevServer;
use bucket_tests::faults::{Seed, replica_set};

use super::*;

/// A backfill that is called again whenever it ends with an error that passes.
struct Through<T: Event> {
    database: TestDatabase,
    buckets: Buckets<T>,
    records: Vec<T>,
}

impl<T: Event> Through<T> {
    async fn new(set: &DevServer, at: Option<i32>) -> Self {
        let database = set.database("backfill").await.unwrap();
        let buckets = handle::<T>(&database).await;
        if let Some(at) = at {
            index(&database, at).await;
        }
        let records = fill::<T>(&database, 6, 20_000).await;
        let damaged = (0..100).map(|number| doc! { "_id": number, "device": "d1", "odd": true });
        flat(&database).insert_many(damaged).await.unwrap();
        Self {
            buckets: buckets.with_deadline(Duration::from_secs(30)),
            database,
            records,
        }
    }

    async fn run(&self) -> BackfillReport {
        let most = NonZeroU32::new(2_000).unwrap();
        for ended in 0..100 {
            let source = flat(&self.database);
            match self.buckets.backfill_from(&source).throttle(most).await {
                Ok(report) => {
                    eprintln!("{}: called again {ended} times", T::SPEC.record());
                    return report;
                }
                Err(error) => assert!(error.is_retryable(), "{error:?}"),
            }
        }
        panic!("it does not end");
    }

    async fn check(self, report: BackfillReport) {
        assert_eq!(counts(&report), [20_100, 20_000, 0, 100], "{report}");
        assert_stored(&self.buckets, self.records).await;
        let rejects = documents(&self.database, "events_rejects").await;
        assert_eq!(rejects.len(), 100);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backfill_goes_on_through_failovers() {
    let seed = Seed::from_environment();
    let set = DevServer::builder().own().members(3).await.unwrap();
    let counted = Through::<Counted>::new(&set, Some(1)).await;
    let windowed = Through::<Windowed>::new(&set, None).await;
    let numbered = Through::<Numbered>::new(&set, Some(-1)).await;
    let disturbed = replica_set::disturb(&set, seed.get(), Duration::from_secs(10));
    let (_, first, second, third) =
        tokio::join!(disturbed, counted.run(), windowed.run(), numbered.run());
    counted.check(first).await;
    windowed.check(second).await;
    numbered.check(third).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn others_insert_into_the_same_keys_meanwhile() {
    let database = database().await;
    let buckets = handle::<Counted>(&database).await;
    index(&database, 1).await;
    let records = fill::<Counted>(&database, 3, 8_000).await;
    let source = flat(&database);
    let live: Vec<Counted> = (0..400)
        .map(|number| Counted::of(&format!("d{}", number % 3), 1_000_000 + number))
        .collect();
    let writing = async {
        for some in live.chunks(4) {
            let inserted = buckets.insert_many(some).await.unwrap();
            inserted.into_result().unwrap();
        }
    };
    let backfill = buckets.backfill_from(&source).into_future();
    let ((), report) = tokio::join!(writing, backfill);
    assert_eq!(counts(&report.unwrap()), [8_000, 8_000, 0, 0]);
    assert_stored(&buckets, records.into_iter().chain(live)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chunk_that_uses_up_its_time_is_stored_in_parts() {
    let server = DevServer::builder().own();
    let server = server.arguments(["--setParameter", "enableTestCommands=1"]);
    let server = server.await.unwrap();
    let database = server.database("slow").await.unwrap();
    let buckets = handle::<Counted>(&database).await;
    let records = fill::<Counted>(&database, 1, 600).await;
    let admin = server.client().await.unwrap().database("admin");
    // The first statement of the records has no answer in time.
    let namespace = format!("{}.events", database.name());
    let slow = doc! {
        "failCommands": ["insert", "update", "bulkWrite"], "namespace": namespace,
        "blockConnection": true, "blockTimeMS": 6_000,
    };
    let fail = doc! { "configureFailPoint": "failCommand", "mode": { "times": 1 }, "data": slow };
    admin.run_command(fail).await.unwrap();
    let buckets = buckets.with_deadline(Duration::from_secs(3));
    let report = buckets.backfill_from(&flat(&database)).await.unwrap();
    assert_eq!(counts(&report), [600, 600, 0, 0], "{report}");
    let buckets = buckets.with_deadline(PATIENCE);
    assert_stored(&buckets, records).await;
}

//! Lost primaries and other writers.

use bucket_mongo::testing::DevServer;
use bucket_tests::faults::{Seed, replica_set};

use super::*;

/// A backfill through failovers, called again whenever it ends with an error that passes.
async fn through_failovers<T: Event>(set: &DevServer, at: Option<i32>) {
    let database = set.database("backfill").await.unwrap();
    let buckets = handle::<T>(&database).await.with_deadline(Duration::from_secs(30));
    if let Some(at) = at {
        index(&database, at).await;
    }
    let records = fill::<T>(&database, 6, 20_000).await;
    let damaged = (0..100).map(|number| doc! { "_id": number, "device": "d1", "odd": true });
    flat(&database).insert_many(damaged).await.unwrap();
    let source = flat(&database);
    let mut ended = 0;
    let report = loop {
        let most = std::num::NonZeroU32::new(2_500).unwrap();
        match buckets.backfill_from(&source).throttle(most).await {
            Ok(report) => break report,
            Err(error) => assert!(error.is_retryable(), "{error:?}"),
        }
        ended += 1;
        assert!(ended < 100, "it does not end");
    };
    eprintln!("{}: called again {ended} times", T::SPEC.record());
    assert_eq!(counts(&report), [20_100, 20_000, 0, 100], "{report}");
    assert_stored(&buckets, records).await;
    assert_eq!(documents(&database, "events_rejects").await.len(), 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backfill_goes_on_through_failovers() {
    let seed = Seed::from_environment();
    let set = DevServer::builder().own().members(3).await.unwrap();
    let disturbed = replica_set::disturb(&set, seed.get(), Duration::from_secs(10));
    let (_, (), (), ()) = tokio::join!(
        disturbed,
        through_failovers::<Counted>(&set, Some(1)),
        through_failovers::<Windowed>(&set, None),
        through_failovers::<Numbered>(&set, Some(-1)),
    );
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

//! Concurrent consumers of the same records.

use bucket_mongo::{Bucketed, RecordOutcome, bson::DateTime};
use bucket_tests::database;
use serde::{Deserialize, Serialize};

use super::models::{Counted, Numbered, Order, Timed, Windowed, deliver, stored};

/// Consumers of the same records that do not know each other: each record is stored by one.
async fn check_consumers<T: Order>() {
    let database = database().await;
    T::buckets(&database).ensure().await.unwrap();
    let consumers: Vec<_> = (0..4_i64)
        .map(|number| {
            let buckets = T::buckets(&database);
            tokio::spawn(async move {
                let (mut from, mut new) = (0, 0);
                while from < 600 {
                    let to = (from + 3 + 17 * number).min(600);
                    new += deliver(&buckets, from..to).await.0;
                    from = to;
                }
                new
            })
        })
        .collect();
    let mut new = 0;
    for consumer in consumers {
        new += consumer.await.unwrap();
    }
    let stored = stored(&database).await;
    assert!(stored.into_iter().eq((0..600).map(|id| (id, id))));
    assert_eq!(new, 600);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_consumers_of_the_same_records_store_each_once() {
    check_consumers::<Counted>().await;
    check_consumers::<Windowed>().await;
    check_consumers::<Timed>().await;
    check_consumers::<Numbered>().await;
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "orders", items = "items", capacity = 10, numbered)]
struct Spread {
    #[bucket(key)]
    customer: i64,
    #[bucket(time)]
    at: DateTime,
    #[bucket(unique)]
    #[serde(rename = "orderId")]
    id: i64,
    #[bucket(sum = "total")]
    amount: i64,
}

/// Enough keys that the calls of one handle share their statements.
#[tokio::test(flavor = "multi_thread")]
async fn calls_that_share_statements_store_each_record_once_and_get_their_own_outcomes() {
    let database = database().await;
    let buckets = Spread::buckets(&database);
    buckets.ensure().await.unwrap();
    let calls: Vec<_> = (0..6_i64)
        .map(|task| {
            let buckets = buckets.clone();
            tokio::spawn(async move {
                let mut new = 0;
                for from in (0..1_600).step_by(160) {
                    // The batches of all tasks overlap, and the last record comes twice.
                    let mut ids: Vec<i64> = (from + task..from + 200 + task).collect();
                    ids.push(from + 199 + task);
                    let of = |id: &i64| Spread {
                        customer: id % 80,
                        at: DateTime::from_millis(1_700_000_000_000 + id),
                        id: *id,
                        amount: *id,
                    };
                    let mut records: Vec<Spread> = ids.iter().map(of).collect();
                    records.push(Spread {
                        amount: -1,
                        ..records[0].clone()
                    });
                    let report = buckets.insert_many(&records).await.unwrap();
                    let told = |outcome| {
                        let outcomes = (0..records.len()).map(|index| report.outcome(index));
                        outcomes.filter(|other| *other == outcome).count()
                    };
                    assert_eq!(report.stored(), told(RecordOutcome::Stored));
                    assert_eq!(told(RecordOutcome::Conflict), 1, "{:?}", report.failed());
                    assert_eq!(report.outcome(201), RecordOutcome::Conflict);
                    assert_eq!(report.outcome(200), RecordOutcome::Duplicate);
                    assert_eq!(report.stored() + report.duplicates().len(), 201);
                    new += report.stored();
                }
                new
            })
        })
        .collect();
    let mut new = 0;
    for call in calls {
        new += call.await.unwrap();
    }
    assert_eq!(new, 1_645);
    let stored = stored(&database).await;
    assert!(stored.into_iter().eq((0..1_645).map(|id| (id, id))));
}

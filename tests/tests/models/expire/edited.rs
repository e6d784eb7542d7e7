//! The date from which the age of a bucket counts, after edits.

use bucket_mongo::{
    Bucketed, Which,
    bson::{DateTime, Document},
    mongodb::Database,
};
use bucket_tests::database;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "visits",
    items = "visits",
    capacity = 3,
    expire_after = "30d"
)]
struct Visit {
    #[bucket(key)]
    page: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(unique)]
    id: i64,
    seconds: i64,
}

const DAY: i64 = 86_400_000;

async fn date(database: &Database) -> DateTime {
    let visits = database.collection::<Document>("visits");
    let bucket = visits.find_one(Document::new()).await.unwrap().unwrap();
    *bucket.get_datetime("expire_from").unwrap()
}

#[tokio::test]
async fn an_edit_never_makes_a_bucket_older_and_a_later_time_makes_it_younger() {
    let database = database().await;
    let visits = Visit::buckets(&database);
    visits.ensure().await.unwrap();
    let now = DateTime::now().timestamp_millis();
    let days_ago = |days: i64| DateTime::from_millis(now - days * DAY);
    for (id, days) in [(1, 10), (2, 2)] {
        let visit = Visit {
            page: "/".to_owned(),
            at: days_ago(days),
            id,
            seconds: 1,
        };
        visits.insert(&visit).await.unwrap();
    }
    assert_eq!(date(&database).await, days_ago(2));

    for (id, days, expected) in [(1, 9, 2), (2, 5, 2), (1, 1, 1), (2, 20, 1)] {
        let update = visits.update("/", Which::id(&id), |visit| {
            visit.seconds += 1;
            visit.at = days_ago(days);
        });
        assert!(update.await.unwrap().is_some());
        assert_eq!(date(&database).await, days_ago(expected), "{id}: {days}");
    }
    visits.delete("/", Which::id(&1_i64)).await.unwrap();
    assert_eq!(date(&database).await, days_ago(1));
}

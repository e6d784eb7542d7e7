//! A model with a limit that changes its capacity: the condition of its expiry index changes as well.

use bucket_core::index::Drift;
use bucket_mongo::{
    Bucketed, ErrorKind,
    bson::{DateTime, Document, doc},
    mongodb::Database,
};
use bucket_tests::{Load, database};
use futures_util::TryStreamExt;

use serde::{Deserialize, Serialize};

macro_rules! models {
    ($($name:ident $capacity:literal $limit:literal;)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "visits", items = "visits", capacity = $capacity, expire_after = $limit)]
        struct $name {
            #[bucket(key)]
            page: String,
            #[bucket(time)]
            at: DateTime,
        }
    )*};
}

models! {
    Small 3 "30d";
    Large 10 "30d";
    SmallAndBrief 3 "10d";
}

/// The least count and the limit of the index by which the server removes.
async fn expiry(database: &Database) -> Option<(i64, i64)> {
    let visits = database.collection::<Document>("visits");
    let indexes = visits.list_indexes().await.unwrap();
    let indexes: Vec<_> = indexes.try_collect().await.unwrap();
    let options = indexes.into_iter().filter_map(|index| index.options);
    options
        .filter(|options| options.name.as_deref() == Some("bucket_expire"))
        .map(|options| {
            let closed = options.partial_filter_expression.unwrap();
            let count = closed.get_document("count").unwrap().get("$gte").unwrap();
            let limit = options.expire_after.unwrap().as_secs();
            let count = count.as_i64().or(count.as_i32().map(i64::from)).unwrap();
            (count, i64::try_from(limit).unwrap())
        })
        .next()
}

const DAY: i64 = 24 * 60 * 60;

#[tokio::test]
async fn an_expiry_index_of_another_capacity_and_the_same_limit_is_replaced() {
    let database = database().await;
    let large = Large::buckets(&database);
    large.ensure().await.unwrap();
    let visits = (0..12).map(|_| Large {
        page: "/".to_owned(),
        at: DateTime::now(),
    });
    large.load(visits.collect::<Vec<_>>()).await;
    assert_eq!(expiry(&database).await, Some((10, 30 * DAY)));
    // Open under the larger capacity, so not removed yet; full and past the limit under the smaller one.
    let old = (0..4).map(|_| Large {
        page: "/old".to_owned(),
        at: DateTime::now(),
    });
    large.load(old.collect::<Vec<_>>()).await;
    let since = DateTime::from_millis(DateTime::now().timestamp_millis() - 60 * DAY * 1_000);
    let visits = database.collection::<Document>("visits");
    let dated = visits.update_one(
        doc! { "page": "/old" },
        doc! { "$set": { "expire_from": since } },
    );
    assert_eq!(dated.await.unwrap().modified_count, 1);

    let small = Small::buckets(&database).ensure().replace_indexes().await;
    let small = small.unwrap();
    assert!(small.drift.is_empty(), "{small}");
    assert_eq!(expiry(&database).await, Some((3, 30 * DAY)));
    let again = Small::buckets(&database).ensure().await.unwrap();
    assert!(again.drift.is_empty(), "{again}");
}

#[tokio::test]
async fn an_expiry_index_of_another_limit_stays_until_the_expiry_may_change() {
    let database = database().await;
    let large = Large::buckets(&database);
    large.ensure().await.unwrap();
    let visit = Large {
        page: "/".to_owned(),
        at: DateTime::now(),
    };
    large.insert(&visit).await.unwrap();

    let brief = SmallAndBrief::buckets(&database);
    let report = brief.ensure().replace_indexes().await.unwrap();
    let kept =
        |drift: &Drift| matches!(drift, Drift::Index { name, .. } if name == "bucket_expire");
    assert!(report.drift.iter().any(kept), "{report}");
    assert!(report.to_string().contains("change_expiry()"), "{report}");
    assert_eq!(expiry(&database).await, Some((10, 30 * DAY)));

    let report = brief.ensure().replace_indexes().change_expiry().await;
    let report = report.unwrap();
    assert!(report.drift.is_empty(), "{report}");
    assert_eq!(expiry(&database).await, Some((3, 10 * DAY)));
}

#[tokio::test]
async fn the_expiry_index_stays_if_another_index_cannot_be_replaced() {
    let database = database().await;
    let small = Small::buckets(&database);
    small.ensure().await.unwrap();
    let visits = (0..4).map(|_| Small {
        page: "/".to_owned(),
        at: DateTime::now(),
    });
    let visits: Vec<_> = visits.collect();
    small.load(&visits).await;
    assert_eq!(expiry(&database).await, Some((3, 30 * DAY)));

    // Both buckets of the key are open under the larger capacity.
    let large = Large::buckets(&database).ensure().replace_indexes().await;
    let error = large.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::IndexBuild { .. }),
        "{error}"
    );
    assert_eq!(expiry(&database).await, Some((3, 30 * DAY)));
}

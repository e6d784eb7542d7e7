//! What is stored, and what the server must remove of it.

use std::time::Duration;

use bucket_mongo::{
    BucketSpec, Bucketed,
    bson::{Bson, DateTime, Document, doc},
    testing::{DevServer, TestDatabase},
};
use futures_util::TryStreamExt;
use tokio::sync::OnceCell;

use super::models::LIMIT_S;

pub(crate) const COLLECTION: &str = "events";
/// Longer than any test needs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A server that looks for buckets to remove each second.
pub(crate) async fn database() -> TestDatabase {
    static SERVER: OnceCell<DevServer> = OnceCell::const_new();
    let start = || async {
        let arguments = ["--setParameter", "ttlMonitorSleepSecs=1"];
        let server = DevServer::builder().own().arguments(arguments);
        server.await.unwrap()
    };
    let server = SERVER.get_or_init(start).await;
    server.database("expire").await.unwrap()
}

pub(crate) fn ago(now: DateTime, seconds: i64) -> DateTime {
    DateTime::from_millis(now.timestamp_millis() - seconds * 1_000)
}

pub(crate) async fn documents(database: &TestDatabase) -> Vec<Document> {
    bucket_tests::documents(database, COLLECTION).await
}

/// The index that the server uses to remove buckets.
pub(crate) async fn expire_index(database: &TestDatabase) -> Option<Document> {
    let command = doc! { "listIndexes": COLLECTION };
    let indexes = database.run_cursor_command(command).await.unwrap();
    let indexes: Vec<Document> = indexes.try_collect().await.unwrap();
    let mut indexes = indexes.into_iter();
    indexes.find(|index| index.get_str("name").unwrap() == "bucket_expire")
}

/// The stored records by number, each with the number of its copies.
pub(crate) fn numbers(documents: &[Document]) -> Vec<i64> {
    let items = documents
        .iter()
        .flat_map(|bucket| bucket.get_array("items").unwrap());
    let mut numbers: Vec<i64> = items
        .map(|item| item.as_document().unwrap().get_i64("number").unwrap())
        .collect();
    numbers.sort_unstable();
    numbers
}

/// Whether the bucket accepts no more records, according to its own fields.
fn is_closed(bucket: &Document, spec: &BucketSpec) -> bool {
    let flag = |name: &str| bucket.get_bool(name).ok();
    flag("is_full").or(flag("is_closed")).unwrap_or_else(|| {
        let count = bucket.get_i32("count").unwrap();
        let by_count = spec
            .capacity()
            .is_some_and(|capacity| i64::from(count) >= i64::from(capacity));
        let bytes = bucket.get_i64("bytes").unwrap_or_default();
        let by_bytes = spec.max_bytes().is_some_and(|max| bytes >= i64::from(max));
        // A window accepts no more records once it has expired.
        by_count || by_bytes || bucket.contains_key("bucket_start")
    })
}

/// The date from which the age of a bucket counts.
fn dated(bucket: &Document) -> DateTime {
    let date = bucket.get("expire_from").or(bucket.get("bucket_end"));
    *date.and_then(Bson::as_datetime).unwrap()
}

/// Waits until the server has removed every bucket that is due.
pub(crate) async fn removed<T: Bucketed>(database: &TestDatabase) -> Vec<Document> {
    let wait = async {
        loop {
            let last = ago(DateTime::now(), LIMIT_S);
            let documents = documents(database).await;
            let is_due = |bucket: &Document| dated(bucket) <= last && is_closed(bucket, T::SPEC);
            if !documents.iter().any(is_due) {
                return documents;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(PATIENCE, wait)
        .await
        .expect("the server removes what is due")
}

//! A test's own database with records in it.
#![allow(unreachable_pub, missing_docs, dead_code)]

use bucket_mongo::{Bucketed, Buckets, testing::TestDatabase};
use bucket_tests::{Load, database};

/// The collection with its indexes and these records, stored by one call.
pub async fn filled<T: Bucketed + Clone>(records: &[T]) -> (TestDatabase, Buckets<T>) {
    let database = database().await;
    let buckets = T::buckets(&database);
    buckets.ensure().await.unwrap();
    store(&buckets, records).await;
    (database, buckets)
}

pub async fn store<T: Bucketed + Clone>(buckets: &Buckets<T>, records: &[T]) {
    buckets.load(records).await;
}

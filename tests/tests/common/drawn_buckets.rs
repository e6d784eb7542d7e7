//! Records of two devices, drawn and stored by several calls.
#![allow(unreachable_pub, missing_docs, dead_code)]

use bucket_mongo::{Bucketed, Buckets, testing::TestDatabase};
use bucket_tests::{Load, database};

use super::{draw::Draw, sample::Sample};

pub const RECORDS: usize = 160;

pub async fn filled<const F: usize>(draw: &mut Draw) -> (TestDatabase, Buckets<Sample<F>>) {
    let database = database().await;
    let buckets = Sample::<F>::buckets(&database);
    buckets.ensure().await.unwrap();
    for chunk in draw.samples::<F>(0, RECORDS).chunks(23) {
        // Late ones may be refused, depending on the model.
        buckets.offer(chunk).await;
    }
    (database, buckets)
}

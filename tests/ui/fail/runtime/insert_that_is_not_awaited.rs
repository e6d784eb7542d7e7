#![deny(unused_must_use)]

use bucket_mongo::{Bucketed, Buckets};

async fn store<T: Bucketed>(buckets: &Buckets<T>, record: &T) {
    buckets.insert(record);
}

fn main() {}

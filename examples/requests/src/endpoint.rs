//! The figures of each endpoint: the sums of its buckets' aggregates.

use std::collections::BTreeMap;

use bucket_mongo::Buckets;
use example_kit::{Error, keys};
use futures_util::TryStreamExt as _;

use crate::model::{Request, RequestKey};

/// The figures of one endpoint.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) key: RequestKey,
    /// The number of its newest bucket.
    pub(crate) last_bucket: u64,
    pub(crate) requests: u64,
    pub(crate) errors: u64,
    total_duration_ms: i64,
    pub(crate) status_codes: BTreeMap<i32, u64>,
}

/// The figures of all endpoints, in order.
pub(crate) async fn all(requests: &Buckets<Request>) -> Result<Vec<Endpoint>, Error> {
    let mut endpoints = Vec::new();
    for key in keys::all(requests).await? {
        endpoints.push(read(requests, key).await?);
    }
    Ok(endpoints)
}

/// Adds up the aggregates that each bucket stores.
async fn read(requests: &Buckets<Request>, key: RequestKey) -> Result<Endpoint, Error> {
    let mut endpoint = Endpoint {
        key: key.clone(),
        last_bucket: 0,
        requests: 0,
        errors: 0,
        total_duration_ms: 0,
        status_codes: BTreeMap::new(),
    };
    let mut buckets = requests.pages(key).stream();
    while let Some(bucket) = buckets.try_next().await? {
        let stats = bucket.stats();
        endpoint.last_bucket = bucket.bucket_number;
        endpoint.requests += u64::from(bucket.count);
        endpoint.errors += stats.status_code().error_count();
        endpoint.total_duration_ms += stats.duration_ms().sum().unwrap_or_default();
        for (code, number) in stats.status_code().status_codes() {
            *endpoint.status_codes.entry(code).or_default() += number;
        }
    }
    Ok(endpoint)
}

impl Endpoint {
    #[allow(clippy::cast_precision_loss, reason = "far fewer than 2^53 requests")]
    pub(crate) fn average_duration_ms(&self) -> f64 {
        self.total_duration_ms as f64 / self.requests.max(1) as f64
    }
}

//! The model: one struct, from which the derive makes the bucket, its key, its items and its
//! aggregates.

use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

/// A request to an endpoint of a service, stored with 99 others of the same endpoint.
///
/// The stored names are those of the tutorial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "request_metrics_buckets",
    items = "requests",
    capacity = 100,
    numbered,
    stats = "stats"
)]
#[expect(
    clippy::struct_field_names,
    reason = "`request_id` is the tutorial's name"
)]
pub(crate) struct Request {
    #[bucket(key)]
    pub(crate) service_name: String,
    #[bucket(key)]
    pub(crate) endpoint: String,
    #[bucket(time, first = "first_timestamp", last = "last_timestamp")]
    pub(crate) timestamp: DateTime,
    #[bucket(
        sum = "total_duration_ms",
        min = "min_duration_ms",
        max = "max_duration_ms"
    )]
    pub(crate) duration_ms: i64,
    #[bucket(tally = "status_codes", count_if("error_count", |code| *code >= 500))]
    pub(crate) status_code: i32,
    pub(crate) request_id: String,
}

//! What several tests share: models, random records, and naive results for comparison.

pub(crate) mod as_bucket;
pub(crate) mod draw;
pub(crate) mod drawn_buckets;
pub(crate) mod drawn_records;
pub(crate) mod event;
pub(crate) mod expected;
pub(crate) mod explained;
pub(crate) mod filled;
pub(crate) mod iot;
pub(crate) mod reading;
pub(crate) mod samples;

#[path = "../../../bucket-core/tests/common/drawn.rs"]
pub(crate) mod drawn;
#[path = "../../../bucket-core/tests/common/invariants.rs"]
pub(crate) mod invariants;
#[path = "../../../bucket-core/tests/common/naive.rs"]
pub(crate) mod naive;
#[path = "../../../bucket-core/tests/common/sample.rs"]
pub(crate) mod sample;

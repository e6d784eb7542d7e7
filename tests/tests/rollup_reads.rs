//! Rollups of every form against the same records grouped in plain Rust: around changes of days, months
//! and clocks, with writers at work, in transactions, after limits were changed, with gaps, and what of
//! it needs the items of a bucket.

#[path = "common/as_bucket.rs"]
mod as_bucket;
#[path = "common/draw.rs"]
mod draw;
#[path = "../../bucket-core/tests/common/drawn.rs"]
mod drawn;
#[path = "common/drawn_records.rs"]
mod drawn_records;
#[path = "common/expected.rs"]
mod expected;
#[path = "../../bucket-core/tests/common/naive.rs"]
mod naive;
#[path = "../../bucket-core/tests/common/sample.rs"]
mod sample;

#[path = "rollup_reads/changed_limits.rs"]
mod changed_limits;
#[path = "rollup_reads/every_form.rs"]
mod every_form;
#[path = "rollup_reads/gaps.rs"]
mod gaps;
#[path = "rollup_reads/model.rs"]
mod model;
#[path = "rollup_reads/opened_buckets.rs"]
mod opened_buckets;
#[path = "rollup_reads/transactions.rs"]
mod transactions;
#[path = "rollup_reads/writers_at_work.rs"]
mod writers_at_work;

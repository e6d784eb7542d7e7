//! Rollups of every form against the same records grouped in plain Rust: around changes of days, months
//! and clocks, with writers at work, in transactions, after limits were changed, with gaps, and what of
//! it needs the items of a bucket.

mod changed_limits;
mod every_form;
mod gaps;
mod model;
mod opened_buckets;
mod transactions;
mod writers_at_work;

//! Rollups of every form, compared with the same records grouped in plain Rust: around changes of
//! days, months and clocks, with concurrent writers, in transactions, after changed limits, with
//! gaps, and which of them read the items of a bucket.

mod changed_limits;
mod every_form;
mod gaps;
mod model;
mod opened_buckets;
mod transactions;
mod writers_at_work;

//! Records with an id (`#[bucket(unique)]`): a redelivered record is reported as a duplicate, other
//! data under the same id as a conflict, and the buckets are as if each record had come once.

mod conflicts;
mod consumers;
mod ids;
mod indexes;
mod models;
mod redelivery;

//! Records with an id (`#[bucket(unique)]`): whatever comes again is a reported duplicate, other data
//! under the same id a reported conflict, and the buckets are as if it had come once.

mod conflicts;
mod consumers;
mod ids;
mod indexes;
mod models;
mod redelivery;

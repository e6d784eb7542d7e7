//! Records with an id (`#[bucket(unique)]`): whatever comes again is a reported duplicate, other data
//! under the same id a reported conflict, and the buckets are as if it had come once.

#[path = "common/explained.rs"]
mod explained;

#[path = "record_ids/conflicts.rs"]
mod conflicts;
#[path = "record_ids/consumers.rs"]
mod consumers;
#[path = "record_ids/ids.rs"]
mod ids;
#[path = "record_ids/indexes.rs"]
mod indexes;
#[path = "record_ids/models.rs"]
mod models;
#[path = "record_ids/redelivery.rs"]
mod redelivery;

//! Runs core's finds and walks with the driver: the common part of the reads.

mod ahead;
mod archived;
mod each;
mod keys;
mod opened;
mod options;
mod other_kind;
mod place;
mod request;
mod rows;
mod same_collection;
mod shared;
mod stream;
mod terms;
mod until_failed;

#[cfg(feature = "seal")]
pub(crate) use self::place::Place;
pub(crate) use self::{
    ahead::{Ahead, Stored},
    archived::Archived,
    each::each,
    keys::{SIDE_BY_SIDE, every_key},
    opened::opened,
    options::ReadOptions,
    request::{MOST_REPLACED, Request},
    rows::{Find, Rows},
    same_collection::{Met, SameCollection, of_one_collection, taken_away},
    shared::{Aggregated, SharedOptions},
    stream::Chunks,
    terms::Terms,
    until_failed::until_failed,
};

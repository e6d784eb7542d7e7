//! Runs core's finds and walks with the driver: the common part of the reads.

mod each;
mod keys;
mod options;
mod other_kind;
mod request;
mod rows;
mod same_collection;
mod shared;
mod stream;
mod terms;
mod until_failed;

pub(crate) use self::{
    each::each,
    keys::{SIDE_BY_SIDE, every_key},
    options::ReadOptions,
    request::{MOST_REPLACED, Request},
    rows::{Find, Rows, opened},
    same_collection::{Met, SameCollection, of_one_collection, taken_away, uuid},
    shared::{Aggregated, SharedOptions},
    stream::Chunks,
    until_failed::until_failed,
};

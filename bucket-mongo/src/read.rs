//! Runs core's finds and walks with the driver: the common part of the reads.

mod each;
mod keys;
mod options;
mod other_kind;
mod request;
mod rows;
mod shared;
mod stream;
mod terms;
mod until_failed;

pub(crate) use self::{
    each::each,
    keys::{SIDE_BY_SIDE, every_key},
    options::ReadOptions,
    request::Request,
    rows::{Find, Rows},
    shared::{Aggregated, SharedOptions},
    stream::Chunks,
    until_failed::until_failed,
};

//! Runs core's finds and walks with the driver: the common part of the reads.

mod each;
mod options;
mod other_kind;
mod request;
mod rows;
mod shared;
mod stream;
mod terms;

pub(crate) use self::{
    each::each,
    options::ReadOptions,
    request::Request,
    rows::{Find, Rows},
    shared::{Aggregated, SharedOptions},
    stream::Chunks,
};

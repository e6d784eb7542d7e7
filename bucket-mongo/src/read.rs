//! Runs core's finds and walks with the driver: the common part of the reads.

mod request;
mod rows;
mod stream;

pub(crate) use self::{
    request::Request,
    rows::{Rows, opened, prepared},
    stream::Chunks,
};

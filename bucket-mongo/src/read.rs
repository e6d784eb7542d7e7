//! Runs finds and walks of core with the driver: what the reads have in common.

mod each;
mod options;
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

//! Runs finds and walks of core with the driver: what the reads have in common.

mod request;
mod rows;
mod stream;

pub(crate) use self::{
    request::Request,
    rows::{Rows, opened, prepared},
    stream::Chunks,
};

//! Runs walks of core with the driver: what `records`, `range` and `latest` have in common.

mod request;
mod rows;
mod stream;

pub(crate) use self::{request::Request, stream::Chunks};

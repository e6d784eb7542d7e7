//! `#[derive(BucketKey)]`: enums of unit variants and newtypes as keys.
//!
//! The same phases as for records: [`build`] checks, [`full`] and [`fallback`] write tokens.

mod expand;
mod model;

pub(crate) use self::{
    expand::{fallback, full},
    model::build,
};

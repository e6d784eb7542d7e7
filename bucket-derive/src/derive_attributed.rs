//! `#[derive(Attributed)]`: many fields of a struct as arrays of attributes.

mod check;
mod expand;
mod model;

pub(crate) use self::{
    expand::{fallback, full},
    model::build,
};

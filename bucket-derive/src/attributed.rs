//! `#[derive(Attributed)]`: many fields of a struct as arrays of attributes.

mod check;
pub(crate) mod convert;
mod expand;
pub(crate) mod filters;
mod model;
mod names;

pub(crate) use self::{
    expand::{array, fallback, full},
    model::{Array, Raw, arrays, build},
    names::Taken,
};

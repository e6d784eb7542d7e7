//! `#[derive(Attributed)]`: many fields of a struct as arrays of attributes.

mod check;
pub(crate) mod convert;
mod expand;
pub(crate) mod filters;
mod model;

pub(crate) use self::{
    check::Reserved,
    expand::{array, fallback, full},
    model::{Array, Raw, arrays, build},
};

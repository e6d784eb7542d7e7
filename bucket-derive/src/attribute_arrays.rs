//! Arrays of attributes in documents and in items: the checked fields of a struct, and the code generated
//! from them.

mod array;
mod asked;
mod bounds;
mod check;
pub(crate) mod convert;
mod filter_type;
pub(crate) mod filters;
mod gather;
mod method_names;
mod number;
mod raw_field;
mod spec;

pub(crate) use self::{
    array::Array, asked::Asked, gather::gather, method_names::Taken, raw_field::RawField,
    spec::spec,
};

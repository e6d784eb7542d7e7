//! What is known of a model before there is a record: its spec, and what that is made of.

pub mod aggregate;
pub(crate) mod attribute_array;
pub(crate) mod expiry;
pub mod field;
pub mod form;
pub mod key;
pub mod limits;
pub mod measure;
pub mod size;
pub mod spec;
pub mod whole;

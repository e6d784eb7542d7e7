//! What is known of a model before any record exists: its spec and the parts of the spec.

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

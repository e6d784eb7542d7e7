//! Rules across keys and fields. The checks only report; they do not change the model.

pub(crate) mod aggregates;
pub(crate) mod attribute_arrays;
pub(crate) mod field_types;
pub(crate) mod keep_stats;
pub(crate) mod key_and_time;
pub(crate) mod merge;
pub(crate) mod merge_stats;
pub(crate) mod names;
pub(crate) mod seal;
pub(crate) mod serde;
pub(crate) mod unique;
pub(crate) mod versions;

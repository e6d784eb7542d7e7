//! Locates a fault: which array, and which entry in it.

use super::{AttributeArray, AttributeError, AttributeFault};

impl AttributeError {
    /// A fault of the document that contains the arrays.
    pub(crate) fn of_all(arrays: &[AttributeArray], fault: AttributeFault) -> Self {
        Self {
            array: arrays.first().map_or("", |array| array.name),
            entry: String::new(),
            fault,
        }
    }

    /// A fault of one of the many fields.
    pub(super) fn of_field(array: &AttributeArray, name: &str, fault: AttributeFault) -> Self {
        Self {
            array: array.name,
            entry: format!("`{name}`"),
            fault,
        }
    }

    pub(super) fn duplicate(array: &AttributeArray, entry: String) -> Self {
        Self {
            array: array.name,
            entry,
            fault: AttributeFault::Duplicate,
        }
    }
}

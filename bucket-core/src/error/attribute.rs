//! A document whose attributes cannot be written or read.

use std::fmt;

/// An attribute of a document cannot be written or read.
///
/// ```
/// use bucket_core::attribute::{AttributeError, AttributeFault};
///
/// fn can_be_kept_elsewhere(error: &AttributeError) -> bool {
///     matches!(error.fault, AttributeFault::Unknown | AttributeFault::Duplicate)
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttributeError {
    /// The array.
    pub array: &'static str,
    /// The entry: its index in the stored array, or the name of the struct's field.
    pub entry: String,
    /// What is wrong.
    pub fault: AttributeFault,
}

/// What is wrong with an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AttributeFault {
    /// It has another type.
    Type {
        /// What was expected.
        expected: &'static str,
    },
    /// The struct has no field for it and does not keep other entries.
    Unknown,
    /// An earlier entry has the same key and unit.
    Duplicate,
    /// The bytes are not valid BSON.
    Malformed,
    /// The field has the same name as an array, so the two forms of a document look the same.
    NamedAsArray,
}

impl fmt::Display for AttributeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { array, entry, .. } = self;
        if !entry.is_empty() {
            write!(f, "entry {entry} of ")?;
        }
        write!(f, "`{array}` ")?;
        match &self.fault {
            AttributeFault::Type { expected } => write!(f, "is not {expected}"),
            AttributeFault::Unknown => {
                f.write_str("has no field in the model, which does not keep other entries")
            }
            AttributeFault::Duplicate => f.write_str("appears twice"),
            AttributeFault::Malformed => f.write_str("is not valid BSON"),
            AttributeFault::NamedAsArray => f.write_str(
                "has the same name as an array, so the two forms of a document look the same",
            ),
        }
    }
}

impl std::error::Error for AttributeError {}

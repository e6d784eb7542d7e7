//! A stored key part that the model's type cannot hold.

use std::fmt;

/// A key part is missing, has another type or is out of range.
///
/// ```
/// use bucket_core::{BucketKey, KeyValue};
///
/// let error = i8::from_key(KeyValue::Int64(300)).unwrap_err();
/// assert_eq!(error.to_string(), "300 is out of range for `i8`");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyError {
    message: String,
}

impl KeyError {
    /// An error with this message: lower case, no full stop.
    ///
    /// ```
    /// let error = bucket_core::KeyError::new("`red` is not a variant of `Colour`");
    /// assert!(error.to_string().contains("Colour"));
    /// ```
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for KeyError {}

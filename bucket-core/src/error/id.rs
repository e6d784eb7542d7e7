//! A text that is not a bucket id of the model.

use std::fmt;

/// A text does not have the form of the model's bucket ids.
///
/// ```
/// # use bucket_core::IdError;
/// let error = IdError::new("12", "the time is missing");
/// assert_eq!(error.to_string(), "`12` is not a bucket id: the time is missing");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdError {
    text: String,
    reason: String,
}

impl IdError {
    /// An error about this text.
    ///
    /// ```
    /// # use bucket_core::IdError;
    /// assert_eq!(IdError::new("x", "the time is missing").text(), "x");
    /// ```
    #[must_use]
    pub fn new(text: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            reason: reason.into(),
        }
    }

    /// The text that should have been an id.
    ///
    /// ```
    /// # use bucket_core::IdError;
    /// assert_eq!(IdError::new("x", "the time is missing").text(), "x");
    /// ```
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for IdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a bucket id: {}", self.text, self.reason)
    }
}

impl std::error::Error for IdError {}

//! Why a value does not fit its column, and where in the record it is.

use std::fmt;

use serde::ser;

/// Why a value does not fit its column.
#[derive(Debug)]
pub(crate) struct Misfit {
    /// The names from the value to the record.
    path: Vec<String>,
    message: String,
}

impl Misfit {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self {
            path: Vec::new(),
            message: message.into(),
        }
    }

    /// For a variant that no sample has with data.
    pub(super) fn of_data() -> Self {
        Self::new("has data, which no sample of this variant has: pass one to `sample`")
    }

    /// The same inside of this field.
    pub(super) fn inside(mut self, name: &str) -> Self {
        self.path.push(name.to_owned());
        self
    }

    /// The path of the field, and what is wrong with it.
    pub(crate) fn into_parts(self) -> (String, String) {
        let path: Vec<String> = self.path.into_iter().rev().collect();
        (path.join("."), self.message)
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Misfit {}

impl ser::Error for Misfit {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(format!("cannot be serialised: {message}"))
    }
}

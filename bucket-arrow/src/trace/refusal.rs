//! What a `Deserialize` did not take.

use std::fmt;

use serde::de;

/// What a `Deserialize` did not take.
#[derive(Debug)]
pub(super) struct Refusal {
    /// What it says.
    pub(super) message: String,
    /// The field that it asked for.
    pub(super) missing: Option<&'static str>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}

impl de::Error for Refusal {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self {
            message: message.to_string(),
            missing: None,
        }
    }

    fn missing_field(field: &'static str) -> Self {
        Self {
            message: format!("missing field `{field}`"),
            missing: Some(field),
        }
    }
}

/// A refusal that no `Deserialize` has written.
pub(super) fn refusal(message: &str) -> Refusal {
    de::Error::custom(message)
}

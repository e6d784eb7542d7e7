//! Times in messages.

use std::fmt;

use bson::DateTime;

/// A time as RFC 3339 has it, or in milliseconds since 1970 if its year has no four digits.
pub(crate) struct ShownTime(pub(crate) DateTime);

impl fmt::Display for ShownTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.try_to_rfc3339_string() {
            Ok(text) => f.write_str(&text),
            Err(_) => write!(f, "{} ms", self.0.timestamp_millis()),
        }
    }
}

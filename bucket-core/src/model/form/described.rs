//! What a description of a collection says of its form.

use bson::{Document, doc};

use super::{Form, LatePolicy};
use crate::time::window::Window;

impl Window {
    /// Its name. It must never change.
    pub(crate) fn described(self) -> String {
        match self {
            Self::Seconds(seconds) => format!("{seconds}s"),
            Self::Day => "day".to_owned(),
            Self::Week => "week".to_owned(),
            Self::Month => "month".to_owned(),
        }
    }

    /// The window that was described like this.
    pub(crate) fn of_description(described: &str) -> Option<Self> {
        match described {
            "day" => Some(Self::Day),
            "week" => Some(Self::Week),
            "month" => Some(Self::Month),
            seconds => seconds.strip_suffix('s')?.parse().ok().map(Self::Seconds),
        }
    }
}

impl Form {
    /// Its name and its limits. Names and shapes must never change.
    pub(crate) fn described(self) -> Document {
        let mut described = doc! { "kind": self.name() };
        if let Some(capacity) = self.capacity() {
            described.insert("capacity", i64::from(capacity));
        }
        if let Some(window) = self.window() {
            described.insert("window", window.described());
        }
        if self.in_parts() {
            described.insert("parts", true);
        }
        if let Self::Hybrid {
            max_duration, late, ..
        } = self
        {
            described.insert("max_duration", format!("{max_duration}ms"));
            described.insert(
                "late",
                match late {
                    LatePolicy::Merge => "merge",
                    LatePolicy::Side => "side",
                    LatePolicy::Reject => "reject",
                },
            );
        }
        described
    }
}

//! What a description of a collection says of its form.

use bson::{Document, doc};

use super::{Form, LatePolicy};
use crate::time::window::Window;

impl Form {
    /// Its name and its limits. Names and shapes must never change.
    pub(crate) fn described(self) -> Document {
        let mut described = doc! { "kind": self.name() };
        if let Some(capacity) = self.capacity() {
            described.insert("capacity", i64::from(capacity));
        }
        if let Some(window) = self.window() {
            described.insert(
                "window",
                match window {
                    Window::Seconds(seconds) => format!("{seconds}s"),
                    Window::Day => "day".to_owned(),
                    Window::Week => "week".to_owned(),
                    Window::Month => "month".to_owned(),
                },
            );
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

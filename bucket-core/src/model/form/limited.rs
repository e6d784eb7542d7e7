//! A form with other limits for one key.

use super::Form;
use crate::time::window::Window;

impl Form {
    /// The form with these limits instead of the model's; an error message if it has no such limit.
    /// The longest duration is in seconds.
    pub(crate) fn limited(
        self,
        window: Option<Window>,
        capacity: Option<u32>,
        max_duration: Option<u32>,
    ) -> Result<Self, &'static str> {
        if window.is_some() && self.window().is_none() {
            return Err("the model has no window");
        }
        if max_duration.is_some() && !matches!(self, Self::Hybrid { .. }) {
            return Err("the model has no longest duration");
        }
        match self {
            Self::Count { capacity: own } => match capacity {
                Some(other) if other != own => {
                    Err("a capacity that is part of an index is the same for all keys")
                }
                _ => Ok(self),
            },
            Self::Window {
                window: own_window,
                capacity: own,
                parts,
            } => Ok(Self::Window {
                window: window.unwrap_or(own_window),
                capacity: capacity.or(own),
                parts,
            }),
            Self::Hybrid {
                capacity: own,
                max_duration: own_duration,
                late,
            } => Ok(Self::Hybrid {
                capacity: capacity.unwrap_or(own),
                max_duration: max_duration
                    .map_or(own_duration, |seconds| i64::from(seconds) * 1_000),
                late,
            }),
            Self::Numbered { capacity: own } => Ok(Self::Numbered {
                capacity: capacity.unwrap_or(own),
            }),
        }
    }
}

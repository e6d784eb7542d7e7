//! What a form defines about the times of records: spans of buckets, and the order of records.

use super::Form;
use crate::time::window::Window;

/// What a bucket reveals about the times of its records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Span {
    /// Nothing.
    None,
    /// A window: its end is after all of them and never moves.
    Window,
    /// The times of its first and its latest record.
    Records,
}

/// The order of a key's records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Order of arrival: bucket by bucket, and the array order inside a bucket.
    Arrival,
    /// Bucket by bucket, and inside a bucket by time.
    Bucket,
    /// Window by window, and inside a window by time, across all its buckets.
    Window,
}

impl Form {
    /// Whether each bucket stores the span of time that it covers, so that reads of a span only
    /// read the buckets in that span.
    ///
    /// ```
    /// use bucket_core::{Form, Window};
    ///
    /// assert!(Form::Window { window: Window::hours(1), capacity: None, parts: false }.has_span());
    /// assert!(!Form::Count { capacity: 10 }.has_span());
    /// ```
    #[must_use]
    pub const fn has_span(self) -> bool {
        !matches!(self.span(), Span::None)
    }

    /// What a bucket reveals about the times of its records.
    pub(crate) const fn span(self) -> Span {
        match self {
            Self::Count { .. } | Self::Numbered { .. } => Span::None,
            Self::Window { .. } => Span::Window,
            Self::Hybrid { .. } => Span::Records,
        }
    }

    /// The window that a bucket covers, if the form has windows.
    pub(crate) const fn window(self) -> Option<Window> {
        match self {
            Self::Window { window, .. } => Some(window),
            Self::Count { .. } | Self::Hybrid { .. } | Self::Numbered { .. } => None,
        }
    }

    /// The longest span of time that a bucket covers, in milliseconds; 0 if the form sets none.
    pub(crate) const fn longest_span(self) -> i64 {
        match self {
            Self::Window { window, .. } => window.longest_millis(),
            Self::Hybrid { max_duration, .. } => max_duration,
            Self::Count { .. } | Self::Numbered { .. } => 0,
        }
    }

    /// The order of a key's records.
    pub(crate) const fn order(self) -> Order {
        match self {
            Self::Count { .. } | Self::Numbered { .. } => Order::Arrival,
            Self::Hybrid { .. } => Order::Bucket,
            Self::Window { .. } => Order::Window,
        }
    }

    /// Whether buckets only take records in order of time, whatever the order of arrival.
    pub(crate) const fn sorts(self) -> bool {
        match self {
            Self::Hybrid { .. } => true,
            Self::Count { .. } | Self::Window { .. } | Self::Numbered { .. } => false,
        }
    }
}

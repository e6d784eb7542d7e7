//! How far the source of a chain's records has been stored.

use std::sync::Arc;

use crate::write::source::Source;

/// What is known about the source's position in the chain's buckets.
#[derive(Debug, Clone)]
pub(super) struct Watermark {
    path: Arc<str>,
    /// The buckets were read since they were last seen to change.
    pub(super) asked: bool,
    /// The position of the last record that is known to be stored.
    pub(super) stored: Option<i64>,
    /// The newest bucket with a position comes after the open one, which takes the next records and may have a
    /// later position: it is asked too.
    pub(super) asks_open: bool,
}

impl Watermark {
    pub(super) fn new(source: &Source) -> Self {
        Self {
            path: source.shared_path(),
            asked: false,
            stored: None,
            asks_open: false,
        }
    }

    pub(super) fn is_asked(&self) -> bool {
        self.asked
    }

    /// Others have written, maybe records of the same source.
    pub(super) fn forget(&mut self) {
        self.asked = false;
        self.asks_open = false;
    }

    pub(super) fn reach(&mut self, position: i64) {
        self.stored = self.stored.max(Some(position));
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }
}

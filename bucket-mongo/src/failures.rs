//! The items of a call that failed, and why the call stopped.

use crate::error::Error;

/// An item that failed.
pub(crate) trait Failed {
    /// The index of the item in the iterator that it came from.
    fn index(&self) -> usize;
}

/// The items of a call that failed.
#[derive(Debug, Clone)]
pub(crate) struct Failures<F> {
    /// The number of items taken from the iterator.
    tried: usize,
    /// In the order of their indexes once they are [sorted](Self::sort).
    failed: Vec<F>,
    stopped_by: Option<Error>,
}

impl<F> Default for Failures<F> {
    fn default() -> Self {
        Self {
            tried: 0,
            failed: Vec::new(),
            stopped_by: None,
        }
    }
}

impl<F: Failed> Failures<F> {
    pub(crate) fn tried(&self) -> usize {
        self.tried
    }

    pub(crate) fn all(&self) -> &[F] {
        &self.failed
    }

    pub(crate) fn stopped_by(&self) -> Option<&Error> {
        self.stopped_by.as_ref()
    }

    /// The failure of the item at this index.
    pub(crate) fn of(&self, index: usize) -> Option<&F> {
        let at = self.failed.binary_search_by_key(&index, Failed::index);
        at.ok().map(|at| &self.failed[at])
    }

    /// Whether the item at this index was taken and has not failed.
    pub(crate) fn has_succeeded(&self, index: usize) -> bool {
        index < self.tried && self.of(index).is_none()
    }

    /// The failure with the lowest index. The others lose their order.
    pub(crate) fn take_first(&mut self) -> Option<F> {
        (!self.failed.is_empty()).then(|| self.failed.swap_remove(0))
    }

    /// Counts the next item that is taken, and returns its index.
    pub(crate) fn next_index(&mut self) -> usize {
        self.tried += 1;
        self.tried - 1
    }

    pub(crate) fn push(&mut self, failed: F) {
        self.failed.push(failed);
    }

    /// Only the first reason is kept.
    pub(crate) fn stop(&mut self, error: Error) {
        self.stopped_by.get_or_insert(error);
    }

    pub(crate) fn sort(&mut self) {
        self.failed.sort_by_key(Failed::index);
    }
}

//! Without the feature `metrics`: nothing is measured and nothing is compiled in.

use std::time::Duration;

use tokio::time::Instant;

use super::{gate::Gate, gathered::Gathered, report::Figures};
use crate::{Error, writer::Written};

/// Takes the calls of `meters` and does nothing.
pub(super) struct Meters;

#[allow(clippy::unused_self)]
impl Meters {
    pub(super) fn new(_collection: &'static str) -> Self {
        Self
    }

    pub(super) fn refused(&self) {}

    pub(super) fn begun(&self, _gathered: &Gathered, _gate: &Gate, _now: Instant) {}

    pub(super) fn ended(&self, _ended: &Result<Written, Error>, _took: Duration) {}

    pub(super) fn settled(&self, _figures: Figures, _gate: &Gate) {}
}

//! The report on a terminal, as JSON, and as a page with charts.

pub(crate) mod chart;
pub(crate) mod json;
pub(crate) mod number;
pub(crate) mod page;
pub(crate) mod terminal;

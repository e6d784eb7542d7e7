//! How full buckets are, and when the server removes them.
//!
//! The server looks at every bucket once, and sends a row for all buckets that are the same in what the report
//! distinguishes. If keys have limits that are not stored, it sends a row for each bucket instead, and the
//! client compares it with the limits of its key.

mod amount;
mod classes;
mod facts;
mod reader;
mod report;
mod schedule;

pub use self::{
    amount::Amount,
    classes::SizeClass,
    reader::FillReader,
    report::{CapacityUse, FillReport},
    schedule::{ExpiryReport, ExpiryStep},
};

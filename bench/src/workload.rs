//! The workloads: a file for each, and its line in `workload/all.rs`.

use crate::{plan::Plan, scale::Scale};

mod all;
mod append;
mod batches;
mod bulk;
mod contention;
mod edits;
mod encode;
mod ingest;
mod ingestor;
mod key_memory;
mod latest;
mod many_keys;
mod pages;
mod range;
mod seal;
mod single;
mod stats;
mod storage;
mod verify;
mod watch;
mod watch_delay;

pub(crate) use self::all::{ALL, about, names};

/// A comparison of contestants.
pub(crate) struct Workload {
    /// The name on the command line.
    pub(crate) name: &'static str,
    /// What is measured, in a few words.
    pub(crate) title: &'static str,
    /// What the page says about it: Markdown.
    pub(crate) about: &'static str,
    /// Makes the records and names the contestants.
    pub(crate) plan: fn(Scale) -> Plan,
}

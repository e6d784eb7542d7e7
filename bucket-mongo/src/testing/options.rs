//! The options of a started server.

use std::ffi::OsString;

/// The smallest cache that `mongod` takes, in MiB.
pub(super) const SMALLEST_CACHE: u32 = 256;

#[derive(Debug, Clone)]
pub(super) struct Options {
    /// The arguments that follow the fixed ones on the command line.
    pub(super) arguments: Vec<OsString>,
    pub(super) cache_mib: u32,
    pub(super) topology: Topology,
    pub(super) members: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Topology {
    ReplicaSet,
    Standalone,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            arguments: Vec::new(),
            cache_mib: SMALLEST_CACHE,
            topology: Topology::ReplicaSet,
            members: 1,
        }
    }
}

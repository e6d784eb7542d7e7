//! What a server is that is started.

use std::ffi::OsString;

/// The smallest cache that `mongod` takes, in MiB.
pub(super) const SMALLEST_CACHE: u32 = 256;

#[derive(Debug, Clone)]
pub(super) struct Options {
    /// Those on the command line after the ones that are always there.
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

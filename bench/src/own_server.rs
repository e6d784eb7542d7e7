//! The server that a run starts for itself, unless one is given.

use bucket_mongo::testing::{DevServer, DevServerBuilder};

/// Its cache in MiB: everything that a round stores fits in.
pub(crate) const CACHE_MIB: u16 = 1_024;

pub(crate) fn options() -> DevServerBuilder {
    DevServer::builder().cache_mib(CACHE_MIB.into())
}

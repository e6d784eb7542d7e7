//! Names of spans and fields; `docs/tracing.md` lists them. Values of records never appear.

/// Target of everything that writes.
pub(crate) const WRITE: &str = "bucket::write";
/// Target of everything that reads.
pub(crate) const READ: &str = "bucket::read";
/// Target of everything about collections and indexes.
pub(crate) const ADMIN: &str = "bucket::admin";

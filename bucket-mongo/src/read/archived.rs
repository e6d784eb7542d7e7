//! What a read knows of an archive.

use bucket_core::BucketSpec;
use mongodb::{Collection, bson::RawDocumentBuf};

use super::place::Place;

/// An archive, and the collection whose buckets refer to it.
#[derive(Debug, Clone)]
pub(crate) struct Archived {
    pub(crate) spec: &'static BucketSpec,
    pub(crate) copies: Place,
    pub(crate) buckets: Collection<RawDocumentBuf>,
}

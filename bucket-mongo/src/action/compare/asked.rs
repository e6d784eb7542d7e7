//! What a call was asked for.

use bucket_core::{Record, TimeRange};
use mongodb::{Collection, bson::RawDocumentBuf};

use super::comparison::CompareProgress;
use crate::Buckets;

/// What a caller does with the progress.
pub(super) type OnProgress<'a> = Box<dyn FnMut(&CompareProgress) + Send + 'a>;

/// What a call was asked for.
pub(super) struct Asked<'a, T: Record> {
    pub(super) buckets: &'a Buckets<T>,
    pub(super) source: Collection<RawDocumentBuf>,
    pub(super) ignored: Vec<String>,
    pub(super) range: TimeRange,
}

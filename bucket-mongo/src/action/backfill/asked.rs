//! What a call was asked for.

use std::num::NonZeroU32;

use bucket_core::Record;
use mongodb::{Collection, bson::RawDocumentBuf};

use super::backfill_report::BackfillProgress;
use crate::Buckets;

/// What a caller does with the progress.
pub(super) type OnProgress<'a> = Box<dyn FnMut(&BackfillProgress) + Send + 'a>;

/// What a call was asked for.
pub(super) struct Asked<'a, T: Record> {
    pub(super) buckets: &'a Buckets<T>,
    pub(super) source: Collection<RawDocumentBuf>,
    pub(super) name: Option<String>,
    pub(super) order: AskedOrder,
    pub(super) ignored: Vec<String>,
    pub(super) throttle: Option<NonZeroU32>,
}

/// The order that a caller asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AskedOrder {
    /// That of the job, or the best one.
    Any,
    Id,
    Index(String),
}

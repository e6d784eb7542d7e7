//! What `ensure` checks besides indexes: the compression, and the size of buckets.

use bucket_core::{BucketSpec, index::Drift, size};
use mongodb::bson::Document;

use super::ensure_report::SizeWarning;
use crate::error::{Context, Error, ErrorKind, Result};

/// The drift of a collection whose storage options differ from the model's.
pub(super) fn compression_drift(spec: &BucketSpec, found: &Document) -> Option<Drift> {
    let expected = spec.compression()?;
    let engine = |found: &Document| {
        let options = found.get_document("options").ok()?;
        let engine = options.get_document("storageEngine").ok()?;
        let config = engine.get_document("wiredTiger").ok()?;
        config.get_str("configString").ok().map(ToOwned::to_owned)
    };
    let config = engine(found).unwrap_or_default();
    let same = config
        .split(',')
        .any(|option| option.trim() == format!("block_compressor={expected}"));
    (!same).then(|| Drift::__compression(expected, config))
}

/// Refuses buckets that are too large to store, and warns of those larger than recommended.
pub(super) fn check_size(
    spec: &BucketSpec,
    record_bytes: usize,
    context: &Context,
) -> Result<Option<SizeWarning>> {
    let (Some(capacity), None) = (spec.capacity(), spec.max_bytes()) else {
        // `max_bytes` closes such buckets.
        return Ok(None);
    };
    let bytes = size::full_bucket_bytes(capacity, record_bytes);
    if bytes > size::MAX_DOCUMENT_BYTES {
        let limit = size::MAX_DOCUMENT_BYTES;
        return Err(Error::new(
            ErrorKind::BucketTooLarge { bytes, limit },
            context,
        ));
    }
    let warning = SizeWarning {
        record_bytes,
        bucket_bytes: bytes,
    };
    Ok((bytes > size::RECOMMENDED_DOCUMENT_BYTES).then_some(warning))
}

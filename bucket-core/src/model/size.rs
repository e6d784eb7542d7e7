//! The size limits of buckets and commands: the sizing rules of the bucket tutorial as code.
//!
//! Source of the figures: the tutorial's section "Document Size Considerations" (100 bytes for a
//! reading, 500 bytes for the bucket around the readings, at most 16 MB, under 1 MB recommended).

use super::{
    aggregate::AggregateKind,
    spec::{BucketSpec, IdSegment},
};

/// The largest BSON document that the server stores, in bytes.
pub const MAX_DOCUMENT_BYTES: usize = 16 * 1024 * 1024;

/// The largest command, in bytes. The server accepts 16 MB, and its reply must stay far below that
/// even if every statement fails.
pub const MAX_COMMAND_BYTES: usize = 12 * 1024 * 1024;

/// The largest number of statements in one command.
pub const MAX_STATEMENTS: usize = 1_000;

/// The largest bucket that the tutorial recommends, in bytes.
pub const RECOMMENDED_DOCUMENT_BYTES: usize = 1024 * 1024;

/// The tutorial's estimate for one reading, in bytes.
pub const READING_BYTES: usize = 100;

/// The tutorial's estimate for everything in a bucket except its items, in bytes.
pub const OVERHEAD_BYTES: usize = 500;

/// The tutorial's safe maximum of readings in a bucket.
pub const SAFE_MAX_READINGS: usize = safe_max_records(READING_BYTES);

/// The tutorial's recommended maximum of readings in a bucket.
pub const RECOMMENDED_MAX_READINGS: usize = recommended_max_records(READING_BYTES);

/// The number of records of this size (in bytes, at least 1) that fit the largest document.
///
/// ```
/// assert_eq!(bucket_core::size::safe_max_records(100), 167_767);
/// ```
#[must_use]
pub const fn safe_max_records(record_bytes: usize) -> usize {
    max_records(MAX_DOCUMENT_BYTES, record_bytes)
}

/// The number of records of this size (in bytes, at least 1) that fit the recommended document.
///
/// ```
/// assert_eq!(bucket_core::size::recommended_max_records(100), 10_480);
/// ```
#[must_use]
pub const fn recommended_max_records(record_bytes: usize) -> usize {
    max_records(RECOMMENDED_DOCUMENT_BYTES, record_bytes)
}

const fn max_records(document_bytes: usize, record_bytes: usize) -> usize {
    let record_bytes = if record_bytes == 0 { 1 } else { record_bytes };
    (document_bytes - OVERHEAD_BYTES) / record_bytes
}

/// The size of a full bucket of this capacity with records of this size, in bytes.
///
/// ```
/// assert_eq!(bucket_core::size::full_bucket_bytes(10, 100), 1_500);
/// ```
#[must_use]
pub const fn full_bucket_bytes(capacity: u32, record_bytes: usize) -> usize {
    (capacity as usize)
        .saturating_mul(record_bytes)
        .saturating_add(OVERHEAD_BYTES)
}

/// The largest record that a bucket of this capacity takes, in bytes. A full bucket of such records
/// still fits one document, so no bucket ever reaches the limit.
///
/// ```
/// assert_eq!(bucket_core::size::max_record_bytes(10), 1_677_663);
/// ```
#[must_use]
pub const fn max_record_bytes(capacity: u32) -> usize {
    limit(capacity, OVERHEAD_BYTES, OVERHEAD_BYTES)
}

/// Array elements carry a type byte, an index of up to six digits and a NUL.
pub(crate) const ELEMENT_BYTES: usize = 8;

/// A single record must also fit its command.
const COMMAND_BYTES: usize = 8 * 1024;

const fn limit(capacity: u32, document: usize, command: usize) -> usize {
    let capacity = if capacity == 0 { 1 } else { capacity as usize };
    let share = MAX_DOCUMENT_BYTES.saturating_sub(document) / capacity;
    let share = share.saturating_sub(ELEMENT_BYTES);
    let single = MAX_DOCUMENT_BYTES.saturating_sub(command + COMMAND_BYTES);
    if share < single { share } else { single }
}

/// The largest record, in bytes, of a model that closes buckets by bytes. Such a bucket takes one
/// more record while it is below `max_bytes`; both together stay far below the document limit.
pub const MAX_RECORD_BYTES: usize = 7 * 1024 * 1024;

/// The bytes that a record can add to a bucket besides its item and its tallied values: a counter
/// for each tally and each sketch.
fn counter_bytes(spec: &BucketSpec) -> usize {
    let aggregates = spec.aggregates().iter();
    let each = aggregates.map(|aggregate| match aggregate.kind {
        AggregateKind::Percentiles { .. } => 24,
        AggregateKind::Tally => 8,
        _ => 0,
    });
    each.sum()
}

/// [`max_record_bytes`] for a key that takes `key_bytes` in BSON and a bucket of at most `size`
/// records. The document contains the key and the id, a command the key and the id twice. The id
/// has up to three bytes for each byte of the key.
fn record_limit(spec: &BucketSpec, size: u32, key_bytes: usize) -> usize {
    let literals = spec.id().iter().map(|segment| match segment {
        IdSegment::Literal(text) => text.len(),
        _ => 0,
    });
    let aggregates = spec.aggregates().iter();
    let paths = aggregates.map(|aggregate| 2 * aggregate.path.len() + 32);
    let names = literals.sum::<usize>() + spec.items().len() + paths.sum::<usize>();
    let document = OVERHEAD_BYTES + names + key_bytes.saturating_mul(4);
    let command = 3 * names + key_bytes.saturating_mul(7);
    let shares = spec.shared_arrays().next().is_some();
    let single = limit(1, document, command);
    // A statement contains compared values three times, a bucket once more than its items.
    let single = if shares { single / 3 } else { single };
    if spec.max_bytes().is_some() {
        // `max_bytes` is at most 8 MB.
        let left = limit(1, document, command).saturating_sub(8 * 1024 * 1024);
        return left.min(MAX_RECORD_BYTES).min(single);
    }
    let size = size.saturating_add(u32::from(shares));
    limit(size, document, command).min(single)
}

/// The most bytes of a key with which a record of this size is accepted; `None` if there is no such key.
pub(crate) fn longest_key(spec: &BucketSpec, size: u32, record_bytes: usize) -> Option<usize> {
    let is_accepted = |key_bytes| record_bytes <= record_limit(spec, size, key_bytes);
    if !is_accepted(0) {
        return None;
    }
    let (mut accepted, mut refused) = (0, MAX_DOCUMENT_BYTES);
    while refused - accepted > 1 {
        let middle = usize::midpoint(accepted, refused);
        if is_accepted(middle) {
            accepted = middle;
        } else {
            refused = middle;
        }
    }
    Some(accepted)
}

/// The last computed size limit of a record, which most records of a batch share.
#[derive(Debug, Default)]
pub(crate) struct RecordSize {
    /// The size of the bucket, and that of the key in bytes; never zero after the first use.
    of: (u32, usize),
    /// See [`counter_bytes`].
    pub(crate) counters: usize,
    /// See [`record_limit`].
    pub(crate) limit: usize,
}

impl RecordSize {
    /// Must only be called for records of one model.
    pub(crate) fn of(&mut self, spec: &BucketSpec, size: u32, key_bytes: usize) -> &Self {
        if self.of != (size, key_bytes) {
            *self = Self {
                of: (size, key_bytes),
                counters: counter_bytes(spec),
                limit: record_limit(spec, size, key_bytes),
            };
        }
        self
    }
}

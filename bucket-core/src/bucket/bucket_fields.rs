//! The fields of a bucket that depend on the model's form.

use bson::DateTime;

/// The fields of a bucket that depend on the model's form. Fields that the form does not have keep
/// their default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BucketFields {
    /// The start of the window, or the time of the first record.
    pub start: DateTime,
    /// The end of the window, or the time of the latest record.
    pub end: DateTime,
    /// The number of the bucket.
    pub number: u64,
    /// The capacity that the bucket was opened with.
    pub size: u32,
    /// Whether the bucket takes no more records.
    pub is_full: bool,
    /// Whether the bucket takes no more records in order.
    pub is_closed: bool,
    /// Whether the bucket holds late records.
    pub is_late: bool,
    /// The size of the items in bytes.
    pub bytes: u64,
    /// When the bucket was opened, by the clock of its writer.
    pub created_at: Option<DateTime>,
    /// The time from which the age of the bucket counts.
    pub expire_from: Option<DateTime>,
}

impl Default for BucketFields {
    fn default() -> Self {
        Self {
            start: DateTime::MIN,
            end: DateTime::MIN,
            number: 0,
            size: 0,
            is_full: false,
            is_closed: false,
            is_late: false,
            bytes: 0,
            created_at: None,
            expire_from: None,
        }
    }
}

impl BucketFields {
    /// The time from the start to the end, in milliseconds; 0 if the form sets none.
    pub(crate) fn span(&self) -> i64 {
        let (start, end) = (self.start.timestamp_millis(), self.end.timestamp_millis());
        end.saturating_sub(start)
    }
}

//! When a bucket is due to be sealed.

use bson::DateTime;

use crate::{
    bucket::{BucketFields, Head},
    model::{form::Form, spec::BucketSpec},
};

/// When buckets are due: those that take no more records, and whose window or last record is not after a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// The time.
    pub(super) until: DateTime,
    pub(super) now: DateTime,
}

impl Due {
    /// Buckets that have taken no record for this long, in milliseconds.
    ///
    /// ```
    /// # use bson::DateTime;
    /// use bucket_core::seal::Due;
    ///
    /// let due = Due::after(60_000, DateTime::from_millis(1_698_349_623_000));
    /// # drop(due);
    /// ```
    #[must_use]
    pub fn after(millis: i64, now: DateTime) -> Self {
        let until = now.timestamp_millis().saturating_sub(millis);
        Self {
            until: DateTime::from_millis(until),
            now,
        }
    }

    /// Whether a bucket of this form, with the limits of its key, is due.
    pub(super) fn is_met(
        self,
        spec: &BucketSpec,
        form: Form,
        head: &Head,
        (count, last): (u32, DateTime),
    ) -> bool {
        let BucketFields {
            end,
            is_closed,
            is_full,
            size,
            bytes,
            ..
        } = head.fields;
        let takes_no_more = match form {
            Form::Window { .. } => end <= self.until,
            Form::Hybrid { .. } => is_closed,
            Form::Numbered { .. } => is_full,
            Form::Count { .. } => {
                let size = if size == 0 { form.size() } else { size };
                count >= size || spec.max_bytes().is_some_and(|max| bytes >= u64::from(max))
            }
        };
        takes_no_more && last <= self.until
    }
}

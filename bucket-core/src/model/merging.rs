//! When sealed buckets may be merged.

use bson::DateTime;

use super::spec::BucketSpec;

impl BucketSpec {
    /// Buckets of windows that end until this time may be merged by `now`; `None` if the model merges none.
    ///
    /// Buckets are merged some time later only. So whoever writes to a window that ends later needs no look, and neither the
    /// clocks of readers and writers nor the time that a statement takes have to be exact.
    pub(crate) fn merged_until(&self, now: DateTime) -> Option<DateTime> {
        self.merge()?;
        let after = i64::from(self.seal_after()?).saturating_mul(1_000);
        let until = now.timestamp_millis().saturating_sub(after);
        Some(DateTime::from_millis(until))
    }
}

//! When sealed buckets may be merged.

use bson::DateTime;

use super::spec::BucketSpec;

/// How long sealing leaves parts to merges once these can have all of their slot, in milliseconds: merges wait for an hour, and for
/// their next round.
const LEFT_TO_MERGES: i64 = 2 * 60 * 60 * 1_000;

impl BucketSpec {
    /// How long after its last record, or after its window, a bucket is sealed by itself, in milliseconds. What merges take needs
    /// no sealing before: several parts become one sealed bucket at once.
    #[doc(hidden)]
    #[must_use]
    pub fn sealed_after(&self) -> Option<i64> {
        let after = i64::from(self.seal_after()?).saturating_mul(1_000);
        let slot = self.merge().filter(|_| self.form().in_parts());
        let left = slot.map_or(0, |slot| slot.longest_millis() + LEFT_TO_MERGES);
        Some(after.saturating_add(left))
    }

    /// Buckets that end until this time may be merged by `now`; `None` if the model merges none.
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

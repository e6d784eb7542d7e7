//! The retention of records.
//!
//! A record is kept while its age is below the model's limit. The server removes whole buckets, by
//! an index on a date that is not before any record of the bucket. That date is the bucket's end,
//! or a dedicated field in forms without an end. The server must not remove a bucket that still
//! takes records. So the index is conditional on the bucket being full or closed. A window needs no
//! condition: when its end has passed the limit, all its records have.
//!
//! A model that keeps statistics for longer has two limits. Past the first one a bucket is a header: its records are
//! hidden, and its items go (`seal/expiring.rs`). Past the second one the server removes it.

use bson::DateTime;

use super::spec::BucketSpec;
use crate::error::EncodeError;

impl BucketSpec {
    /// At `now`, records from before this time have passed the model's limit; `None` if the model
    /// has no limit.
    ///
    /// ```
    /// # use bson::DateTime;
    /// # use bucket_core::BucketSpec;
    /// fn is_kept(spec: &BucketSpec, time: DateTime) -> bool {
    ///     spec.expired_before(DateTime::now()).is_none_or(|before| before <= time)
    /// }
    /// ```
    #[must_use]
    pub fn expired_before(&self, now: DateTime) -> Option<DateTime> {
        self.expired_until(now)
            .map(|last| DateTime::from_millis(last.timestamp_millis().saturating_add(1)))
    }

    /// The last moment past the limit. The server also removes what has exactly that time.
    pub(crate) fn expired_until(&self, now: DateTime) -> Option<DateTime> {
        Some(before(now, self.expire_after()?))
    }

    /// The age at which the server removes a bucket, in seconds: that of its records, or of its statistics if those are
    /// kept for longer.
    pub(crate) const fn removed_after(&self) -> Option<u32> {
        match self.keep_stats() {
            None => self.expire_after(),
            kept => kept,
        }
    }

    /// The last moment past that age.
    pub(crate) fn removed_until(&self, now: DateTime) -> Option<DateTime> {
        Some(before(now, self.removed_after()?))
    }

    /// Of buckets that take no more records and whose age counts from this moment or an earlier one, only the statistics
    /// are kept; `None` if the model keeps none.
    pub(crate) fn headers_until(&self, now: DateTime) -> Option<DateTime> {
        self.keep_stats()?;
        self.expired_until(now)
    }

    /// Whether buckets may have something else than an array of items.
    pub(crate) const fn packs(&self) -> bool {
        self.seal_after().is_some() || self.keep_stats().is_some()
    }

    /// The field that buckets have only for their age: in forms without an end, if the model has a
    /// limit.
    pub(crate) const fn dated_by(&self) -> Option<&'static str> {
        match self.expire_after() {
            Some(_) if !self.form().has_span() => Some(self.names().expire_from),
            _ => None,
        }
    }

    /// The date from which the age of a bucket counts.
    pub(crate) const fn age_field(&self) -> &'static str {
        if self.form().has_span() {
            self.names().end
        } else {
            self.names().expire_from
        }
    }
}

/// This many seconds before a moment.
fn before(now: DateTime, seconds: u32) -> DateTime {
    let age = i64::from(seconds) * 1_000;
    DateTime::from_millis(now.timestamp_millis().saturating_sub(age))
}

/// A late delivery would bring back removed data.
pub(crate) fn refuse_expired(
    spec: &BucketSpec,
    time: DateTime,
    now: DateTime,
) -> Result<(), EncodeError> {
    match spec.expired_before(now) {
        Some(before) if time < before => Err(EncodeError::Expired { time, before }),
        _ => Ok(()),
    }
}

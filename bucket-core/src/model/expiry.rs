//! The retention of records.
//!
//! A record is kept while its age is below the model's limit. The server removes whole buckets, by
//! an index on a date that is not before any record of the bucket. That date is the bucket's end,
//! or a dedicated field in forms without an end. The server must not remove a bucket that still
//! takes records. So the index is conditional on the bucket being full or closed. A window needs no
//! condition: when its end has passed the limit, all its records have.

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
        let limit = i64::from(self.expire_after()?) * 1_000;
        let last = now.timestamp_millis().saturating_sub(limit);
        Some(DateTime::from_millis(last))
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

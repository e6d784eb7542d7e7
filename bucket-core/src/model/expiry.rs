//! For how long records are kept.
//!
//! A record is kept while its age is below the model's limit. The server removes whole buckets, by an
//! index on a date that lies behind every record of the bucket: its end, or where a form has none a
//! field that is kept for this alone. No bucket that takes records is removed, so the condition of the
//! index is that the bucket is full or closed; a window needs none, because once it has passed the
//! limit all of its records have.

use bson::DateTime;

use super::spec::BucketSpec;
use crate::error::EncodeError;

impl BucketSpec {
    /// Records from before this time are past the model's limit, at `now`; none where the model has no
    /// limit.
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

    /// The last moment that is past the limit: the server removes what is of that time as well.
    pub(crate) fn expired_until(&self, now: DateTime) -> Option<DateTime> {
        let limit = i64::from(self.expire_after()?) * 1_000;
        let last = now.timestamp_millis().saturating_sub(limit);
        Some(DateTime::from_millis(last))
    }

    /// The field that buckets have for their age alone: in forms without an end, where the model has
    /// a limit.
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

/// A late delivery would bring back what was removed.
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

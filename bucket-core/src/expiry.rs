//! For how long records are kept.
//!
//! A record is kept while its age is below the model's limit. The server removes whole buckets, by an
//! index on a date that lies behind every record of the bucket: its end, or where a form has none a
//! field that is kept for this alone. No bucket that takes records is removed, so the condition of the
//! index is that the bucket is full or closed; a window needs none, because once it has passed the
//! limit all of its records have.

use bson::{DateTime, Document, doc};

use crate::{
    error::EncodeError,
    index::{IndexPlan, UpdatePlan},
    read::has_records,
    spec::BucketSpec,
};

/// The name of the index by which the server removes buckets.
pub(crate) const EXPIRE_INDEX: &str = "bucket_expire";

/// That of the second one, for buckets that are closed by bytes and carry no mark.
pub(crate) const EXPIRE_BYTES_INDEX: &str = "bucket_expire_bytes";

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

    /// The name of the index by which the server removes buckets, where the model has a limit.
    ///
    /// ```
    /// # use bucket_core::BucketSpec;
    /// fn forgets(spec: &BucketSpec) -> bool {
    ///     spec.expire_index_name().is_some()
    /// }
    /// ```
    #[must_use]
    pub fn expire_index_name(&self) -> Option<String> {
        self.expire_after().map(|_| EXPIRE_INDEX.to_owned())
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

/// The indexes by which the server removes buckets; none without a limit.
///
/// Buckets of the manual's form carry no mark. Where they are closed by bytes too, either is enough,
/// which the condition of one index can say on servers from 6.0 on alone.
pub(crate) fn plan(spec: &BucketSpec) -> Vec<IndexPlan> {
    let Some(seconds) = spec.expire_after() else {
        return Vec::new();
    };
    let index = |name: &str, partial: Option<Document>| IndexPlan {
        name: name.to_owned(),
        keys: doc! { spec.age_field(): 1 },
        unique: false,
        partial,
        expire_after: Some(seconds),
    };
    let closed = spec.closed_conditions();
    if closed.is_empty() {
        return vec![index(EXPIRE_INDEX, None)];
    }
    let names = [EXPIRE_INDEX, EXPIRE_BYTES_INDEX].into_iter();
    let indexes = names.zip(closed);
    indexes
        .map(|(name, closed)| index(name, Some(closed)))
        .collect()
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

/// Gives buckets from before the model had a limit the date from which their age counts; nothing for
/// forms whose buckets have one anyway. The server looks at every bucket.
///
/// ```
/// # use bson::DateTime;
/// # use bucket_core::{BucketSpec, index};
/// fn has_dates_of_its_own(spec: &BucketSpec) -> bool {
///     index::date_buckets(spec, DateTime::now()).is_some()
/// }
/// ```
#[must_use]
pub fn date_buckets(spec: &BucketSpec, now: DateTime) -> Option<UpdatePlan> {
    let name = spec.dated_by()?;
    let mut filter = doc! { name: { "$exists": false } };
    filter.extend(has_records(spec));
    let latest = doc! { "$max": format!("${}.{}", spec.items(), spec.time().name) };
    Some(UpdatePlan {
        filter,
        pipeline: vec![doc! { "$set": { name: { "$min": [latest, now] } } }],
    })
}

//! Times: the types that can be a record's time. All of them are stored as BSON dates.

pub mod range;
pub(crate) mod shown;
pub mod step;
pub mod window;

use bson::DateTime;

/// A type that can be the time of a record.
///
/// `bson::DateTime` always is one. The features `chrono-0_4`, `time-0_3` and `jiff-0_2` add
/// `chrono::DateTime<Utc>`, `time::OffsetDateTime` and `jiff::Timestamp`. A BSON date counts
/// milliseconds; finer times are rounded down.
///
/// ```
/// use bucket_core::BucketTime;
///
/// let date = bson::DateTime::from_millis(1_698_335_223_434);
/// assert_eq!(date.to_bson_date().timestamp_millis(), 1_698_335_223_434);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the time of a record",
    label = "not a time type",
    note = "time types are `bson::DateTime`, and with their features `chrono::DateTime<Utc>` (`chrono-0_4`), \
            `time::OffsetDateTime` (`time-0_3`) and `jiff::Timestamp` (`jiff-0_2`)"
)]
pub trait BucketTime: Sized {
    /// The BSON date of this time.
    fn to_bson_date(&self) -> DateTime;

    /// The time of a BSON date; `None` if this type cannot hold it.
    fn from_bson_date(date: DateTime) -> Option<Self>;
}

impl BucketTime for DateTime {
    fn to_bson_date(&self) -> DateTime {
        *self
    }

    fn from_bson_date(date: DateTime) -> Option<Self> {
        Some(date)
    }
}

#[cfg(feature = "chrono-0_4")]
impl BucketTime for chrono::DateTime<chrono::Utc> {
    fn to_bson_date(&self) -> DateTime {
        DateTime::from_millis(self.timestamp_millis())
    }

    fn from_bson_date(date: DateTime) -> Option<Self> {
        Self::from_timestamp_millis(date.timestamp_millis())
    }
}

#[cfg(feature = "time-0_3")]
impl BucketTime for time::OffsetDateTime {
    fn to_bson_date(&self) -> DateTime {
        let millis = self.unix_timestamp_nanos().div_euclid(1_000_000);
        // The type ends with the year 9999 (or 999999): its milliseconds fit an `i64`.
        DateTime::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
    }

    fn from_bson_date(date: DateTime) -> Option<Self> {
        Self::from_unix_timestamp_nanos(i128::from(date.timestamp_millis()) * 1_000_000).ok()
    }
}

#[cfg(feature = "jiff-0_2")]
impl BucketTime for jiff::Timestamp {
    fn to_bson_date(&self) -> DateTime {
        let millis = self.as_nanosecond().div_euclid(1_000_000);
        // The type ends with the year 9999: its milliseconds fit an `i64`.
        DateTime::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
    }

    fn from_bson_date(date: DateTime) -> Option<Self> {
        Self::from_millisecond(date.timestamp_millis()).ok()
    }
}

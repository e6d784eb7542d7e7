//! Versions of records: the types that can be one.

use bson::DateTime;

/// A type that can be the version of a record: a whole number that BSON has, or a time type.
///
/// ```
/// use bucket_core::RecordVersion;
///
/// assert!(RecordVersion::is_later(&2, &1));
/// assert!(!RecordVersion::is_later(&2, &2));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the version of a record",
    label = "not a version type",
    note = "version types are `i64`, `i32`, `i16`, `i8`, `u32`, `u16`, `u8`, and the time types such as `bson::DateTime`"
)]
pub trait RecordVersion {
    /// Whether this version comes after the other one.
    fn is_later(&self, than: &Self) -> bool;
}

// One impl for each type and none for all of `BucketTime`: the compiler would name that trait in its errors.
macro_rules! versions {
    ($($(#[$feature:meta])? $version:ty;)*) => {$(
        $(#[$feature])?
        impl RecordVersion for $version {
            fn is_later(&self, than: &Self) -> bool {
                self > than
            }
        }
    )*};
}

versions! {
    i64; i32; i16; i8; u32; u16; u8;
    DateTime;
    #[cfg(feature = "chrono-0_4")] chrono::DateTime<chrono::Utc>;
    #[cfg(feature = "time-0_3")] time::OffsetDateTime;
    #[cfg(feature = "jiff-0_2")] jiff::Timestamp;
}

/// Whether the second record replaces the first one, which is stored under the same id.
#[doc(hidden)]
pub type Replaces<T> = fn(stored: &T, new: &T) -> bool;

//! What generated code may name. Nothing here is part of the public contract.

pub use bson;
pub use serde;

pub use crate::{
    attribute::{
        Attribute, AttributeRest, AttributeValue, Attributed, DocumentSpec, TextAttribute, Unit,
        convert::{convert, number},
    },
    bucket::{
        BucketFields, assemble_records, deserialize_bucket,
        id::BucketId,
        record::{BucketDocument, BucketParts, BucketRef, Record},
        serialize_bucket,
    },
    error::KeyError,
    model::{
        aggregate::{Aggregate, AggregateKind, Input, InputSink, NonFinite},
        attribute_array::{
            ArrayPlace, AttributeArray, AttributeField, AttributeIndex, EntryNames, Rest, ValueKind,
        },
        derived::Derived,
        field::FieldPath,
        form::{Form, LatePolicy},
        key::{BucketKey, KeySink, KeySource, KeyValue, RecordKey},
        measure::Measure,
        spec::{BucketSpec, IdSegment, KeyField, Names, SpecParts, TimeField, TimeUnit},
        stored_field::{FieldKind, KindOf, StoredField, UnknownKind},
        version::{RecordVersion, Replaces},
    },
    stats::{NoStats, StoredStats, sketch::Sketch},
    time::{BucketTime, window::Window},
};

/// Calls a condition or a mapping of an attribute. The argument has the type of the field.
pub fn apply<T: ?Sized, R>(value: &T, of: impl FnOnce(&T) -> R) -> R {
    of(value)
}

/// Serde's functions for the time of an item, without a bound on its type: the derive asks for
/// [`BucketTime`] at the user's tokens.
pub trait ItemTime {
    /// The type of the time.
    type Time;

    /// Writes the time as a BSON date.
    ///
    /// # Errors
    ///
    /// The errors of the serializer.
    fn serialize_time<S: serde::Serializer>(time: &Self::Time, to: S) -> Result<S::Ok, S::Error>;

    /// Reads the time from a BSON date.
    ///
    /// # Errors
    ///
    /// If the value is not a BSON date or the type cannot hold it.
    fn deserialize_time<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Self::Time, D::Error>;
}

/// Serde's `with` module for the time field: a BSON date, whatever the field's own serde form is.
pub mod bson_date {
    use std::fmt;

    use bson::DateTime;
    use serde::{
        Deserialize, Deserializer, Serialize, Serializer,
        de::{Error, Visitor},
    };

    use crate::{codec::decode::DATE, time::BucketTime};

    /// Writes the time as a BSON date.
    ///
    /// # Errors
    ///
    /// The errors of the serializer.
    pub fn serialize<T: BucketTime, S: Serializer>(time: &T, to: S) -> Result<S::Ok, S::Error> {
        write(time.to_bson_date(), to)
    }

    /// Writes the date of a time.
    ///
    /// # Errors
    ///
    /// Those of the serializer.
    pub fn write<S: Serializer>(date: DateTime, to: S) -> Result<S::Ok, S::Error> {
        date.serialize(to)
    }

    /// Reads the time from a BSON date.
    ///
    /// # Errors
    ///
    /// If the value is not a BSON date, or if the type cannot hold it.
    pub fn deserialize<'de, T, D>(from: D) -> Result<T, D::Error>
    where
        T: BucketTime,
        D: Deserializer<'de>,
    {
        read(from, T::from_bson_date)
    }

    /// Reads a date as a time.
    ///
    /// # Errors
    ///
    /// If the value is no BSON date or it is no time.
    pub fn read<'de, T, D: Deserializer<'de>>(
        from: D,
        time: impl FnOnce(DateTime) -> Option<T>,
    ) -> Result<T, D::Error> {
        let date = from.deserialize_newtype_struct(DATE, Date)?;
        time(date).ok_or_else(|| {
            Error::custom(format_args!(
                "the date {} ms is out of range for this time type",
                date.timestamp_millis()
            ))
        })
    }

    /// Our own decoder passes the milliseconds; other decoders pass the date itself.
    struct Date;

    impl<'de> Visitor<'de> for Date {
        type Value = DateTime;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a BSON date")
        }

        fn visit_i64<E: Error>(self, millis: i64) -> Result<DateTime, E> {
            Ok(DateTime::from_millis(millis))
        }

        fn visit_newtype_struct<D: Deserializer<'de>>(self, from: D) -> Result<DateTime, D::Error> {
            DateTime::deserialize(from)
        }
    }
}

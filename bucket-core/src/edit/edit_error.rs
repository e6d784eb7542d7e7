//! Why a record cannot be edited.

use std::fmt;

use bson::DateTime;

use crate::{
    error::{DamagedBucket, EncodeError, SumOverflow},
    time::shown::ShownTime,
};

/// Why a record cannot be edited. Nothing was sent.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum EditError {
    /// The edit changes the key.
    Key,
    /// The edit changes the record id.
    Id,
    /// The bucket of the record does not take this time.
    #[non_exhaustive]
    Time {
        /// The new time.
        time: DateTime,
        /// The bucket begins here.
        start: DateTime,
        /// The bucket ends here.
        end: DateTime,
    },
    /// The edit moves the record to another bucket, which would lose a field that the model does not know.
    #[non_exhaustive]
    UnknownField {
        /// Its name, or its path if it is in another field.
        name: String,
    },
    /// The edit changes an array that has something that the model does not know, and nothing tells where that belongs
    /// in the new array.
    #[non_exhaustive]
    UnclearField {
        /// The path of the field, with the index of the element in the stored array.
        path: String,
    },
    /// The edit changes an aggregate of the bucket, and the model reads a record of it as less than it is: it would
    /// count it wrong.
    #[non_exhaustive]
    ReadsLess {
        /// The path of that value in the bucket.
        path: String,
    },
    /// The new record cannot be encoded.
    Encode(EncodeError),
    /// The bucket is damaged.
    Damaged(DamagedBucket),
    /// A sum of the remaining records exceeds 64 bits.
    Overflow(SumOverflow),
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key => f.write_str(
                "the edit changes the key of the record: insert it under the new key, then remove this one",
            ),
            Self::Id => f.write_str(
                "the edit changes the record id: insert the record under the new id, then remove this one",
            ),
            Self::Time { time, start, end } => write!(
                f,
                "the edit changes the time to {}, but the bucket of the record goes from {} to {}: \
                 insert the record with the new time, then remove this one",
                ShownTime(*time),
                ShownTime(*start),
                ShownTime(*end),
            ),
            Self::UnknownField { name } => write!(
                f,
                "the edit moves the record to another bucket, but the stored record has the field `{name}`, which \
                 this version of the model does not know, or would not write, and would lose: add the field to the model"
            ),
            Self::UnclearField { path } => write!(
                f,
                "the stored record has the field `{path}`, which this version of the model does not know, or reads as \
                 less than it is, and the edit changes the array so that its place is not clear: add it to the model, or \
                 change no more than elements in their places"
            ),
            Self::ReadsLess { path } => write!(
                f,
                "this version of the model reads less of `{path}` than is stored, and the edit changes an aggregate that \
                 it would count wrong: add what is missing to the model"
            ),
            Self::Encode(source) => source.fmt(f),
            Self::Damaged(source) => source.fmt(f),
            Self::Overflow(source) => source.fmt(f),
        }
    }
}

impl EditError {
    /// Whether the edit can be made by moving the record to another bucket.
    #[must_use]
    pub const fn is_move(&self) -> bool {
        matches!(self, Self::Key | Self::Time { .. })
    }
}

impl std::error::Error for EditError {}

//! The ids of a record's buckets: built from its key and time, parsed from text, taken apart.

use std::{marker::PhantomData, str::FromStr};

use bson::{DateTime, RawBsonRef, oid::ObjectId};

use super::{BucketId, Place, parse, prefix, push_place};
use crate::{
    bucket::record::Record,
    error::{IdError, KeyError},
    model::{
        key::{KeySource, KeyValue, RecordKey},
        spec::BucketSpec,
    },
};

impl<T: Record> BucketId<T> {
    /// The id of the bucket that a record with this key and time opens, if the key has no bucket at
    /// this time or later.
    ///
    /// ```
    /// # use bucket_core::{BucketId, Record};
    /// fn first<T: Record>(record: &T) -> BucketId<T> {
    ///     BucketId::first(&record.key(), record.time())
    /// }
    /// ```
    #[must_use]
    pub fn first(key: &T::Key, time: DateTime) -> Self {
        Self::at(key, Place::at(time, T::SPEC.id_unit()))
    }

    /// The id of the bucket that a record with this time opens after this one. It has the record's
    /// own time if that is later, else this id's time with the next sequence.
    ///
    /// ```
    /// # use bucket_core::{BucketId, Record};
    /// fn second<T: Record>(first: &BucketId<T>, record: &T) -> BucketId<T> {
    ///     first.next(&record.key(), record.time())
    /// }
    /// ```
    #[must_use]
    pub fn next(&self, key: &T::Key, time: DateTime) -> Self {
        Self::at(key, Place::at(time, T::SPEC.id_unit()).after(self.place))
    }

    pub(crate) fn at(key: &T::Key, place: Place) -> Self {
        let mut text = prefix(T::SPEC, key);
        push_place(&mut text, place, T::SPEC.id_unit());
        Self {
            text,
            object_id: None,
            place,
            record: PhantomData,
        }
    }

    /// When the bucket was opened, in whole seconds or milliseconds as the template says. That is
    /// the time of its first record, or of the previous bucket if the record was late.
    ///
    /// Times outside the range of a BSON date saturate.
    #[must_use]
    pub fn opened_at(&self) -> DateTime {
        self.place.date(T::SPEC.id_unit())
    }

    /// The key that the id names.
    ///
    /// # Errors
    ///
    /// [`KeyError`] if a part of the id is not a value of the key's type.
    pub fn key(&self) -> Result<T::Key, KeyError> {
        let parts = parse::key_texts(T::SPEC, &self.text)
            .map_err(|error| KeyError::new(error.to_string()))?;
        T::Key::read(&mut TextSource {
            spec: T::SPEC,
            parts,
            next: 0,
        })
    }
}

/// Yields the texts of key parts in the order of the model; see [`KeyValue`] for their types.
struct TextSource {
    spec: &'static BucketSpec,
    parts: Vec<String>,
    next: usize,
}

impl KeySource for TextSource {
    fn part(&mut self) -> Result<KeyValue<'_>, KeyError> {
        let index = self.next;
        self.next += 1;
        match (self.parts.get(index), self.spec.keys().get(index)) {
            (Some(text), Some(_)) => Ok(KeyValue::Text(text)),
            _ => Err(KeyError::new("the id has too few key parts")),
        }
    }
}

/// Of an object id, which does not contain the position.
const NOWHERE: Place = Place {
    time: 0,
    sequence: 0,
};

impl<T: Record> BucketId<T> {
    /// The id that a bucket is stored under, if it is one of the model.
    pub(crate) fn of_stored(id: RawBsonRef<'_>) -> Option<Self> {
        match id {
            RawBsonRef::ObjectId(id) if T::SPEC.object_ids() => Some(Self::of_object(id, NOWHERE)),
            RawBsonRef::String(id) if !T::SPEC.object_ids() => id.parse().ok(),
            _ => None,
        }
    }
}

impl<T: Record> FromStr for BucketId<T> {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        if T::SPEC.object_ids() {
            let reason = |error| IdError::new(text, format!("{error}"));
            let id = ObjectId::parse_str(text).map_err(reason)?;
            return Ok(Self::of_object(id, NOWHERE));
        }
        let place = parse::place(T::SPEC, text)?;
        Ok(Self {
            text: text.to_owned(),
            object_id: None,
            place,
            record: PhantomData,
        })
    }
}

//! Bucket ids: their text, their order, their parser.
//!
//! An id is `<prefix><time>` or `<prefix><time>_<sequence>`:
//!
//! * the prefix is the template with the key parts filled in. `%` and control characters are
//!   percent-encoded in a key part, and so is, in every part but the last, the first character of
//!   the separator behind it. An id is taken apart from both ends, the time and the sequence from
//!   the right, the key parts from the left, so two keys never share an id;
//! * the time is when the bucket was opened. Ordinary dates stand as the manual writes them, ten
//!   digits of seconds (`1698335223`). Earlier ones are padded with zeros; those before 1970 are
//!   `-` and the 19-digit complement `10^19 + t`; later ones are prefixed with a letter for each
//!   further digit (`a` for eleven). In byte order `-` < `0`..`9` < `a`..: the text sorts as time;
//! * the sequence tells buckets of one time apart, and puts a bucket that was opened by a late
//!   record behind the pages that exist. One digit stands alone, a letter counts further ones
//!   (`1`..`9`, `a10`..`a99`, `b100`..), so that text order is number order.
//!
//! No text is both a time and a sequence, so what stands last is known by its form: the key
//! `12_3` needs no escape, `12_3_1698335223` is no bucket of the key `12`. No time text is a prefix
//! of another one, hence `<time>` < `<time>_1` < `<time>_2` < next time.

use std::{cmp::Ordering, fmt, hash::Hash, marker::PhantomData, str::FromStr};

use bson::{DateTime, oid::ObjectId};

use crate::{
    error::{IdError, KeyError},
    key::{KeySink, KeySource, KeyValue, RecordKey},
    record::Record,
    spec::{BucketSpec, IdSegment, TimeUnit},
};

mod ordinal;
mod parse;
mod text;

pub(crate) use self::{
    parse::{place as parse_place, unescape},
    text::{prefix, push_place},
};

/// The id of a bucket of `T`, as it stands in `_id`.
///
/// Ids order as their text does, byte by byte, which for the buckets of one key is the order of
/// the pages.
///
/// ```
/// # use bucket_core::{BucketId, Record};
/// fn opened<T: Record>(id: &BucketId<T>) -> i64 {
///     id.opened().timestamp_millis()
/// }
/// ```
pub struct BucketId<T: Record> {
    text: String,
    object_id: Option<ObjectId>,
    place: Place,
    record: PhantomData<fn() -> T>,
}

/// Where a bucket stands among the buckets of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    /// In units of the id's time.
    pub(crate) time: i64,
    /// 0 for the first bucket of its time.
    pub(crate) sequence: u64,
}

impl Place {
    /// The first place that there can be.
    pub(crate) const FIRST: Self = Self {
        time: i64::MIN,
        sequence: 0,
    };
    /// The last place that there can be.
    pub(crate) const LAST: Self = Self {
        time: i64::MAX,
        sequence: u64::MAX,
    };

    /// The place that a record's own time asks for.
    pub(crate) fn at(date: DateTime, unit: TimeUnit) -> Self {
        Self {
            time: date.timestamp_millis().div_euclid(unit.millis()),
            sequence: 0,
        }
    }

    /// The place behind `last` for a bucket whose first record asks for `self`.
    pub(crate) fn after(self, last: Self) -> Self {
        if self.time > last.time {
            self
        } else {
            Self {
                time: last.time,
                sequence: last.sequence.saturating_add(1),
            }
        }
    }
}

impl<T: Record> BucketId<T> {
    /// The id of the bucket that a record with this key and time opens, if no bucket of that key
    /// stands at this time or later.
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

    /// The id of the bucket that is opened after this one by a record with this time: the
    /// record's own time if that is later, else this id's time with the next sequence.
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

    pub(crate) fn of_object(id: ObjectId, place: Place) -> Self {
        Self {
            text: id.to_hex(),
            object_id: Some(id),
            place,
            record: PhantomData,
        }
    }

    /// The object id, in models whose ids are such.
    #[must_use]
    pub fn object_id(&self) -> Option<ObjectId> {
        self.object_id
    }

    /// The text, as stored; the hexadecimal digits of an object id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// When the bucket was opened, in whole seconds or milliseconds as the template says: the
    /// time of its first record, or that of the bucket before it if the record was late.
    ///
    /// Times outside of what a BSON date can hold saturate.
    #[must_use]
    pub fn opened(&self) -> DateTime {
        DateTime::from_millis(self.place.time.saturating_mul(T::SPEC.id_unit().millis()))
    }

    /// 0 for the first bucket of its time, then 1, 2, ...
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.place.sequence
    }

    /// The key that the id names.
    ///
    /// # Errors
    ///
    /// [`KeyError`] if a part of the id is no value of the key's type.
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

/// Gives the texts of key parts in the order of the model; see [`KeyValue`] for their types.
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

impl<T: Record> FromStr for BucketId<T> {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        if T::SPEC.object_ids() {
            let reason = |error| IdError::new(text, format!("{error}"));
            let id = ObjectId::parse_str(text).map_err(reason)?;
            // Where it stands is not part of an object id.
            let nowhere = Place {
                time: 0,
                sequence: 0,
            };
            return Ok(Self::of_object(id, nowhere));
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

impl<T: Record> fmt::Display for BucketId<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl<T: Record> fmt::Debug for BucketId<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BucketId").field(&self.text).finish()
    }
}

impl<T: Record> Clone for BucketId<T> {
    fn clone(&self) -> Self {
        Self {
            text: self.text.clone(),
            object_id: self.object_id,
            place: self.place,
            record: PhantomData,
        }
    }
}

impl<T: Record> PartialEq for BucketId<T> {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl<T: Record> Eq for BucketId<T> {}

impl<T: Record> PartialOrd for BucketId<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Record> Ord for BucketId<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.text.cmp(&other.text)
    }
}

impl<T: Record> Hash for BucketId<T> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

/// Collects the text of key parts.
struct TextSink<'a> {
    parts: &'a mut Vec<String>,
}

impl KeySink for TextSink<'_> {
    fn part(&mut self, value: KeyValue<'_>) {
        self.parts.push(text::key_text(value));
    }
}

pub(crate) fn key_parts<K: RecordKey>(key: &K) -> Vec<String> {
    let mut parts = Vec::with_capacity(1);
    key.visit(&mut TextSink { parts: &mut parts });
    parts
}

/// The first character of the separator behind a key part, unless that is the last part.
pub(crate) fn separator_behind(spec: &BucketSpec, part: usize) -> Option<char> {
    let mut segments = spec
        .id()
        .iter()
        .skip_while(|segment| **segment != IdSegment::Key(part));
    segments.next();
    match (segments.next(), segments.next()) {
        (Some(IdSegment::Literal(separator)), Some(IdSegment::Key(_))) => separator.chars().next(),
        _ => None,
    }
}

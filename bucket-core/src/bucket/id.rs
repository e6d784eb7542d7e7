//! Bucket ids: their text, their order, their parser.
//!
//! An id is `<prefix><time>` or `<prefix><time>_<sequence>`:
//!
//! * The prefix is the template with the key parts filled in. `%` and control characters are
//!   percent-encoded in a key part. So is the first character of the separator after it, in every
//!   part but the last. An id is parsed from both ends: the time and the sequence from the right,
//!   the key parts from the left. Two keys therefore never share an id.
//! * The time is when the bucket was opened. Ordinary dates appear as the manual writes them: ten
//!   digits of seconds (`1698335223`). Earlier dates are padded with zeros. Dates before 1970 are
//!   `-` and the 19-digit complement `10^19 + t`. Later dates are prefixed with a letter for each
//!   further digit (`a` for eleven). In byte order `-` < `0`..`9` < `a`..: the text sorts as time.
//! * The sequence distinguishes buckets of one time, and sorts a bucket that was opened by a late
//!   record after the existing pages. A sequence of one digit has no prefix; a letter counts
//!   further digits (`1`..`9`, `a10`..`a99`, `b100`..), so that text order is number order.
//!
//! No text is both a time and a sequence, so the form of the last part identifies it: the key
//! `12_3` needs no escape, and `12_3_1698335223` is not a bucket of the key `12`. No time text is a
//! prefix of another one, hence `<time>` < `<time>_1` < `<time>_2` < next time.

use std::{cmp::Ordering, fmt, hash::Hash, marker::PhantomData};

use bson::oid::ObjectId;

mod format;
mod of_record;
mod ordinal;
mod parse;
mod place;
mod template;

pub(crate) use self::{
    format::{prefix, push_place},
    parse::{is_of_key, place as parse_place},
    place::Place,
};

/// The id of a bucket of `T`, as stored in `_id`.
///
/// Ids order as their text does, byte by byte. For the buckets of one key, that is the order of the
/// pages.
///
/// ```
/// # use bucket_core::{BucketId, Record};
/// fn opened<T: Record>(id: &BucketId<T>) -> i64 {
///     id.opened_at().timestamp_millis()
/// }
/// ```
pub struct BucketId<T> {
    text: String,
    object_id: Option<ObjectId>,
    place: Place,
    record: PhantomData<fn() -> T>,
}

impl<T> BucketId<T> {
    pub(crate) fn of_object(id: ObjectId, place: Place) -> Self {
        Self {
            text: id.to_hex(),
            object_id: Some(id),
            place,
            record: PhantomData,
        }
    }

    pub(crate) const fn place(&self) -> Place {
        self.place
    }

    /// The object id, in models with object ids.
    #[must_use]
    pub fn object_id(&self) -> Option<ObjectId> {
        self.object_id
    }

    /// The text as stored; for an object id, its hexadecimal digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// 0 for the first bucket of its time, then 1, 2, ...
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.place.sequence
    }
}

impl<T> fmt::Display for BucketId<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl<T> fmt::Debug for BucketId<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BucketId").field(&self.text).finish()
    }
}

impl<T> Clone for BucketId<T> {
    fn clone(&self) -> Self {
        Self {
            text: self.text.clone(),
            object_id: self.object_id,
            place: self.place,
            record: PhantomData,
        }
    }
}

impl<T> PartialEq for BucketId<T> {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl<T> Eq for BucketId<T> {}

impl<T> PartialOrd for BucketId<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for BucketId<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.text.cmp(&other.text)
    }
}

impl<T> Hash for BucketId<T> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

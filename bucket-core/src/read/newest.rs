//! The newest record of a bucket, from the result of the plans for it.

use bson::{DateTime, RawBsonRef, RawDocument};

use super::{
    Live, ReadKey, RecordRef, Referenced,
    latest::{AT, FurtherLook, ITEM, LEFT, LENGTH, NEWEST, STORED, unpacked},
};
use crate::{
    bucket::{
        self, ItemReader,
        id::{self, Place},
        record::Record,
    },
    codec::raw::printed_id,
    error::{Damage, DamagedBucket},
    model::form::Order,
};

/// The newest record of a bucket.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Newest<T: Record> {
    /// The key.
    pub key: T::Key,
    /// The record.
    pub record: T,
    /// Whether another bucket of the key may hold a newer record, according to the model: a hybrid
    /// bucket may start before the end of its predecessor, and a window may have several buckets.
    pub others: bool,
    time: DateTime,
    /// The time from which the age of its bucket counts, if the bucket has a dedicated field for
    /// it.
    dated: Option<DateTime>,
    place: Place,
    /// Where the record was stored: in another bucket, if its own is merged.
    stored_at: Place,
    span: i64,
    reference: Option<RecordRef>,
}

impl<T: Record> Newest<T> {
    /// Reads a result of these plans.
    ///
    /// # Errors
    ///
    /// [`DamagedBucket`] if the fields or the item do not match the model, if the bucket is empty,
    /// or if its count is not the length of its array.
    pub fn read(found: &RawDocument) -> Result<Self, DamagedBucket> {
        let missing = || {
            let damage = Damage::Field {
                path: NEWEST.to_owned(),
                expected: "a document",
            };
            DamagedBucket::new(printed_id(found), damage)
        };
        let newest = found.get_document(NEWEST).map_err(|_| missing())?;
        let stored = newest.get_document(STORED).map_err(|_| missing())?;
        unpacked(T::SPEC, newest)
            .and_then(|newest| Self::read_parts(&newest, stored))
            .map_err(|damage| DamagedBucket::new(printed_id(stored), damage))
    }

    /// The same, with the reference to the record where the result tells it.
    ///
    /// # Errors
    ///
    /// Those of [`read`](Self::read).
    pub fn read_with_ref(found: &RawDocument) -> Result<Self, DamagedBucket> {
        let mut newest = Self::read(found)?;
        newest.reference = newest.reference_in(found);
        Ok(newest)
    }

    /// The reference to the record. The result has the index of the item among those that are left, so it tells the index
    /// in the bucket only if none is removed.
    fn reference_in(&self, found: &RawDocument) -> Option<RecordRef> {
        let newest = unpacked(T::SPEC, found.get_document(NEWEST).ok()?).ok()?;
        let length = newest.get_i32(LENGTH).ok()?;
        if newest.get_i32(LEFT).ok()? != length {
            return None;
        }
        let index = usize::try_from(newest.get_i32(AT).ok()?).ok()?;
        let item = newest.get_document(ITEM).ok()?;
        let key = ReadKey::of::<T>(&self.key);
        let reader = ItemReader::new(T::SPEC, newest.get_document(STORED).ok()?).ok()?;
        RecordRef::new::<T>(&key, index, item, &reader.at(self.place))
    }

    /// The record with its reference.
    ///
    /// # Errors
    ///
    /// The key, if the reference is not known.
    pub fn into_referenced(self) -> Result<Referenced<T>, T::Key> {
        match self.reference {
            Some(reference) => Ok(Referenced {
                reference,
                record: self.record,
            }),
            None => Err(self.key),
        }
    }

    /// The key of a result whose bucket has no records. In the manual's form the last bucket may be
    /// empty for a moment, and in every form all its records may have been removed; the newest record is
    /// then in another bucket. So it is if its records have expired and only its statistics are kept.
    ///
    /// ```
    /// # use bson::RawDocument;
    /// # use bucket_core::{Record, read::Newest};
    /// fn is_in_another_bucket<T: Record>(found: &RawDocument) -> bool {
    ///     Newest::<T>::without_records(found).is_some()
    /// }
    /// ```
    #[must_use]
    pub fn without_records(found: &RawDocument) -> Option<T::Key> {
        let newest = found.get_document(NEWEST).ok()?;
        let newest = match unpacked(T::SPEC, newest) {
            Err(Damage::Expired { .. }) => {
                let stored = newest.get_document(STORED).ok()?;
                return bucket::key_of::<T>(stored).ok();
            }
            newest => newest.ok()?,
        };
        let stored = newest.get_document(STORED).ok()?;
        let (length, left) = (newest.get_i32(LENGTH).ok()?, newest.get_i32(LEFT).ok()?);
        let count = bucket::stored_count(T::SPEC, stored).ok()?;
        let is_empty = left == 0 && count == i64::from(length);
        let may_be = length > 0 || T::SPEC.form().reserves();
        if is_empty && may_be {
            bucket::key_of::<T>(stored).ok()
        } else {
            None
        }
    }

    fn read_parts(newest: &RawDocument, stored: &RawDocument) -> Result<Self, Damage> {
        let spec = T::SPEC;
        let head = bucket::head(spec, stored)?;
        let key = bucket::key_of::<T>(stored)?;
        bucket::check_id(spec, stored, &id::prefix(spec, &key))?;
        let items = |expected| Damage::Field {
            path: spec.items().to_owned(),
            expected,
        };
        let length = newest
            .get_i32(LENGTH)
            .map_err(|_| items("an array with items"))?;
        head.check_count(usize::try_from(length).unwrap_or(0))?;
        let Ok(Some(item @ RawBsonRef::Document(_))) = newest.get(ITEM) else {
            return Err(items("an array of items that have a time"));
        };
        let at = newest.get_i32(AT).unwrap_or(0);
        let reader = ItemReader::new(spec, stored)?.at(head.place);
        // The result has its index among those that are left.
        let has_all = newest.get_i32(LEFT).ok() == Some(length);
        let origin = reader.place_of(usize::try_from(at).unwrap_or(0));
        let stored_at = origin.filter(|_| has_all).map(|(place, _)| place);
        let item = reader.decode(usize::try_from(at).unwrap_or(0), item)?;
        let record = T::assemble(key.clone(), item);
        Ok(Self {
            others: match spec.form().order() {
                Order::Arrival => false,
                Order::Window => head.place.sequence > 0,
                Order::Bucket => true,
            },
            time: record.time(),
            dated: head.fields.expire_from,
            span: head.fields.span(),
            key,
            record,
            place: head.place,
            stored_at: stored_at.unwrap_or(head.place),
            reference: None,
        })
    }

    /// The time of the record.
    #[must_use]
    pub fn time(&self) -> DateTime {
        self.time
    }

    /// Whether a merged bucket of the key may hold a newer record.
    #[must_use]
    pub fn may_be_merged(&self, live: &Live) -> bool {
        let slot = live.merging().and_then(|merging| merging.slot(self.place));
        slot.is_some()
    }

    /// Whether it is shown: neither it nor its bucket has passed the model's retention.
    #[must_use]
    pub fn is_shown(&self, live: &Live) -> bool {
        live.shows(self.time, self.dated)
    }

    /// A search for all buckets that may hold a newer record. `longest` is the longest span that a
    /// bucket of the key covers by the model, in milliseconds.
    pub fn further_look(&self, longest: i64) -> FurtherLook {
        FurtherLook {
            key: ReadKey::of::<T>(&self.key),
            since: self.time,
            // Also finds the parts of a window that is longer than the model's.
            longest: longest.max(self.span),
        }
    }

    /// Replaces this record by a newer one of the same key. At equal times, the later bucket wins.
    pub fn take_newer(&mut self, other: Self) {
        if (self.time, self.stored_at) < (other.time, other.stored_at) {
            *self = other;
        }
    }
}

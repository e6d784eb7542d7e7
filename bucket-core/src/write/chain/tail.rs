//! What is known about the bucket at the end of a chain.

use bson::{DateTime, Document, RawBsonRef, RawDocument, doc};

use crate::{
    bucket::{
        id::{self, Place},
        sealed::{SEALED, was_sealed},
        stored_count, stored_fields, stored_place,
    },
    codec::raw::printed_id,
    error::{Damage, DamagedBucket},
    model::spec::{BucketSpec, ID},
};

/// What was last seen of the bucket that takes a chain's next record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Tail {
    /// Nothing yet, or what was seen is stale.
    Unknown,
    /// There is no bucket that could take it.
    NoneOpen,
    /// A bucket with room.
    Open(Known),
    /// The newest bucket takes no more.
    Full(Known),
    /// A bucket without records that this chain has reserved.
    Reserved(Reservation),
}

/// A bucket that is open and without records, so that no other one can be opened while whole buckets are
/// placed before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reservation {
    pub(super) bucket: Known,
    /// The bucket that the next whole one comes after, if there is one.
    pub(super) last: Option<Place>,
    /// Only the reserved bucket sorts after this id.
    pub(super) behind: String,
}

/// A bucket as it was last seen.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "the flags are independent of each other"
)]
pub(in crate::write) struct Known {
    pub(in crate::write) id: String,
    pub(in crate::write) place: Place,
    pub(super) count: u32,
    /// The size of its items, if the model counts it.
    pub(super) bytes: u64,
    /// The number of records that it takes: its own capacity if it stores one, else the key's.
    pub(super) size: u32,
    pub(in crate::write) start: DateTime,
    pub(super) end: DateTime,
    /// It is marked as full or as closed.
    pub(super) marked: bool,
    /// It is a bucket for late records.
    pub(super) late: bool,
    /// It may not exist yet.
    pub(super) fresh: bool,
    /// It has no records yet, and its opener may place whole buckets before it.
    pub(super) reserved: bool,
    /// It is or was sealed, and takes no more records, whatever its count says.
    pub(super) sealed: bool,
}

impl Known {
    /// A bucket that will be opened.
    pub(super) fn fresh(id: String, place: Place, size: u32, start: DateTime) -> Self {
        Self {
            id,
            place,
            count: 0,
            bytes: 0,
            size,
            start,
            end: start,
            marked: false,
            late: false,
            fresh: true,
            reserved: false,
            sealed: false,
        }
    }

    /// Reads a stored bucket, whose items may be left out.
    ///
    /// # Errors
    ///
    /// [`DamagedBucket`] if its id does not have the model's form or a field does not have its type.
    pub(super) fn read(
        spec: &BucketSpec,
        prefix: &str,
        size: u32,
        stored: &RawDocument,
    ) -> Result<Self, DamagedBucket> {
        let damaged = |damage: Damage| DamagedBucket::new(printed_id(stored), damage);
        let count = stored_count(spec, stored).map_err(damaged)?;
        let fields = stored_fields(spec, stored).map_err(damaged)?;
        let (id, place) = if spec.object_ids() {
            // Another model, whose ids are texts, could not read a bucket with an object id of the same key.
            if !matches!(stored.get(ID), Ok(None | Some(RawBsonRef::ObjectId(_)))) {
                return Err(damaged(Damage::Field {
                    path: ID.to_owned(),
                    expected: "an object id",
                }));
            }
            let place = stored_place(spec, &fields, stored).map_err(damaged)?;
            let mut id = prefix.to_owned();
            id::push_place(&mut id, place, spec.id_unit());
            (id, place)
        } else {
            let Ok(id) = stored.get_str(ID) else {
                return Err(damaged(Damage::Field {
                    path: ID.to_owned(),
                    expected: "a string",
                }));
            };
            let place = id::parse_place(spec, id).map_err(|error| {
                damaged(Damage::Id {
                    message: error.to_string(),
                })
            })?;
            (id.to_owned(), place)
        };
        Ok(Self {
            id,
            place,
            count: u32::try_from(count.max(0)).unwrap_or(u32::MAX),
            bytes: match spec.max_bytes().map(|_| stored.get(spec.names().bytes)) {
                // A bucket from before the model counted bytes takes no more.
                Some(Ok(None)) => u64::MAX,
                _ => fields.bytes,
            },
            size: if fields.size == 0 { size } else { fields.size },
            start: fields.start,
            end: fields.end,
            marked: fields.is_full || fields.is_closed,
            late: fields.is_late,
            fresh: false,
            reserved: is_reserved(spec, stored),
            sealed: was_sealed(stored),
        })
    }

    /// The tail that it is in a form with marked buckets.
    pub(super) fn by_mark(self) -> Tail {
        if self.marked {
            Tail::Full(self)
        } else {
            Tail::Open(self)
        }
    }

    /// The number of records that still fit.
    pub(super) fn room(&self) -> u32 {
        self.size.saturating_sub(self.count)
    }

    /// [`has_room`](Self::has_room) as a condition.
    pub(super) fn room_condition(spec: &BucketSpec, size: u32) -> Document {
        let names = spec.names();
        let size = i32::try_from(size).unwrap_or(i32::MAX);
        let mut room = doc! { names.count: { "$lt": size }, SEALED: { "$exists": false } };
        if let Some(max) = spec.max_bytes() {
            room.insert(names.bytes, doc! { "$lt": i64::from(max) });
        }
        room
    }

    /// Whether a record fits by number and by bytes.
    pub(super) fn has_room(&self, spec: &BucketSpec) -> bool {
        !self.sealed
            && !spec.form().in_parts()
            && self.count < self.size
            && spec
                .max_bytes()
                .is_none_or(|max| self.bytes < u64::from(max))
    }

    /// Whether the index on open buckets of the manual's form has it although it is sealed.
    pub(super) fn blocks(&self, spec: &BucketSpec) -> bool {
        let max = spec.max_bytes().map_or(u64::MAX, u64::from);
        self.sealed && self.count < spec.open_below(self.size) && self.bytes < max
    }

    /// The bucket after it has taken this many records of this size.
    pub(super) fn with(&self, taken: usize, bytes: u64) -> Self {
        let taken = u32::try_from(taken).unwrap_or(u32::MAX);
        Self {
            count: self.count.saturating_add(taken),
            bytes: self.bytes.saturating_add(bytes),
            fresh: false,
            reserved: false,
            ..self.clone()
        }
    }
}

/// Whether a bucket is reserved: it has no records, and its count has a type that no other count has.
fn is_reserved(spec: &BucketSpec, stored: &RawDocument) -> bool {
    let count = stored.get(spec.names().count);
    spec.form().reserves() && matches!(count, Ok(Some(RawBsonRef::Int64(0))))
}

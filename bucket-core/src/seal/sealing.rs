//! What a bucket becomes when it is sealed, or unsealed.

use bson::{RawBsonRef, RawDocument};

use super::{Due, SealStatement, bounded::are_bounded, statement};
use crate::{
    bucket::{
        self, BucketRows,
        edits::{Edits, is_removed},
        packed::{ends, pack},
        record::Record,
    },
    codec::raw::printed_id,
    error::{Damage, DamagedBucket},
    model::{limits::Limits, size::MAX_DOCUMENT_BYTES},
};

/// The largest bucket that is sealed, in bytes: its statement has the bucket's items, too.
const MOST: usize = MAX_DOCUMENT_BYTES / 2;

/// What a bucket becomes.
#[derive(Debug)]
#[non_exhaustive]
pub enum Sealing {
    /// This statement seals it, or gives the rows back.
    Statement(SealStatement),
    /// It is not due yet, or has no records.
    NotDue,
    /// It stays as it is: packed it would not be smaller (in a model that merges none), it is too large, or its
    /// aggregates do not bound its records.
    /// The statement has its items as rows and as columns, in 16 MB.
    Stays,
}

/// Seals a bucket that is due.
///
/// # Errors
///
/// [`DamagedBucket`] if it is not a sound bucket of the model.
pub fn seal<T: Record>(
    stored: &RawDocument,
    limits: impl Fn(&T::Key) -> Option<Limits>,
    due: Due,
) -> Result<Sealing, DamagedBucket> {
    of::<T>(stored, limits, due).map_err(|damage| DamagedBucket::new(printed_id(stored), damage))
}

fn of<T: Record>(
    stored: &RawDocument,
    limits: impl Fn(&T::Key) -> Option<Limits>,
    due: Due,
) -> Result<Sealing, Damage> {
    let spec = T::SPEC;
    let head = bucket::head(spec, stored)?;
    let key = bucket::key_of::<T>(stored)?;
    let array = bucket::items(spec, stored)?;
    let mut items = Vec::with_capacity(head.capacity(spec));
    for (index, item) in array.into_iter().enumerate() {
        let item = item.map_err(bucket::bson_damage)?;
        bucket::item_time(spec, index, item)?;
        if let RawBsonRef::Document(item) = item {
            items.push(item);
        }
    }
    let count = head.check_count(items.len())?;
    Edits::read(stored)?;
    let left: Vec<_> = items
        .iter()
        .copied()
        .filter(|item| !is_removed(item))
        .collect();
    let Some(ends) = ends(spec, left.iter().copied()) else {
        return Ok(Sealing::NotDue);
    };
    // Limits that are refused are those of no bucket.
    let form = limits(&key).and_then(|limits| limits.apply(spec.form()).ok());
    let form = form.unwrap_or(spec.form());
    if !due.is_met(spec, form, &head, (count, ends.1)) {
        return Ok(Sealing::NotDue);
    }
    if stored.as_bytes().len() > MOST || !are_bounded(spec, stored, &left) {
        return Ok(Sealing::Stays);
    }
    let rows = array.as_bytes();
    // Only sealed buckets are merged, and together those with few records are smaller.
    let is_merged = spec.merge().is_some();
    Ok(match pack(items) {
        Some(packed) if is_merged || packed.len() < rows.len() => {
            let change = statement::Change::Seal {
                rows,
                packed: &packed,
                ends,
                at: spec.merge().map(|_| due.now),
            };
            sendable(SealStatement::new::<T>(&key, stored, count, &change))
        }
        _ => Sealing::Stays,
    })
}

/// Gives a sealed bucket its rows back.
///
/// # Errors
///
/// [`DamagedBucket`] if it cannot be unpacked, or is no bucket of the model.
pub fn unseal<T: Record>(stored: &RawDocument) -> Result<Sealing, DamagedBucket> {
    let damaged = |damage| DamagedBucket::new(printed_id(stored), damage);
    let bucket = BucketRows::of(T::SPEC, stored)?;
    let Some(packed) = bucket.packed else {
        return Ok(Sealing::NotDue);
    };
    let rows = bucket::items(T::SPEC, &bucket.rows).map_err(damaged)?;
    let key = bucket::key_of::<T>(stored).map_err(damaged)?;
    let count = bucket::stored_count(T::SPEC, stored).map_err(damaged)?;
    let count = u32::try_from(count).unwrap_or_default();
    let change = statement::Change::Unseal {
        packed,
        rows: rows.as_bytes(),
    };
    Ok(sendable(SealStatement::new::<T>(
        &key, stored, count, &change,
    )))
}

/// A statement, if it fits into a command: it has the items before and after it.
fn sendable(statement: SealStatement) -> Sealing {
    if statement.size() > MAX_DOCUMENT_BYTES {
        return Sealing::Stays;
    }
    Sealing::Statement(statement)
}

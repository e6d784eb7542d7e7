//! What a sealed bucket becomes in the archive, and what is left of it; and the way back.

use bson::{Bson, DateTime, RawDocument, RawDocumentBuf, cstr, oid::ObjectId};

use crate::{
    bucket::{
        self, BucketRows,
        archived::{self, Instead},
        record::Record,
        sealed::{ARCHIVED, SEALED, copied_at, ends_of_sealed, packed, says_archived},
        wrong_field,
    },
    codec::raw::printed_id,
    error::{Damage, DamagedBucket},
    model::spec::{BucketSpec, ID},
    seal::{SealStatement, statement::Change},
};

/// A bucket on its way into the archive.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Moving {
    /// The document of the archive.
    pub copy: RawDocumentBuf,
    /// Its id.
    pub id: ObjectId,
    /// The id of the bucket.
    pub bucket: Bson,
    /// Leaves a reference in the place of the items, if the bucket is as it was copied.
    pub statement: SealStatement,
}

/// A sealed bucket on its way into the archive; `None` if it is not sealed, or archived already. `id` is made anew for
/// each attempt: nobody else knows the copy until the bucket refers to it. `of` is the name of the database and of the
/// collection. From `until` on, which is a time of the server, the statement changes nothing.
///
/// # Errors
///
/// [`DamagedBucket`] if its items cannot be unpacked, or it is not a bucket of the model.
pub fn archive<T: Record>(
    stored: &RawDocument,
    id: ObjectId,
    of: &str,
    now: DateTime,
    until: Option<DateTime>,
) -> Result<Option<Moving>, DamagedBucket> {
    let spec = T::SPEC;
    let damaged = |damage| DamagedBucket::new(printed_id(stored), damage);
    let Some(packed) = packed(spec.items(), stored) else {
        return Ok(None);
    };
    if Instead::read(packed).is_some() {
        return Ok(None);
    }
    let rows = BucketRows::of(spec, stored)?;
    let (key, count) = state::<T>(stored).map_err(damaged)?;
    let items = bucket::items(spec, &rows.rows).map_err(damaged)?;
    let items = items.into_iter().count();
    if usize::try_from(count) != Ok(items) {
        let count = i64::from(count);
        return Err(damaged(Damage::CountMismatch { count, items }));
    }
    let ends = ends(stored).map_err(damaged)?;
    let no_id = || damaged(wrong_field(ID, "there"));
    let reference = archived::reference(stored, packed, id).ok_or_else(no_id)?;
    let change = Change::Archive {
        packed,
        reference: &reference,
        ends,
        at: now,
        until,
    };
    Ok(Some(Moving {
        copy: archived::copy(stored, id, of),
        id,
        bucket: bucket_id(stored).ok_or_else(no_id)?,
        statement: SealStatement::new::<T>(&key, stored, count, &change),
    }))
}

/// The statement that gives an archived bucket its items back; `None` if it is not archived.
///
/// # Errors
///
/// [`DamagedBucket`] if the copy has other items, or does not say either when its records are.
pub fn restore<T: Record>(
    stored: &RawDocument,
    copy: Option<&RawDocument>,
) -> Result<Option<SealStatement>, DamagedBucket> {
    let spec = T::SPEC;
    let damaged = |damage| DamagedBucket::new(printed_id(stored), damage);
    let own = packed(spec.items(), stored);
    let Some(Instead::Reference(reference)) = own.and_then(Instead::read) else {
        return Ok(None);
    };
    let of_copy = copy.and_then(|copy| packed(spec.items(), copy));
    let Some(packed) = of_copy.filter(|packed| reference.is_of(packed)) else {
        let message = match copy {
            None => "they are archived, and the archive has no copy of the bucket",
            Some(_) => "they are archived, and the copy in the archive has others",
        };
        let message = message.to_owned();
        return Err(damaged(Damage::Packed { message }));
    };
    let state = state::<T>(stored);
    let ends = ends(stored).or_else(|damage| {
        // The copy has all fields as they were.
        let of_copy = copy.and_then(|copy| ends(copy).ok());
        of_copy.ok_or_else(|| damaged(damage))
    });
    let change = Change::Restore {
        reference: reference.bytes,
        packed,
        ends: ends?,
    };
    Ok(Some(match state {
        Ok((key, count)) => SealStatement::new::<T>(&key, stored, count, &change),
        // Once the items are back, `repair` can mend what is wrong with it.
        Err(_) => SealStatement::of_damaged(spec, stored, &change),
    }))
}

/// Whether a bucket refers to the archive, or says that its items are there.
#[must_use]
pub fn is_archived(spec: &BucketSpec, stored: &RawDocument) -> bool {
    says_archived(stored) || copy_of(spec, stored).is_some()
}

/// Whether the records of a bucket were archived before they expired, so that an archive may have its copy still.
#[must_use]
pub fn was_archived(stored: &RawDocument) -> bool {
    copied_at(stored).is_some()
}

/// What tells one move of a bucket from others: its id, and when its items went into the archive. Each has a copy of its own.
#[must_use]
pub fn move_of(stored: &RawDocument) -> Vec<u8> {
    let mut told = RawDocumentBuf::new();
    if let Ok(Some(id)) = stored.get(ID) {
        told.append(cstr!("id"), id);
    }
    let sealed = stored.get_document(SEALED).ok();
    if let Some(Ok(Some(at))) = sealed.map(|sealed| sealed.get(ARCHIVED)) {
        told.append(cstr!("at"), at);
    }
    told.into_bytes()
}

/// How much longer than the collection an archive keeps what expires, in seconds. Each server removes at its own pace, and a
/// bucket must not outlive its copy.
pub const LONGER: i64 = 3_600;

/// Whether the records of a bucket have expired for so long that the archive may have removed its copy.
#[must_use]
pub fn may_be_gone(spec: &BucketSpec, stored: &RawDocument, now: DateTime) -> bool {
    let now = DateTime::from_millis(now.timestamp_millis().saturating_sub(LONGER * 1_000));
    let date = stored.get_datetime(spec.age_field()).ok();
    let expired = spec.expired_before(now);
    date.zip(expired).is_some_and(|(date, until)| date <= until)
}

/// The damage of a bucket whose items are in the archive, and that has lost its reference.
#[must_use]
pub fn without_reference(stored: &RawDocument) -> DamagedBucket {
    let message = archived::REPLACED.to_owned();
    DamagedBucket::new(printed_id(stored), Damage::Packed { message })
}

/// The id of the copy that a bucket refers to, if it is archived.
#[must_use]
pub fn copy_of(spec: &BucketSpec, stored: &RawDocument) -> Option<ObjectId> {
    match Instead::read(packed(spec.items(), stored)?)? {
        Instead::Reference(reference) => Some(reference.copy()),
        _ => None,
    }
}

/// The size in bytes of a bucket with its items, wherever they are.
#[must_use]
pub fn full_size(spec: &BucketSpec, stored: &RawDocument) -> usize {
    let own = stored.as_bytes().len();
    match packed(spec.items(), stored).and_then(Instead::read) {
        Some(Instead::Reference(reference)) => own.saturating_add(reference.length()),
        _ => own,
    }
}

/// The error of whatever needs the items of this archived bucket and has no archive.
#[must_use]
pub fn is_elsewhere(stored: &RawDocument) -> DamagedBucket {
    DamagedBucket::new(printed_id(stored), Damage::Archived)
}

fn state<T: Record>(stored: &RawDocument) -> Result<(T::Key, u32), Damage> {
    let key = bucket::key_of::<T>(stored)?;
    let count = bucket::stored_count(T::SPEC, stored)?;
    let count = u32::try_from(count);
    let count = count.map_err(|_| wrong_field(T::SPEC.names().count, "a number of records"))?;
    Ok((key, count))
}

/// The times of the first and of the last record.
fn ends(stored: &RawDocument) -> Result<(DateTime, DateTime), Damage> {
    ends_of_sealed(stored)
        .ok_or_else(|| wrong_field(SEALED, "the times of its first and its last record"))
}

fn bucket_id(stored: &RawDocument) -> Option<Bson> {
    Bson::try_from(stored.get(ID).ok()??).ok()
}

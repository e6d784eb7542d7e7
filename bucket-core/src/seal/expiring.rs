//! What a bucket becomes once its records have expired, in a model that keeps statistics for longer: a header.
//!
//! A header is a sealed bucket without items. Its aggregates are all that is left, so they must be right: a bucket of which a
//! check finds that its aggregates are not those of its records stays as it is. Reads do not show its records either.

use bson::{DateTime, RawDocument, doc};

use super::{SealStatement, Sealing, scan::scan, statement::Change};
use crate::{
    bucket::{
        archived::Instead,
        edits::is_removed,
        items, key_of,
        packed::{ends, ends_of},
        record::Record,
        sealed::{archived_at, ends_of_sealed, expired_path, packed},
        stored_count, unsealed,
    },
    check::{Problem, ScanPlan, document},
    codec::raw::printed_id,
    error::{Damage, DamagedBucket},
    model::{limits::Limits, spec::BucketSpec},
    read::ReadKey,
    time::range::TimeRange,
};

/// The buckets of a key, or of all, whose records have expired at `now` and still have items; `None` if the model keeps no
/// statistics for longer than records.
#[must_use]
pub fn expired_buckets(
    spec: &BucketSpec,
    key: Option<&ReadKey>,
    range: TimeRange,
    now: DateTime,
) -> Option<ScanPlan> {
    let until = spec.headers_until(now)?;
    let mut condition = doc! {
        spec.age_field(): { "$type": "date", "$lte": until },
        expired_path(): { "$exists": false },
    };
    let closed = spec.closed_conditions();
    if !closed.is_empty() {
        condition.insert("$or", closed);
    }
    Some(scan(spec, key, range, &condition))
}

/// Removes the items of a bucket that [`expired_buckets`] has found.
///
/// # Errors
///
/// [`DamagedBucket`] if its items cannot be unpacked, or it is not a bucket of the model.
pub fn expire<T: Record>(
    stored: &RawDocument,
    limits: impl Fn(&T::Key) -> Option<Limits>,
    now: DateTime,
) -> Result<Sealing, DamagedBucket> {
    of::<T>(stored, limits, now).map_err(|damage| DamagedBucket::new(printed_id(stored), damage))
}

fn of<T: Record>(
    stored: &RawDocument,
    limits: impl Fn(&T::Key) -> Option<Limits>,
    now: DateTime,
) -> Result<Sealing, Damage> {
    let spec = T::SPEC;
    let key = key_of::<T>(stored)?;
    let count = stored_count(spec, stored)?;
    let Ok(count) = u32::try_from(count) else {
        return Ok(Sealing::Stays);
    };
    let packed = packed(spec.items(), stored);
    let until = spec.headers_until(now);
    let (bytes, ends) = if let Some(Instead::Reference(reference)) = packed.and_then(Instead::read)
    {
        // Nobody may know its records any more; they were right when it was archived.
        let ends =
            ends_of_sealed(stored).filter(|(_, last)| until.is_some_and(|until| *last <= until));
        (reference.length(), ends)
    } else {
        let rows = unsealed(spec, stored)?;
        let array = items(spec, &rows)?;
        let found = document::<T>(stored, limits, now).problems;
        let is_young = |time: DateTime| until.is_some_and(|until| time > until) && time <= now;
        let mut records = array
            .into_iter()
            .filter_map(|item| item.ok()?.as_document());
        // A writer without the limit may have stored it. A record with a date in the future goes with the others.
        let has_young = records.any(|record| {
            let time = record.get_datetime(spec.time().name);
            !is_removed(record) && time.is_ok_and(is_young)
        });
        if has_young || found.iter().any(is_of_contents) {
            return Ok(Sealing::Stays);
        }
        let all = || {
            let all = array
                .into_iter()
                .filter_map(|item| item.ok()?.as_document());
            ends(spec, all)
        };
        // Removed records have times as well.
        let ends = ends_of(spec, &rows).or_else(all);
        (packed.map_or(array.as_bytes().len(), <[u8]>::len), ends)
    };
    let Some(ends) = ends else {
        return Ok(Sealing::Stays);
    };
    let change = Change::Expire {
        bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
        ends,
        at: now,
        copied: archived_at(stored),
    };
    let statement = SealStatement::new::<T>(&key, stored, count, &change);
    Ok(Sealing::Statement(statement))
}

/// Whether a problem is about what a bucket says of its records: once they are gone, it can be mended no more.
fn is_of_contents(problem: &Problem) -> bool {
    !matches!(
        problem,
        Problem::NotMarked { .. }
            | Problem::OpenLate { .. }
            | Problem::MarkedWithRoom { .. }
            | Problem::OpenSealed
            | Problem::RemovedEarly { .. }
            | Problem::RemovedLate { .. }
            | Problem::AttributeForm { .. }
            | Problem::OverCapacity { .. }
            | Problem::Bytes { .. }
    )
}

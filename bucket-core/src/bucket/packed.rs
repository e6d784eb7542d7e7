//! Items that are packed as columns.

use bson::{DateTime, RawDocument};
#[cfg(feature = "seal")]
use bucket_columns::{Columns, UnpackError};

use super::{archived::Instead, edits::is_removed};
use crate::{error::Damage, model::spec::BucketSpec};

/// Passes on each packed item.
///
/// # Errors
///
/// [`Damage::Packed`] if the bytes are damaged, [`Damage::Sealed`] if this program does not know their format,
/// [`Damage::Archived`] if they are elsewhere; then nothing is passed on.
#[cfg(feature = "seal")]
pub(crate) fn each_packed(packed: &[u8], mut each: impl FnMut(&RawDocument)) -> Result<(), Damage> {
    if let Some(instead) = Instead::read(packed) {
        return of_archived(instead);
    }
    let columns = Columns::read(packed);
    let columns = columns.map_err(|error| {
        let message = error.to_string();
        match error {
            UnpackError::Version(_) => Damage::Sealed { message },
            _ => Damage::Packed { message },
        }
    })?;
    let mut rows = columns.into_rows();
    while let Some(item) = rows.next_row() {
        each(item);
    }
    Ok(())
}

/// What a reader says of items that are not here.
fn of_archived(instead: Instead<'_>) -> Result<(), Damage> {
    let packed = |message: &str| {
        let message = message.to_owned();
        Err(Damage::Packed { message })
    };
    match instead {
        Instead::Reference(_) => Err(Damage::Archived),
        Instead::Missing => packed("they are archived, and the archive has no copy of the bucket"),
        Instead::Different => packed("they are archived, and the copy in the archive has others"),
        Instead::Gone => Ok(()),
        Instead::Changed => {
            packed("the bucket was restored and changed while it was read: read again")
        }
    }
}

#[cfg(not(feature = "seal"))]
pub(crate) fn each_packed(packed: &[u8], _: impl FnMut(&RawDocument)) -> Result<(), Damage> {
    if let Some(instead) = Instead::read(packed) {
        return of_archived(instead);
    }
    let message = "this program is built without the feature `seal` of `bucket-mongo`";
    Err(Damage::Sealed {
        message: message.to_owned(),
    })
}

/// Packs items; `None` if this program cannot.
#[cfg(feature = "seal")]
#[expect(
    single_use_lifetimes,
    reason = "anonymous ones in `impl Trait` are unstable"
)]
pub(crate) fn pack<'a>(items: impl IntoIterator<Item = &'a RawDocument>) -> Option<Vec<u8>> {
    bucket_columns::pack(items).ok()
}

#[cfg(not(feature = "seal"))]
#[expect(
    single_use_lifetimes,
    reason = "anonymous ones in `impl Trait` are unstable"
)]
pub(crate) fn pack<'a>(_: impl IntoIterator<Item = &'a RawDocument>) -> Option<Vec<u8>> {
    None
}

/// The earliest and the latest time of these items, which are records; `None` if there are none, or if one of them
/// has no time.
#[expect(
    single_use_lifetimes,
    reason = "anonymous ones in `impl Trait` are unstable"
)]
pub(crate) fn ends<'a>(
    spec: &BucketSpec,
    items: impl IntoIterator<Item = &'a RawDocument>,
) -> Option<(DateTime, DateTime)> {
    let mut ends = None;
    for item in items {
        let time = item.get_datetime(spec.time().name).ok()?;
        let (first, last) = ends.unwrap_or((time, time));
        ends = Some((first.min(time), last.max(time)));
    }
    ends
}

/// The same of a bucket whose items are rows; its removed records do not count.
pub(crate) fn ends_of(spec: &BucketSpec, rows: &RawDocument) -> Option<(DateTime, DateTime)> {
    let items = rows.get_array(spec.items()).ok()?;
    let items = items.into_iter().map(|item| item.ok()?.as_document());
    let items: Vec<&RawDocument> = items.collect::<Option<_>>()?;
    ends(spec, items.into_iter().filter(|item| !is_removed(item)))
}

/// The records of packed items from a time on: their number, the earliest and the latest time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) records: u64,
    pub(crate) ends: Option<(DateTime, DateTime)>,
}

impl Shown {
    /// Adds those of these packed items.
    pub(crate) fn add(
        &mut self,
        spec: &BucketSpec,
        packed: &[u8],
        from: DateTime,
    ) -> Result<(), Damage> {
        each_packed(packed, |item| {
            let time = item.get_datetime(spec.time().name).ok();
            let Some(time) = time.filter(|time| *time >= from && !is_removed(item)) else {
                return;
            };
            self.reach(time);
            self.records += 1;
        })
    }

    /// There is a record of this time.
    pub(crate) fn reach(&mut self, time: DateTime) {
        let (first, last) = self.ends.unwrap_or((time, time));
        self.ends = Some((first.min(time), last.max(time)));
    }
}

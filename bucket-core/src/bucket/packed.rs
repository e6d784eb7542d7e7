//! Items that are packed as columns.

use bson::{DateTime, RawDocument, error::Error};
#[cfg(feature = "seal")]
use bucket_columns::{Columns, Rows, UnpackError};
use serde::de::DeserializeOwned;

use super::{
    archived::{Instead, is_reference},
    edits::is_removed,
};
#[cfg(feature = "seal")]
use crate::codec::decode::decode_row;
use crate::{error::Damage, model::spec::BucketSpec};

/// Passes on each packed item.
///
/// # Errors
///
/// [`Damage::Packed`] if the bytes are damaged, [`Damage::Sealed`] if this program does not know their format,
/// [`Damage::Archived`] if they are elsewhere, [`Damage::Expired`] if they are gone; then nothing is passed on.
pub(crate) fn each_packed(packed: &[u8], mut each: impl FnMut(&RawDocument)) -> Result<(), Damage> {
    let mut items = PackedItems::read(packed)?;
    while let Some(item) = items.next() {
        each(item);
    }
    Ok(())
}

/// Packed items, one after the other.
#[derive(Debug)]
pub(crate) struct PackedItems<'a> {
    /// None of an archived bucket that was removed meanwhile.
    #[cfg(feature = "seal")]
    rows: Option<Rows<'a>>,
    #[cfg(not(feature = "seal"))]
    rows: std::marker::PhantomData<&'a ()>,
}

impl<'a> PackedItems<'a> {
    /// Reads them; the errors are those of [`each_packed`].
    pub(crate) fn read(packed: &'a [u8]) -> Result<Self, Damage> {
        match Instead::read(packed) {
            Some(instead) => of_archived(instead).map(|()| Self::none()),
            None if is_reference(packed) => Err(Damage::Packed {
                message: "they are archived, and what refers to the archive is cut off".to_owned(),
            }),
            None => Self::of(packed),
        }
    }
}

#[cfg(feature = "seal")]
impl<'a> PackedItems<'a> {
    const fn none() -> Self {
        Self { rows: None }
    }

    fn of(packed: &'a [u8]) -> Result<Self, Damage> {
        let columns = Columns::read(packed);
        let columns = columns.map_err(|error| {
            let message = error.to_string();
            match error {
                UnpackError::Version(_) => Damage::Sealed { message },
                _ => Damage::Packed { message },
            }
        })?;
        let rows = Some(columns.into_rows());
        Ok(Self { rows })
    }

    /// The next item, put together.
    pub(crate) fn next(&mut self) -> Option<&RawDocument> {
        self.rows.as_mut()?.next_row()
    }

    /// Decodes the next item without putting it together, and passes it. `None`, and nothing is passed, if there is none
    /// or if that cannot be done.
    #[inline]
    pub(crate) fn decode<D: DeserializeOwned>(&mut self) -> Option<Result<D, Error>> {
        let rows = self.rows.as_mut()?;
        let decoded = decode_row(rows.row()?)?;
        rows.pass();
        Some(decoded)
    }
}

#[cfg(not(feature = "seal"))]
#[expect(
    clippy::unused_self,
    reason = "those of programs that can unpack items have rows"
)]
impl<'a> PackedItems<'a> {
    const fn none() -> Self {
        let rows = std::marker::PhantomData;
        Self { rows }
    }

    fn of(_: &'a [u8]) -> Result<Self, Damage> {
        let message = "this program is built without the feature `seal` of `bucket-mongo`";
        Err(Damage::Sealed {
            message: message.to_owned(),
        })
    }

    pub(crate) const fn next(&mut self) -> Option<&RawDocument> {
        None
    }

    pub(crate) const fn decode<D: DeserializeOwned>(&mut self) -> Option<Result<D, Error>> {
        None
    }
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
        Instead::Expired => Err(Damage::Expired { span: None }),
        Instead::Changed => {
            packed("the bucket was restored and changed while it was read: read again")
        }
    }
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

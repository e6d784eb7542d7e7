//! The items of an event as records.

use bson::{Bson, RawArray, RawBsonRef};

use super::{delta::Marks, event::RecordChange};
use crate::{
    bucket::{self, ItemReader, edits::is_removed, record::Record},
    error::Damage,
};

/// The changes of records of one event of the server.
pub(super) type Changes<T> = Vec<Result<RecordChange<T>, Damage>>;

/// Items that an update set, with their indexes.
type Items<'a> = Vec<(u32, RawBsonRef<'a>)>;

/// New items.
pub(super) fn appended<T: Record>(
    reader: &ItemReader<'_>,
    key: &T::Key,
    items: Items<'_>,
) -> Changes<T> {
    let records = items.into_iter().map(|(index, item)| {
        let record = decoded::<T>(reader, key, index, item)?;
        Ok(RecordChange::Stored { record, index })
    });
    records.collect()
}

/// Edited items, with the records before; `former` is empty if it is not asked for.
pub(super) fn edited<T: Record>(
    reader: &ItemReader<'_>,
    key: &T::Key,
    items: Items<'_>,
    marks: Marks,
    former: Vec<Option<T>>,
) -> Changes<T> {
    let mut former = former.into_iter();
    let records = items.into_iter().filter_map(|(index, item)| {
        let before = former.next().flatten();
        match marks {
            Marks::New if is_mark(item) => return Some(removed::<T>(key, index, item, before)),
            Marks::Old if is_mark(item) => return None,
            _ => {}
        }
        let record = decoded::<T>(reader, key, index, item);
        Some(record.map(|record| RecordChange::Updated {
            record,
            before,
            index,
        }))
    });
    records.collect()
}

pub(super) fn is_longer(items: &RawArray, than: u32) -> bool {
    let than = usize::try_from(than).unwrap_or(usize::MAX);
    items.into_iter().nth(than).is_some()
}

pub(super) fn decoded<T: Record>(
    reader: &ItemReader<'_>,
    key: &T::Key,
    index: u32,
    item: RawBsonRef<'_>,
) -> Result<T, Damage> {
    let index = usize::try_from(index).unwrap_or(usize::MAX);
    Ok(T::assemble(key.clone(), reader.decode(index, item)?))
}

fn is_mark(item: RawBsonRef<'_>) -> bool {
    matches!(item, RawBsonRef::Document(item) if is_removed(item))
}

/// The change of an item that is now in the place of a removed record.
fn removed<T: Record>(
    key: &T::Key,
    index: u32,
    item: RawBsonRef<'_>,
    before: Option<T>,
) -> Result<RecordChange<T>, Damage> {
    let at = usize::try_from(index).unwrap_or(usize::MAX);
    let time = bucket::item_time(T::SPEC, at, item)?;
    let id = T::SPEC.unique().and_then(|name| {
        match item.as_document()?.get(name).ok()?? {
            // The place of the item: another bucket of the key has the record now.
            RawBsonRef::Document(_) => None,
            id => Bson::try_from(id).ok(),
        }
    });
    Ok(RecordChange::Removed {
        key: key.clone(),
        time,
        id,
        before,
        index,
    })
}

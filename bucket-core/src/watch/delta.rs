//! The items that an update changed.

use bson::{RawArray, RawBsonRef, RawDocument, RawDocumentBuf};

use super::{
    raw_change::{is_at_or_in, takes_from, updated_fields},
    sealing::Sealing,
    times::Times,
};
use crate::{
    bucket::{
        bson_damage,
        edits::{EDITS, NUMBER, REMOVED},
        merged::MERGED,
    },
    codec::raw::{RawWriter, elements, kind::ARRAY},
    error::Damage,
    model::{spec::BucketSpec, whole},
};

/// What an update did to a bucket.
#[derive(Debug)]
pub(super) struct Delta<'a> {
    pub(super) items: Items<'a>,
    /// The number of items after it, if that changed.
    pub(super) count: Option<u32>,
    /// The times that it set.
    pub(super) times: Times,
    /// Whether it changed what is remembered of a bucket: the key, or attributes that the bucket holds.
    pub(super) changes_fields: bool,
    /// The arrays of attributes that the bucket holds from now on; `None` if the change is not one of whole arrays.
    held: Option<Vec<(&'static str, &'a RawArray)>>,
    /// The origins of its items, if it has got those of others.
    pub(super) merged: Option<&'a [u8]>,
}

/// What an update did to the items of a bucket. Items have their indexes, in ascending order.
#[derive(Debug)]
pub(super) enum Items<'a> {
    Same,
    Appended(Vec<(u32, RawBsonRef<'a>)>),
    Edited(Vec<(u32, RawBsonRef<'a>)>, Marks),
    /// All of them, old and new.
    All(&'a RawArray),
    /// The event does not say it.
    Unclear,
}

/// Which of the edited items can be in the place of a removed record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Marks {
    /// None of the bucket is.
    None,
    /// Those of records that were removed before.
    Old,
    /// Any.
    New,
}

impl Marks {
    /// What a new value in the field that counts the edits says.
    fn of(path: &str, value: RawBsonRef<'_>) -> Self {
        match path.get(EDITS.len() + 1..) {
            Some(NUMBER) => return Self::Old,
            Some(_) => return Self::New,
            None => {}
        }
        let removed = value.as_document();
        let removed = removed.and_then(|edits| edits.get(REMOVED).ok()?);
        match removed.and_then(whole::of_raw) {
            Some(0) => Self::None,
            _ => Self::New,
        }
    }
}

impl<'a> Delta<'a> {
    /// Reads an `updateDescription`, whose updated fields are [`unpacked`].
    pub(super) fn read(
        spec: &'static BucketSpec,
        update: &'a RawDocument,
        unpacked: &'a RawDocument,
    ) -> Result<Self, Damage> {
        let mut read = Read {
            is_unclear: takes_from(update, spec.items())?,
            sealing: Sealing::read(updated_fields(update)?),
            ..Read::default()
        };
        let mut changes_fields = false;
        let mut whole = Some(Vec::new());
        let mut times = Times::default();
        for field in unpacked {
            let (path, value) = field.map_err(bson_damage)?;
            read.field(spec, path.as_str(), value);
            times.set(spec, path.as_str(), value);
            let mut held = spec.shared_arrays().map(|array| array.name);
            let mut keys = spec.keys().iter().map(|key| key.path);
            let held = held.find(|name| is_at_or_in(path.as_str(), name));
            if held.is_none() && !keys.any(|name| is_at_or_in(path.as_str(), name)) {
                continue;
            }
            changes_fields = true;
            match (held, value) {
                (Some(name), RawBsonRef::Array(array)) if name == path.as_str() => {
                    if let Some(whole) = &mut whole {
                        whole.push((name, array));
                    }
                }
                _ => whole = None,
            }
        }
        let (count, merged) = (read.count, read.merged);
        Ok(Self {
            merged,
            items: read.items(),
            count,
            times,
            changes_fields,
            held: whole,
        })
    }

    /// These fields of a bucket after the update; `None` if it does not say them.
    pub(super) fn after(&self, fields: &RawDocument) -> Option<RawDocumentBuf> {
        let held = self.held.as_ref()?;
        let is_held = |name: &str| held.iter().any(|(held, _)| *held == name);
        Some(RawWriter::build(|writer| {
            for element in elements(fields).map_while(Result::ok) {
                if !is_held(element.name) {
                    writer.raw(element.kind, element.name, element.bytes);
                }
            }
            for (name, array) in held {
                writer.raw(ARRAY, name, array.as_bytes());
            }
        }))
    }
}

/// An update while it is read.
#[derive(Debug, Default)]
struct Read<'a> {
    is_unclear: bool,
    items: Vec<(u32, RawBsonRef<'a>)>,
    all: Option<&'a RawArray>,
    count: Option<u32>,
    edited: Option<Marks>,
    sealing: Sealing,
    merged: Option<&'a [u8]>,
}

impl<'a> Read<'a> {
    fn field(&mut self, spec: &BucketSpec, path: &str, value: RawBsonRef<'a>) {
        if path == spec.names().count {
            self.count = whole::of_raw(value).and_then(|count| u32::try_from(count).ok());
        } else if path == MERGED {
            if let RawBsonRef::Binary(origins) = value {
                self.merged = Some(origins.bytes);
            }
        } else if is_at_or_in(path, EDITS) {
            self.edited = self.edited.max(Some(Marks::of(path, value)));
        } else if is_at_or_in(path, spec.items()) {
            match (path.get(spec.items().len() + 1..), value) {
                (None, RawBsonRef::Array(all)) => self.all = Some(all),
                (Some(index), value) => match index.parse() {
                    Ok(index) => self.items.push((index, value)),
                    // A part of an item.
                    Err(_) => self.is_unclear = true,
                },
                _ => self.is_unclear = true,
            }
        }
    }

    fn items(mut self) -> Items<'a> {
        self.items.sort_by_key(|(index, _)| *index);
        match (&self.sealing, self.all, self.edited) {
            (Sealing::Same, _, None) => return Items::Same,
            // The sum of the edits of all.
            (Sealing::Same, ..) if self.merged.is_some() => return Items::Same,
            (Sealing::Edit(places), Some(all), Some(marks)) => {
                let items = (0_u32..).zip(all).filter(|(at, _)| places.contains(at));
                let items: Option<Vec<_>> =
                    items.map(|(at, item)| Some((at, item.ok()?))).collect();
                let items = items.filter(|items| items.len() == places.len());
                return items.map_or(Items::Unclear, |items| Items::Edited(items, marks));
            }
            (Sealing::Nothing, ..) => {}
            _ => return Items::Unclear,
        }
        match (self.all, self.edited) {
            _ if self.is_unclear => Items::Unclear,
            (Some(all), None) if self.items.is_empty() => Items::All(all),
            (None, _) if self.items.is_empty() => Items::Same,
            (None, Some(marks)) => Items::Edited(self.items, marks),
            (None, None) if self.is_at_the_end() => Items::Appended(self.items),
            (Some(_), _) | (None, None) => Items::Unclear,
        }
    }

    /// Whether the items are the last ones, as the new count has it.
    fn is_at_the_end(&self) -> bool {
        let Some(count) = self.count else {
            return false;
        };
        let number = u32::try_from(self.items.len()).unwrap_or(u32::MAX);
        let Some(first) = count.checked_sub(number) else {
            return false;
        };
        (first..)
            .zip(&self.items)
            .all(|(at, (index, _))| at == *index)
    }
}

//! What buckets become that are merged: the first of them has the items of all, sealed, and the others are gone. What is left of
//! buckets whose records have expired is merged the same way, without items.

use std::borrow::Cow;

use bson::{Bson, DateTime, Document, RawArray, RawBsonRef, RawDocument, RawDocumentBuf, doc};

use super::{MergeGroup, bounded::are_bounded, statement::write_packed};
use crate::{
    bucket::{
        self,
        archived::{EXPIRED_ITEMS, id_of},
        edits::{self, EDITS, Edits, is_removed},
        id::Place,
        merged::{MERGED, Origin, Origins},
        packed::{each_packed, ends, pack},
        record::Record,
        sealed::{
            AT, COPIED, EDIT, EXPIRED, SEALED, copied_at, ends_of_sealed, packed, settled_since,
            was_sealed,
        },
    },
    codec::raw::{Element, RawWriter},
    error::Damage,
    model::spec::{BucketSpec, ID, ID_INDEX},
    read::key_elements,
    stats::{StoredStats, Total},
};

/// More bytes of items do not become one bucket: an edit unpacks them, and `unseal` makes rows of them, in a document of 16 MB.
const MOST_UNPACKED: usize = 12 * 1024 * 1024;

/// Statements that make one bucket of several. They are sent in the transaction that has read these buckets, and each bucket must
/// be there: then no other writer has changed one of them, and every record is in one bucket at every moment.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Merge {
    update: RawDocumentBuf,
    /// Removes all but the first of them.
    removal: RawDocumentBuf,
    /// The number of buckets before it.
    pub buckets: u64,
    /// The number of their items, with the marks of removed records.
    pub records: u64,
    /// The size of the buckets before it, in bytes.
    pub before: u64,
    /// The size of the bucket after it, in bytes.
    pub after: u64,
}

/// A bucket that is merged with others.
struct Part<'a> {
    stored: &'a RawDocument,
    id: Element<'a>,
    items: Items<'a>,
    count: u32,
    edits: Edits,
    /// The times of its first and its last record, if it has any.
    ends: Option<(DateTime, DateTime)>,
    /// The size of its items, if the model counts it and the bucket has it.
    bytes: Option<u64>,
}

/// The items of a bucket, as they are stored.
enum Items<'a> {
    Packed(&'a [u8]),
    Rows(&'a RawArray),
}

/// The items of one origin.
struct Slice<'a> {
    origin: Origin,
    items: Vec<Cow<'a, RawDocument>>,
}

impl MergeGroup {
    /// More bytes of buckets do not become one: the commands have the items of all before and after it.
    pub const MOST_BYTES: usize = 4 * 1024 * 1024;

    /// Merges its buckets, which come in the order of their places. `None` if they are not what they were when they were put
    /// together, if one of them says too little of its records, or if they are too large.
    #[must_use]
    pub fn merge<T: Record>(&self, stored: &[RawDocumentBuf], now: DateTime) -> Option<Merge> {
        // A damaged bucket stays as it is; `verify` reports it.
        of::<T>(stored, self.sealed_until, now).ok().flatten()
    }
}

/// Whether a bucket has taken no more records for as long.
fn is_settled(stored: &RawDocument, sealed_until: DateTime) -> bool {
    let sealed = stored.get_document(SEALED).ok();
    let since = sealed.and_then(settled_since);
    since.is_some_and(|since| since <= sealed_until)
}

fn of<T: Record>(
    stored: &[RawDocumentBuf],
    sealed_until: DateTime,
    now: DateTime,
) -> Result<Option<Merge>, Damage> {
    let spec = T::SPEC;
    let (Some(first), true) = (stored.first(), stored.len() > 1) else {
        return Ok(None);
    };
    let bytes: usize = stored.iter().map(|stored| stored.as_bytes().len()).sum();
    let is_settled = |stored: &RawDocumentBuf| is_settled(stored, sealed_until);
    if bytes > MergeGroup::MOST_BYTES || !stored.iter().all(is_settled) {
        return Ok(None);
    }
    let key = bucket::key_of::<T>(first)?;
    let unit = spec.id_unit();
    let mut slices: Vec<(Place, Slice<'_>)> = Vec::new();
    let mut parts = Vec::with_capacity(stored.len());
    let mut total = Total::new(spec, spec.size());
    for stored in stored {
        if bucket::key_of::<T>(stored)? != key {
            return Ok(None);
        }
        let Some(part) = Part::read(spec, stored)? else {
            return Ok(None);
        };
        let stats = StoredStats::read(spec, stored, part.edits.left_of(part.count))?;
        // An older bucket may have been stored before the model had an aggregate.
        if stats.lacks_any(spec) {
            return Ok(None);
        }
        total.add_bucket(stats);
        let own = part.slices(spec)?;
        slices.extend(
            own.into_iter()
                .map(|slice| (slice.origin.place(unit), slice)),
        );
        parts.push(part);
    }
    slices.sort_by_key(|(place, _)| *place);
    let origins = slices.iter().map(|(_, slice)| slice.origin).collect();
    let Some(origins) = Origins::new(unit, origins) else {
        return Ok(None);
    };
    let headers = parts.iter().filter(|part| part.is_header()).count();
    let items = slices.iter().flat_map(|(_, slice)| &slice.items);
    let sizes = items.clone().map(|item| item.as_bytes().len());
    if sizes.sum::<usize>() > MOST_UNPACKED {
        return Ok(None);
    }
    let packed = match headers {
        0 => pack(items.map(|item| &**item)),
        all if all == parts.len() => Some(EXPIRED_ITEMS.to_vec()),
        _ => None,
    };
    let (Some(packed), Ok(stats)) = (packed, total.finish()) else {
        return Ok(None);
    };
    let merged = Merged {
        spec,
        parts: &parts,
        origins: &origins,
        packed: &packed,
        stats: &stats,
        now,
    };
    let key = key_elements::<T>(&key);
    let Some(fields) = merged.fields() else {
        return Ok(None);
    };
    // The smallest value of some of them may not be that of the others.
    let items = slices.iter().flat_map(|(_, slice)| &slice.items);
    let left: Vec<&RawDocument> = items
        .map(|item| &**item)
        .filter(|item| !is_removed(item))
        .collect();
    if !are_bounded(spec, &merged.bounds()?, &left) {
        return Ok(None);
    }
    Ok(merged.statements(&key, &fields))
}

impl<'a> Part<'a> {
    /// `None` if it says too little of its records.
    fn read(spec: &BucketSpec, stored: &'a RawDocument) -> Result<Option<Self>, Damage> {
        let (items, ends) = if let Some(packed) = packed(spec.items(), stored) {
            (Items::Packed(packed), ends_of_sealed(stored))
        } else {
            let rows = bucket::items(spec, stored)?;
            (Items::Rows(rows), ends_of_rows(spec, rows)?)
        };
        let says_enough = match items {
            Items::Packed(_) => ends.is_some(),
            Items::Rows(_) => spec.form().in_parts() && was_sealed(stored),
        };
        let (true, Some(id)) = (says_enough, id_of(stored)) else {
            return Ok(None);
        };
        let count = bucket::stored_count(spec, stored)?;
        let Ok(count) = u32::try_from(count) else {
            return Ok(None);
        };
        let bytes = match stored.get(spec.names().bytes) {
            Ok(Some(_)) if spec.max_bytes().is_some() => {
                u64::try_from(bucket::whole_field(stored, spec.names().bytes)?).ok()
            }
            _ => None,
        };
        Ok(Some(Self {
            stored,
            id,
            items,
            count,
            edits: Edits::read(stored)?,
            ends,
            bytes,
        }))
    }

    /// Whether its records have expired, and only its statistics are left.
    fn is_header(&self) -> bool {
        matches!(self.items, Items::Packed(packed) if packed == EXPIRED_ITEMS)
    }

    /// Its items by their origins: its own, or those of the buckets that it was made of.
    fn slices(&self, spec: &BucketSpec) -> Result<Vec<Slice<'a>>, Damage> {
        let head = bucket::head(spec, self.stored)?;
        let origins = Origins::of(spec, self.stored, &head)?;
        let origins = origins.all().iter().copied();
        if self.is_header() {
            let slice = |origin| Slice {
                origin,
                items: Vec::new(),
            };
            return Ok(origins.map(slice).collect());
        }
        let mut items = Vec::with_capacity(usize::try_from(self.count).unwrap_or_default());
        match self.items {
            Items::Packed(packed) => {
                each_packed(packed, |item| items.push(Cow::Owned(item.to_owned())))?;
            }
            Items::Rows(rows) => {
                each_row(spec, rows, |item| items.push(Cow::Borrowed(item)))?;
            }
        }
        let number = items.len();
        let mut items = items.into_iter();
        let slices = origins.map(|origin| Slice {
            origin,
            items: items
                .by_ref()
                .take(usize::try_from(origin.items).unwrap_or(usize::MAX))
                .collect(),
        });
        let mut slices: Vec<Slice<'a>> = slices.collect();
        let mismatch = || Damage::CountMismatch {
            count: self.count.into(),
            items: number,
        };
        let is_short =
            |slice: &Slice<'_>| u32::try_from(slice.items.len()) != Ok(slice.origin.items);
        if items.next().is_some()
            || slices.iter().any(is_short)
            || u32::try_from(number) != Ok(self.count)
        {
            return Err(mismatch());
        }
        self.end_with_last_record(spec, &mut slices)?;
        Ok(slices)
    }

    /// Lets the span of a hybrid bucket end with its last record, as `repair` does: later nobody knows whose end it was. An error if
    /// a record is outside of it: `repair` mends that as long as the bucket is by itself.
    fn end_with_last_record(
        &self,
        spec: &BucketSpec,
        slices: &mut [Slice<'a>],
    ) -> Result<(), Damage> {
        let is_merged = !matches!(self.stored.get(MERGED), Ok(None));
        let ([own], true) = (slices, spec.form().sorts() && !is_merged) else {
            return Ok(());
        };
        let time = |item: &Cow<'a, RawDocument>| item.get_datetime(spec.time().name).ok();
        let times = || own.items.iter().filter_map(time);
        let (Some(earliest), Some(latest)) = (times().min(), times().max()) else {
            return Ok(());
        };
        if earliest < own.origin.start || own.origin.end < latest {
            let expected = "the time of its last record";
            return Err(bucket::wrong_field(spec.names().end, expected));
        }
        own.origin.end = latest;
        Ok(())
    }
}

/// The bucket that others become.
struct Merged<'a> {
    spec: &'static BucketSpec,
    parts: &'a [Part<'a>],
    origins: &'a Origins,
    packed: &'a [u8],
    stats: &'a StoredStats,
    now: DateTime,
}

impl Merged<'_> {
    fn statements(&self, key: &[u8], fields: &RawDocument) -> Option<Merge> {
        let spec = self.spec;
        // The first one has the place of the first origin.
        let (first, others) = self.parts.split_first()?;
        let ends = self.parts.iter().filter_map(|part| part.ends);
        let ends = ends.reduce(|all, of| (all.0.min(of.0), all.1.max(of.1)))?;
        let update = RawWriter::build(|writer| {
            let filter = writer.begin_document("q");
            writer.raw(first.id.kind, ID, first.id.bytes);
            writer.elements(key);
            writer.end(filter);
            let update = writer.begin_document("u");
            let set = writer.begin_document("$set");
            let since = if first.is_header() { EXPIRED } else { AT };
            let copied = self.parts.iter();
            let copied = copied.filter_map(|part| copied_at(part.stored)).max();
            let since = [(since, Some(self.now)), (COPIED, copied)];
            write_packed(spec, self.packed, ends, &since, writer);
            // Between the length and the final NUL.
            let bytes = fields.as_bytes();
            writer.elements(bytes.get(4..bytes.len() - 1).unwrap_or_default());
            writer.end(set);
            if spec.max_bytes().is_some() && self.bytes().is_none() {
                let unset = writer.begin_document("$unset");
                writer.string(spec.names().bytes, "");
                writer.end(unset);
            }
            writer.end(update);
            writer.string("hint", ID_INDEX);
        });
        let removal = RawWriter::build(|writer| {
            let filter = writer.begin_document("q");
            let ids = writer.begin_document(ID);
            let list = writer.begin_array("$in");
            for (index, part) in others.iter().enumerate() {
                writer.raw_element(index, part.id.kind, part.id.bytes);
            }
            writer.end(list);
            writer.end(ids);
            writer.elements(key);
            writer.end(filter);
            writer.int32("limit", 0);
            writer.string("hint", ID_INDEX);
        });
        let sizes = self.parts.iter().map(|part| part.stored.as_bytes().len());
        let number = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        Some(Merge {
            update,
            removal,
            buckets: number(self.parts.len()),
            records: self.parts.iter().map(|part| u64::from(part.count)).sum(),
            before: number(sizes.sum()),
            after: number(fields.as_bytes().len() + self.packed.len()),
        })
    }

    /// The size of all items; `None` if the model does not count it, or one of the buckets is from before it did.
    fn bytes(&self) -> Option<u64> {
        self.parts.iter().map(|part| part.bytes).sum()
    }

    /// The statistics as a bucket has them.
    fn bounds(&self) -> Result<RawDocumentBuf, Damage> {
        let mut bounds = Document::new();
        self.stats.each(self.spec, |path, value| {
            if let Some(value) = value {
                insert_at(&mut bounds, path, value);
            }
        });
        RawDocumentBuf::try_from(&bounds).map_err(bucket::bson_damage)
    }

    /// What else changes of the first one; `None` if there are too many records.
    fn fields(&self) -> Option<RawDocumentBuf> {
        let names = self.spec.names();
        let count = i32::try_from(
            self.parts
                .iter()
                .map(|part| i64::from(part.count))
                .sum::<i64>(),
        );
        let end = self.origins.all().iter().map(|origin| origin.end).max()?;
        let mut fields = doc! { names.count: count.ok()?, names.end: end };
        if let Some(bytes) = self.bytes() {
            fields.insert(names.bytes, i64::try_from(bytes).ok()?);
        }
        let edits = self.parts.iter().map(|part| part.edits);
        let edits = edits.fold(Edits::default(), |sum, of| Edits {
            number: sum.number.saturating_add(of.number),
            removed: sum.removed.saturating_add(of.removed),
        });
        if edits != Edits::default() {
            let removed = i64::from(edits.removed);
            fields.insert(
                EDITS,
                doc! { edits::NUMBER: edits.number, edits::REMOVED: removed },
            );
        }
        self.stats.each(self.spec, |path, value| {
            if let Some(value) = value {
                fields.insert(path, value);
            }
        });
        let bytes = self.origins.to_bytes(self.spec.id_unit());
        let generic = bson::Binary {
            subtype: bson::spec::BinarySubtype::Generic,
            bytes,
        };
        fields.insert(MERGED, generic);
        RawDocumentBuf::try_from(&fields).ok()
    }
}

fn insert_at(document: &mut Document, path: &str, value: Bson) {
    let Some((outer, inner)) = path.split_once('.') else {
        document.insert(path, value);
        return;
    };
    let within = document.entry(outer.to_owned());
    if let Bson::Document(within) = within.or_insert_with(|| Document::new().into()) {
        insert_at(within, inner, value);
    }
}

/// Passes on each item of a bucket of rows.
fn each_row<'a>(
    spec: &BucketSpec,
    rows: &'a RawArray,
    mut each: impl FnMut(&'a RawDocument),
) -> Result<(), Damage> {
    for (index, item) in rows.into_iter().enumerate() {
        let item = item.map_err(bucket::bson_damage)?;
        bucket::item_time(spec, index, item)?;
        if let RawBsonRef::Document(item) = item {
            each(item);
        }
    }
    Ok(())
}

/// The times of the first and the last record that is left of these.
fn ends_of_rows(
    spec: &BucketSpec,
    rows: &RawArray,
) -> Result<Option<(DateTime, DateTime)>, Damage> {
    let mut left = Vec::new();
    each_row(spec, rows, |item| left.push(item))?;
    left.retain(|item| !is_removed(item));
    Ok(ends(spec, left))
}

/// The commands of these merges, to be sent in this order, in the transaction that has read the buckets. Each comes with its number of
/// statements, and with the number of documents that it must change. What comes first is what a change stream shows first: where
/// the records are that the others had.
#[must_use]
pub fn merge_commands(spec: &BucketSpec, merges: &[Merge]) -> [(RawDocumentBuf, usize, u64); 2] {
    let number = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    let buckets: u64 = merges.iter().map(|merge| merge.buckets).sum();
    let firsts = merges.iter().map(|merge| &merge.update);
    let others = merges.iter().map(|merge| &merge.removal);
    [
        (
            command(spec, ("update", "updates"), firsts),
            merges.len(),
            number(merges.len()),
        ),
        (
            command(spec, ("delete", "deletes"), others),
            merges.len(),
            buckets.saturating_sub(number(merges.len())),
        ),
    ]
}

#[expect(
    single_use_lifetimes,
    reason = "anonymous ones in `impl Trait` are unstable"
)]
fn command<'s>(
    spec: &BucketSpec,
    (name, list): (&str, &str),
    statements: impl Iterator<Item = &'s RawDocumentBuf>,
) -> RawDocumentBuf {
    RawWriter::build(|writer| {
        writer.string(name, spec.collection());
        writer.bool("ordered", true);
        let array = writer.begin_array(list);
        for (index, statement) in statements.enumerate() {
            writer.element(index, statement.as_bytes());
        }
        writer.end(array);
    })
}

/// The statement that says since when a bucket takes no more records, where nobody knows it; `None` if it says so, or if it takes
/// records.
#[must_use]
pub fn dated(spec: &BucketSpec, stored: &RawDocument, now: DateTime) -> Option<Document> {
    let sealed = match stored.get(SEALED).ok()? {
        Some(sealed) => Some(Document::try_from(sealed.as_document()?).ok()?),
        None => None,
    };
    if ends_of_sealed(stored).is_none() && !spec.form().in_parts() {
        return None;
    }
    if sealed
        .as_ref()
        .is_some_and(|sealed| sealed.contains_key(AT))
    {
        return None;
    }
    let id = Bson::try_from(stored.get(ID).ok()??).ok()?;
    let before = if let Some(sealed) = &sealed {
        doc! { "$eq": sealed }
    } else {
        doc! { "$exists": false }
    };
    // All of it, without what the last edit changed, so that a change stream shows that nothing else is changed.
    let mut after = sealed.unwrap_or_default();
    after.remove(EDIT);
    after.insert(AT, now);
    Some(doc! {
        "q": { ID: { "$eq": id }, SEALED: before },
        "u": { "$set": { SEALED: after } },
        "hint": ID_INDEX,
    })
}

//! Which buckets become one: sealed ones of a key that follow one another, until they have enough records together, and those of
//! a window in parts, sealed or not. Hybrid buckets of late records stay as they are, among those that are merged. So does one in
//! order whose id has the time of such a bucket, after it. Headers, whose records have expired, become one for each slot.
//!
//! Readers and writers rely on this:
//!
//! * Merged buckets of a key never overlap: what is at a place inside of one can only be merged with it.
//! * All buckets of a window that are merged are in one, and they are the first of the window. So whoever opens another bucket
//!   of that window finds the next part by the merged one, and by the last bucket of the window that is not merged.
//! * Hybrid buckets that are merged follow one another: none but those of late records has a place between them. So the newest
//!   bucket in order is the newest one, merged or not.
//! * Numbers that are missing among the buckets of a window go on missing: what comes after them there stays as it is. A merge
//!   would hide that records are lost, and take the place of a bucket that can be repaired.

use std::collections::BTreeMap;

use bson::{Bson, DateTime, Document, RawDocument, doc};

use crate::{
    bucket::{
        self,
        edits::EDITS,
        id::{Place, prefix},
        merged::{MERGED, Origins},
        record::Record,
        sealed::{ARCHIVED, EXPIRED, LAST, SEALED, settled_since, was_sealed},
    },
    check::ScanPlan,
    codec::raw::elements,
    error::Damage,
    model::{
        form::{MAX_COUNT, Span},
        spec::{BucketSpec, ID},
    },
    read::{FindPlan, ReadKey, key_elements},
    time::{range::TimeRange, window::Window},
};

/// A merged bucket has at least this many records, if its span of time has them.
const ENOUGH: u64 = 1_000;

/// A merged bucket has at most this many, as a window that closes by bytes has: what is merged stays one bucket.
const MOST: u64 = MAX_COUNT as u64;

/// The most buckets of the first read of a group, and of further ones: whoever reads a group that turns out to be too large has not
/// read all of it.
const READ_FIRST: usize = 256;
const READ_TOGETHER: usize = 512;

/// Headers are merged in groups of this size; what these become is merged by the next call.
const ENOUGH_BYTES: usize = 2 * 1024 * 1024;

/// When sealed buckets are due to be merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MergeDue {
    slot: Window,
    /// That of headers, once all of it have expired.
    slot_of_headers: Window,
    /// Buckets that end later may still be written without a look at what is there.
    until: DateTime,
    /// They have been sealed until then.
    sealed_until: DateTime,
    /// Headers are merged once all of their slot have expired; `None` if the model keeps none.
    headers_until: Option<DateTime>,
}

impl MergeDue {
    /// Those that have been sealed for this long, in milliseconds, and whose windows have been due for as long; `None` if the
    /// model merges no buckets.
    #[must_use]
    pub fn after(spec: &BucketSpec, settled: i64, now: DateTime) -> Option<Self> {
        let sealed_until = now.timestamp_millis().saturating_sub(settled);
        let sealed_until = DateTime::from_millis(sealed_until);
        Some(Self {
            slot: spec.merge()?,
            slot_of_headers: spec.merged_within()?,
            until: spec.merged_until(sealed_until)?,
            headers_until: spec.headers_until(sealed_until),
            sealed_until,
        })
    }

    /// The span of time whose buckets have to be read to merge those of this one.
    fn range(&self, range: TimeRange) -> TimeRange {
        let start = range.start().map(|start| self.slot_at(start).0);
        TimeRange::new(start, range.end())
    }

    /// The start and the end of the span of time within which buckets that start at this moment become one.
    fn slot_at(&self, moment: DateTime) -> (DateTime, DateTime) {
        let of_headers = self.slot_of_headers.span(moment);
        if self
            .headers_until
            .is_some_and(|until| of_headers.1 <= until)
        {
            return of_headers;
        }
        self.slot.span(moment)
    }
}

/// The buckets of a key, or of all, that may be merged, and those beside them.
#[must_use]
pub fn buckets_to_merge(
    spec: &BucketSpec,
    key: Option<&ReadKey>,
    range: TimeRange,
    due: &MergeDue,
) -> ScanPlan {
    // Also those that are not due yet: the buckets after them in their window stay as well.
    // And merged ones whose start is damaged: each keeps what is inside of it from others. Of hybrid buckets, each one keeps those
    // before it from those after it, whatever its start.
    let condition = if spec.form().sorts() {
        Document::new()
    } else {
        doc! { "$or": [
            { spec.names().start: { "$lt": due.until } },
            { MERGED: { "$exists": true } },
        ] }
    };
    ScanPlan {
        projection: doc! { spec.items(): 0 },
        ..super::scan::in_places(spec, key, due.range(range), &condition)
    }
}

/// Buckets that become one, in the order of their places.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct MergeGroup {
    /// Their ids.
    pub ids: Vec<Bson>,
    /// Their key.
    key: Vec<u8>,
    /// They have taken no more records since then, or longer.
    pub(super) sealed_until: DateTime,
    /// They do not say since when they take no more records ([`dated`](super::dated)): until they do, they are not merged.
    pub undated: bool,
}

impl MergeGroup {
    /// The reads of these buckets, with their items if they are to be merged.
    pub fn finds(&self, spec: &BucketSpec) -> impl Iterator<Item = FindPlan> {
        let (first, rest) = self.ids.split_at(self.ids.len().min(READ_FIRST));
        let all = std::iter::once(first).chain(rest.chunks(READ_TOGETHER));
        all.map(|ids| {
            let find = crate::read::buckets_by_id(spec, &self.key, ids.to_vec());
            if self.undated {
                let projection = doc! { SEALED: 1 };
                return FindPlan { projection, ..find };
            }
            find
        })
    }

    /// The number of these buckets.
    #[must_use]
    pub fn buckets(&self) -> u64 {
        u64::try_from(self.ids.len()).unwrap_or(u64::MAX)
    }
}

/// Puts buckets together as they come, in the order of the index on their keys and places.
#[derive(Debug)]
pub struct Grouping {
    spec: &'static BucketSpec,
    due: MergeDue,
    /// The key and the slot of the buckets that came last.
    of: Option<(Vec<u8>, DateTime)>,
    group: Vec<Member>,
    /// The number of the items of the group, and where its last record was stored.
    items: u64,
    last: Option<Place>,
    /// The windows of the group, and the last part of each.
    parts: BTreeMap<i64, u64>,
    /// The last window of a bucket that cannot be merged: what follows up to there stays, too.
    blocked: Option<i64>,
    undated: Vec<Bson>,
    ready: Vec<MergeGroup>,
}

#[derive(Debug)]
struct Member {
    id: Bson,
    place: Place,
    last: Place,
    /// Where its items came from.
    origins: Origins,
    items: u64,
    /// Its size without items.
    bytes: usize,
    /// Whether only its statistics are left.
    is_header: bool,
}

/// What one bucket says of itself.
enum Came {
    Member(Extent, Member),
    /// It can be merged once it says since when it takes no more records.
    Undated(Extent, Bson),
    Stays(Extent),
}

/// Where the last record of a bucket was stored, and whether it is a merged one.
#[derive(Debug, Clone, Copy)]
struct Extent {
    last: Place,
    is_merged: bool,
}

impl Extent {
    fn read(spec: &BucketSpec, stored: &RawDocument, place: Place) -> Self {
        let last = match Origins::read(spec, stored) {
            Ok(Some(origins)) if origins.places().next() == Some(place) => Some(origins.last()),
            Ok(None) => None,
            // Its start is damaged, or does not fit its id. It may be anywhere if the rest is, too.
            _ => Some(Origins::at_place(spec, stored, place).map_or(
                Place {
                    time: i64::MAX,
                    ..place
                },
                |origins| origins.last(),
            )),
        };
        Self {
            last: last.unwrap_or(place),
            is_merged: last.is_some(),
        }
    }
}

impl Grouping {
    /// For the buckets of [`buckets_to_merge`].
    #[must_use]
    pub fn new(spec: &'static BucketSpec, due: MergeDue) -> Self {
        Self {
            spec,
            due,
            of: None,
            group: Vec::new(),
            items: 0,
            last: None,
            parts: BTreeMap::new(),
            blocked: None,
            undated: Vec::new(),
            ready: Vec::new(),
        }
    }

    /// Takes the next bucket, without its items. Returns the groups that are complete.
    pub fn take<T: Record>(&mut self, stored: &RawDocument) -> Vec<MergeGroup> {
        // What cannot be read stays as it is; `verify` reports it. Nothing is known of a bucket without a key, or without a place.
        let Ok(key) = bucket::key_of::<T>(stored) else {
            return Vec::new();
        };
        let is_own = bucket::check_id(self.spec, stored, &prefix(self.spec, &key)).is_ok();
        let Some(place) = bucket::place_alone(self.spec, stored).filter(|_| is_own) else {
            return Vec::new();
        };
        let (slot, _) = self.due.slot_at(place.date(self.spec.id_unit()));
        let of = (key_elements::<T>(&key), slot);
        if self.of.as_ref() != Some(&of) {
            self.close();
            self.of = Some(of);
        }
        let extent = Extent::read(self.spec, stored, place);
        if self.is_beside(stored) {
            // One in order that has the time of its id comes after it there. Merged, it would be found no more as the last one of
            // that time.
            self.blocked = self.blocked.max(Some(place.time));
            return std::mem::take(&mut self.ready);
        }
        let came = self.read(stored, extent);
        self.put(came.unwrap_or(Came::Stays(extent)));
        std::mem::take(&mut self.ready)
    }

    /// No more will come.
    pub fn end(&mut self) -> Vec<MergeGroup> {
        self.close();
        std::mem::take(&mut self.ready)
    }

    /// Whether it is a hybrid bucket of late records, which are beside those in order.
    fn is_beside(&self, stored: &RawDocument) -> bool {
        let may_be = self.spec.form().sorts();
        may_be && !matches!(stored.get(self.spec.names().late), Ok(None))
    }

    fn read(&self, stored: &RawDocument, extent: Extent) -> Result<Came, Damage> {
        let spec = self.spec;
        let head = bucket::head(spec, stored)?;
        let origins = Origins::of(spec, stored, &head)?;
        let sealed = stored.get_document(SEALED).ok();
        let date = |name: &str| sealed.and_then(|sealed| sealed.get_datetime(name).ok());
        let says = |name: &str| sealed.is_some_and(|sealed| !matches!(sealed.get(name), Ok(None)));
        let is_damaged = sealed.is_none() && was_sealed(stored);
        // Rows become a part as soon as they say since when they take no more records.
        let is_mergeable = date(LAST).is_some() || spec.form().in_parts() && !is_damaged;
        let end = head.fields.end;
        let is_over = match spec.form().span() {
            // Its last record is in it.
            Span::Records => head.fields.is_closed && end < self.due.until,
            Span::Window | Span::None => end <= self.due.until,
        };
        if says(ARCHIVED) || !is_mergeable || !is_over || !is_plain(spec, stored) {
            return Ok(Came::Stays(extent));
        }
        let id = stored.get(ID).ok().flatten();
        let id = id
            .and_then(|id| Bson::try_from(id).ok())
            .unwrap_or(Bson::Null);
        let is_header = says(EXPIRED);
        match sealed.and_then(settled_since) {
            Some(at) if at <= self.due.sealed_until => {}
            None if !is_header => return Ok(Came::Undated(extent, id)),
            _ => return Ok(Came::Stays(extent)),
        }
        let count = bucket::stored_count(spec, stored)?;
        Ok(Came::Member(
            extent,
            Member {
                id,
                place: head.place,
                last: extent.last,
                origins,
                items: u64::try_from(count).unwrap_or(u64::MAX),
                bytes: stored.as_bytes().len(),
                is_header,
            },
        ))
    }

    fn put(&mut self, came: Came) {
        let is_blocked = |place: Place| self.blocked.is_some_and(|last| place.time <= last);
        let (extent, member) = match came {
            Came::Member(extent, member) if !is_blocked(member.place) => (extent, member),
            Came::Member(extent, _) | Came::Stays(extent) => {
                self.passes(extent);
                return;
            }
            Came::Undated(extent, id) => {
                self.passes(extent);
                self.undated.push(id);
                return;
            }
        };
        // A bucket inside of a merged one, or in its last window, can be merged with that one only.
        let is_within = |last: Place| member.place < last || member.place.time == last.time;
        let belongs = self.last.is_some_and(is_within);
        let others = self.group.first().map(|first| first.is_header);
        let is_other = others.is_some_and(|others| others != member.is_header);
        if !belongs && (is_other || self.has_enough_with(&member)) {
            self.close_group();
        }
        let with_it = self.items.saturating_add(member.items);
        let is_too_large = belongs && !member.is_header && with_it > MOST;
        if (belongs && is_other) || is_too_large || !self.goes_on(member.place) {
            self.passes(extent);
            return;
        }
        for place in member.origins.places() {
            let last = self.parts.entry(place.time).or_default();
            *last = place.sequence.max(*last);
        }
        self.items = self.items.saturating_add(member.items);
        self.last = self.last.max(Some(member.last));
        self.group.push(member);
    }

    /// Whether the bucket at this place is the next one of its window, if it has one.
    fn goes_on(&self, place: Place) -> bool {
        if self.spec.form().sorts() {
            return true;
        }
        let last = self.parts.get(&place.time);
        place.sequence == last.map_or(0, |last| last.saturating_add(1))
    }

    /// A bucket stays as it is. Merged ones never overlap, and hybrid ones follow one another.
    fn passes(&mut self, extent: Extent) {
        if extent.is_merged || self.spec.form().sorts() {
            self.close_group();
        }
        self.blocked = self.blocked.max(Some(extent.last.time));
    }

    /// Whether the next bucket begins another group.
    fn has_enough_with(&self, next: &Member) -> bool {
        if next.is_header {
            let bytes = self.group.iter().map(|member| member.bytes);
            return bytes.sum::<usize>() >= ENOUGH_BYTES;
        }
        self.items >= ENOUGH || self.items.saturating_add(next.items) >= 2 * ENOUGH
    }

    /// No more buckets of the slot will come.
    fn close(&mut self) {
        self.close_group();
        self.blocked = None;
        let ids = std::mem::take(&mut self.undated);
        self.emit(ids, true);
    }

    /// While its slot lasts, a group waits for more records, and headers for the last ones.
    fn close_group(&mut self) {
        let is_due = match self.group.first() {
            Some(first) if first.is_header => self.is_over(self.due.headers_until),
            _ => self.items >= ENOUGH || self.is_over(Some(self.due.until)),
        };
        self.parts.clear();
        self.items = 0;
        self.last = None;
        let group = std::mem::take(&mut self.group);
        if group.len() > 1 && is_due {
            let ids = group.into_iter().map(|member| member.id).collect();
            self.emit(ids, false);
        }
    }

    /// Whether the slot has ended by then.
    fn is_over(&self, until: Option<DateTime>) -> bool {
        self.of
            .as_ref()
            .zip(until)
            .is_some_and(|((_, slot), until)| {
                let (_, end) = self.due.slot_at(*slot);
                end <= until
            })
    }

    fn emit(&mut self, ids: Vec<Bson>, undated: bool) {
        if let (false, Some((key, _))) = (ids.is_empty(), &self.of) {
            self.ready.push(MergeGroup {
                ids,
                key: key.clone(),
                sealed_until: self.due.sealed_until,
                undated,
            });
        }
    }
}

/// Whether a bucket has only fields that a merged one has, too: positions of sources belong to one bucket, and what other
/// tools have added may as well.
fn is_plain(spec: &BucketSpec, stored: &RawDocument) -> bool {
    let names = spec.names();
    elements(stored).all(|element| {
        element.is_ok_and(|element| {
            let is = |path: &str| path.split('.').next() == Some(element.name);
            [ID, SEALED, MERGED, EDITS, names.count, spec.items()].contains(&element.name)
                || spec.keys().iter().any(|key| is(key.path))
                || spec.own_fields().any(|own| is(own.name(names)))
                || spec.aggregates().iter().any(|aggregate| is(aggregate.path))
        })
    })
}

//! What two documents that were read at different moments seem to say: looked at again before it is
//! reported.

use bson::{Bson, DateTime, Document, RawDocument, RawDocumentBuf, doc};

use super::{
    Finding, Problem,
    document::{Seen, document, head},
    ids::{Shared, share_one},
};
use crate::{
    bucket::{
        id::{Place, push_place},
        merged::MERGED,
        record::Record,
        sealed::SEALED,
    },
    codec::raw::RawWriter,
    model::{
        form::OrderedBy,
        limits::Limits,
        spec::{BucketSpec, ID, ID_INDEX},
    },
    read::{FindPlan, ReadLevel, is_merged},
};

/// A finding about two documents, until both were seen again.
#[derive(Debug, Clone)]
pub struct Suspicion {
    pub(super) finding: Finding,
    /// The key fields as elements.
    key: Vec<u8>,
    look: Look,
    /// The next look reads the whole bucket: a count that is not that of the items says nothing about the room.
    is_whole: bool,
}

/// What shows whether it still holds.
#[derive(Debug, Clone)]
enum Look {
    /// Both documents.
    Both(Bson, Bson),
    /// The record ids of both documents.
    Ids(Bson, Bson),
    /// The buckets of this window, and the merged one that may have them.
    Window {
        start: DateTime,
        from: String,
        to: String,
        later: Bson,
        /// The lowest id of a merged one; `None` if the model merges none.
        merged_from: Option<String>,
    },
    /// The buckets with these numbers.
    Numbers { from: i64, to: i64, later: Bson },
}

/// The most documents of a look.
const MOST: i64 = 10_000;

/// What a bucket says of itself besides its items.
fn without_items(spec: &BucketSpec) -> Document {
    let names = spec.names();
    let own = spec.own_fields().map(|own| own.name(names));
    let keys = spec.keys().iter().map(|key| key.path);
    let merged = spec.merge().map(|_| MERGED);
    // A bucket that has been sealed since has no room, whatever its count says.
    let all = [ID, names.count, SEALED].into_iter().chain(keys).chain(own);
    let all = all.chain(merged);
    all.map(|name| (name.to_owned(), Bson::Int32(1))).collect()
}

/// The record ids of a bucket.
fn only_ids(spec: &BucketSpec) -> Document {
    let names = [Some(ID.to_owned()), spec.unique_path()].into_iter();
    let names = names.flatten();
    names.map(|name| (name, Bson::Int32(1))).collect()
}

impl Suspicion {
    /// About a bucket and one after it.
    pub(super) fn of_both(earlier: &Seen, later: &Seen, problem: Problem) -> Option<Self> {
        Some(Self {
            finding: earlier.finding(problem),
            key: earlier.key.clone()?,
            look: Look::Both(earlier.id.clone(), later.id.clone()),
            is_whole: false,
        })
    }

    /// That a bucket has record ids of an earlier one.
    pub(super) fn of_ids(later: &Seen, shared: Shared) -> Option<Self> {
        let Shared { other, index, ids } = shared;
        let look = Look::Ids(other.clone(), later.id.clone());
        Some(Self {
            finding: later.finding(Problem::SharedId { other, index, ids }),
            key: later.key.clone()?,
            look,
            is_whole: false,
        })
    }

    /// That there are no buckets with these numbers, or no such parts of its window, before this
    /// one.
    pub(super) fn of_gap(spec: &BucketSpec, later: &Seen, from: u64, to: u64) -> Option<Self> {
        let place = later.place?;
        let id_at = |place| {
            let mut id = later.prefix.clone();
            push_place(&mut id, place, spec.id_unit());
            id
        };
        let id = |sequence| id_at(Place { sequence, ..place });
        let merged_from = spec.merged_within().map(|slot| {
            let (start, _) = slot.span(later.start);
            id_at(Place::at(start, spec.id_unit()))
        });
        let look = if spec.ordered_by() == OrderedBy::Number {
            Look::Numbers {
                from: i64::try_from(from).unwrap_or(i64::MAX),
                to: i64::try_from(to).unwrap_or(i64::MAX),
                later: later.id.clone(),
            }
        } else {
            Look::Window {
                start: later.start,
                from: id(from),
                to: id(to),
                later: later.id.clone(),
                merged_from,
            }
        };
        Some(Self {
            finding: later.finding(Problem::Gap { from, to }),
            key: later.key.clone()?,
            look,
            is_whole: false,
        })
    }

    /// Whether it is about buckets that are missing.
    pub(super) fn is_gap(&self) -> bool {
        matches!(self.finding.problem, Problem::Gap { .. })
    }

    /// What is wrong if it holds.
    #[must_use]
    pub fn into_finding(self) -> Finding {
        self.finding
    }

    /// The read that shows whether it holds.
    #[must_use]
    pub fn plan(&self, spec: &BucketSpec) -> FindPlan {
        let names = spec.names();
        let is_ordered_by_id = spec.ordered_by() == OrderedBy::Id;
        let (condition, hint) = match &self.look {
            Look::Both(one, _) if self.is_whole && !self.needs_room_of_both() => {
                (doc! { ID: { "$in": [one] } }, ID_INDEX.to_owned())
            }
            Look::Both(one, other) | Look::Ids(one, other) => {
                (doc! { ID: { "$in": [one, other] } }, ID_INDEX.to_owned())
            }
            Look::Window {
                start,
                from,
                to,
                later,
                merged_from,
            } if is_ordered_by_id => {
                let missing = doc! { ID: { "$gte": from, "$lte": to } };
                let merged = merged_from.iter().map(|first| {
                    let mut merged = is_merged(spec, *start);
                    merged.insert(ID, doc! { "$gte": first, "$lte": to });
                    merged
                });
                let any = [missing, doc! { ID: later }].into_iter().chain(merged);
                let any: Vec<Document> = any.collect();
                (doc! { "$or": any }, spec.pages_index_name())
            }
            Look::Window { start, .. } => (doc! { names.start: start }, spec.pages_index_name()),
            Look::Numbers { from, to, .. } => {
                let numbers = doc! { "$gte": from, "$lte": to.saturating_add(1) };
                (doc! { names.number: numbers }, spec.pages_index_name())
            }
        };
        let filter = RawWriter::build(|writer| {
            writer.elements(&self.key);
            if let Ok(raw) = RawDocumentBuf::try_from(&condition) {
                let bytes = raw.as_bytes();
                // Between the length and the final NUL.
                writer.elements(bytes.get(4..bytes.len() - 1).unwrap_or_default());
            }
        });
        FindPlan {
            filter,
            sort: Document::new(),
            skip: 0,
            limit: MOST,
            projection: match &self.look {
                Look::Ids(..) => only_ids(spec),
                _ if self.is_whole => Document::new(),
                _ => without_items(spec),
            },
            hint,
            level: ReadLevel::Local,
        }
    }

    /// Whether both buckets take records, which they say by their counts.
    fn needs_room_of_both(&self) -> bool {
        matches!(self.finding.problem, Problem::TwoOpen { .. })
    }

    /// What of it holds for what that read found.
    #[must_use]
    pub fn after_look<T: Record>(
        mut self,
        found: &[RawDocumentBuf],
        limits: impl Fn(&T::Key) -> Option<Limits>,
    ) -> Option<Self> {
        if let Look::Ids(one, other) = &self.look {
            let id = |stored: &RawDocument| Bson::try_from(stored.get(ID).ok()??).ok();
            let of = |of: &Bson| found.iter().find(|stored| id(stored).as_ref() == Some(of));
            let both = of(one).zip(of(other));
            let holds = both.is_some_and(|(one, other)| share_one(T::SPEC, one, other));
            return holds.then_some(self);
        }
        let is_whole = self.is_whole;
        let seen = |stored: &RawDocumentBuf| {
            if is_whole {
                document::<T>(stored, &limits, DateTime::now()).seen
            } else {
                head::<T>(stored, &limits).seen
            }
        };
        let found: Vec<Seen> = found.iter().map(seen).collect();
        let of = |id: &Bson| found.iter().find(|seen| seen.id == *id);
        let holds = match (&self.look, &mut self.finding.problem) {
            (Look::Both(one, other), problem) => {
                let (one, other) = (of(one)?, of(other));
                // The last look has seen it.
                let is_there = is_whole || other.is_some();
                let holds = match problem {
                    Problem::OpenBefore { .. } => one.is_open(T::SPEC),
                    Problem::TwoOpen { .. } => {
                        one.is_open(T::SPEC) && other.is_some_and(|other| other.is_open(T::SPEC))
                    }
                    _ => one.has_room == Some(true),
                };
                let by_mark = T::SPEC.form().mark().is_some();
                self.is_whole = !by_mark || matches!(problem, Problem::RoomBefore { .. });
                is_there && holds
            }
            (Look::Numbers { later, .. }, Problem::Gap { from, to }) => {
                let number = |seen: &Seen| u64::try_from(seen.place?.time).ok();
                let is_one = |number| (*from..=*to).contains(&number);
                of(later).is_some() && !found.iter().filter_map(number).any(is_one)
            }
            (Look::Window { later, .. }, Problem::Gap { from, to }) => {
                let window = of(later)?.place?.time;
                // They may have been merged meanwhile, or before what a walk that goes on has met.
                let merged = found
                    .iter()
                    .filter_map(|seen| seen.origins.as_ref()?.last_of(window));
                let after = merged.map(|last| last.sequence.saturating_add(1)).max();
                *from = (*from).max(after.unwrap_or(0));
                let places = found.iter().filter_map(|seen| seen.place);
                let mut of_window = places.filter(|place| place.time == window);
                *from <= *to && !of_window.any(|place| (*from..=*to).contains(&place.sequence))
            }
            _ => false,
        };
        holds.then_some(self)
    }
}

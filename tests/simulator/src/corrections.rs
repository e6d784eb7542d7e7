//! Which edits were made, what was reported about them, and whether what is stored agrees.

use std::collections::BTreeMap;

use bson::{DateTime, RawBsonRef, RawDocument, RawDocumentBuf};
use bucket_core::bucket;

use crate::{
    ledger::{Entry, Ledger, Told},
    model::Model,
    plan::EditKind,
};

/// What an edit is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// The record with this number, by a reference that was read at this step.
    Record(usize, u64),
    /// The one with this id.
    Id(i64),
    /// Those of a bucket from the first time up to the second.
    Between(DateTime, DateTime),
    Key,
}

/// The report on an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The report says "unknown", or there was no report.
    Unknown,
    /// It changed this number of records; of one, this record.
    Made { records: u64, of: Option<usize> },
    /// There was nothing to change.
    Nothing,
    /// Nothing was changed.
    NotMade,
}

/// An edit, and the steps of the history between which it was under way.
#[derive(Debug)]
pub(crate) struct Correction {
    kind: EditKind,
    key: String,
    target: Target,
    began: u64,
    ended: Option<u64>,
    outcome: Outcome,
}

impl Correction {
    /// Whether it may have changed something.
    fn is_possible(&self) -> bool {
        matches!(self.outcome, Outcome::Unknown | Outcome::Made { .. })
    }

    fn is_made(&self) -> bool {
        matches!(self.outcome, Outcome::Made { .. })
    }

    fn is_removal(&self) -> bool {
        matches!(self.kind, EditKind::Delete | EditKind::DeleteBetween)
    }

    /// Whether this record is one that it is about.
    fn is_about<T: Model>(&self, number: usize, record: &T) -> bool {
        if record.key_text() != self.key {
            return false;
        }
        if let Outcome::Made { of: Some(of), .. } = self.outcome {
            return of == number;
        }
        match self.target {
            Target::Record(own, _) => own == number,
            Target::Id(id) => record.id().is_some_and(|(_, own)| own == id),
            Target::Between(from, to) => from <= record.time() && record.time() < to,
            Target::Key => true,
        }
    }
}

/// The least and the most of something.
#[derive(Debug, Clone, Copy, Default)]
struct Bounds {
    least: u64,
    most: u64,
}

impl Bounds {
    fn add(&mut self, is_made: bool, number: u64) {
        self.most += number;
        self.least += if is_made { number } else { 0 };
    }

    fn has(self, number: u64) -> bool {
        self.least <= number && number <= self.most
    }
}

impl<T: Model> Ledger<T> {
    pub(crate) fn begin_edit(&mut self, kind: EditKind, key: String, target: Target) -> usize {
        let began = self.step();
        self.corrections.push(Correction {
            kind,
            key,
            target,
            began,
            ended: None,
            outcome: Outcome::Unknown,
        });
        self.corrections.len() - 1
    }

    pub(crate) fn is_replacement(&self, number: usize) -> bool {
        self.corrections[number].kind == EditKind::Replace
    }

    pub(crate) fn end_edit(&mut self, number: usize, outcome: Outcome) {
        let step = self.step();
        let correction = &mut self.corrections[number];
        correction.ended = Some(step);
        let target = correction.target;
        if let Outcome::Made { of: Some(of), .. } = outcome {
            let record = self.entries.get(of).map(|entry| &entry.record);
            if record.is_none_or(|record| !correction.is_about(of, record)) {
                let what = format!("edit {number} of {target:?} has changed {record:?}");
                self.complain(what);
            }
        }
        self.corrections[number].outcome = outcome;
    }

    /// Whether an edit may have removed this record.
    pub(crate) fn may_be_taken(&self, number: usize) -> bool {
        let record = &self.entries[number].record;
        let mut removals = self.corrections.iter().filter(|it| it.is_removal());
        removals.any(|it| it.is_possible() && it.is_about(number, record))
    }

    /// Whether an edit may have changed what has the id of this record.
    pub(crate) fn may_have_other_data(&self, number: usize) -> bool {
        let id = self.entries[number].record.id();
        let same = |it: &Correction| {
            let mut all = self.entries.iter().enumerate();
            it.is_possible()
                && all.any(|(at, other)| {
                    other.record.id() == id && id.is_some() && it.is_about(at, &other.record)
                })
        };
        self.corrections.iter().any(same)
    }

    /// Whether this is the record with this number as it was sent, or as an edit may have left it.
    pub(crate) fn is_version(&self, number: usize, stored: &T) -> bool {
        let Some(entry) = self.entries.get(number) else {
            return false;
        };
        let anew = self.may_be_anew(entry);
        let of = |it: &&(usize, &Correction)| {
            it.1.kind.is_correction() && it.1.is_possible() && it.1.is_about(number, &entry.record)
        };
        let updates: Vec<_> = self.corrections.iter().enumerate().collect();
        let updates: Vec<_> = updates.iter().filter(of).collect();
        let is_overwritten = |since: Option<u64>| {
            let after = |it: &Correction| it.is_made() && since.is_some_and(|at| it.began > at);
            !anew && updates.iter().any(|(_, it)| after(it))
        };
        if *stored == entry.record {
            return !is_overwritten(Some(0));
        }
        updates.iter().any(|(at, it)| {
            let mut version = entry.record.clone();
            version.correct(*at);
            let since = it.ended.filter(|_| it.is_made());
            *stored == version && !is_overwritten(since)
        })
    }

    /// Without its bucket or its index, the record may have been stored again after the edits.
    fn may_be_anew(&self, entry: &Entry<T>) -> bool {
        entry.removed || self.is_untold(entry)
    }

    /// What is stored although an edit says that it is gone, or says that it was not there.
    pub(crate) fn check_gone(&mut self, found: &[u32]) {
        for (number, entry) in self.entries.iter().enumerate() {
            if found[number] == 0 || self.may_be_anew(entry) {
                continue;
            }
            for (at, it) in self.corrections.iter().enumerate() {
                if !it.is_about(number, &entry.record) {
                    continue;
                }
                let is_taken = it.kind == EditKind::Delete && it.is_made();
                if is_taken {
                    let record = &entry.record;
                    self.wrong.push(format!(
                        "{record:?} is stored, and edit {at} has removed it"
                    ));
                }
            }
        }
        self.check_not_there(found);
    }

    /// A record about which nothing was open when an edit began, and which the edit did not find.
    fn check_not_there(&mut self, found: &[u32]) {
        for (number, entry) in self.entries.iter().enumerate() {
            if found[number] == 0 || self.is_untold(entry) || self.disturbed.miscounted {
                continue;
            }
            let is_settled = |it: &Correction| {
                let from = match it.target {
                    // A failover may have taken back the place that was read.
                    Target::Record(_, read) => read,
                    _ => it.began,
                };
                entry.last < from && !entry.told.contains(&Told::Unknown)
            };
            // Stored again after its bucket was removed, it may be at another place than its reference says.
            let is_moved =
                |it: &Correction| entry.removed && matches!(it.target, Target::Record(..));
            let says_so = |it: &Correction| {
                matches!(
                    (it.kind, it.outcome),
                    (
                        EditKind::Update | EditKind::Replace | EditKind::Delete,
                        Outcome::Nothing
                    ) | (EditKind::DeleteKey, Outcome::Nothing | Outcome::Made { .. })
                )
            };
            let mut all = self.corrections.iter();
            let other = all.position(|it| {
                says_so(it) && !is_moved(it) && it.is_about(number, &entry.record) && is_settled(it)
            });
            if let Some(at) = other {
                let record = &entry.record;
                self.wrong.push(format!(
                    "{record:?} is stored, and edit {at} says that it is not"
                ));
            }
        }
    }

    /// Each edit was made once: the numbers of edits and of removed records, by key.
    pub(crate) fn check_edits(&mut self, documents: &[RawDocumentBuf]) {
        let mut stored: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for document in documents {
            let Some((number, removed)) = edits(document) else {
                continue;
            };
            self.disturbed.edited |= number > 0 || removed > 0;
            if let Ok(bucket) = bucket::decode::<T>(document) {
                let own = stored.entry(T::order(&bucket).0).or_default();
                own.0 += number;
                own.1 += removed;
            }
        }
        if self.disturbed.removed {
            return;
        }
        let mut keys: Vec<String> = self.corrections.iter().map(|it| it.key.clone()).collect();
        keys.sort_unstable();
        keys.dedup();
        for key in keys {
            let (mut edits, mut removed) = (Bounds::default(), Bounds::default());
            let own = self.corrections.iter();
            for it in own.filter(|it| it.key == key && it.is_possible()) {
                edits.add(it.is_made(), 1);
                match (it.kind, it.outcome) {
                    (EditKind::Delete, _) => removed.add(it.is_made(), 1),
                    (EditKind::DeleteBetween, Outcome::Made { records, .. }) => {
                        removed.add(true, records);
                    }
                    (EditKind::DeleteBetween, _) => {
                        let about = self.entries.iter().enumerate();
                        let about = about.filter(|(at, other)| it.is_about(*at, &other.record));
                        removed.add(false, about.count() as u64);
                    }
                    _ => {}
                }
            }
            let (number, marks) = stored.get(&key).copied().unwrap_or_default();
            if !edits.has(number) || !removed.has(marks) {
                self.wrong.push(format!(
                    "the key {key} has {number} edits of {edits:?}, {marks} removed records of {removed:?}"
                ));
            }
        }
    }

    /// Marks are gone with these buckets: their records may be stored again.
    pub(crate) fn forget_marks(&mut self, documents: &[RawDocumentBuf]) {
        for document in documents {
            let Ok(bucket) = bucket::decode::<T>(document) else {
                continue;
            };
            let key = T::order(&bucket).0;
            let of_bucket = |entry: &Entry<T>| {
                entry.record.key_text() == key && has_mark::<T>(document, &entry.record)
            };
            for at in 0..self.entries.len() {
                if of_bucket(&self.entries[at]) {
                    self.entries[at].removed = true;
                }
            }
        }
    }
}

/// The numbers of edits and of removed records of a bucket, if it was edited.
fn edits(document: &RawDocument) -> Option<(u64, u64)> {
    let edits = document.get_document("_edits").ok()?;
    let number = |name| edits.get(name).ok()??.as_i64();
    Some((
        number("number")?.unsigned_abs(),
        number("removed")?.unsigned_abs(),
    ))
}

/// Whether a bucket of its key has the mark of this record, or one that looks the same.
pub(crate) fn has_mark<T: Model>(document: &RawDocument, record: &T) -> bool {
    let Ok(items) = document.get_array(T::SPEC.items()) else {
        return false;
    };
    let unique = T::SPEC.unique();
    items.into_iter().filter_map(Result::ok).any(|item| {
        let Some(item) = item.as_document() else {
            return false;
        };
        let is_mark = matches!(item.get_bool("_removed"), Ok(true));
        let is_same = match unique {
            Some(name) => match (item.get(name), record.id()) {
                (Ok(Some(RawBsonRef::Int64(own))), Some((_, id))) => own == id,
                (own, id) => panic!("{own:?} is no id like {id:?}"),
            },
            None => item.get_datetime(T::SPEC.time().name).ok() == Some(record.time()),
        };
        is_mark && is_same
    })
}

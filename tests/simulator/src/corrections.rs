//! Which edits were made, what was reported about them, and whether what is stored agrees.

mod checks;

use bson::{DateTime, RawBsonRef, RawDocument, RawDocumentBuf};
use bucket_core::bucket;

use crate::{
    ledger::{Entry, Ledger},
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
    /// Those of a bucket that meet the filter with this number.
    Where(usize),
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
    /// It leaves no record ids.
    forgets: bool,
    key: String,
    target: Target,
    /// Of a removal from a bucket: the record that names the bucket, and the step at which it did.
    named: (usize, u64),
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
        self.kind.is_removal()
    }

    /// Whether it may have taken a record id, of a record or of the mark of one.
    fn may_forget(&self) -> bool {
        self.forgets && self.outcome != Outcome::NotMade
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
            Target::Where(_) | Target::Key => true,
        }
    }
}

impl<T: Model> Ledger<T> {
    pub(crate) fn begin_edit(
        &mut self,
        kind: EditKind,
        forgets: bool,
        key: String,
        target: Target,
        (named, read): (usize, Option<u64>),
    ) -> usize {
        let began = self.step();
        self.corrections.push(Correction {
            kind,
            forgets,
            key,
            target,
            named: (named, read.unwrap_or(began)),
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
        removals.any(|it| {
            let is_possible = it.is_possible() && it.is_about(number, record);
            let is_met = |filter| self.may_meet(number, filter);
            is_possible && !matches!(it.target, Target::Where(filter) if !is_met(filter))
        })
    }

    /// Whether the record meets a filter, as it was sent or as an edit may have left it.
    fn may_meet(&self, number: usize, filter: usize) -> bool {
        let mut versions = self.versions(number);
        versions.any(|version| version.meets(filter))
    }

    /// Whether it does so however edits may have left it.
    fn must_meet(&self, number: usize, filter: usize) -> bool {
        let mut versions = self.versions(number);
        versions.all(|version| version.meets(filter))
    }

    /// The record as it was sent, and as edits may have left it.
    fn versions(&self, number: usize) -> impl Iterator<Item = T> {
        let record = &self.entries[number].record;
        let edits = self.corrections.iter().enumerate();
        let edits = edits.filter(move |(_, it)| {
            it.kind.is_correction() && it.is_possible() && it.is_about(number, record)
        });
        let edited = edits.map(|(at, _)| {
            let mut version = record.clone();
            version.correct(at);
            version
        });
        std::iter::once(record.clone()).chain(edited)
    }

    /// Whether a removal may have taken the id of this record, so that it can be stored anew.
    pub(crate) fn may_be_forgotten(&self, number: usize) -> bool {
        self.is_forgotten_by(number, |_| true)
    }

    /// The same for a removal that was not over before this step.
    pub(crate) fn may_be_forgotten_since(&self, number: usize, step: u64) -> bool {
        self.is_forgotten_by(number, |it| {
            it.outcome == Outcome::Unknown || it.ended.is_none_or(|ended| ended > step)
        })
    }

    fn is_forgotten_by(&self, number: usize, which: impl Fn(&Correction) -> bool) -> bool {
        let record = &self.entries[number].record;
        let mut all = self.corrections.iter();
        all.any(|it| it.may_forget() && which(it) && it.is_about(number, record))
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
        let anew = self.may_be_anew(number);
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

    /// Without its bucket, its id or its index, the record may have been stored again after the edits.
    fn may_be_anew(&self, number: usize) -> bool {
        let entry = &self.entries[number];
        entry.removed || self.is_untold(entry) || self.may_be_forgotten(number)
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
                // The place of a mark whose id is forgotten.
                (Ok(Some(RawBsonRef::Document(_))), _) => false,
                (own, id) => panic!("{own:?} is no id like {id:?}"),
            },
            None => item.get_datetime(T::SPEC.time().name).ok() == Some(record.time()),
        };
        is_mark && is_same
    })
}

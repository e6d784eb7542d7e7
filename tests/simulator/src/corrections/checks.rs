//! Whether what is stored at the end agrees with the reports on edits.

use std::collections::BTreeMap;

use bson::{RawBsonRef, RawDocument, RawDocumentBuf};
use bucket_core::{attribute::ArrayPlace, bucket};

use super::{Correction, Outcome, Target, has_mark};
use crate::{
    ledger::{Ledger, Told},
    model::Model,
    plan::EditKind,
};

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
    /// What is stored although an edit says that it is gone, or says that it was not there.
    pub(crate) fn check_gone(&mut self, found: &[u32]) {
        for (number, entry) in self.entries.iter().enumerate() {
            if found[number] == 0 || self.may_be_anew(number) {
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
        self.check_named(found);
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

    /// A removal of a bucket's records takes the record that names the bucket as well, if it meets the condition.
    fn check_named(&mut self, found: &[u32]) {
        let is_whole = |kind| matches!(kind, EditKind::DeleteBetween | EditKind::DeleteWhere);
        let mut wrong = Vec::new();
        for (at, it) in self.corrections.iter().enumerate() {
            let is_over = it.is_made() || it.outcome == Outcome::Nothing;
            let (number, read) = it.named;
            let Some(entry) = self.entries.get(number) else {
                continue;
            };
            let is_settled = entry.last < read && !entry.told.contains(&Told::Unknown);
            let is_other = self.may_be_anew(number) || self.disturbed.miscounted;
            let is_asked = it.is_about(number, &entry.record)
                && !matches!(it.target, Target::Where(filter) if !self.must_meet(number, filter));
            if is_whole(it.kind)
                && is_over
                && is_asked
                && is_settled
                && !is_other
                && found[number] > 0
            {
                let record = &entry.record;
                wrong.push(format!("{record:?} is stored, and edit {at} has left it"));
            }
        }
        self.wrong.append(&mut wrong);
    }

    /// No id is left in a mark after a removal that forgets it.
    fn check_forgotten(&mut self, documents: &[RawDocumentBuf]) {
        let mut wrong = Vec::new();
        for (at, it) in self.corrections.iter().enumerate() {
            let is_forgotten = match (it.kind, it.target, it.outcome) {
                (EditKind::Delete, _, Outcome::Made { .. })
                | (EditKind::Delete, Target::Id(_), Outcome::Nothing) => it.forgets,
                _ => false,
            };
            let mut all = self.entries.iter().enumerate();
            let about = all.find(|(number, entry)| it.is_about(*number, &entry.record));
            let Some((_, one)) = about.filter(|_| is_forgotten) else {
                continue;
            };
            // What was sent since then may be stored and removed again.
            let id = one.record.id();
            let mut same = self.entries.iter().filter(|other| other.record.id() == id);
            let is_settled = same.all(|other| {
                other.last < it.began && !other.told.contains(&Told::Unknown) && !other.removed
            });
            let has_mark = |document: &RawDocumentBuf| {
                let bucket = bucket::decode::<T>(document);
                bucket.is_ok_and(|bucket| T::order(&bucket).0 == it.key)
                    && has_mark(document, &one.record)
            };
            if is_settled && !self.disturbed.unindexed && documents.iter().any(has_mark) {
                wrong.push(format!(
                    "a mark has the id {id:?}, which edit {at} has taken"
                ));
            }
        }
        self.wrong.append(&mut wrong);
    }

    /// Each edit was made once: the numbers of edits and of removed records, by key.
    pub(crate) fn check_edits(&mut self, documents: &[RawDocumentBuf]) {
        let mut stored: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for document in documents {
            let Some((number, removed)) = edits(document) else {
                continue;
            };
            self.disturbed.edited |= number > 0 || removed > 0;
            self.check_held(document);
            if let Ok(bucket) = bucket::decode::<T>(document) {
                let own = stored.entry(T::order(&bucket).0).or_default();
                own.0 += number;
                own.1 += removed;
            }
        }
        self.check_forgotten(documents);
        if self.disturbed.removed {
            return;
        }
        let mut keys: Vec<String> = self.corrections.iter().map(|it| it.key.clone()).collect();
        keys.sort_unstable();
        keys.dedup();
        for key in keys {
            let (mut edits, mut removed) = (Bounds::default(), Bounds::default());
            let own = self.corrections.iter();
            // The mark of a removed record is edited when its id is taken.
            let is_edit = |it: &Correction| it.is_possible() || it.may_forget();
            for it in own.filter(|it| it.key == key && is_edit(it)) {
                edits.add(it.is_made(), 1);
                match (it.kind, it.outcome) {
                    (EditKind::Delete, _) => removed.add(it.is_made(), 1),
                    (
                        EditKind::DeleteBetween | EditKind::DeleteWhere,
                        Outcome::Made { records, .. },
                    ) => {
                        removed.add(true, records);
                    }
                    (EditKind::DeleteBetween | EditKind::DeleteWhere, _) => {
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

    /// Of a removed record nothing is left in what the bucket holds for its items.
    fn check_held(&mut self, document: &RawDocument) {
        let Ok(items) = document.get_array(T::SPEC.items()) else {
            return;
        };
        let left = items.into_iter().filter_map(Result::ok);
        let left = left.filter_map(RawBsonRef::as_document);
        let left: Vec<_> = left
            .filter(|item| !matches!(item.get_bool("_removed"), Ok(true)))
            .collect();
        let arrays = T::SPEC.arrays().iter();
        for array in arrays.filter(|it| matches!(it.place, ArrayPlace::Bucket(_))) {
            let held = document.get_array(array.name);
            let is_held = held.is_ok_and(|held| held.into_iter().next().is_some());
            let lacks = |item: &&RawDocument| matches!(item.get(array.name), Ok(None));
            if is_held && !left.iter().any(lacks) {
                let (name, id) = (array.name, document.get("_id"));
                let what = format!("{id:?} holds {name} of no record");
                self.complain(what);
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

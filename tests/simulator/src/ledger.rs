//! What was sent, what was reported about it, and the comparison with what is stored.

use std::collections::BTreeMap;

use bson::{DateTime, RawDocumentBuf};
use bucket_core::{BucketDocument, Form, bucket};

use crate::{
    corrections::{Correction, has_mark},
    model::{Disturbed, Model, positions},
};

/// A delivery of a record: the record's number, and the index among its deliveries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) number: usize,
    at: usize,
    /// The buckets did not hold it any more, and this many losses had happened.
    gone_after: Option<u32>,
    step: u64,
}

/// The report on a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    Stored,
    /// It was stored before.
    Duplicate,
    /// Its id belongs to other data.
    Conflict,
    NotStored,
    /// The report says "unknown", or there was no report.
    Unknown,
}

/// A record, and what was reported about it.
#[derive(Debug)]
pub(crate) struct Entry<T> {
    pub(crate) record: T,
    pub(crate) told: Vec<Told>,
    /// The step of the last delivery or report.
    pub(crate) last: u64,
    /// Its source and its position there.
    source: Option<(u8, i64)>,
    /// The source was allowed to skip it.
    skipped: bool,
    /// It was removed together with its bucket after it had been stored.
    pub(crate) removed: bool,
    /// The first call that sent it.
    call: usize,
}

/// All records of a history.
#[derive(Debug)]
pub(crate) struct Ledger<T> {
    pub(crate) entries: Vec<Entry<T>>,
    pub(crate) corrections: Vec<Correction>,
    pub(crate) wrong: Vec<String>,
    /// The steps so far.
    steps: u64,
    /// How often something that was stored was taken away.
    losses: u32,
    pub(crate) disturbed: Disturbed,
}

impl<T: Model> Ledger<T> {
    pub(crate) fn new(disturbed: Disturbed) -> Self {
        Self {
            entries: Vec::new(),
            corrections: Vec::new(),
            wrong: Vec::new(),
            steps: 0,
            losses: 0,
            disturbed,
        }
    }

    /// The number of the next step.
    pub(crate) fn step(&mut self) -> u64 {
        self.steps += 1;
        self.steps
    }

    /// The number of the next record.
    pub(crate) fn next(&self) -> usize {
        self.entries.len()
    }

    /// A record that has the next number.
    pub(crate) fn add(&mut self, record: T, source: Option<(u8, i64)>, call: usize) -> usize {
        self.entries.push(Entry {
            record,
            told: Vec::new(),
            last: 0,
            source,
            skipped: false,
            removed: false,
            call,
        });
        self.entries.len() - 1
    }

    pub(crate) fn record(&self, number: usize) -> &T {
        &self.entries[number].record
    }

    pub(crate) fn is_of_source(&self, number: usize) -> bool {
        self.entries[number].source.is_some()
    }

    /// Notes that it is sent. Until a report comes, it may be stored or not. The buckets are those that every
    /// reader finds, if all find the same ones.
    pub(crate) fn send(
        &mut self,
        number: usize,
        documents: impl FnOnce() -> Option<Vec<RawDocumentBuf>>,
    ) -> Sent {
        let was_there = self.entries[number].removed || self.may_be_forgotten(number);
        let is_gone =
            was_there && documents().is_some_and(|documents| !self.is_held(number, &documents));
        let step = self.step();
        self.entries[number].last = step;
        let told = &mut self.entries[number].told;
        told.push(Told::Unknown);
        Sent {
            number,
            at: told.len() - 1,
            gone_after: is_gone.then_some(self.losses),
            step,
        }
    }

    pub(crate) fn tell(&mut self, sent: Sent, told: Told) {
        self.entries[sent.number].told[sent.at] = told;
        self.entries[sent.number].last = self.step();
    }

    /// Checks a duplicate against the buckets: if they hold it neither when it is sent nor when it is reported, and
    /// lost nothing in between, they never held it in between.
    pub(crate) fn check_duplicate(
        &mut self,
        sent: Sent,
        documents: impl FnOnce() -> Vec<RawDocumentBuf>,
    ) {
        let is_gone = sent.gone_after == Some(self.losses)
            && !self.may_be_forgotten_since(sent.number, sent.step);
        if is_gone && !self.is_held(sent.number, &documents()) {
            let record = &self.entries[sent.number].record;
            self.wrong.push(format!(
                "{record:?} is called a duplicate after its bucket or its id was removed"
            ));
        }
    }

    /// Whether these buckets hold the record, or a position of its source that passes it.
    fn is_held(&self, number: usize, documents: &[RawDocumentBuf]) -> bool {
        let entry = &self.entries[number];
        documents.iter().any(|document| {
            let Ok(bucket) = bucket::decode::<T>(document) else {
                return true;
            };
            let holds = T::items(&bucket)
                .iter()
                .any(|item| T::of_item(&bucket, item).number() == entry.record.number());
            let is_of_key = T::order(&bucket).0 == entry.record.key_text();
            let passes = entry.source.is_some_and(|(own, at)| {
                let passes = |(source, position): (String, i64)| {
                    source == source_name(own) && position >= at
                };
                T::order(&bucket).0 == entry.record.key_text()
                    && positions(document).into_iter().any(passes)
            });
            holds || passes || (is_of_key && has_mark(document, &entry.record))
        })
    }

    /// A failover takes back what was stored, or what a majority has is not what the primary has.
    pub(crate) fn lose(&mut self) {
        self.losses += 1;
    }

    /// The server has removed these expired buckets.
    pub(crate) fn expire(&mut self, documents: &[RawDocumentBuf], now: DateTime) {
        for document in documents {
            let Ok(bucket) = bucket::decode::<T>(document) else {
                continue;
            };
            for item in T::items(&bucket) {
                let record = T::of_item(&bucket, item);
                let is_kept = T::SPEC
                    .expired_before(now)
                    .is_some_and(|before| record.time() >= before);
                if is_kept {
                    self.wrong
                        .push(format!("{record:?} was removed before its time"));
                }
            }
        }
        self.remove(documents);
    }

    /// Its source continues without it.
    pub(crate) fn skip(&mut self, number: usize) {
        self.entries[number].skipped = true;
    }

    /// Records a broken promise.
    pub(crate) fn complain(&mut self, what: String) {
        self.wrong.push(what);
    }

    /// These buckets were removed.
    pub(crate) fn remove(&mut self, documents: &[RawDocumentBuf]) {
        self.disturbed.removed |= !documents.is_empty();
        self.lose();
        self.forget_marks(documents);
        for document in documents {
            let Ok(bucket) = bucket::decode::<T>(document) else {
                continue;
            };
            for item in T::items(&bucket) {
                let number = usize::try_from(T::of_item(&bucket, item).number()).ok();
                if let Some(entry) = number.and_then(|number| self.entries.get_mut(number)) {
                    if entry.is_denied() {
                        self.wrong
                            .push(format!("{:?} is stored but denied", entry.record));
                    }
                    entry.removed = true;
                }
            }
        }
    }

    /// The violated promises; empty if every promise holds.
    ///
    /// # Panics
    ///
    /// If the buckets of a key violate the invariants of their form.
    pub(crate) fn audit(&mut self, documents: &[RawDocumentBuf]) -> Vec<String> {
        let mut buckets = Vec::with_capacity(documents.len());
        for document in documents {
            match bucket::decode::<T>(document) {
                Ok(bucket) => buckets.push((bucket, document)),
                Err(damage) => self.wrong.push(damage.to_string()),
            }
        }
        buckets.sort_by_cached_key(|(bucket, _)| T::order(bucket));
        let mut found = vec![0_u32; self.entries.len()];
        let mut by_id: BTreeMap<(String, i64), u32> = BTreeMap::new();
        for (bucket, _) in &buckets {
            self.count(bucket, &mut found, &mut by_id);
        }
        self.check_edits(documents);
        self.check_gone(&found);
        for (number, (entry, found)) in self.entries.iter().zip(&found).enumerate() {
            if let Some(wrong) = self.is_wrong(number, *found) {
                self.wrong.push(format!(
                    "{:?} {wrong}: told {:?}, found {found}",
                    entry.record, entry.told
                ));
            }
        }
        for ((key, id), times) in by_id.iter().filter(|(_, times)| **times > 1) {
            self.wrong.push(format!(
                "the id {id} of the key {key} is stored {times} times"
            ));
        }
        for (bucket, document) in &buckets {
            self.check_positions(bucket, document, &found);
        }
        self.check_order(&buckets);
        if self.wrong.is_empty() {
            let mut full: Vec<T::Bucket> = buckets.into_iter().map(|(bucket, _)| bucket).collect();
            // Buckets that were reserved and never used.
            full.retain(|bucket| !T::items(bucket).is_empty());
            T::check(&full, self.disturbed);
        }
        std::mem::take(&mut self.wrong)
    }

    /// Without its index, no repeated record is recognized. The same holds without the bucket that kept its
    /// position.
    pub(crate) fn is_untold(&self, entry: &Entry<T>) -> bool {
        self.disturbed.unindexed || (self.disturbed.removed && entry.source.is_some())
    }

    /// What is wrong with a record that was found this many times.
    fn is_wrong(&self, number: usize, found: u32) -> Option<&'static str> {
        let entry = &self.entries[number];
        let said = |what: Told| entry.told.iter().filter(|told| **told == what).count();
        // A position that its source was allowed to skip counts as stored. What has the id of a removed record is a
        // duplicate.
        let is_edited = self.may_have_other_data(number);
        let is_repeated = said(Told::Duplicate) > 0 && !entry.skipped && !is_edited;
        let was_stored = said(Told::Stored) > 0 || is_repeated;
        let most = if self.is_untold(entry) {
            entry.told.len()
        } else {
            1
        };
        if found as usize > most {
            return Some("is stored more than once");
        }
        if found > 0 && entry.is_denied() && !(is_edited && said(Told::Conflict) > 0) {
            return Some("is stored, and that was denied");
        }
        if entry.removed {
            return None;
        }
        if found == 0 && was_stored && !self.may_be_taken(number) {
            return Some("is lost");
        }
        if said(Told::Stored) > most && !self.may_be_forgotten(number) {
            return Some("was called stored twice");
        }
        let id = entry.record.id();
        let meets = |other: &Entry<T>| {
            other.record.id() == id && other.record != entry.record && !other.is_denied()
        };
        if said(Told::Conflict) > 0 && !is_edited && !self.entries.iter().any(meets) {
            return Some("is in conflict with nothing");
        }
        None
    }

    fn count(
        &mut self,
        bucket: &T::Bucket,
        found: &mut [u32],
        by_id: &mut BTreeMap<(String, i64), u32>,
    ) {
        for item in T::items(bucket) {
            let record = T::of_item(bucket, item);
            let number = usize::try_from(record.number()).unwrap_or(usize::MAX);
            if self.is_version(number, &record) {
                found[number] += 1;
            } else {
                let sent = self.entries.get(number).map(|entry| &entry.record);
                self.wrong.push(format!(
                    "{record:?} was never sent, or is overwritten: {sent:?}"
                ));
            }
            if let Some(id) = record.id().filter(|_| !self.disturbed.unindexed) {
                *by_id.entry(id).or_default() += 1;
            }
        }
    }

    /// No position in a bucket may be past a record of its source that is not stored.
    fn check_positions(&mut self, bucket: &T::Bucket, document: &RawDocumentBuf, found: &[u32]) {
        let (parts, key) = (bucket.as_ref(), T::order(bucket).0);
        let of_window = matches!(T::SPEC.form(), Form::Window { .. });
        let (start, end) = (parts.fields.start, parts.fields.end);
        for (source, position) in positions(document) {
            for (number, (entry, found)) in self.entries.iter().zip(found).enumerate() {
                let Some((own, at)) = entry.source else {
                    continue;
                };
                let is_passed = at <= position
                    && source_name(own) == source
                    && entry.record.key_text() == key
                    && (!of_window
                        || (start <= entry.record.time()
                            && (entry.record.time() < end || end == DateTime::MAX)));
                // What has the id of a removed record is a duplicate.
                let is_repeated =
                    || entry.told.contains(&Told::Duplicate) && self.may_have_other_data(number);
                let is_accounted_for = *found > 0
                    || entry.skipped
                    || entry.removed
                    || self.may_be_taken(number)
                    || is_repeated();
                if is_passed && !is_accounted_for {
                    self.wrong.push(format!(
                        "the position {position} of {source} passes {:?} at {at}, which is not stored: told {:?}",
                        entry.record, entry.told
                    ));
                }
            }
        }
    }

    /// Records of one source, and of one call, are in order in a bucket, and of merged buckets in each window; if buckets
    /// follow each other, also across buckets.
    fn check_order(&mut self, buckets: &[(T::Bucket, &RawDocumentBuf)]) {
        if let Form::Hybrid { .. } = T::SPEC.form() {
            // These buckets take records in order of time.
            return;
        }
        let in_sequence = matches!(T::SPEC.form(), Form::Count { .. } | Form::Numbered { .. });
        let in_sequence = in_sequence
            && !self.disturbed.unindexed
            && !T::SPEC.object_ids()
            && !self.disturbed.removed;
        let mut last: BTreeMap<(bool, usize, Option<DateTime>), usize> = BTreeMap::new();
        let mut key = None;
        for (bucket, _) in buckets {
            let own = T::order(bucket).0;
            if !in_sequence || key.as_ref() != Some(&own) {
                last.clear();
                key = Some(own);
            }
            for item in T::items(bucket) {
                let number = usize::try_from(T::of_item(bucket, item).number()).unwrap_or_default();
                let Some(entry) = self.entries.get(number) else {
                    continue;
                };
                let window = match T::SPEC.form() {
                    Form::Window { window, .. } => Some(window.span(entry.record.time()).0),
                    _ => None,
                };
                let line = match entry.source {
                    Some((source, _)) => (true, usize::from(source), window),
                    // A record with an unknown outcome may arrive after all others.
                    None if entry.told[..] != [Told::Stored] || self.disturbed.miscounted => {
                        continue;
                    }
                    // It waits for what comes of the first record of its id, which may be in another window.
                    None if self.has_id_of_call(number) => continue,
                    None => (false, entry.call, window),
                };
                let at = match entry.source {
                    Some((_, position)) => usize::try_from(position).unwrap_or_default(),
                    None => number,
                };
                if last.insert(line, at).is_some_and(|last| last > at) && !entry.removed {
                    self.wrong.push(format!(
                        "{:?} comes after later ones of its source or call",
                        entry.record
                    ));
                }
            }
        }
    }

    /// Whether an earlier record of its call has the same id.
    fn has_id_of_call(&self, number: usize) -> bool {
        let Entry { record, call, .. } = &self.entries[number];
        let id = record.id();
        let mut earlier = self.entries[..number].iter();
        id.is_some() && earlier.any(|other| other.call == *call && other.record.id() == id)
    }
}

impl<T: Model> Entry<T> {
    /// Whether all reports on its deliveries say that they stored nothing.
    fn is_denied(&self) -> bool {
        let denied = |told: &Told| matches!(told, Told::NotStored | Told::Conflict);
        self.told.iter().all(denied)
    }
}

/// The name of a source.
pub(crate) fn source_name(source: u8) -> String {
    format!("s{source}")
}

//! Checks what the buckets of a key promise together, as they come in the order of the index.

use std::{collections::HashMap, mem};

use bson::{Bson, DateTime, Document, RawDocument};

use super::{Finding, Problem, Suspicion, document::Seen, ids::Ids};
use crate::{
    bucket::merged::Origins,
    model::{form::Form, spec::BucketSpec},
};

/// The most gaps of a key that are kept until its last bucket has come.
const MOST: usize = 256;
/// The most sources of a key whose positions are compared.
const MOST_SOURCES: usize = 1_000;

/// The most merged buckets with windows of each other that are compared.
const MOST_MERGED: usize = 100;

/// The buckets of the key that is being read.
#[derive(Debug)]
pub(super) struct Neighbours {
    spec: &'static BucketSpec,
    now: DateTime,
    run: Option<Run>,
    /// Whether buckets in between are left out.
    pub(super) skips: bool,
    /// Whether the record ids of the buckets of a key are compared.
    pub(super) compares_ids: bool,
    /// Of how many keys only a part of the ids was compared.
    pub(super) parts_of_ids: u64,
    /// How many keys have come.
    pub(super) keys: u64,
    /// What was found.
    pub(super) findings: Vec<Finding>,
    /// What has to be looked at again.
    pub(super) suspicions: Vec<Suspicion>,
    /// The place of the last document that has one.
    pub(super) last: Option<Document>,
    /// From where another walk finds again what has to be looked at again.
    before: Option<Before>,
}

/// A place among the buckets; `None` is before the first one.
type Before = Option<Document>;

/// The buckets of a key so far.
#[derive(Debug)]
struct Run {
    key: Vec<u8>,
    last: Option<Seen>,
    /// The merged buckets that have windows from here on: one, where none comes again.
    merged: Vec<(Bson, Origins)>,
    /// In forms with one open bucket at a time: the last one that takes records.
    open: Option<Seen>,
    /// The positions of sources in the bucket that was last seen with them.
    positions: HashMap<String, Told>,
    /// Some have no place, so the places of others seem to be missing.
    has_misplaced: bool,
    /// `None` if they are not compared.
    ids: Option<Ids>,
    suspicions: Vec<Suspicion>,
    /// From where another walk finds them again.
    before: Option<Before>,
    /// The place of its last bucket, if documents of which nobody can read the key have come after that.
    left_at: Option<Document>,
}

impl Run {
    /// The place of its last bucket, where this is that of the last document.
    fn place(&self, last: &Before) -> Before {
        self.left_at.clone().or_else(|| last.clone())
    }
}

#[derive(Debug)]
struct Told {
    position: i64,
    id: Bson,
    fields_of_key: Document,
    /// The window, if the model has windows.
    window: Option<i64>,
}

impl Neighbours {
    pub(super) fn new(spec: &'static BucketSpec, now: DateTime) -> Self {
        Self {
            spec,
            now,
            run: None,
            skips: false,
            compares_ids: false,
            parts_of_ids: 0,
            keys: 0,
            findings: Vec::new(),
            suspicions: Vec::new(),
            last: None,
            before: None,
        }
    }

    /// The next document, of which an earlier walk has reported what is wrong.
    pub(super) fn recall(&mut self, seen: Seen, stored: &RawDocument) {
        let keys = self.keys;
        self.compare_with_run(seen, stored);
        self.keys = keys;
        self.findings.clear();
        self.suspicions.clear();
        self.before = None;
        if let Some(run) = &mut self.run {
            run.suspicions.clear();
            run.before = None;
        }
    }

    /// The next document, and its place if it has one.
    pub(super) fn take(&mut self, seen: Seen, stored: &RawDocument, place: Option<Document>) {
        self.compare_with_run(seen, stored);
        self.last = place.or(self.last.take());
    }

    fn compare_with_run(&mut self, seen: Seen, stored: &RawDocument) {
        let Some(key) = seen.key.clone() else {
            // It belongs to no key.
            if let Some(run) = &mut self.run {
                run.left_at = run.place(&self.last);
            }
            return;
        };
        if self.run.as_ref().is_none_or(|run| run.key != key) {
            self.end();
            self.keys += 1;
            self.run = Some(Run {
                key,
                last: None,
                merged: Vec::new(),
                open: None,
                positions: HashMap::new(),
                has_misplaced: false,
                ids: self.compares_ids.then(Ids::new),
                suspicions: Vec::new(),
                before: None,
                left_at: None,
            });
        }
        let Some(mut run) = self.run.take() else {
            return;
        };
        if let Some(ids) = &mut run.ids {
            let shared = ids.take(self.spec, &seen.id, stored).into_iter();
            // A bucket whose key field is an array may come twice.
            let others = shared.filter(|shared| shared.other != seen.id);
            let shared = others.filter_map(|shared| Suspicion::of_ids(&seen, shared));
            run.suspicions.extend(shared);
        }
        if seen.place.is_none() {
            run.has_misplaced = true;
        } else {
            if let Some(place) = seen.place {
                run.merged
                    .retain(|(_, origins)| place.time <= origins.last().time);
            }
            self.compare(&mut run, &seen);
            self.compare_positions(&mut run, &seen);
            if let Some(origins) = seen
                .origins
                .clone()
                .filter(|_| run.merged.len() < MOST_MERGED)
            {
                run.merged.push((seen.id.clone(), origins));
            }
            // Those that have one place are compared with the first of them: it is the one that stays.
            if !run
                .last
                .as_ref()
                .is_some_and(|last| self.have_one_place(last, &seen))
            {
                run.last = Some(seen);
            }
        }
        let is_many = run.suspicions.len() >= MOST;
        self.hand_over(&mut run, |suspicion| is_many || !suspicion.is_gap());
        run.left_at = None;
        self.run = Some(run);
    }

    /// These suspicions have to be looked at again. Others wait for what else comes of the key.
    fn hand_over(&mut self, run: &mut Run, is_ready: impl Fn(&Suspicion) -> bool) {
        if run.suspicions.is_empty() {
            return;
        }
        // The place before the bucket with which the first of them came up.
        let before = run.before.take();
        let before = before.unwrap_or_else(|| run.place(&self.last));
        let (ready, waiting) = mem::take(&mut run.suspicions)
            .into_iter()
            .partition(is_ready);
        run.suspicions = waiting;
        self.suspicions.extend::<Vec<_>>(ready);
        if !run.suspicions.is_empty() {
            run.before = Some(before.clone());
        }
        if !self.suspicions.is_empty() && self.before.is_none() {
            self.before = Some(before);
        }
    }

    /// What had to be looked at again has been reported.
    pub(super) fn looked(&mut self) {
        self.before = None;
    }

    /// The last document before which nothing is left to be reported.
    pub(super) fn settled(&self) -> Option<&Document> {
        let run = self.run.as_ref();
        let of_run = run.and_then(|run| run.before.as_ref());
        if let Some(before) = self.before.as_ref().or(of_run) {
            return before.as_ref();
        }
        // What the end of a run shows is found again by those who go on within it.
        let left_at = run.and_then(|run| run.left_at.as_ref());
        left_at.or(self.last.as_ref())
    }

    /// No more of the key will come.
    pub(super) fn end(&mut self) {
        let Some(mut run) = self.run.take() else {
            return;
        };
        self.parts_of_ids += u64::from(run.ids.as_ref().is_some_and(Ids::is_a_part));
        // The lowest number comes last.
        if let (Form::Numbered { .. }, Some(first)) = (self.spec.form(), &run.last)
            && let Some(number) = number_of(first)
        {
            run.suspicions.extend(self.gap(first, 1, number));
        }
        if run.has_misplaced {
            run.suspicions.retain(|suspicion| !suspicion.is_gap());
        }
        self.hand_over(&mut run, |_| true);
    }

    /// That the places from `from` on are missing before `next`, which this bucket has.
    fn gap(&self, later: &Seen, from: u64, next: u64) -> Option<Suspicion> {
        if from >= next || self.skips {
            return None;
        }
        if self.spec.expire_after().is_some() {
            // The server removes all parts of a window for one date, and other buckets in any order.
            let expired = self.spec.expired_until(self.now)?;
            if self.spec.form().window().is_none() || later.end <= expired {
                return None;
            }
        }
        Suspicion::of_gap(self.spec, later, from, next - 1)
    }

    fn have_one_place(&self, one: &Seen, other: &Seen) -> bool {
        match self.spec.form() {
            Form::Window { .. } => one.place.is_some() && one.place == other.place,
            Form::Numbered { .. } => number_of(one).is_some() && number_of(one) == number_of(other),
            Form::Count { .. } | Form::Hybrid { .. } => false,
        }
    }

    fn compare(&mut self, run: &mut Run, seen: &Seen) {
        if let Some((other, _)) = run
            .merged
            .iter()
            .find(|(_, origins)| seen.is_among(origins))
        {
            let other = other.clone();
            self.findings
                .push(seen.finding(Problem::SamePlace { other }));
            return;
        }
        let last = run.last.as_ref();
        let found = match self.spec.form() {
            Form::Count { .. } => pages(&mut run.open, last, seen),
            Form::Window { .. } => self.parts(last, &run.merged, seen),
            Form::Hybrid { .. } => in_time(&mut run.open, seen),
            Form::Numbered { .. } => self.numbers(last, seen),
        };
        run.suspicions.extend(found);
    }

    fn parts(
        &mut self,
        last: Option<&Seen>,
        merged: &[(Bson, Origins)],
        seen: &Seen,
    ) -> Vec<Suspicion> {
        let Some(place) = seen.place else {
            return Vec::new();
        };
        let before = last.filter(|last| {
            let is_same = last.place.is_some_and(|last| last.time == place.time);
            // What a merged bucket has of the window is known of all of them.
            is_same && last.origins.is_none()
        });
        let of_merged = merged.iter().filter_map(|(_, all)| all.last_of(place.time));
        let of_merged = of_merged.map(|last| last.sequence).max();
        let Some(before) = before else {
            let first = of_merged.map_or(0, |last| last.saturating_add(1));
            return self.gap(seen, first, place.sequence).into_iter().collect();
        };
        if self.have_one_place(before, seen) {
            let other = before.id.clone();
            self.findings
                .push(seen.finding(Problem::SamePlace { other }));
            return Vec::new();
        }
        let sequence = before.place.map(|place| place.sequence).max(of_merged);
        let sequence = sequence.unwrap_or_default();
        let gap = self.gap(seen, sequence.saturating_add(1), place.sequence);
        let later = seen.id.clone();
        // Another end is another window.
        let has_room = before.has_room == Some(true) && before.end == seen.end;
        let room = has_room
            .then(|| Suspicion::of_both(before, seen, Problem::RoomBefore { later }))
            .flatten();
        gap.into_iter().chain(room).collect()
    }

    /// The later bucket comes first.
    fn numbers(&mut self, later: Option<&Seen>, seen: &Seen) -> Vec<Suspicion> {
        let (Some(later), Some(number)) = (later, number_of(seen)) else {
            return Vec::new();
        };
        let next = number_of(later).unwrap_or(number);
        if self.have_one_place(later, seen) {
            let other = later.id.clone();
            self.findings
                .push(seen.finding(Problem::SamePlace { other }));
            return Vec::new();
        }
        let gap = self.gap(later, number.saturating_add(1), next);
        let open = (seen.marked == Some(false)).then(|| open_before(seen, later));
        gap.into_iter().chain(open.flatten()).collect()
    }

    /// The positions of a source rise from bucket to bucket, of a key or of a window. Both buckets
    /// were read when they had at most what they have now, so a position that does not rise is
    /// nothing that a writer is in the middle of if the earlier bucket was read first.
    fn compare_positions(&mut self, run: &mut Run, seen: &Seen) {
        let is_descending = matches!(self.spec.form(), Form::Numbered { .. });
        let window = self
            .spec
            .form()
            .window()
            .and(seen.place.map(|place| place.time));
        for (path, position) in &seen.positions {
            let told = run.positions.get(path).filter(|told| told.window == window);
            if let Some(told) = told {
                let problem = |position, earlier| Problem::Position {
                    path: path.clone(),
                    position,
                    earlier,
                };
                if is_descending && told.position <= *position {
                    let (id, key) = (told.id.clone(), told.fields_of_key.clone());
                    let problem = problem(told.position, *position);
                    self.findings.push(Finding::new(id, key, problem));
                } else if !is_descending && told.position >= *position {
                    self.findings
                        .push(seen.finding(problem(*position, told.position)));
                    // One position that is too high makes all after it too low.
                    continue;
                }
            }
            if run.positions.len() < MOST_SOURCES || run.positions.contains_key(path) {
                let told = Told {
                    position: *position,
                    id: seen.id.clone(),
                    fields_of_key: seen.fields_of_key.clone(),
                    window,
                };
                run.positions.insert(path.clone(), told);
            }
        }
    }
}

/// One bucket takes records, and usually it is the last one.
fn pages(open: &mut Option<Seen>, last: Option<&Seen>, seen: &Seen) -> Vec<Suspicion> {
    let mut found = Vec::new();
    let has_room = |seen: &Seen| seen.has_room == Some(true);
    if let Some(last) = last.filter(|last| has_room(last)) {
        found.extend(open_before(last, seen));
    }
    if has_room(seen) {
        if let Some(open) = &*open {
            let later = seen.id.clone();
            found.extend(Suspicion::of_both(open, seen, Problem::TwoOpen { later }));
        }
        *open = Some(seen.clone());
    }
    found
}

/// The open bucket need not be the newest one: a writer may open an earlier one while there is none.
/// Buckets of late records are always closed.
fn in_time(open: &mut Option<Seen>, seen: &Seen) -> Vec<Suspicion> {
    if seen.late || seen.marked != Some(false) {
        return Vec::new();
    }
    let later = seen.id.clone();
    let before = open.replace(seen.clone());
    let two = |before: Seen| Suspicion::of_both(&before, seen, Problem::TwoOpen { later });
    before.and_then(two).into_iter().collect()
}

fn open_before(earlier: &Seen, later: &Seen) -> Option<Suspicion> {
    let problem = Problem::OpenBefore {
        later: later.id.clone(),
    };
    Suspicion::of_both(earlier, later, problem)
}

fn number_of(seen: &Seen) -> Option<u64> {
    u64::try_from(seen.place?.time).ok()
}

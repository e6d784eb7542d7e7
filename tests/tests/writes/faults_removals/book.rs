//! The answers that writers got for each record, and the times of all removals: which stored
//! records they allow.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering},
    },
};

use bucket_mongo::{Error, ErrorKind};
use bucket_tests::faults::ledger::Name;

/// A moment. Moments are unique and in the order of events.
pub(super) type Moment = u64;

/// The answer for a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    Stored,
    Duplicate,
    NotStored,
    Unknown,
}

/// A call, as far as it concerns one record.
#[derive(Debug, Clone, Copy)]
struct Try {
    sent: Moment,
    ended: Moment,
    told: Told,
}

/// What a removal removes.
#[derive(Debug, Clone)]
pub(super) enum Scope {
    All,
    Key(String),
    /// The records of one bucket.
    Records(BTreeSet<Name>),
}

/// A removal while writers wrote.
#[derive(Debug, Clone)]
pub(super) struct Removal {
    pub(super) scope: Scope,
    pub(super) begin: Moment,
    pub(super) end: Moment,
}

impl Removal {
    fn takes(&self, name: &Name, device: &str) -> bool {
        match &self.scope {
            Scope::All => true,
            Scope::Key(key) => key == device,
            Scope::Records(names) => names.contains(name),
        }
    }
}

/// The time in which writers found no collection, or not one that they need.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gap {
    /// The removal begins, and has ended.
    pub(super) begin: Moment,
    pub(super) since: Moment,
    /// The set-up begins, and has ended.
    pub(super) until: Moment,
    pub(super) end: Moment,
}

#[derive(Debug)]
struct Entry {
    device: String,
    /// Whether it comes from a source.
    of_source: bool,
    /// Whether it was stored at the last rest.
    was_there: bool,
    tries: Vec<Try>,
}

#[derive(Debug, Default)]
struct Pages {
    entries: BTreeMap<Name, Entry>,
    errors: Vec<(Moment, Moment, Error)>,
    /// The number of records for each answer.
    totals: BTreeMap<String, u64>,
}

/// All records of a collection.
#[derive(Debug, Default)]
pub(super) struct Book {
    clock: AtomicU64,
    pages: Mutex<Pages>,
}

impl Book {
    pub(super) fn now(&self) -> Moment {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().expect("no panic under the lock")
    }

    /// Notes the answer for a record in a call that lasted from `sent` until now.
    pub(super) fn tell(
        &self,
        (name, device, of_source): (Name, &str, bool),
        sent: Moment,
        told: Result<Told, Error>,
    ) {
        let ended = self.now();
        let mut pages = self.pages();
        let told = told.unwrap_or_else(|error| {
            let unknown = error.is_outcome_unknown();
            pages.errors.push((sent, ended, error));
            if unknown {
                Told::Unknown
            } else {
                Told::NotStored
            }
        });
        *pages.totals.entry(format!("{told:?}")).or_default() += 1;
        let entry = pages.entries.entry(name).or_insert_with(|| Entry {
            device: device.to_owned(),
            of_source,
            was_there: false,
            tries: Vec::new(),
        });
        entry.tries.push(Try { sent, ended, told });
    }

    /// Everything has come to rest: the answers since the last time must match the stored records.
    pub(super) fn settle(&self, found: &BTreeMap<Name, u64>, removals: &[Removal], gaps: &[Gap]) {
        let mut pages = self.pages();
        for (name, times) in found {
            assert!(
                *times == 1,
                "{name:?} is stored {times} times: {:?}",
                pages.entries.get(name)
            );
            assert!(pages.entries.contains_key(name), "{name:?} was never sent");
        }
        for (name, entry) in &mut pages.entries {
            let is_there = found.contains_key(name);
            if let Some(wrong) = entry.wrong(name, is_there, removals) {
                panic!("{name:?} {wrong}: {entry:?}, removals {removals:?}, gaps {gaps:?}");
            }
            for told in &entry.tries {
                let nothing_there = |gap: &Gap| gap.since < told.sent && told.ended < gap.until;
                let may_be_told = told.told == Told::NotStored || !gaps.iter().any(nothing_there);
                assert!(
                    may_be_told,
                    "{name:?} without a set-up: {entry:?}, {gaps:?}"
                );
            }
            entry.was_there = is_there;
            entry.tries.clear();
        }
        for (sent, ended, error) in pages.errors.drain(..) {
            let gap = gaps.iter().find(|gap| sent < gap.end && gap.begin < ended);
            let Some(gap) = gap else {
                panic!("{error:?} from {sent} to {ended}, gaps {gaps:?}");
            };
            let is_told = matches!(
                error.kind(),
                ErrorKind::MissingIndex { .. } | ErrorKind::Drift(_)
            );
            let within = gap.since < sent && ended < gap.until;
            assert!(is_told || !within, "{error:?} without a set-up");
            assert!(is_told || error.is_retryable(), "{error:?}");
        }
    }

    /// After a removal at rest.
    pub(super) fn removed(&self, scope: &Scope) {
        let removal = Removal {
            scope: scope.clone(),
            begin: 0,
            end: 0,
        };
        for (name, entry) in &mut self.pages().entries {
            entry.was_there &= !removal.takes(name, &entry.device);
        }
    }

    /// The number of records for each answer.
    pub(super) fn totals(&self) -> BTreeMap<String, u64> {
        self.pages().totals.clone()
    }
}

impl Entry {
    fn wrong(&self, name: &Name, is_there: bool, removals: &[Removal]) -> Option<&'static str> {
        let takes = |removal: &&Removal| removal.takes(name, &self.device);
        let removals = || removals.iter().filter(takes);
        let there = |one: &&Try| matches!(one.told, Told::Stored | Told::Duplicate);
        let seen = self.tries.iter().filter(there).map(|one| one.sent);
        // The position of a stored record stays passed as long as a later one is stored.
        let seen = if self.of_source {
            seen.min()
        } else {
            seen.max()
        };
        let seen = if self.of_source && self.was_there {
            Some(0)
        } else {
            seen.or(self.was_there.then_some(0))
        };
        if let Some(seen) = seen
            && !is_there
            && !removals().any(|removal| removal.end >= seen)
        {
            return Some("is not stored, though nothing removed it");
        }
        let may_be = self.tries.iter().any(|one| one.told != Told::NotStored);
        if is_there && !self.was_there && !may_be {
            return Some("is stored, though no answer said so");
        }
        let stored = self
            .tries
            .iter()
            .filter(|one| one.told == Told::Stored)
            .count();
        if stored + usize::from(self.was_there) > 1 + removals().count() {
            return Some("was stored again");
        }
        None
    }
}

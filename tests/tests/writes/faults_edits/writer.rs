//! A writer that appends, corrects, moves, replaces and removes its own records, and what the answers say of them.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use bucket_core::EncodeError;
use bucket_mongo::{Bucketed, Buckets, Error, ErrorKind, RecordOutcome, Result, Which};
use bucket_tests::faults::random::Random;

use super::models::{ACCOUNTS, IDS, Payment, Possible, State, time_of};

/// The minimum number of operations of a writer, on any machine.
const ROUNDS: u64 = 24;
pub(super) const PATIENT: Duration = Duration::from_secs(20);

/// Is given each change of what a record may be, before it is made.
pub(super) type Journal = Box<dyn Fn(i64, &Possible) + Send>;

/// A writer, and what the answers say of its records. No one else changes them.
pub(super) struct Writer<T: Bucketed> {
    pub(super) buckets: Buckets<T>,
    random: Random,
    pub(super) first: i64,
    /// An account of its own, which it erases now and then, and how many ids it has had.
    pub(super) own: (i64, i64),
    pub(super) erased: BTreeMap<i64, Possible>,
    pub(super) known: BTreeMap<i64, Possible>,
    pub(super) journal: Option<Journal>,
    source: Source,
    amounts: i64,
    pub(super) open: u64,
    pub(super) done: BTreeMap<&'static str, u64>,
}

impl<T: Payment> Writer<T> {
    pub(super) fn new(buckets: Buckets<T>, number: u64, seed: u64) -> Self {
        let number = i64::try_from(number).unwrap();
        Self {
            buckets,
            random: Random::new(seed, number.unsigned_abs() + 1),
            first: (number + 1) * IDS,
            own: (ACCOUNTS + number, 0),
            erased: BTreeMap::new(),
            known: BTreeMap::new(),
            journal: None,
            source: Source::of(number),
            amounts: 0,
            open: 0,
            done: BTreeMap::new(),
        }
    }

    pub(super) fn with_journal(mut self, journal: Journal) -> Self {
        self.journal = Some(journal);
        self
    }

    pub(super) async fn run(mut self, stop: Arc<AtomicBool>) -> Self {
        let mut rounds = 0;
        while rounds < ROUNDS || !stop.load(Relaxed) {
            rounds += 1;
            let known = i64::try_from(self.known.len()).unwrap();
            let id = self.first + self.below(known.max(1));
            match self.random.below(15) {
                0..=2 => self.insert(known).await,
                _ if known == 0 => self.insert(known).await,
                3..=4 => self.update(id).await,
                5..=7 => self.go(id).await,
                8..=9 => self.replace(id).await,
                10 => self.delete(id).await,
                11 => self.delete_range(id).await,
                12 => self.delete_where(id).await,
                13 => self.replay(id).await,
                _ => self.erase().await,
            }
        }
        self
    }

    pub(super) fn below(&mut self, limit: i64) -> i64 {
        i64::try_from(self.random.below(limit.unsigned_abs())).unwrap()
    }

    /// What the record may be from now on.
    fn set(&mut self, id: i64, possible: Possible) {
        if let Some(journal) = &self.journal {
            journal(id, &possible);
        }
        self.known.insert(id, possible);
    }

    /// Before something is sent that may make the record one of these. Returns what it may be now.
    fn begin(&mut self, id: i64, new: impl IntoIterator<Item = Option<State>>) -> Possible {
        let before = self.known.get(&id).cloned();
        let before = before.unwrap_or_else(|| [None].into());
        self.set(id, before.iter().copied().chain(new).collect());
        before
    }

    /// The report of something that has made the record this, if it was made.
    fn end(&mut self, id: i64, before: Possible, told: Result<Possible>) {
        match told {
            Ok(now) => self.set(id, now),
            Err(error) if error.is_outcome_unknown() => self.open += 1,
            Err(error) => {
                assert!(is_allowed(&error), "{id}: {error:?}");
                self.set(id, before);
            }
        }
    }

    pub(super) fn count(&mut self, what: &'static str) {
        *self.done.entry(what).or_default() += 1;
    }

    async fn insert(&mut self, known: i64) {
        let number = 1 + self.below(3);
        // Some are late.
        let ids: Vec<i64> = (known..known + number).map(|id| self.first + id).collect();
        let states = ids.iter().map(|id| {
            let mut state = State::first(*id);
            state.slot = if id % 4 == 0 {
                state.slot / 2
            } else {
                state.slot
            };
            state
        });
        let states: Vec<State> = states.collect();
        let mut befores = BTreeMap::new();
        for (id, state) in ids.iter().zip(&states) {
            befores.insert(*id, self.begin(*id, [Some(*state)]));
        }
        let records: Vec<T> = ids
            .iter()
            .zip(&states)
            .map(|(id, it)| T::of(*id, *it))
            .collect();
        let source = T::takes_sources() && self.first % (2 * IDS) == 0;
        let insert = self.buckets.insert_many(&records);
        let (name, position) = (self.source.name(), self.source.position);
        let insert = if source {
            insert.from_source(name.as_str(), position)
        } else {
            insert
        };
        let report = insert.await.unwrap();
        let is_certain = report.failed().is_empty();
        self.source.goes_on(records.len(), is_certain);
        if source && is_certain && self.below(2) == 0 {
            let again = self.buckets.insert_many(&records);
            let again = again.from_source(name.as_str(), position).await.unwrap();
            for index in 0..records.len() {
                let outcome = again.outcome(index);
                let is_known = outcome == RecordOutcome::Duplicate;
                assert!(is_known || outcome == RecordOutcome::Failed, "{outcome:?}");
            }
            self.count("delivered again");
        }
        for (index, (id, state)) in ids.iter().zip(&states).enumerate() {
            match report.outcome(index) {
                RecordOutcome::Stored | RecordOutcome::Duplicate => {
                    self.count("stored");
                    self.set(*id, [Some(*state)].into());
                }
                RecordOutcome::Failed if report.error(index).is_some_and(is_late) => {
                    self.count("late");
                    let before = befores.remove(id).unwrap();
                    self.set(*id, before);
                }
                RecordOutcome::Failed => self.open += 1,
                other => panic!("the outcome of {id} is {other:?}"),
            }
        }
    }

    /// An account in which the record may be, and what it may be there.
    fn place(&mut self, id: i64) -> (i64, Vec<State>) {
        let possible: Vec<State> = self.known[&id].iter().copied().flatten().collect();
        if possible.is_empty() {
            return (State::first(id).account, possible);
        }
        let at = self.random.below(possible.len() as u64);
        let account = possible[usize::try_from(at).unwrap()].account;
        let there = possible.into_iter().filter(|it| it.account == account);
        (account, there.collect())
    }

    fn next_amount(&mut self) -> i64 {
        self.amounts += 1;
        // Greater than all before it: an amount is a version, too.
        self.first * 1_000 + self.amounts
    }

    /// By its id, or by a reference that was just read.
    async fn which(&mut self, id: i64, account: i64) -> Option<Which> {
        if self.random.below(3) > 0 {
            return Some(Which::id(&id));
        }
        let read = self.buckets.records(account).with_refs();
        let all = read.deadline(PATIENT).collect().await.ok()?;
        let own = all.into_iter().find(|read| read.record.id() == id)?;
        Some(own.reference.into())
    }

    /// In its bucket.
    async fn update(&mut self, id: i64) {
        let (account, there) = self.place(id);
        let amount = self.next_amount();
        let new = there.into_iter().map(|it| State { amount, ..it });
        self.correct(id, account, new.collect(), |it| State { amount, ..it })
            .await;
    }

    /// To another time or another account.
    async fn go(&mut self, id: i64) {
        let (account, _) = self.place(id);
        let target = State {
            account: match self.random.below(2) {
                0 => account,
                _ => self.below(ACCOUNTS),
            },
            slot: self.below(200),
            amount: self.next_amount(),
        };
        self.correct(id, account, vec![target], |_| target).await;
    }

    async fn correct(
        &mut self,
        id: i64,
        account: i64,
        new: Vec<State>,
        change: impl Fn(State) -> State + Send + Sync,
    ) {
        let Some(which) = self.which(id, account).await else {
            return;
        };
        let before = self.begin(id, new.iter().copied().map(Some));
        let correct = |it: &mut T| it.set(change(it.state()));
        let told = self.buckets.clone();
        let told = told.update(account, which, correct).await;
        let told = told.map(|now| match now {
            Some(now) => {
                assert!(new.contains(&now.state()), "{now:?} of {new:?}");
                [Some(now.state())].into()
            }
            None => without(id, account, &before),
        });
        self.count(if told.is_ok() {
            "corrected"
        } else {
            "not corrected"
        });
        self.end(id, before, told);
    }

    async fn replace(&mut self, id: i64) {
        let (account, there) = self.place(id);
        let all = self.known[&id].iter().flatten();
        if all.clone().any(|it| it.account != account) {
            return;
        }
        let slot = match there.first() {
            Some(it) if self.random.below(2) == 0 => it.slot,
            _ => self.below(200),
        };
        let new = State {
            account,
            slot,
            amount: self.next_amount(),
        };
        let before = self.begin(id, [Some(new)]);
        let record = T::of(id, new);
        let told = self.buckets.insert(&record).replace().await;
        let told = told.map(|inserted| match inserted.outcome {
            RecordOutcome::Stored => {
                assert!(before.contains(&None), "{id} was there: {before:?}");
                [Some(new)].into()
            }
            RecordOutcome::Replaced => {
                assert!(before.iter().any(Option::is_some), "{id} was not there");
                [Some(new)].into()
            }
            // What is removed stays removed.
            RecordOutcome::Duplicate if before == [None].into() => before.clone(),
            // Or an earlier try of this call has stored it.
            RecordOutcome::Duplicate => {
                let none = before.contains(&None).then_some(None);
                none.into_iter().chain([Some(new)]).collect()
            }
            other => panic!("the outcome of {record:?} is {other:?}"),
        });
        self.count(if told.is_ok() {
            "replaced"
        } else {
            "not replaced"
        });
        self.end(id, before, told);
    }

    /// Its first version comes again, after a later one.
    async fn replay(&mut self, id: i64) {
        let old = State::first(id);
        let is_later = |it: &Option<State>| {
            it.is_some_and(|it| it.account == old.account && it.amount > old.amount)
        };
        if !T::has_versions() || !self.known[&id].iter().all(is_later) {
            return;
        }
        match self.buckets.insert(&T::of(id, old)).await {
            Ok(inserted) => assert_eq!(inserted.outcome, RecordOutcome::Superseded, "{id}"),
            Err(error) => {
                let is_allowed = error.is_outcome_unknown() || is_allowed(&error);
                assert!(is_allowed, "{id}: {error:?}");
            }
        }
        self.count("came too late");
    }

    async fn delete(&mut self, id: i64) {
        let (account, _) = self.place(id);
        let Some(which) = self.which(id, account).await else {
            return;
        };
        let before = self.begin(id, [None]);
        let told = self.buckets.delete(account, which).await;
        let told = told.map(|gone| match gone {
            Some(gone) => {
                let gone = gone.state();
                assert!(before.contains(&Some(gone)), "{id}: {gone:?} of {before:?}");
                [None].into()
            }
            None => without(id, account, &before),
        });
        self.count(if told.is_ok() {
            "removed"
        } else {
            "not removed"
        });
        self.end(id, before, told);
    }

    /// A range of time that has only this record.
    async fn delete_range(&mut self, id: i64) {
        let (account, there) = self.place(id);
        let [only] = there[..] else {
            return;
        };
        let same = self.known.iter().filter(|(other, possible)| {
            let mut all = possible.iter().flatten();
            **other != id && all.any(|it| (it.account, it.slot) == (account, only.slot))
        });
        if same.count() > 0 {
            return;
        }
        let before = self.begin(id, [None]);
        let at = time_of(id, only.slot);
        let told = self.buckets.delete_range(account, at..=at).await;
        let told = told.map(|removed| match removed.records {
            0 => without(id, account, &before),
            1 => [None].into(),
            more => panic!("{more} records have the place {at}"),
        });
        self.count(if told.is_ok() {
            "range removed"
        } else {
            "range not removed"
        });
        self.end(id, before, told);
    }

    /// The only one that has this amount.
    async fn delete_where(&mut self, id: i64) {
        let (account, there) = self.place(id);
        let [only] = there[..] else {
            return;
        };
        let before = self.begin(id, [None]);
        let told = self
            .buckets
            .delete_where(account, T::amount_is(only.amount));
        let told = told.await.map(|removed| match removed.records {
            0 => without(id, account, &before),
            1 => [None].into(),
            more => panic!("{more} records have the amount {}", only.amount),
        });
        self.count(if told.is_ok() {
            "removed by a condition"
        } else {
            "not removed by a condition"
        });
        self.end(id, before, told);
    }
}

/// Where a writer's records come from. After a record that may not be stored it is another one.
struct Source {
    writer: i64,
    epoch: u32,
    position: u64,
}

impl Source {
    fn of(writer: i64) -> Self {
        Self {
            writer,
            epoch: 0,
            position: 0,
        }
    }

    fn name(&self) -> String {
        format!("{}-{}", self.writer, self.epoch)
    }

    fn goes_on(&mut self, records: usize, is_certain: bool) {
        if is_certain {
            self.position += records as u64;
        } else {
            (self.epoch, self.position) = (self.epoch + 1, 0);
        }
    }
}

/// What a record may be that is not in this account.
fn without(id: i64, account: i64, before: &Possible) -> Possible {
    let is_elsewhere = |it: &Option<State>| it.is_none_or(|it| it.account != account);
    // The try of an open insert may still arrive.
    assert!(
        before.iter().any(is_elsewhere),
        "{id} is not there: {before:?}"
    );
    before.clone()
}

pub(super) fn is_allowed(error: &Error) -> bool {
    error.is_retryable() || error.is_changed() || error.is_timed_out() || is_late(error)
}

/// Only models with `late = "reject"` refuse a record, and then nothing is changed.
fn is_late(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Encode(EncodeError::Late { .. }))
}

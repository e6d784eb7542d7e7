//! A writer that keeps a ledger of what it has done.

use std::{collections::BTreeMap, time::Duration};

use bucket_mongo::{Buckets, RecordOutcome, Which};
use bucket_tests::faults::random::Random;
use tokio::time::sleep;

use super::models::{ACCOUNTS, Entry, IDS, State};

/// The amount of the last record of each writer.
pub(super) const END: i64 = 1_000_000_000;

/// Something that a writer has done.
#[derive(Debug)]
pub(super) enum Done {
    /// The records of one call, by their ids.
    Stored(BTreeMap<i64, State>),
    Updated(i64, State),
    /// To another time or another account.
    Moved(i64, State),
    Removed(i64),
}

pub(super) struct Writer<T: Entry> {
    buckets: Buckets<T>,
    random: Random,
    next: i64,
    /// The records that are stored.
    records: BTreeMap<i64, State>,
    pub(super) done: Vec<Done>,
}

impl<T: Entry> Writer<T> {
    pub(super) fn new(buckets: Buckets<T>, number: i64) -> Self {
        Self {
            buckets,
            random: Random::new(number.unsigned_abs(), 7),
            next: number * IDS,
            records: BTreeMap::new(),
            done: Vec::new(),
        }
    }

    /// Makes this number of changes and some more, with pauses in between.
    pub(super) async fn run(mut self, changes: u64, pause: Duration) -> Self {
        let mut made = 0;
        while made < changes {
            let known = self.records.len() as u64;
            let at = usize::try_from(self.random.below(known.max(1))).unwrap();
            let one = self.records.iter().nth(at).map(|(id, state)| (*id, *state));
            made += match (self.random.below(12), one) {
                (0..=2, _) | (_, None) => {
                    let number = 1 + self.random.below(3);
                    self.store(number).await
                }
                // Whole buckets.
                (3, _) => self.store(25).await,
                (4..=5, Some((id, state))) => {
                    let amount = self.amount();
                    self.edit(id, state, State { amount, ..state }).await
                }
                (6..=7, Some((id, state))) => {
                    let to = self.state();
                    self.edit(id, state, to).await
                }
                (8..=9, Some((id, state))) => self.replace(id, state).await,
                (_, Some((id, state))) => self.remove(id, state).await,
            };
            sleep(pause).await;
        }
        let end = State {
            amount: END,
            ..self.state()
        };
        self.store_all([(self.next, end)].into()).await;
        self
    }

    fn amount(&mut self) -> i64 {
        i64::try_from(self.random.below(1_000_000)).unwrap()
    }

    /// Anywhere: what comes to a full or later bucket is late.
    fn state(&mut self) -> State {
        let mut below =
            |limit: i64| i64::try_from(self.random.below(limit.unsigned_abs())).unwrap();
        State {
            account: below(ACCOUNTS),
            slot: below(200),
            amount: below(1_000_000),
        }
    }

    async fn store(&mut self, number: u64) -> u64 {
        let first = self.next;
        self.next += i64::try_from(number).unwrap();
        let records = (first..self.next).map(|id| (id, self.state()));
        let records: BTreeMap<i64, State> = records.collect();
        self.store_all(records).await;
        number
    }

    async fn store_all(&mut self, states: BTreeMap<i64, State>) {
        let records = states.iter().map(|(id, state)| T::of(*id, *state));
        let records: Vec<T> = records.collect();
        let stored = self.buckets.insert_many(&records).await.unwrap();
        stored.into_result().unwrap();
        self.records.extend(&states);
        self.done.push(Done::Stored(states));
    }

    async fn edit(&mut self, id: i64, from: State, to: State) -> u64 {
        let edit = |record: &mut T| *record = T::of(id, to);
        let edited = loop {
            let edit = self.buckets.update(from.account, Which::id(&id), edit);
            match edit.await {
                Ok(edited) => break edited,
                Err(error) => assert!(error.is_retryable(), "{error:?}"),
            }
        };
        assert_eq!(edited.map(|record| record.state()), Some(to));
        self.changed(id, from, to)
    }

    async fn replace(&mut self, id: i64, from: State) -> u64 {
        let to = State {
            account: from.account,
            slot: match self.random.below(2) {
                0 => from.slot,
                _ => self.state().slot,
            },
            amount: self.amount(),
        };
        let record = T::of(id, to);
        let outcome = loop {
            match self.buckets.insert(&record).replace().await {
                Ok(replaced) => break replaced.outcome,
                Err(error) => assert!(error.is_retryable(), "{error:?}"),
            }
        };
        assert!(
            matches!(outcome, RecordOutcome::Replaced | RecordOutcome::Duplicate),
            "{outcome:?}"
        );
        self.changed(id, from, to)
    }

    fn changed(&mut self, id: i64, from: State, to: State) -> u64 {
        self.records.insert(id, to);
        let is_move = (from.account, from.slot) != (to.account, to.slot);
        self.done.push(if is_move {
            Done::Moved(id, to)
        } else {
            Done::Updated(id, to)
        });
        1 + u64::from(is_move)
    }

    async fn remove(&mut self, id: i64, state: State) -> u64 {
        let removed = loop {
            match self.buckets.delete(state.account, Which::id(&id)).await {
                Ok(removed) => break removed.map(|record| record.state()),
                Err(error) => assert!(error.is_retryable(), "{error:?}"),
            }
        };
        assert_eq!(removed, Some(state));
        self.records.remove(&id);
        self.done.push(Done::Removed(id));
        1
    }
}

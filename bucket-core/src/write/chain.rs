//! Which bucket takes which records next: the state machine of one key.
//!
//! A chain knows its pending records and what was last seen of the key's newest bucket (its
//! tail). What it knows may be out of date at any time: the statements are made so that a stale one
//! is refused and changes nothing, and then the tail is forgotten and asked for again.

use std::collections::VecDeque;

use super::{Action, CommandBuilder, Statement, batch::Slot};
use crate::{
    error::Damage,
    id::{self, Place},
    spec::BucketSpec,
};

/// Items of one statement stay below this, so that no single statement nears a full command.
const MAX_STATEMENT_BYTES: usize = 4 * 1024 * 1024;

/// The records of one key on their way into its buckets.
#[derive(Debug)]
pub struct Chain {
    spec: &'static BucketSpec,
    key: Vec<u8>,
    prefix: String,
    pending: VecDeque<Slot>,
    tail: Tail,
    /// An opening by the record's own time was refused: look for the newest bucket first.
    look_behind: bool,
    /// The bucket that took the key's last record, by hearsay: an append to it is tried first.
    guess: Option<String>,
    /// The bucket that took the last record of this chain, unless that filled it.
    last: Option<String>,
    /// The bucket that refused a statement, and the count up to which it should have taken it.
    refused: Option<(String, u32)>,
    misses: u32,
    /// Lowered when a statement fails, to find the record that cannot be stored.
    max_take: usize,
}

/// What was last seen of the key's newest bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Tail {
    /// Nothing yet, or what was seen is out of date.
    Unknown,
    /// No bucket is open.
    NoneOpen,
    /// A bucket with room.
    Open {
        id: String,
        place: Place,
        count: u32,
    },
    /// The newest bucket is full.
    Full { place: Place },
}

/// What a chain needs to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Need {
    /// Every record has been dealt with.
    Nothing,
    /// The open bucket of the key; see [`Chain::saw_open`] and [`Chain::saw_none_open`].
    OpenBucket,
    /// The open bucket, and the newest one where none is open; see [`Chain::saw_newest`].
    NewestBucket,
    /// Its statements to be sent; see [`Chain::plan`].
    Statements,
}

/// A planned statement: an action and the number of pending records that it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    action: Action,
    take: usize,
    after: Tail,
}

impl Step {
    /// What the statement does.
    #[must_use]
    pub fn action(&self) -> &Action {
        &self.action
    }

    /// Whether it opens a bucket.
    #[must_use]
    pub fn opens(&self) -> bool {
        matches!(self.action, Action::Open { .. })
    }

    /// The number of records that it takes.
    #[must_use]
    pub fn take(&self) -> usize {
        self.take
    }
}

impl Chain {
    pub(super) fn new(spec: &'static BucketSpec, key: Vec<u8>, prefix: String) -> Self {
        Self {
            spec,
            key,
            prefix,
            pending: VecDeque::new(),
            tail: Tail::Unknown,
            look_behind: false,
            guess: None,
            last: None,
            refused: None,
            misses: 0,
            max_take: usize::MAX,
        }
    }

    pub(super) fn push(&mut self, slot: Slot) {
        self.pending.push_back(slot);
    }

    /// The key fields as BSON elements, for the reads of this chain.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// How often in a row a statement was refused because the bucket was not as last seen.
    #[must_use]
    pub fn misses(&self) -> u32 {
        self.misses
    }

    /// What the chain needs to go on.
    #[must_use]
    pub fn need(&self) -> Need {
        match self.tail {
            _ if self.pending.is_empty() => Need::Nothing,
            _ if self.guess.is_some() => Need::Statements,
            Tail::Unknown if self.look_behind => Need::NewestBucket,
            Tail::Unknown => Need::OpenBucket,
            _ => Need::Statements,
        }
    }

    /// Asks for the newest bucket before anything is opened. Inside a transaction the first
    /// refused statement is the last, so nothing may be tried on trust.
    pub fn look_first(&mut self) {
        self.look_behind = true;
    }

    /// The key has an open bucket.
    ///
    /// # Errors
    ///
    /// [`Damage`] if its id is not of the model's form, or if it has refused a record that its
    /// count leaves room for.
    pub fn saw_open(&mut self, id: &str, count: u32) -> Result<(), Damage> {
        let place = self.place(id)?;
        // Counts only grow: a bucket that was fuller than this cannot be as empty now.
        if self
            .refused
            .as_ref()
            .is_some_and(|(refused, limit)| refused == id && count <= *limit)
        {
            let message = format!("its count of {count} does not fit its array");
            return Err(Damage::Refused { message });
        }
        self.tail = Tail::Open {
            id: id.to_owned(),
            place,
            count,
        };
        Ok(())
    }

    /// The key has no open bucket.
    pub fn saw_none_open(&mut self) {
        self.tail = Tail::NoneOpen;
    }

    /// The key's newest bucket, which is full.
    ///
    /// # Errors
    ///
    /// [`Damage`] if its id is not of the model's form, or if no id of that form sorts behind it.
    pub fn saw_newest(&mut self, id: &str) -> Result<(), Damage> {
        let place = self.place(id)?;
        let mut next = self.prefix.clone();
        id::push_place(&mut next, place.after(place), self.spec.id_unit());
        if next.as_str() <= id {
            let message = format!("no bucket can be opened behind it: `{next}` sorts before it");
            return Err(Damage::Id { message });
        }
        self.tail = Tail::Full { place };
        Ok(())
    }

    fn place(&self, id: &str) -> Result<Place, Damage> {
        let place = id::parse_place(self.spec, id);
        place.map_err(|error| Damage::Id {
            message: error.to_string(),
        })
    }

    /// Tries an append to this bucket before anything is read. Such a statement misses without a
    /// trace, so it must be the only one of its command.
    pub(super) fn guess(&mut self, id: String) {
        self.guess = Some(id);
    }

    /// The bucket that took the last record of this chain, unless it is known to be full: a good
    /// guess for the next record of the key.
    #[must_use]
    pub fn last_bucket(&self) -> Option<&str> {
        self.last.as_deref()
    }

    /// The statements that store the pending records, at most `limit`; they must be sent in this
    /// order and each only if the one before it was applied.
    #[must_use]
    pub fn plan(&self, limit: usize) -> Vec<Step> {
        if let Some(id) = &self.guess {
            let action = Action::Append { id: id.clone() };
            return vec![Step {
                action,
                take: 1,
                after: Tail::Unknown,
            }];
        }
        let mut steps = Vec::new();
        let mut tail = self.tail.clone();
        let mut from = 0;
        while from < self.pending.len() && steps.len() < limit && tail != Tail::Unknown {
            let step = self.step(&tail, from);
            from += step.take;
            tail = step.after.clone();
            steps.push(step);
        }
        steps
    }

    fn step(&self, tail: &Tail, from: usize) -> Step {
        let capacity = self.spec.capacity();
        if let Tail::Open { id, place, count } = tail {
            let take = self.fit(from, capacity.saturating_sub(*count));
            return Step {
                action: Action::Fill { id: id.clone() },
                take,
                after: self.after(id, *place, *count, take),
            };
        }
        let own = self.pending.get(from).map_or(
            Place {
                time: 0,
                sequence: 0,
            },
            |slot| Place::at(slot.time, self.spec.id_unit()),
        );
        let place = if let Tail::Full { place } = tail {
            own.after(*place)
        } else {
            own
        };
        let mut id = self.prefix.clone();
        id::push_place(&mut id, place, self.spec.id_unit());
        // One place stays free, so that the index on open buckets sees every opening.
        let take = self.fit(from, capacity.saturating_sub(1).max(1));
        let after = self.after(&id, place, 0, take);
        Step {
            action: Action::Open { id },
            take,
            after,
        }
    }

    /// How many records from `from` on go into one statement that has `room`; at least 1.
    fn fit(&self, from: usize, room: u32) -> usize {
        let room = usize::try_from(room)
            .unwrap_or(usize::MAX)
            .min(self.max_take)
            .max(1);
        let mut bytes = 0;
        let slots = self.pending.iter().skip(from).take(room);
        let fitting = slots.take_while(|slot| {
            bytes += slot.item.len();
            bytes <= MAX_STATEMENT_BYTES
        });
        fitting.count().max(1)
    }

    fn after(&self, id: &str, place: Place, count: u32, take: usize) -> Tail {
        let count = count.saturating_add(u32::try_from(take).unwrap_or(u32::MAX));
        if count >= self.spec.capacity() {
            Tail::Full { place }
        } else {
            Tail::Open {
                id: id.to_owned(),
                place,
                count,
            }
        }
    }

    /// Adds the statements of a plan to a command and tells how many of them fitted.
    pub fn encode(&self, steps: &[Step], items: &[u8], command: &mut CommandBuilder) -> usize {
        let mut from = 0;
        let mut slices = Vec::new();
        for (index, step) in steps.iter().enumerate() {
            slices.clear();
            let taken = self.pending.iter().skip(from).take(step.take);
            slices.extend(taken.map(|slot| &items[slot.item.clone()]));
            let statement = Statement {
                spec: self.spec,
                key: &self.key,
                action: &step.action,
                items: &slices,
            };
            if !command.push(&statement) {
                return index;
            }
            from += step.take;
        }
        steps.len()
    }

    /// The statement was applied: its records are stored. Gives their indexes.
    pub fn applied(&mut self, step: &Step) -> Vec<usize> {
        self.last = match (&step.action, &step.after) {
            (_, Tail::Full { .. }) => None,
            (Action::Append { id } | Action::Fill { id } | Action::Open { id }, _) => {
                Some(id.clone())
            }
        };
        self.guess = None;
        self.tail = step.after.clone();
        self.misses = 0;
        self.max_take = self.max_take.saturating_mul(2);
        self.take(step)
    }

    /// The statement was refused because the tail is not as last seen; nothing was changed.
    pub fn missed(&mut self, step: &Step) {
        self.misses = self.misses.saturating_add(1);
        self.tail = Tail::Unknown;
        self.guess = None;
        self.look_behind |= !matches!(step.action, Action::Append { .. });
        if let Action::Fill { id } = &step.action {
            let taken = u32::try_from(step.take).unwrap_or(u32::MAX);
            self.refused = Some((id.clone(), self.spec.capacity().saturating_sub(taken)));
        }
    }

    /// The statement failed for good; nothing was changed. Gives the index of the record that
    /// cannot be stored, or none if the statement took several: then halves of it are tried, until
    /// the record to blame stands alone.
    pub fn failed(&mut self, step: &Step) -> Option<usize> {
        self.tail = Tail::Unknown;
        self.guess = None;
        if step.take > 1 {
            self.max_take = step.take / 2;
            return None;
        }
        // The next ones may be as bad: the size grows again with each success.
        self.max_take = 1;
        self.take(step).first().copied()
    }

    /// The records of a statement whose fate is not known; they are not tried again.
    pub fn abandon(&mut self, step: &Step) -> Vec<usize> {
        self.tail = Tail::Unknown;
        self.take(step)
    }

    /// Gives up on every pending record.
    pub fn give_up(&mut self) -> Vec<usize> {
        self.pending.drain(..).map(|slot| slot.index).collect()
    }

    fn take(&mut self, step: &Step) -> Vec<usize> {
        let taken = step.take.min(self.pending.len());
        self.pending.drain(..taken).map(|slot| slot.index).collect()
    }
}

//! The batches in flight and waiting, and whose turn it is.

use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use bucket_core::write::Batch;
use tokio::{
    sync::{Notify, oneshot},
    time::Instant,
};

use crate::writer::report::Written;

/// The number of statements in flight up to which another batch is written at once.
const FREE_STATEMENTS: usize = 64;
/// The same for a single record. A command of one statement costs the server and this process several times as much as a
/// statement more in the next command.
const FREE_SINGLES: usize = 4;
/// The most records in a group; the bytes are next.
const MAX_GROUP_RECORDS: usize = 262_144;
const MAX_GROUP_BYTES: usize = 32 * 1024 * 1024;
/// The number of groups after which the door is not held, once nobody returned.
const HURRY: u8 = 8;

/// The batches of a handle and its clones that are in flight or wait.
pub(crate) struct Groups {
    state: Mutex<State>,
    /// Wakes the waiting calls: their group may start now or soon.
    pub(super) moved: Notify,
}

pub(super) struct State {
    /// About the number of statements in the first commands of all batches in flight.
    pub(super) statements: usize,
    pub(super) waiting: Vec<Member>,
    /// The number of the group that is waiting.
    pub(super) number: u64,
    /// The number of next groups after which the door is not held, because nobody returned.
    hurry: u8,
    /// The batches in flight are done: the waiting ones start once this door is shut.
    door: Option<Door>,
}

/// The door that is held after a group for callers that may return.
#[derive(Debug)]
pub(super) struct Door {
    pub(super) until: Instant,
    /// Once this many wait, nobody is missing.
    pub(super) expected: usize,
    /// The number that waited when it was opened.
    pub(super) present: usize,
    /// The statements that count as in flight while it is open.
    pub(super) statements: usize,
    /// The door is really held, not skipped.
    pub(super) is_held: bool,
}

/// What the waiting calls do.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Their group has started.
    Gone,
    /// They start now.
    Now,
    /// They start at this time.
    At(Instant),
    /// Earlier batches are still in flight.
    Later,
}

/// A waiting batch.
pub(super) struct Member {
    pub(super) batch: Batch,
    /// The first index after those of its records.
    pub(super) end: usize,
    /// The name of its call, for errors.
    pub(super) operation: &'static str,
    pub(super) result: oneshot::Sender<Written>,
    /// The time since which it waits.
    pub(super) since: Instant,
}

impl Default for Groups {
    fn default() -> Self {
        let state = State {
            statements: 0,
            waiting: Vec::new(),
            number: 0,
            hurry: 0,
            door: None,
        };
        Self {
            state: Mutex::new(state),
            moved: Notify::new(),
        }
    }
}

impl Groups {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        // A poisoned state is complete: its operations do not panic half-way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    pub(super) fn may_go(&mut self, batch: &Batch) -> bool {
        if !self.waiting.is_empty() {
            return false;
        }
        let mut under_way = self.statements;
        match &self.door {
            Some(door) if door.until > Instant::now() => under_way += door.statements,
            Some(_) => self.shut_the_door(),
            None => {}
        }
        let free = match batch.records() {
            1 => FREE_SINGLES,
            _ => FREE_STATEMENTS,
        };
        under_way == 0 || under_way + batch.chains().len() <= free
    }

    /// Makes the waiting calls start once the door is shut.
    pub(super) fn hold_the_door(&mut self, mut door: Door) {
        if self.hurry > 0 {
            self.hurry -= 1;
            door.is_held = false;
            door.until = Instant::now();
        }
        self.door = Some(door);
    }

    /// If nobody returned while the door was held, it is not held after the next groups.
    fn shut_the_door(&mut self) {
        if let Some(door) = self.door.take()
            && door.is_held
            && self.waiting.len() <= door.present
        {
            self.hurry = HURRY;
        }
    }

    /// What the waiting calls of the group with this number do.
    pub(super) fn turn(&self, number: u64) -> Turn {
        match &self.door {
            _ if self.number != number => Turn::Gone,
            Some(door) if self.waiting.len() >= door.expected || door.until <= Instant::now() => {
                Turn::Now
            }
            Some(door) => Turn::At(door.until),
            None => Turn::Later,
        }
    }

    /// Whether the waiting group has room for a batch.
    pub(super) fn has_room(&self, batch: &Batch) -> bool {
        let waiting = self.waiting.iter().map(|member| &member.batch);
        let (records, bytes) = waiting.fold((0, 0), |(records, bytes), other| {
            (records + other.records(), bytes + other.bytes())
        });
        records + batch.records() <= MAX_GROUP_RECORDS && bytes + batch.bytes() <= MAX_GROUP_BYTES
    }

    /// Takes out the batches whose calls were dropped: they need no room, and no wait counts from their arrival.
    pub(super) fn let_go(&mut self) {
        self.waiting.retain(|member| !member.result.is_closed());
    }

    /// Takes the waiting batches whose calls still exist.
    pub(super) fn take_waiting(&mut self) -> Vec<Member> {
        self.number += 1;
        self.shut_the_door();
        self.let_go();
        std::mem::take(&mut self.waiting)
    }
}

impl fmt::Debug for Groups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Groups").finish_non_exhaustive()
    }
}

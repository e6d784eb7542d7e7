//! The batches that are under way or wait, and whose turn it is.

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

/// Beside so many statements another batch goes at once.
const FREE_STATEMENTS: usize = 64;
/// What goes together, in records and in bytes.
const MAX_GROUP_RECORDS: usize = 262_144;
const MAX_GROUP_BYTES: usize = 32 * 1024 * 1024;
/// So many groups go without the door being held after nobody came.
const HURRY: u8 = 8;

/// The batches of a handle and its clones that are under way or wait.
pub(crate) struct Groups {
    state: Mutex<State>,
    /// For those that wait: they may go, or will soon.
    pub(super) moved: Notify,
}

pub(super) struct State {
    /// The statements that the first commands of all batches under way bring, about.
    pub(super) statements: usize,
    pub(super) waiting: Vec<Member>,
    /// Counts the groups: which one it is that waits.
    pub(super) number: u64,
    /// So many groups go without holding the door: nobody came.
    hurry: u8,
    /// What was under way is done: those that wait go once this is shut.
    door: Option<Door>,
}

/// The door that is held after a group for those who may come again.
#[derive(Debug)]
pub(super) struct Door {
    pub(super) until: Instant,
    /// Where so many wait, nobody is missing.
    pub(super) expected: usize,
    /// So many waited when it was opened.
    pub(super) present: usize,
    /// They count as under way as long as it is open.
    pub(super) statements: usize,
    /// Nobody was in a hurry.
    pub(super) is_held: bool,
}

/// What those that wait do.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Their group has gone.
    Gone,
    /// They go.
    Now,
    /// They go then.
    At(Instant),
    /// What goes before is under way.
    Later,
}

/// A batch that waits.
pub(super) struct Member {
    pub(super) batch: Batch,
    /// The first index behind those of its records.
    pub(super) end: usize,
    pub(super) result: oneshot::Sender<Written>,
    /// Since when it waits.
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
        // A poisoned state is whole: its operations do not panic half-way.
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
        under_way == 0 || under_way + batch.chains().len() <= FREE_STATEMENTS
    }

    /// Has those that wait go once the door is shut.
    pub(super) fn hold_the_door(&mut self, mut door: Door) {
        if self.hurry > 0 {
            self.hurry -= 1;
            door.is_held = false;
            door.until = Instant::now();
        }
        self.door = Some(door);
    }

    /// If nobody came while the door was held, the next groups go without.
    fn shut_the_door(&mut self) {
        if let Some(door) = self.door.take()
            && door.is_held
            && self.waiting.len() <= door.present
        {
            self.hurry = HURRY;
        }
    }

    /// What those of the group of this number do.
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

    /// Whether there is room for a batch with those that wait.
    pub(super) fn has_room(&self, batch: &Batch) -> bool {
        let waiting = self.waiting.iter().map(|member| &member.batch);
        let (records, bytes) = waiting.fold((0, 0), |(records, bytes), other| {
            (records + other.records(), bytes + other.bytes())
        });
        records + batch.records() <= MAX_GROUP_RECORDS && bytes + batch.bytes() <= MAX_GROUP_BYTES
    }

    /// Takes out those whose calls were dropped: they take no room, and nobody waits since they came.
    pub(super) fn let_go(&mut self) {
        self.waiting.retain(|member| !member.result.is_closed());
    }

    /// Those that wait and still want to go.
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

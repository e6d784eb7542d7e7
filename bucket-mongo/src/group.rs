//! Group commit: batches that come while others are under way wait for a moment and go together.
//!
//! A statement costs the server nearly as much for one record as for forty, and two commands that
//! write to the same bucket get in each other's way. So a batch goes at once where little is under
//! way. Else it waits until what is under way is done, and shares its statements with all others that
//! have waited. A batch that is done holds the door for a moment: its caller often has the next one
//! at hand. The first of those that wait and is looked at then starts the group, in its own runtime. A
//! call that is dropped leaves its group as long as nothing of it has left, and none waits for longer than its
//! own deadline.

use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bucket_core::{Record, write::Batch};
use tokio::{
    sync::{Notify, oneshot},
    time::{Instant, sleep_until, timeout_at},
};

use self::pass::Pass;
use crate::{
    Buckets,
    error::{Context, Error, ErrorKind, NotKnown},
    writer::{LONGEST_DEADLINE, Settings, Writer, Written},
};

mod pass;

/// Beside so many statements another batch goes at once.
const FREE_STATEMENTS: usize = 64;
/// Larger batches gain nothing by company: they go at once.
const MAX_RECORDS: usize = 65_536;
/// What goes together, in records and in bytes.
const MAX_GROUP_RECORDS: usize = 262_144;
const MAX_GROUP_BYTES: usize = 32 * 1024 * 1024;
/// A batch waits for no longer than this, nor than this part of its deadline.
const LONGEST_WAIT: Duration = Duration::from_millis(250);
const WAITING_PART: u32 = 8;
/// How much longer than its deadline a call waits for its group, which is to say why first.
const GRACE: Duration = Duration::from_millis(750);
/// So many groups go without the door being held after nobody came.
const HURRY: u8 = 8;

/// The batches of a handle and its clones that are under way or wait.
pub(crate) struct Groups<T> {
    state: Mutex<State<T>>,
    /// For those that wait: they may go, or will soon.
    moved: Notify,
}

struct State<T> {
    /// The statements that the first commands of all batches under way bring, about.
    statements: usize,
    waiting: Vec<Member<T>>,
    /// Since when the first of them waits.
    since: Instant,
    /// Counts the groups: which one it is that waits.
    number: u64,
    /// So many groups go without holding the door: nobody came.
    hurry: u8,
    /// What was under way is done: those that wait go once this is shut.
    door: Option<Door>,
}

/// The door that is held after a group for those who may come again.
#[derive(Debug)]
struct Door {
    until: Instant,
    /// Where so many wait, nobody is missing.
    expected: usize,
    /// So many waited when it was opened.
    present: usize,
    /// They count as under way as long as it is open.
    statements: usize,
    /// Nobody was in a hurry.
    is_held: bool,
}

/// What those that wait do.
#[derive(Debug, PartialEq, Eq)]
enum Turn {
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
struct Member<T> {
    batch: Batch<T>,
    /// The first index behind those of its records.
    end: usize,
    result: oneshot::Sender<Written>,
}

/// What happens to a batch.
enum Entry<T: Record> {
    /// Until the pass is dropped others wait for it; for large ones nobody does.
    Goes(Box<Batch<T>>, Option<Pass<T>>),
    /// With the number of its group and the indexes of its records.
    Waits(oneshot::Receiver<Written>, u64, Vec<usize>),
}

impl<T> Default for Groups<T> {
    fn default() -> Self {
        let state = State {
            statements: 0,
            waiting: Vec::new(),
            since: Instant::now(),
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

impl<T> Groups<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // A poisoned state is whole: its operations do not panic half-way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> State<T> {
    fn may_go(&mut self, batch: &Batch<T>) -> bool {
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
    fn hold_the_door(&mut self, mut door: Door) {
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
    fn turn(&self, number: u64) -> Turn {
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
    fn has_room(&self, batch: &Batch<T>) -> bool {
        let waiting = self.waiting.iter().map(|member| &member.batch);
        let (records, bytes) = waiting.fold((0, 0), |(records, bytes), other| {
            (records + other.records(), bytes + other.bytes())
        });
        records + batch.records() <= MAX_GROUP_RECORDS && bytes + batch.bytes() <= MAX_GROUP_BYTES
    }

    /// Those that wait and still want to go.
    fn take_waiting(&mut self) -> Vec<Member<T>> {
        self.number += 1;
        self.shut_the_door();
        let mut members = std::mem::take(&mut self.waiting);
        members.retain(|member| !member.result.is_closed());
        members
    }
}

/// Stores a batch of records with indexes below `end`, by the handle's settings: alone, or with
/// others.
pub(crate) async fn store<T: Record>(
    buckets: &Buckets<T>,
    batch: Batch<T>,
    end: usize,
    context: &Context,
) -> Result<Written, Error> {
    // What is wrong with the settings is wrong before anybody waits.
    let writer = Writer::new(buckets, None, &Settings::default(), context.clone())?;
    match enter(buckets, batch, end) {
        Entry::Goes(mut batch, pass) => {
            let written = writer.store(&mut batch).await;
            drop(pass);
            Ok(written)
        }
        Entry::Waits(result, number, indexes) => {
            Ok(wait(buckets, result, number).await.unwrap_or_else(|kind| {
                let error = Error::new(kind, context);
                Written::all_failed(indexes, &error)
            }))
        }
    }
}

/// What a group tells of a batch that waits in it, or why nothing is told.
async fn wait<T: Record>(
    buckets: &Buckets<T>,
    mut result: oneshot::Receiver<Written>,
    number: u64,
) -> Result<Written, ErrorKind> {
    let begun = Instant::now();
    let patience = LONGEST_WAIT.min(buckets.deadline() / WAITING_PART);
    let groups = buckets.groups();
    // The first of those that wait and is looked at has all of them go.
    let go = async {
        loop {
            let mut moved = std::pin::pin!(groups.moved.notified());
            // From here on nothing is missed.
            moved.as_mut().enable();
            let turn = groups.lock().turn(number);
            let until = match turn {
                Turn::Gone => break,
                Turn::Now => {
                    pass::start(buckets, number);
                    break;
                }
                Turn::At(until) => until.min(begun + patience),
                Turn::Later => begun + patience,
            };
            if timeout_at(until, moved).await.is_err() && until >= begun + patience {
                pass::start(buckets, number);
                break;
            }
        }
        std::future::pending::<()>().await;
    };
    let end = begun + buckets.deadline().min(LONGEST_DEADLINE) + GRACE;
    tokio::select! {
        biased;
        ended = &mut result => return ended.map_err(|_| NotKnown::GroupStopped.into()),
        () = go => {}
        () = sleep_until(end) => {}
    }
    // Whoever takes the group from here on leaves this one out.
    result.close();
    if let Ok(written) = result.try_recv() {
        return Ok(written);
    }
    let has_gone = groups.lock().number != number;
    Err(if has_gone {
        NotKnown::GroupNotDone.into()
    } else {
        let message = "it waited for other calls until the deadline".to_owned();
        ErrorKind::Unreachable { message }
    })
}

fn enter<T: Record>(buckets: &Buckets<T>, batch: Batch<T>, end: usize) -> Entry<T> {
    let groups = buckets.groups();
    let mut state = groups.lock();
    if batch.records() > MAX_RECORDS {
        return Entry::Goes(Box::new(batch), None);
    }
    if state.may_go(&batch) || !state.has_room(&batch) {
        let statements = batch.chains().len();
        state.statements += statements;
        return Entry::Goes(Box::new(batch), Some(Pass::new(buckets, statements, 1)));
    }
    if state.waiting.is_empty() {
        state.since = Instant::now();
    }
    let (result, ended) = oneshot::channel();
    let indexes = batch.indexes();
    state.waiting.push(Member { batch, end, result });
    let number = state.number;
    let is_complete = state.turn(number) == Turn::Now;
    drop(state);
    if is_complete {
        groups.moved.notify_waiters();
    }
    Entry::Waits(ended, number, indexes)
}

impl<T> fmt::Debug for Groups<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Groups").finish_non_exhaustive()
    }
}

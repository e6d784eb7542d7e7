//! Group commit: batches that come while others are under way wait for a moment and go together.
//!
//! A statement costs the server nearly as much for one record as for forty, and two commands that
//! write to the same bucket get in each other's way. So a batch goes at once where little is under
//! way. Else it waits until what is under way is done, and shares its statements with all others that
//! have waited. A batch that is done holds the door for a moment: its caller often has the next one
//! at hand.

use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bucket_core::{Record, write::Batch};
use tokio::{
    sync::{Notify, oneshot},
    time::{Instant, timeout},
};

use self::pass::Pass;
use crate::{
    Buckets,
    error::{Context, Error, ErrorKind},
    writer::{Settings, Writer, Written},
};

mod deal;
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

/// The batches of a handle and its clones that are under way or wait.
pub(crate) struct Groups<T> {
    state: Mutex<State<T>>,
    /// Somebody has begun to wait.
    joined: Notify,
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
        };
        Self {
            state: Mutex::new(state),
            joined: Notify::new(),
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
    fn may_go(&self, batch: &Batch<T>) -> bool {
        let statements = self.statements + batch.chains().len();
        self.waiting.is_empty() && (self.statements == 0 || statements <= FREE_STATEMENTS)
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
        Entry::Waits(mut result, number, indexes) => {
            let patience = LONGEST_WAIT.min(buckets.deadline() / WAITING_PART);
            let ended = if let Ok(ended) = timeout(patience, &mut result).await {
                ended
            } else {
                pass::start(buckets, number);
                result.await
            };
            Ok(ended.unwrap_or_else(|_| {
                let message = "the runtime that was writing it was shut down".to_owned();
                let error = Error::new(ErrorKind::OutcomeUnknown { message }, context);
                Written::all_failed(indexes, &error)
            }))
        }
    }
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
        return Entry::Goes(Box::new(batch), Some(Pass::new(buckets, statements)));
    }
    if state.waiting.is_empty() {
        state.since = Instant::now();
    }
    let (result, ended) = oneshot::channel();
    let indexes = batch.indexes();
    state.waiting.push(Member { batch, end, result });
    let number = state.number;
    drop(state);
    groups.joined.notify_waiters();
    Entry::Waits(ended, number, indexes)
}

impl<T> fmt::Debug for Groups<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Groups").finish_non_exhaustive()
    }
}

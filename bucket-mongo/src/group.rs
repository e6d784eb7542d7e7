//! Group commit: batches that arrive while others are being written wait briefly and are written together.
//!
//! A statement costs the server nearly as much for one record as for forty, and two commands that write to
//! the same bucket conflict. So a batch is written at once if little is in flight. Otherwise it waits until
//! the batches in flight are done, and shares its statements with all others that waited. After a batch, the
//! door is held open for a moment, because its caller often has the next one ready. The first waiting call
//! that is polled then starts the group, in its own runtime. A call that is dropped leaves its group as long
//! as none of its records was sent, and no call waits longer than its own deadline.

use std::time::Duration;

use bucket_core::write::Batch;
use tokio::{
    sync::oneshot,
    time::{Instant, sleep_until, timeout_at},
};

use self::{
    pass::Pass,
    waiting::{Member, Turn},
};
use crate::{
    error::{Context, Error, ErrorKind, NotKnown},
    store::Store,
    writer::{LONGEST_DEADLINE, Settings, Writer, Written},
};

mod pass;
pub(crate) mod waiting;

/// Larger batches gain nothing from a group: they are written at once.
const MAX_RECORDS: usize = 65_536;
/// A batch waits no longer than this, and no longer than this part of its deadline.
const LONGEST_WAIT: Duration = Duration::from_millis(250);
const WAITING_PART: u32 = 8;
/// How much longer than its deadline a call waits for its group, so that the group reports the reason first.
const GRACE: Duration = Duration::from_millis(750);
/// How a batch enters the group commit.
enum Entry {
    /// Others wait until the pass is dropped; large batches have no pass.
    Goes(Box<Batch>, Option<Pass>),
    /// With the number of its group and the indexes of its records.
    Waits(oneshot::Receiver<Written>, u64, Vec<usize>),
}

/// Stores a batch of records with indexes below `end`, with the handle's settings: by itself, or together
/// with others.
pub(crate) async fn store(
    store: &Store,
    batch: Batch,
    end: usize,
    context: &Context,
) -> Result<Written, Error> {
    // Invalid settings fail before anyone waits.
    let writer = Writer::new(store, None, &Settings::default(), context.clone())?;
    match enter(store, batch, end, context.operation) {
        Entry::Goes(mut batch, pass) => {
            let written = writer.store(&mut batch).await;
            drop(pass);
            Ok(written)
        }
        Entry::Waits(result, number, indexes) => {
            Ok(wait(store, result, number).await.unwrap_or_else(|kind| {
                let error = Error::new(kind, context);
                let indexes = indexes.into_iter();
                let failed = indexes.map(|index| (index, error.clone())).collect();
                Written::all_failed(failed, &error)
            }))
        }
    }
}

/// Waits for the group's report about a batch, or returns why there is none.
async fn wait(
    store: &Store,
    mut result: oneshot::Receiver<Written>,
    number: u64,
) -> Result<Written, ErrorKind> {
    let begun = Instant::now();
    let patience = LONGEST_WAIT.min(store.deadline() / WAITING_PART);
    let groups = store.groups();
    // The first waiting call that is polled starts the group for all of them.
    let go = async {
        loop {
            let mut moved = std::pin::pin!(groups.moved.notified());
            // From here on no notification is missed.
            moved.as_mut().enable();
            let turn = groups.lock().turn(number);
            let until = match turn {
                Turn::Gone => break,
                Turn::Now => {
                    pass::start(store, number);
                    break;
                }
                Turn::At(until) => until.min(begun + patience),
                Turn::Later => begun + patience,
            };
            if timeout_at(until, moved).await.is_err() && until >= begun + patience {
                pass::start(store, number);
                break;
            }
        }
        std::future::pending::<()>().await;
    };
    let end = begun + store.deadline().min(LONGEST_DEADLINE) + GRACE;
    tokio::select! {
        biased;
        ended = &mut result => return ended.map_err(|_| NotKnown::GroupStopped.into()),
        () = go => {}
        () = sleep_until(end) => {}
    }
    // From here on the group is taken without this batch.
    result.close();
    if let Ok(written) = result.try_recv() {
        return Ok(written);
    }
    let has_gone = groups.lock().number != number;
    Err(if has_gone {
        NotKnown::GroupNotDone.into()
    } else {
        let message = "it waited for other calls until the deadline and was not sent".to_owned();
        ErrorKind::Unreachable { message }
    })
}

fn enter(store: &Store, batch: Batch, end: usize, operation: &'static str) -> Entry {
    let groups = store.groups();
    let mut state = groups.lock();
    if batch.records() > MAX_RECORDS {
        return Entry::Goes(Box::new(batch), None);
    }
    state.let_go();
    if state.may_go(&batch) || !state.has_room(&batch) {
        let statements = batch.chains().len();
        state.statements += statements;
        return Entry::Goes(Box::new(batch), Some(Pass::new(store, statements, 1)));
    }
    let (result, ended) = oneshot::channel();
    let indexes = batch.indexes();
    state.waiting.push(Member {
        batch,
        end,
        operation,
        result,
        since: Instant::now(),
    });
    let number = state.number;
    let is_complete = state.turn(number) == Turn::Now;
    drop(state);
    if is_complete {
        groups.moved.notify_waiters();
    }
    Entry::Waits(ended, number, indexes)
}

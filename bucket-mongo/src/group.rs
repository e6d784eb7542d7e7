//! Group commit: batches that come while others are under way wait for a moment and go together.
//!
//! A statement costs the server nearly as much for one record as for forty, and two commands that
//! write to the same bucket get in each other's way. So a batch goes at once where little is under
//! way. Else it waits until what is under way is done, and shares its statements with all others that
//! have waited. A batch that is done holds the door for a moment: its caller often has the next one
//! at hand. The first of those that wait and is looked at then starts the group, in its own runtime. A
//! call that is dropped leaves its group as long as nothing of it has left, and none waits for longer than its
//! own deadline.

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

/// Larger batches gain nothing by company: they go at once.
const MAX_RECORDS: usize = 65_536;
/// A batch waits for no longer than this, nor than this part of its deadline.
const LONGEST_WAIT: Duration = Duration::from_millis(250);
const WAITING_PART: u32 = 8;
/// How much longer than its deadline a call waits for its group, which is to say why first.
const GRACE: Duration = Duration::from_millis(750);
/// What happens to a batch.
enum Entry {
    /// Until the pass is dropped others wait for it; for large ones nobody does.
    Goes(Box<Batch>, Option<Pass>),
    /// With the number of its group and the indexes of its records.
    Waits(oneshot::Receiver<Written>, u64, Vec<usize>),
}

/// Stores a batch of records with indexes below `end`, by the handle's settings: alone, or with
/// others.
pub(crate) async fn store(
    store: &Store,
    batch: Batch,
    end: usize,
    context: &Context,
) -> Result<Written, Error> {
    // What is wrong with the settings is wrong before anybody waits.
    let writer = Writer::new(store, None, &Settings::default(), context.clone())?;
    match enter(store, batch, end) {
        Entry::Goes(mut batch, pass) => {
            let written = writer.store(&mut batch).await;
            drop(pass);
            Ok(written)
        }
        Entry::Waits(result, number, indexes) => {
            Ok(wait(store, result, number).await.unwrap_or_else(|kind| {
                let error = Error::new(kind, context);
                Written::all_failed(indexes, &error)
            }))
        }
    }
}

/// What a group tells of a batch that waits in it, or why nothing is told.
async fn wait(
    store: &Store,
    mut result: oneshot::Receiver<Written>,
    number: u64,
) -> Result<Written, ErrorKind> {
    let begun = Instant::now();
    let patience = LONGEST_WAIT.min(store.deadline() / WAITING_PART);
    let groups = store.groups();
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
    // Whoever takes the group from here on leaves this one out.
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

fn enter(store: &Store, batch: Batch, end: usize) -> Entry {
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

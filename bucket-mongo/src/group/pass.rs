//! The batches in flight, and the group that follows them.

use std::{ops::RangeInclusive, time::Duration};

use bson::DateTime;
use bucket_core::write::Batch;
use tokio::time::Instant;
use tracing::Instrument;

use super::waiting::{Door, Member};
use crate::{
    error::Context,
    store::Store,
    trace,
    writer::{Callers, Settings, Writer, Written, all_unsent},
};

/// The door is held for this part of the time that the last group took ..
const DOOR_PART: u32 = 8;
/// .. within these bounds.
const DOOR: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_millis(10);

/// The statements of a batch count as in flight while this value lives. Then the waiting batches are written:
/// each waiting call starts them in the runtime of its own caller, so that no call depends on a runtime that
/// has no reason to continue.
pub(super) struct Pass {
    store: Store,
    statements: usize,
    begun: Instant,
    /// The number of batches written together; after a single batch, no others are expected.
    calls: usize,
}

impl Pass {
    /// Makes a pass for statements that are already counted.
    pub(super) fn new(store: &Store, statements: usize, calls: usize) -> Self {
        Self {
            store: store.clone(),
            statements,
            begun: Instant::now(),
            calls,
        }
    }

    /// Stores batches as one, and sends each its outcome.
    async fn store(self, members: Vec<Member>, since: Instant) {
        let span = tracing::debug_span!(
            target: trace::WRITE,
            parent: None,
            "group",
            collection = self.store.spec().collection(),
        );
        self.store_traced(members, since).instrument(span).await;
    }

    async fn store_traced(self, members: Vec<Member>, since: Instant) {
        let mut joined: Option<Batch> = None;
        let mut callers = Callers::default();
        for Member {
            batch, end, result, ..
        } in members
        {
            let records = batch.records() + batch.own_repeats().len();
            let offset = callers.add(records, end, result);
            match &mut joined {
                // Its indexes are already those of the group.
                None => joined = Some(batch),
                Some(joined) => joined.join(batch, offset),
            }
        }
        let Some(mut joined) = joined else {
            return;
        };
        joined.set_now(DateTime::now());
        let context = Context::of_spec("insert_many", self.store.spec());
        let writer = Writer::new(&self.store, None, &Settings::default(), context);
        let written = match writer {
            Ok(writer) => {
                let writer = writer.since(since).of_callers(&mut callers);
                writer.store(&mut joined).await
            }
            Err(error) => Written::all_failed(all_unsent(&mut joined, &error), &error),
        };
        tracing::debug!(
            target: trace::WRITE,
            calls = callers.len(),
            records = joined.records(),
            stored = written.stored,
            commands = written.commands,
            resent = written.resent,
            missed = written.missed,
            "group",
        );
        // Before the results are sent, so that callers that return at once find the door open.
        drop(self);
        callers.deal_out(written);
    }
}

impl Drop for Pass {
    /// Holds the door for callers of the group to return, and for the caller of a batch that others waited
    /// for.
    fn drop(&mut self) {
        let groups = self.store.groups();
        let mut state = groups.lock();
        state.statements = state.statements.saturating_sub(self.statements);
        let present = state.waiting.len();
        if present == 0 && self.calls == 1 {
            return;
        }
        let hold = (self.begun.elapsed() / DOOR_PART).clamp(*DOOR.start(), *DOOR.end());
        state.hold_the_door(Door {
            until: Instant::now() + hold,
            expected: present + self.calls,
            present,
            statements: self.statements,
            is_held: true,
        });
        drop(state);
        groups.moved.notify_waiters();
    }
}

/// Starts the group with this number, unless it has started: in a task, so that no batch in it depends on
/// another's call.
pub(super) fn start(store: &Store, number: u64) {
    let mut state = store.groups().lock();
    if state.number != number {
        return;
    }
    let members = state.take_waiting();
    let Some(since) = members.first().map(|first| first.since) else {
        return;
    };
    let statements = members
        .iter()
        .map(|member| member.batch.chains().len())
        .sum();
    state.statements += statements;
    drop(state);
    let pass = Pass::new(store, statements, members.len());
    tokio::spawn(pass.store(members, since));
}

//! The batches in flight, and the group that follows them.

use std::{
    collections::HashSet,
    hash::{BuildHasher as _, RandomState},
    ops::RangeInclusive,
    time::Duration,
};

use bson::DateTime;
use bucket_core::write::{Batch, Chain};
use tokio::time::Instant;
use tracing::Instrument;

use super::waiting::{Door, Member};
use crate::{
    error::Context,
    store::Store,
    trace,
    writer::{Callers, Settings, Writer, Written, all_unsent},
};

/// A group is written in this many parts at once ..
const MOST_PARTS: usize = 4;
/// .. of about this many statements at least.
const LEAST_STATEMENTS: usize = 8;
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
            batch,
            end,
            operation,
            result,
            ..
        } in members
        {
            let records = batch.records() + batch.own_repeats().len();
            let offset = callers.add(records, end, operation, result);
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
    let parts = at_once(state.take_waiting()).into_iter();
    let parts: Vec<(usize, Vec<Member>)> = parts
        .map(|members| (statements_of(&members), members))
        .collect();
    state.statements += parts
        .iter()
        .map(|(statements, _)| statements)
        .sum::<usize>();
    drop(state);
    for (statements, members) in parts {
        let Some(since) = members.first().map(|first| first.since) else {
            continue;
        };
        let pass = Pass::new(store, statements, members.len());
        tokio::spawn(pass.store(members, since));
    }
}

/// Splits a group of many keys into parts that are written at once: a command runs on one core of the server. Calls of
/// one key stay together, because their statements would conflict.
fn at_once(members: Vec<Member>) -> Vec<Vec<Member>> {
    let is_of_one_key = |member: &Member| member.batch.chains().len() == 1;
    let parts = keys_of(&members) / LEAST_STATEMENTS;
    if parts < 2 || !members.iter().all(is_of_one_key) {
        return vec![members];
    }
    let mut split: Vec<Vec<Member>> = Vec::new();
    split.resize_with(parts.min(MOST_PARTS), Vec::new);
    let hasher = RandomState::new();
    for member in members {
        let key = member.batch.chains().first().map(Chain::key);
        let part = hasher.hash_one(key) % split.len() as u64;
        if let Some(part) = usize::try_from(part).ok().and_then(|at| split.get_mut(at)) {
            part.push(member);
        }
    }
    split
}

fn keys_of(members: &[Member]) -> usize {
    let chains = members.iter().flat_map(|member| member.batch.chains());
    chains.map(Chain::key).collect::<HashSet<_>>().len()
}

/// The number of statements, or more: calls of one key share theirs.
fn statements_of(members: &[Member]) -> usize {
    let batches = members.iter().map(|member| &member.batch);
    batches.map(|batch| batch.chains().len()).sum()
}

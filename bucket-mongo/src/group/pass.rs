//! What goes, and what goes when that is done.

use std::{ops::RangeInclusive, time::Duration};

use bson::DateTime;
use bucket_core::{Record, write::Batch};
use tokio::{
    runtime::Handle,
    time::{Instant, timeout_at},
};
use tracing::Instrument;

use super::{Member, deal};
use crate::{
    Buckets,
    error::Context,
    trace,
    writer::{Settings, Writer, Written},
};

/// The door is held for this part of what the last group took ..
const DOOR_PART: u32 = 8;
/// .. within these bounds.
const DOOR: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_millis(10);
/// So many groups do without after nobody came.
const HURRY: u8 = 8;

/// The statements of a batch count as under way as long as this lives. Then those go that wait.
pub(super) struct Pass<T: Record> {
    buckets: Buckets<T>,
    statements: usize,
    begun: Instant,
    /// When it ends, a task goes on with those that wait.
    hands_over: bool,
}

impl<T: Record> Pass<T> {
    /// For statements that are counted already.
    pub(super) fn new(buckets: &Buckets<T>, statements: usize) -> Self {
        Self {
            buckets: buckets.clone(),
            statements,
            begun: Instant::now(),
            hands_over: true,
        }
    }

    /// Waits for those who were in the last group to come again.
    async fn hold_the_door(&self, expected: usize) {
        let groups = self.buckets.groups();
        let is_full = || groups.lock().waiting.len() >= expected;
        let present = groups.lock().waiting.len();
        let door = self.begun.elapsed() / DOOR_PART;
        let end = Instant::now() + door.clamp(*DOOR.start(), *DOOR.end());
        loop {
            let mut joined = std::pin::pin!(groups.joined.notified());
            // From here on nobody joins unseen.
            joined.as_mut().enable();
            if is_full() {
                return;
            }
            if timeout_at(end, joined).await.is_err() {
                break;
            }
        }
        let mut state = groups.lock();
        if state.waiting.len() <= present {
            state.hurry = HURRY;
        }
    }

    /// Those that go next, in place of what went with this pass.
    fn next(&mut self) -> Option<(Vec<Member<T>>, Instant)> {
        let mut state = self.buckets.groups().lock();
        state.statements = state.statements.saturating_sub(self.statements);
        let members = state.take_waiting();
        self.statements = statements(&members);
        self.begun = Instant::now();
        state.statements += self.statements;
        (!members.is_empty()).then_some((members, state.since))
    }

    /// Stores batches as one, and tells each what became of it. Gives the number of those that wait
    /// if all of them come again.
    async fn store(&self, members: Vec<Member<T>>, since: Instant) -> usize {
        let span = tracing::debug_span!(
            target: trace::WRITE,
            parent: None,
            "group",
            collection = T::SPEC.collection(),
        );
        self.store_traced(members, since).instrument(span).await
    }

    async fn store_traced(&self, members: Vec<Member<T>>, since: Instant) -> usize {
        let mut joined = Batch::default();
        joined.set_now(DateTime::now());
        let mut seats = deal::Seats::default();
        for Member { batch, end, result } in members {
            let records = batch.records() + batch.own_repeats().len();
            let offset = seats.add(records, end, result);
            joined.join(batch, offset);
        }
        let writer = Writer::new(&self.buckets, None, &Settings::default(), context::<T>());
        let written = match writer {
            Ok(writer) => writer.since(since).store(&mut joined).await,
            Err(error) => Written::all_failed(joined.indexes(), &error),
        };
        tracing::debug!(
            target: trace::WRITE,
            calls = seats.len(),
            records = joined.records(),
            stored = written.stored,
            commands = written.commands,
            resent = written.resent,
            missed = written.missed,
            "group",
        );
        let expected = self.buckets.groups().lock().waiting.len() + seats.len();
        seats.deal_out(written);
        expected
    }

    /// Whether the door is to be held.
    fn has_time(&self) -> bool {
        let mut state = self.buckets.groups().lock();
        let has_time = state.hurry == 0;
        state.hurry = state.hurry.saturating_sub(1);
        has_time
    }

    /// Goes on until nobody waits. Where `expected` batches wait, nobody is missing.
    async fn go_on(mut self, mut expected: usize) {
        loop {
            if self.has_time() {
                self.hold_the_door(expected).await;
            }
            let Some((members, since)) = self.next() else {
                return;
            };
            expected = self.store(members, since).await;
        }
    }
}

impl<T: Record> Drop for Pass<T> {
    fn drop(&mut self) {
        let mut state = self.buckets.groups().lock();
        if self.hands_over && !state.waiting.is_empty() {
            // Without a runtime those that wait go by themselves.
            if let Ok(runtime) = Handle::try_current() {
                // Its own caller may come again.
                let expected = state.waiting.len() + 1;
                drop(state);
                let next = Self {
                    buckets: self.buckets.clone(),
                    statements: self.statements,
                    begun: self.begun,
                    // A runtime that is shutting down drops what it is given.
                    hands_over: false,
                };
                runtime.spawn(next.go_on(expected));
                return;
            }
        }
        state.statements = state.statements.saturating_sub(self.statements);
    }
}

/// The group of this number goes, unless it has gone.
pub(super) fn start<T: Record>(buckets: &Buckets<T>, number: u64) {
    let mut state = buckets.groups().lock();
    if state.number != number || state.waiting.is_empty() {
        return;
    }
    let since = state.since;
    let members = state.take_waiting();
    let statements = statements(&members);
    state.statements += statements;
    drop(state);
    let mut pass = Pass::new(buckets, statements);
    pass.hands_over = false;
    tokio::spawn(async move {
        let expected = pass.store(members, since).await;
        pass.go_on(expected).await;
    });
}

fn statements<T>(members: &[Member<T>]) -> usize {
    members
        .iter()
        .map(|member| member.batch.chains().len())
        .sum()
}

fn context<T: Record>() -> Context {
    Context::of_all::<T>("insert_many")
}

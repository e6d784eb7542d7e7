//! A running history: who takes part, what is in flight, and one event after the other in virtual
//! time.

use std::{cmp::Reverse, collections::BinaryHeap};

use bson::{Document, RawDocumentBuf};
use bucket_core::{seal::MergeGroup, write::Cache};
use server_model::Server;

use crate::{
    calls::Running,
    commands::Command,
    edits::{Choice, Known},
    ledger::Ledger,
    model::{Disturbed, Model},
    plan::{ClientPlan, Plan},
    random::Random,
    server::Held,
    writers::Writer,
};

/// The time by the clock when a history begins, in milliseconds.
pub(crate) const EPOCH: i64 = 1_700_000_000_000;
/// A history with this many events is in an endless loop.
const MOST_EVENTS: usize = 200_000;

/// The sender of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sender {
    /// The read of a call at this index, and the number of the try.
    Read(usize, usize, u32),
    /// A command, and the number of the try.
    Command(usize, u32),
    /// Nobody waits for it any more.
    Nobody,
}

/// What comes back.
#[derive(Debug)]
pub(crate) enum Arrival {
    Reply(Document),
    /// The connection broke.
    Broken,
    /// There was no connection.
    NotSent,
}

/// A message in flight to the server.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) sender: Sender,
    pub(crate) body: RawDocumentBuf,
    /// The reply takes this long, if anybody receives it.
    pub(crate) back: Option<u64>,
    /// The server that it is sent to; no other one receives it.
    pub(crate) node: u32,
    /// How often that server had stepped down.
    pub(crate) downs: u32,
}

#[derive(Debug)]
pub(crate) enum Event {
    /// A writer makes its next call.
    Turn(usize),
    Request(Request),
    Response(Sender, Arrival),
    /// A pause of a call is over.
    CallPaused(usize),
    /// The pause before a read at this place is over.
    ReadPaused(usize, usize),
    CommandPaused(usize),
    /// A call reaches its deadline.
    CallDeadline(usize),
    CommandDeadline(usize),
    StepUp(u32),
    Replicated(u32),
    FailOver(u32),
    SetUp,
    Indexes,
    /// The statement of a sealer arrives.
    Sealed(RawDocumentBuf),
    /// The transaction of a merger arrives.
    Merged(Vec<MergeGroup>),
}

#[derive(Debug)]
struct Timed {
    at: u64,
    number: u64,
    event: Event,
}

impl Ord for Timed {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

impl PartialOrd for Timed {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Timed {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Timed {}

/// A process that writes.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) plan: ClientPlan,
    pub(crate) cache: Cache,
    pub(crate) sessions: Vec<Session>,
    /// The next number repeats that of the previous command.
    pub(crate) miscounts: bool,
}

/// A session of a client, and its last number.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    pub(crate) id: u64,
    pub(crate) last: i64,
    /// The name of its last command.
    pub(crate) kind: String,
}

#[derive(Debug)]
pub(crate) struct World<'a, T: Model> {
    pub(crate) plan: &'a Plan,
    pub(crate) now: u64,
    pub(crate) server: Server,
    pub(crate) held: Vec<Held>,
    /// The number of the current lag, if no majority has the latest writes.
    pub(crate) lag: Option<u32>,
    pub(crate) terms: u32,
    /// How often the server has stepped down.
    pub(crate) downs: u32,
    /// The number of the current primary.
    pub(crate) node: u32,
    pub(crate) clients: Vec<Client>,
    pub(crate) writers: Vec<Writer>,
    pub(crate) calls: Vec<Option<Running<T>>>,
    pub(crate) commands: Vec<Option<Command>>,
    pub(crate) ledger: Ledger<T>,
    /// References that somebody has read.
    pub(crate) references: Vec<Known<T>>,
    /// The edits with an unknown outcome that their writers make again.
    pub(crate) again: Vec<(usize, Choice<T>)>,
    /// The records of each source, by their positions.
    pub(crate) logs: [Vec<usize>; 2],
    pub(crate) random: Random,
    pub(crate) messages: u32,
    pub(crate) next_fault: usize,
    pub(crate) next_session: u64,
    pub(crate) faults: u32,
    events: BinaryHeap<Reverse<Timed>>,
    number: u64,
    steps: Option<Vec<String>>,
}

impl Client {
    fn new(plan: ClientPlan) -> Self {
        Self {
            plan,
            cache: Cache::default(),
            sessions: Vec::new(),
            miscounts: false,
        }
    }

    /// The process dies and is started again.
    pub(crate) fn restart(&mut self) {
        *self = Self::new(self.plan);
    }
}

impl<'a, T: Model> World<'a, T> {
    pub(crate) fn new(plan: &'a Plan, told: bool) -> Self {
        let mut world = Self {
            plan,
            now: 0,
            server: Server::new(),
            held: Vec::new(),
            lag: None,
            terms: 0,
            downs: 0,
            node: 0,
            clients: plan.clients.iter().copied().map(Client::new).collect(),
            writers: plan.writers.iter().map(|_| Writer::default()).collect(),
            calls: Vec::new(),
            commands: Vec::new(),
            ledger: Ledger::new(Disturbed::of(plan)),
            references: Vec::new(),
            again: Vec::new(),
            logs: Default::default(),
            random: Random::new(plan.seed, 2),
            messages: 0,
            next_fault: 0,
            next_session: 1,
            faults: 0,
            events: BinaryHeap::new(),
            number: 0,
            steps: told.then(Vec::new),
        };
        world.set_up();
        for writer in 0..plan.writers.len() {
            world.at(0, Event::Turn(writer));
        }
        world
    }

    /// Runs until the last late message has arrived.
    pub(crate) fn run(&mut self) {
        let mut events = 0;
        while let Some(Reverse(timed)) = self.events.pop() {
            self.now = timed.at;
            self.happen(timed.event);
            events += 1;
            assert!(events < MOST_EVENTS, "the history does not come to an end");
        }
        assert!(
            self.calls.iter().all(Option::is_none),
            "a call does not come to an end"
        );
        assert!(
            self.commands.iter().all(Option::is_none),
            "a command does not come to an end"
        );
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Turn(writer) => self.begin_call(writer),
            Event::Request(request) => self.request(request),
            Event::Response(sender, arrival) => self.response(sender, arrival),
            Event::CallPaused(call) => self.call_paused(call),
            Event::ReadPaused(call, at) => self.send_read(call, at),
            Event::CommandPaused(command) => self.command_paused(command),
            Event::CallDeadline(call) => self.call_is_late(call),
            Event::CommandDeadline(command) => self.command_is_late(command),
            Event::StepUp(term) => self.step_up(term),
            Event::Replicated(lag) => self.replicated(lag),
            Event::FailOver(lag) => self.fail_over(lag),
            Event::SetUp => self.set_up(),
            Event::Indexes => self.index(),
            Event::Sealed(command) => self.sealed(&command),
            Event::Merged(groups) => self.merged(&groups),
        }
    }

    fn response(&mut self, sender: Sender, arrival: Arrival) {
        match sender {
            Sender::Read(call, at, attempt) => self.read_response(call, at, attempt, arrival),
            Sender::Command(command, attempt) => self.command_response(command, attempt, arrival),
            Sender::Nobody => {}
        }
    }

    /// Schedules an event after this delay.
    pub(crate) fn at(&mut self, after: u64, event: Event) {
        let number = self.number;
        self.number += 1;
        let at = self.now + after;
        self.events.push(Reverse(Timed { at, number, event }));
    }

    /// From 1 to this many milliseconds.
    pub(crate) fn up_to(&mut self, ceiling: u64) -> u64 {
        1 + self.random.below(ceiling.max(1))
    }

    /// Reports a step, if steps are recorded.
    pub(crate) fn tell(&mut self, step: impl FnOnce() -> String) {
        if let Some(steps) = &mut self.steps {
            steps.push(format!("{:>6} ms  {}", self.now, step()));
        }
    }

    pub(crate) fn is_told(&self) -> bool {
        self.steps.is_some()
    }

    pub(crate) fn take_steps(&mut self) -> Vec<String> {
        self.steps.take().unwrap_or_default()
    }

    /// The time by the clock.
    pub(crate) fn clock(&self) -> i64 {
        EPOCH + i64::try_from(self.now).unwrap_or_default()
    }
}

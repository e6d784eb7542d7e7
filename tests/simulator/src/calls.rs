//! The executor of calls in the small: what it has of its own is reads, pauses and the deadline. Every decision
//! is the machine's.

use std::ops::Range;

use bson::{Bson, DateTime, Document, RawDocumentBuf, Timestamp, raw::cstr};
use bucket_core::{
    read::{FindPlan, ReadLevel},
    write::{Call, CallEvent, Delivered, Fault, Listing, Look, Next, Pauses},
};

use crate::{
    commands::Order,
    edits::Editing,
    ledger::Sent,
    model::Model,
    world::{Arrival, Event, Sender, World},
};

/// How much longer than its deadline something is awaited.
pub(crate) const GRACE: u64 = 250;
/// A call that sends this many commands goes round in circles.
const MOST_COMMANDS: usize = 200;

/// Why a read or a command brought nothing.
#[derive(Debug, Clone)]
#[allow(dead_code, reason = "it is shown where a history fails")]
pub(crate) struct Trouble(pub(crate) String);

/// What a call does.
#[derive(Debug)]
pub(crate) enum Task<T: Model> {
    /// It stores records.
    Write(Box<Call<Trouble>>),
    /// It edits what is stored.
    Edit(Box<Editing<T>>),
}

/// A call under way.
#[derive(Debug)]
pub(crate) struct Running<T: Model> {
    pub(crate) writer: usize,
    pub(crate) client: usize,
    pub(crate) task: Task<T>,
    pub(crate) deadline: u64,
    pub(crate) in_session: bool,
    /// Its records, by their indexes.
    pub(crate) sent: Vec<Option<Sent>>,
    /// Those of each of two callers, where two share it.
    pub(crate) callers: Option<[Range<usize>; 2]>,
    /// Those of the one that has left.
    pub(crate) left: Range<usize>,
    pub(crate) reads: Vec<Read>,
    /// How many commands it has sent.
    commands: usize,
    /// What commands have come to, in their order.
    pub(crate) delivered: Vec<Option<Delivered<Trouble>>>,
    /// In a session: what comes after the command under way.
    pub(crate) queue: Vec<Order>,
    /// The time of the last look, as the server counts it.
    seen: u32,
    is_weak: bool,
}

/// A read of a call.
#[derive(Debug)]
pub(crate) struct Read {
    body: RawDocumentBuf,
    level: ReadLevel,
    is_look: bool,
    attempt: u32,
    tries: u32,
    found: Option<Vec<RawDocumentBuf>>,
}

impl<T: Model> Running<T> {
    pub(crate) fn new(writer: usize, client: usize, task: Task<T>, deadline: u64) -> Self {
        Self {
            writer,
            client,
            task,
            deadline,
            in_session: false,
            sent: Vec::new(),
            callers: None,
            left: 0..0,
            reads: Vec::new(),
            commands: 0,
            delivered: Vec::new(),
            queue: Vec::new(),
            seen: 0,
            is_weak: false,
        }
    }
}

impl Read {
    fn new(body: RawDocumentBuf, level: ReadLevel, is_look: bool) -> Self {
        Self {
            body,
            level,
            is_look,
            attempt: 0,
            tries: 0,
            found: None,
        }
    }

    pub(crate) fn of<T: Model>(plan: &FindPlan) -> Self {
        Self::new(plan.single_batch(T::SPEC.collection()), plan.level, false)
    }

    fn look<T: Model>(look: Look) -> Self {
        let command = RawDocumentBuf::try_from(&look.command(T::SPEC)).unwrap_or_default();
        Self::new(command, ReadLevel::Local, true)
    }
}

impl<T: Model> World<'_, T> {
    /// Does what the call asks for, until it waits.
    pub(crate) fn go_on(&mut self, at: usize) {
        loop {
            let Some(running) = &mut self.calls[at] else {
                return;
            };
            let call = match &mut running.task {
                Task::Write(call) => call,
                Task::Edit(_) => return self.go_on_editing(at),
            };
            match call.next() {
                Next::Consult => {
                    let cache = &mut self.clients[running.client].cache;
                    call.consult(cache);
                }
                Next::Look(look) => return self.read(at, vec![Read::look::<T>(look)]),
                Next::Read(plans) => {
                    return self.read(at, plans.iter().map(Read::of::<T>).collect());
                }
                Next::Send(commands) => {
                    let orders = commands.into_iter().map(Order::from);
                    return self.dispatch(at, orders.collect());
                }
                Next::Pause { floor, ceiling } => {
                    let pause = floor + self.up_to(ceiling.saturating_sub(floor));
                    return self.at(pause, Event::CallPaused(at));
                }
                Next::Wait => return,
                Next::Done => return self.end_call(at),
            }
        }
    }

    pub(crate) fn call_paused(&mut self, at: usize) {
        self.tell_task(at, CallEvent::Paused);
    }

    pub(crate) fn read(&mut self, at: usize, reads: Vec<Read>) {
        let number = reads.len();
        if let Some(running) = &mut self.calls[at] {
            running.reads = reads;
        }
        for read in 0..number {
            self.send_read(at, read);
        }
    }

    pub(crate) fn send_read(&mut self, at: usize, place: usize) {
        let Some(running) = &mut self.calls[at] else {
            return;
        };
        let seen = running.seen;
        let weak = running.is_weak;
        let Some(read) = running.reads.get_mut(place) else {
            return;
        };
        read.attempt = self.messages;
        let mut body = read.body.clone();
        if read.level != ReadLevel::Local && !weak {
            let mut concern = RawDocumentBuf::new();
            concern.append(cstr!("level"), "majority");
            if read.level == ReadLevel::CausalMajority && seen > 0 {
                let time = Timestamp {
                    time: FIRST_SECOND,
                    increment: seen,
                };
                concern.append(cstr!("afterClusterTime"), time);
            }
            body.append(cstr!("readConcern"), concern);
        }
        let sender = Sender::Read(at, place, read.attempt);
        self.send(sender, body);
    }

    pub(crate) fn read_response(
        &mut self,
        at: usize,
        place: usize,
        attempt: u32,
        arrival: Arrival,
    ) {
        let Some(running) = &mut self.calls[at] else {
            return;
        };
        let Some(read) = running
            .reads
            .get_mut(place)
            .filter(|it| it.attempt == attempt)
        else {
            return;
        };
        let fault = match arrival {
            Arrival::Reply(reply) if is_ok(&reply) => {
                if !read.is_look {
                    let time = reply.get_timestamp("operationTime");
                    running.seen = running.seen.max(time.map_or(0, |time| time.increment));
                    read.found = Some(first_batch(&reply));
                    return self.reads_are_done(at);
                }
                return self.tell_of_read(at, CallEvent::Listed(Listing::of_reply(&reply)));
            }
            Arrival::Reply(reply) => {
                let (code, message) = refusal(&reply);
                if let Some(listing) = Listing::of_error(code).filter(|_| read.is_look) {
                    return self.tell_of_read(at, CallEvent::Listed(listing));
                }
                assert_ne!(code, server_model::UNKNOWN, "{message}");
                Fault::of_error(code, &message)
            }
            Arrival::Broken => Fault::Lost,
            Arrival::NotSent => Fault::NotSent,
        };
        let pause = self.pause_of_read(at, place).filter(|_| fault.is_passing());
        match pause {
            Some(pause) => self.at(pause, Event::ReadPaused(at, place)),
            None => self.tell_of_read(
                at,
                CallEvent::Failed(Trouble(format!("a read met {fault:?}"))),
            ),
        }
    }

    /// The pause before another try, if there is time for one.
    fn pause_of_read(&mut self, at: usize, place: usize) -> Option<u64> {
        let read = self.calls[at].as_mut()?.reads.get_mut(place)?;
        let ceiling = Pauses::OF_A_TRY.after(read.tries);
        read.tries += 1;
        let pause = self.up_to(ceiling);
        (self.now + pause < self.calls[at].as_ref()?.deadline).then_some(pause)
    }

    fn reads_are_done(&mut self, at: usize) {
        let Some(running) = &mut self.calls[at] else {
            return;
        };
        if running.reads.iter().all(|read| read.found.is_some()) {
            let reads = running.reads.drain(..);
            let found = reads.filter_map(|read| read.found).collect();
            self.tell_of_read(at, CallEvent::Found(found));
        }
    }

    fn tell_of_read(&mut self, at: usize, event: CallEvent<Trouble>) {
        if let Some(running) = &mut self.calls[at] {
            running.reads.clear();
            self.tell_task(at, event);
        }
    }

    fn tell_task(&mut self, at: usize, event: CallEvent<Trouble>) {
        let now = DateTime::from_millis(self.clock());
        if let Some(running) = &mut self.calls[at] {
            match &mut running.task {
                Task::Write(call) => call.told(event),
                Task::Edit(editing) => editing.told(event, now),
            }
            self.go_on(at);
        }
    }

    /// Reads are awaited no longer; commands see to it themselves.
    pub(crate) fn call_is_late(&mut self, at: usize) {
        let waits = self.calls[at]
            .as_ref()
            .is_some_and(|running| !running.reads.is_empty());
        if waits {
            self.tell_of_read(
                at,
                CallEvent::Failed(Trouble("no answer in time".to_owned())),
            );
        }
    }

    pub(crate) fn dispatch(&mut self, at: usize, mut commands: Vec<Order>) {
        let Some(running) = &mut self.calls[at] else {
            return;
        };
        running.commands += commands.len();
        assert!(
            running.commands < MOST_COMMANDS,
            "a call sends commands without an end"
        );
        running.delivered = commands.iter().map(|_| None).collect();
        if running.in_session {
            running.queue = commands.split_off(1);
        }
        for (place, order) in commands.into_iter().enumerate() {
            self.begin_command(at, place, order);
        }
    }

    /// What a command of the call has come to.
    pub(crate) fn delivered(&mut self, at: usize, place: usize, delivered: Delivered<Trouble>) {
        let now = self.now;
        let Some(running) = &mut self.calls[at] else {
            return;
        };
        let failed = !matches!(delivered, Delivered::Answer(_));
        running.delivered[place] = Some(delivered);
        if running.in_session && !running.queue.is_empty() {
            if failed {
                // Later commands are not sent.
                running.queue.clear();
                running.delivered.truncate(place + 1);
            } else {
                let next = running.queue.remove(0);
                return self.begin_command(at, place + 1, next);
            }
        }
        if running.delivered.iter().all(Option::is_some) {
            let commands = running.delivered.drain(..).flatten().collect();
            let late = now >= running.deadline;
            self.tell_task(at, CallEvent::Ended { commands, late });
        }
    }
}

/// That of all times of the modelled server.
const FIRST_SECOND: u32 = 1_700_000_000;

pub(crate) fn is_ok(reply: &Document) -> bool {
    matches!(reply.get_f64("ok"), Ok(ok) if ok > 0.5)
}

/// The code and the text of a refused command.
pub(crate) fn refusal(reply: &Document) -> (i32, String) {
    let code = reply.get_i32("code").unwrap_or_default();
    let message = reply.get_str("errmsg").unwrap_or_default();
    (code, message.to_owned())
}

fn first_batch(reply: &Document) -> Vec<RawDocumentBuf> {
    let batch = reply
        .get_document("cursor")
        .and_then(|cursor| cursor.get_array("firstBatch"));
    let batch = batch.map(Vec::as_slice).unwrap_or_default().iter();
    let documents = batch.filter_map(Bson::as_document);
    documents
        .filter_map(|it| RawDocumentBuf::try_from(it).ok())
        .collect()
}

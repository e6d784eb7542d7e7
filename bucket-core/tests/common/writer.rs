//! The shipped machine against the modelled server. Each statement is executed separately, replies
//! come last, and what was read may be arbitrarily stale. Commands and replies get lost on demand.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeSet;

use bson::RawDocumentBuf;
use bucket_core::{
    read::FindPlan,
    write::{
        Batch, Cache, Call, CallEvent, Deed, Delivered, Delivery, Ended, Event, Fault, Reason,
        Report, Terms,
    },
};

use crate::collection::Collection;

#[path = "call.rs"]
pub mod call;
#[path = "server.rs"]
mod server;
#[path = "turns.rs"]
mod turns;

use self::call::{Failure, Need};
pub use self::{
    server::{Message, Server},
    turns::Turns,
};

pub struct Writer {
    call: Option<Call<Failure>>,
    /// The indexes of the call's records.
    indexes: Vec<usize>,
    cache: Cache,
    /// The next batch relies on what this one leaves, however old that is then.
    next: Option<Batch>,
    under_way: Vec<UnderWay>,
    ended: Vec<Delivered<Failure>>,
    reads: Vec<FindPlan>,
    faults: Faults,
    /// The deadline has passed.
    late: bool,
    pub stored: Vec<usize>,
    pub refused: Vec<usize>,
    /// Records that may be stored.
    pub unknown: Vec<usize>,
    /// With record ids or a source: the records that were stored before, and the conflicts of an
    /// id.
    pub duplicates: Vec<usize>,
    pub conflicts: Vec<usize>,
    /// The reads for record ids.
    pub looks: usize,
    pub opened: usize,
    steps: usize,
}

/// Injected faults.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    /// About one step in this many fails; none if 0.
    one_in: u64,
    /// One session in this many has a number that another command has used.
    taken_one_in: u64,
    turns: Turns,
}

impl Faults {
    pub fn one_in(steps: u64, seed: u64) -> Self {
        Self {
            one_in: steps,
            taken_one_in: 0,
            turns: Turns(seed),
        }
    }

    /// Nothing gets lost, but other commands have used the numbers. With both faults, the server's
    /// answer to a retry could be the other command's record.
    pub fn taken_numbers(one_in: u64, seed: u64) -> Self {
        Self {
            one_in: 0,
            taken_one_in: one_in,
            turns: Turns(seed),
        }
    }

    pub fn take_numbers(&self) -> bool {
        self.taken_one_in > 0
    }

    /// Less often than the steps of most calls.
    pub fn rarely(&self) -> u64 {
        4 * self.one_in.max(1)
    }

    /// The same for one writer of many.
    #[must_use]
    pub fn of(&self, writer: usize) -> Self {
        let writer = u64::try_from(writer).unwrap();
        Self {
            turns: Turns(self.turns.0.wrapping_add(writer.wrapping_mul(0x9e37_79b9))),
            ..self.clone()
        }
    }

    pub fn are_none(&self) -> bool {
        self.one_in == 0 && !self.take_numbers()
    }

    pub fn draw(&mut self, below: u64) -> u64 {
        self.turns.below(below)
    }

    fn strikes(&mut self) -> bool {
        self.one_in > 0 && self.draw(self.one_in) == 0
    }
}

/// A command that the writer is sending.
struct UnderWay {
    delivery: Delivery,
    body: RawDocumentBuf,
    session: usize,
    /// The last number of the session.
    number: i64,
    message: Option<Message>,
}

impl UnderWay {
    /// Performs one step of the command.
    fn go_on(&mut self, server: &mut Server, faults: &mut Faults, late: &mut bool) {
        let event = match self.delivery.next() {
            Deed::Number { above } => {
                self.number = self.number.max(above) + 1;
                Event::Number(self.number)
            }
            Deed::Send { number, .. } => match self.send(number, server, faults) {
                Some(event) => event,
                None => return,
            },
            Deed::Fence { .. } if faults.strikes() => Event::Fault(Fault::Lost),
            Deed::Fence { number } => match server.fence(self.session, number) {
                Ok(reply) => Event::Reply(reply),
                Err(fault) => Event::Fault(fault),
            },
            Deed::Pause { .. } => {
                *late |= faults.one_in > 0 && faults.draw(8) == 0;
                if *late {
                    Event::Deadline { sent: false }
                } else {
                    Event::Paused
                }
            }
            Deed::End => return,
        };
        self.delivery.told(event);
    }

    fn send(
        &mut self,
        number: Option<i64>,
        server: &mut Server,
        faults: &mut Faults,
    ) -> Option<Event> {
        let is_new = self.message.is_none();
        let session = self.session;
        let body = &self.body;
        let message = self
            .message
            .get_or_insert_with(|| Message::new(session, number, body));
        if faults.strikes() {
            let message = self.message.take()?;
            match faults.draw(4) {
                0 if is_new => return Some(Event::Fault(Fault::NotSent)),
                // The server aborts.
                1 => {
                    return Some(Event::Fault(Fault::BrokenOff { transient: true }));
                }
                2 => return Some(Event::Fault(Fault::Lost)),
                // It still arrives, or continues.
                _ => {
                    server.lose(message);
                    return Some(Event::Fault(Fault::Lost));
                }
            }
        }
        if server.go_on(message) {
            return None;
        }
        let message = self.message.take()?;
        Some(match message.reply() {
            _ if faults.strikes() => Event::Fault(Fault::Lost),
            Ok(reply) => Event::Reply(reply),
            Err(fault) => Event::Fault(fault),
        })
    }
}

impl Writer {
    pub fn new(batch: Batch, next: Option<Batch>) -> Self {
        let mut writer = Self {
            call: None,
            indexes: Vec::new(),
            cache: Cache::default(),
            next,
            under_way: Vec::new(),
            ended: Vec::new(),
            reads: Vec::new(),
            faults: Faults::default(),
            late: false,
            stored: Vec::new(),
            refused: Vec::new(),
            unknown: Vec::new(),
            duplicates: Vec::new(),
            conflicts: Vec::new(),
            looks: 0,
            opened: 0,
            steps: 0,
        };
        writer.begin(batch);
        writer
    }

    pub fn with_faults(mut self, faults: Faults) -> Self {
        self.faults = faults;
        self
    }

    fn begin(&mut self, batch: Batch) {
        self.indexes = batch.indexes();
        self.call = Some(Call::new(batch, Terms::default()));
    }

    /// Performs one step: executes a statement, takes a reply, reads, or plans the next step.
    pub fn go_on(&mut self, server: &mut Server) {
        self.steps += 1;
        assert!(self.steps < 50_000, "a writer does not end");
        let Some(call) = &mut self.call else {
            return;
        };
        if let Some(under_way) = self.under_way.first_mut() {
            under_way.go_on(server, &mut self.faults, &mut self.late);
            if under_way.delivery.next() == Deed::End {
                let ended = self.under_way.remove(0).delivery.end();
                self.ended.push(delivered(ended));
                if self.under_way.is_empty() {
                    call.told(CallEvent::Ended {
                        commands: std::mem::take(&mut self.ended),
                        late: self.late,
                    });
                }
            }
            return;
        }
        if !self.reads.is_empty() {
            let plans = std::mem::take(&mut self.reads);
            call::read(call, &plans, &server.collection);
            return;
        }
        match call::go_on(call, &mut self.cache) {
            None => {}
            Some(Need::Reads(plans)) => {
                let of_ids = |plan: &&FindPlan| plan.hint.contains("unique");
                self.looks += plans.iter().filter(of_ids).count();
                self.reads = plans;
            }
            Some(Need::Commands(commands)) => {
                for command in commands {
                    let faults = &mut self.faults;
                    let taken = if faults.take_numbers() && faults.draw(faults.taken_one_in) == 0 {
                        usize::try_from(faults.draw(4)).unwrap()
                    } else {
                        0
                    };
                    self.under_way.push(UnderWay {
                        delivery: Delivery::new(command.statements),
                        body: command.body,
                        session: server.session(taken),
                        number: 0,
                        message: None,
                    });
                }
            }
            Some(Need::Pause) => call.told(CallEvent::Paused),
            Some(Need::Nothing) => self.end(),
        }
    }

    fn end(&mut self) {
        let Some(call) = self.call.take() else { return };
        let (batch, report) = call.end();
        let is_stopped = report.stopped_by.is_some();
        let keys = batch.unstored_keys();
        for index in report.failed.iter().flat_map(|unstored| &unstored.records) {
            assert!(keys.contains_key(index), "{index} has no key: {report:?}");
        }
        let stored = self.take(report);
        self.stored.extend(stored);
        let Some(mut next) = self.next.take() else {
            return;
        };
        // They are parts of one call of the user.
        next.hold_back(&batch.holds());
        let held = next.take_held_back();
        self.refused.extend(held.iter().map(|held| held.index));
        if is_stopped {
            self.refused.extend(next.indexes());
        } else {
            self.begin(next);
        }
    }

    /// Returns the records that are stored.
    fn take(&mut self, report: Report<Failure>) -> Vec<usize> {
        let mut left: BTreeSet<usize> = self.indexes.drain(..).collect();
        let mut settles = |index: &usize| assert!(left.remove(index), "{index} is settled twice");
        report.duplicates.iter().for_each(&mut settles);
        for unstored in &report.failed {
            unstored.records.iter().for_each(&mut settles);
            let list = match &unstored.reason {
                reason if reason.is_unknown() => &mut self.unknown,
                Reason::Conflict { .. } => &mut self.conflicts,
                Reason::Damaged(damage) => panic!("{damage:?}"),
                Reason::Refused { action, failure } if self.faults.one_in == 0 => {
                    panic!("{action:?}: {failure:?}")
                }
                _ => &mut self.refused,
            };
            list.extend(&unstored.records);
        }
        self.duplicates.extend(report.duplicates);
        self.opened += report.opened.len();
        assert_eq!(left.len(), report.stored);
        left.into_iter().collect()
    }

    pub fn finish(&mut self, server: &mut Server) {
        while !self.is_done() {
            self.go_on(server);
        }
    }

    pub fn is_done(&self) -> bool {
        self.call.is_none()
    }

    /// The call ends in the middle. If it `leaves`, what it has sent continues.
    pub fn drop_call(&mut self, server: &mut Server, leaves: bool) {
        let Some(call) = self.call.take() else { return };
        drop(call);
        let under_way = std::mem::take(&mut self.under_way);
        let messages = under_way.into_iter().filter_map(|it| it.message);
        messages
            .filter(|_| leaves)
            .for_each(|message| server.lose(message));
        self.unknown.append(&mut self.indexes);
    }

    /// Whether it has commands in flight.
    pub fn is_sending(&self) -> bool {
        !self.under_way.is_empty()
    }
}

fn delivered(ended: Ended) -> Delivered<Failure> {
    match ended {
        Ended::Reply(answer) => Delivered::Answer(answer),
        Ended::Failed { unknown, .. } => Delivered::Failed {
            error: "the command failed",
            unknown,
            refusal: None,
        },
        Ended::CalledOff => Delivered::CalledOff,
    }
}

/// Stores a batch without faults.
pub fn store(batch: Batch, collection: &mut Collection) {
    let lent = std::mem::replace(collection, Collection::new(batch.spec()));
    let mut server = Server::new(lent);
    Writer::new(batch, None).finish(&mut server);
    *collection = server.collection;
}

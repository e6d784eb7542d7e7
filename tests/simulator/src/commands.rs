//! A simplified executor of commands: sessions and their numbers, tries and their answers.

use bson::{Binary, RawDocumentBuf, Uuid, doc, oid::ObjectId, raw::cstr, spec::BinarySubtype};
use bucket_core::write::{
    Deed, Delivered, Delivery, Dispatch, Ended, Event as Told, Fault, WriteFailure, part_of,
};

use crate::{
    calls::{GRACE, Trouble, is_ok, refusal},
    model::Model,
    world::{Arrival, Event, Sender, Session, World},
};

/// A command in flight, in a task of its own: it continues when its call is dropped.
#[derive(Debug)]
pub(crate) struct Command {
    /// The call that waits for it.
    pub(crate) call: Option<usize>,
    place: usize,
    pub(crate) client: usize,
    writer: usize,
    in_session: bool,
    delivery: Delivery,
    body: RawDocumentBuf,
    kind: String,
    collection: Option<Uuid>,
    session: Session,
    /// The number of the current try.
    attempt: u32,
    /// A request is in flight.
    is_out: bool,
    /// A message of it was lost, so its session is not used again.
    is_dirty: bool,
    deadline: u64,
    refusal: Option<WriteFailure>,
}

/// A command to send.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) body: RawDocumentBuf,
    pub(crate) statements: usize,
    pub(crate) collection: Option<Uuid>,
    /// A second execution changes nothing more.
    pub(crate) is_repeatable: bool,
}

impl From<Dispatch> for Order {
    fn from(dispatch: Dispatch) -> Self {
        Self {
            body: dispatch.body,
            statements: dispatch.statements,
            collection: dispatch.collection,
            is_repeatable: false,
        }
    }
}

impl<T: Model> World<'_, T> {
    pub(crate) fn begin_command(&mut self, call: usize, place: usize, order: Order) {
        let Some(running) = &self.calls[call] else {
            return;
        };
        let (client, writer) = (running.client, running.writer);
        let (in_session, deadline) = (running.in_session, running.deadline);
        let mut delivery = Delivery::new(order.statements);
        if order.is_repeatable {
            delivery = delivery.repeatable();
        }
        if in_session {
            delivery = delivery.in_session();
        }
        if matches!(order.body.get_bool("ordered"), Ok(false)) {
            delivery = delivery.divisible();
        }
        if !self.clients[client].cache.has_numbers() {
            delivery = delivery.without_number();
        }
        let session = self.take_session(client, writer, in_session);
        let first = order.body.iter().next().and_then(Result::ok);
        let kind = first.map_or_else(String::new, |(name, _)| name.as_str().to_owned());
        let at = self.commands.len();
        self.commands.push(Some(Command {
            call: Some(call),
            place,
            client,
            writer,
            in_session,
            delivery,
            body: order.body,
            kind,
            collection: order.collection,
            session,
            attempt: 0,
            is_out: false,
            is_dirty: false,
            deadline,
            refusal: None,
        }));
        let left = (deadline + GRACE).saturating_sub(self.now);
        self.at(left, Event::CommandDeadline(at));
        self.carry_on(at);
    }

    fn take_session(&mut self, client: usize, writer: usize, in_session: bool) -> Session {
        let own = in_session
            .then(|| self.writers[writer].session.take())
            .flatten();
        let mut pooled = || self.clients[client].sessions.pop();
        let known = if in_session { own } else { pooled() };
        known.unwrap_or_else(|| {
            self.next_session += 1;
            Session {
                id: self.next_session,
                last: 0,
                kind: String::new(),
            }
        })
    }

    /// Performs the delivery's steps until it waits.
    fn carry_on(&mut self, at: usize) {
        loop {
            let Some(command) = &mut self.commands[at] else {
                return;
            };
            match command.delivery.next() {
                Deed::Number { above } => {
                    let client = &mut self.clients[command.client];
                    let told = if client.plan.has_numbers {
                        let session = &mut command.session;
                        let may_miscount = session.last > above && session.kind == command.kind;
                        if !(may_miscount && std::mem::take(&mut client.miscounts)) {
                            session.last = session.last.max(above) + 1;
                        }
                        session.kind.clone_from(&command.kind);
                        Told::Number(session.last)
                    } else {
                        Told::NoNumber
                    };
                    command.delivery.told(told);
                }
                Deed::Send { number, named } => {
                    let body = self.body_of(at, number, named);
                    return self.send_command(at, body);
                }
                Deed::Fence { number } => {
                    let body = self.fence(at, number);
                    return self.send_command(at, body);
                }
                Deed::Pause { ceiling } => {
                    let left = command.deadline.saturating_sub(self.now);
                    if left == 0 {
                        command.delivery.told(Told::Deadline { sent: false });
                        continue;
                    }
                    let pause = self.up_to(ceiling).min(left);
                    return self.at(pause, Event::CommandPaused(at));
                }
                Deed::End => return self.end_command(at),
            }
        }
    }

    fn body_of(&self, at: usize, number: Option<i64>, named: bool) -> RawDocumentBuf {
        let Some(command) = &self.commands[at] else {
            return RawDocumentBuf::new();
        };
        let client = &self.clients[command.client];
        let mut body = match command.delivery.part() {
            Some(part) => part_of(&command.body, part, number.is_some()),
            None => command.body.clone(),
        };
        let is_named = named && client.cache.names_collections(command.in_session);
        if let Some(uuid) = command.collection.filter(|_| is_named) {
            body.append(cstr!("collectionUUID"), Binary::from(uuid));
        }
        let mut concern = RawDocumentBuf::new();
        if client.plan.is_weak {
            concern.append(cstr!("w"), 1);
        } else {
            concern.append(cstr!("w"), "majority");
        }
        body.append(cstr!("writeConcern"), concern);
        if let Some(number) = number {
            sign(&mut body, command.session.id, number);
        }
        body
    }

    fn fence(&self, at: usize, number: i64) -> RawDocumentBuf {
        let nothing = doc! {
            "update": T::SPEC.collection(),
            "updates": [{ "q": { "_id": ObjectId::from_bytes([0; 12]) }, "u": { "$set": { "fence": 1 } } }],
        };
        let mut body = RawDocumentBuf::try_from(&nothing).unwrap_or_default();
        if let Some(command) = &self.commands[at] {
            sign(&mut body, command.session.id, number);
        }
        body
    }

    fn send_command(&mut self, at: usize, body: RawDocumentBuf) {
        if let Some(command) = &mut self.commands[at] {
            command.attempt += 1;
            command.is_out = true;
            let sender = Sender::Command(at, command.attempt);
            self.send(sender, body);
        }
    }

    pub(crate) fn command_response(&mut self, at: usize, attempt: u32, arrival: Arrival) {
        let Some(command) = &mut self.commands[at] else {
            return;
        };
        if command.attempt != attempt || !command.is_out {
            return;
        }
        command.is_out = false;
        let cache = &mut self.clients[command.client].cache;
        let told = match arrival {
            Arrival::Reply(reply) if is_ok(&reply) => {
                if command.collection.is_some() && cache.names_collections(command.in_session) {
                    cache.saw_naming_taken();
                }
                Told::Reply(reply)
            }
            Arrival::Reply(reply) => {
                let (code, message) = refusal(&reply);
                assert_ne!(code, server_model::UNKNOWN, "{message}");
                let fault = Fault::of_error(code, &message);
                command.refusal =
                    (fault == Fault::Refused).then(|| WriteFailure::new(code, message));
                Told::Fault(fault)
            }
            Arrival::Broken => {
                command.is_dirty = true;
                Told::Fault(Fault::Lost)
            }
            // Nobody needs another try of a command that was never sent.
            Arrival::NotSent if command.call.is_none() && !command.delivery.may_be_applied() => {
                Told::CalledOff
            }
            Arrival::NotSent => Told::Fault(Fault::NotSent),
        };
        if matches!(told, Told::Fault(Fault::NoNumbers)) {
            cache.give_up_numbers();
        }
        command.delivery.told(told);
        self.carry_on(at);
    }

    pub(crate) fn command_paused(&mut self, at: usize) {
        let now = self.now;
        if let Some(command) = &mut self.commands[at] {
            let told = if now < command.deadline {
                Told::Paused
            } else {
                Told::Deadline { sent: false }
            };
            command.delivery.told(told);
            self.carry_on(at);
        }
    }

    pub(crate) fn command_is_late(&mut self, at: usize) {
        if let Some(command) = &mut self.commands[at] {
            let sent = std::mem::take(&mut command.is_out);
            command.is_dirty |= sent;
            command.delivery.told(Told::Deadline { sent });
            self.carry_on(at);
        }
    }

    /// Nobody waits for a call's commands any more: those that were not sent are cancelled.
    pub(crate) fn let_go(&mut self, call: usize) {
        for at in 0..self.commands.len() {
            let Some(command) = &mut self.commands[at] else {
                continue;
            };
            if command.call != Some(call) {
                continue;
            }
            command.call = None;
            let writer = command.writer;
            if command.in_session {
                // In the caller's session, nothing continues without the caller.
                let command = self.commands[at].take();
                self.writers[writer].session = command.map(|command| command.session);
            } else if !command.is_out && !command.delivery.may_be_applied() {
                command.delivery.told(Told::CalledOff);
                self.carry_on(at);
            }
        }
    }

    fn end_command(&mut self, at: usize) {
        let Some(command) = self.commands[at].take() else {
            return;
        };
        if command.delivery.has_met_a_taken_number() {
            self.clients[command.client].cache.give_up_numbers();
        }
        if command.in_session {
            self.writers[command.writer].session = Some(command.session);
        } else if !command.is_dirty {
            self.clients[command.client].sessions.push(command.session);
        }
        let Some(call) = command.call else { return };
        let delivered = match command.delivery.end() {
            Ended::Reply(answer) => Delivered::Answer(answer),
            Ended::Failed { fault, unknown } => Delivered::Failed {
                error: Trouble(format!("a command met {fault:?}")),
                unknown,
                refusal: command.refusal.filter(|_| fault == Some(Fault::Refused)),
            },
            Ended::CalledOff => Delivered::CalledOff,
        };
        self.delivered(call, command.place, delivered);
    }
}

/// Adds a session and a number.
fn sign(body: &mut RawDocumentBuf, session: u64, number: i64) {
    let mut bytes = [0; 16];
    bytes[8..].copy_from_slice(&session.to_be_bytes());
    let id = Binary {
        subtype: BinarySubtype::Uuid,
        bytes: bytes.to_vec(),
    };
    let mut lsid = RawDocumentBuf::new();
    lsid.append(cstr!("id"), id);
    body.append(cstr!("lsid"), lsid);
    body.append(cstr!("txnNumber"), number);
}

//! Writers: which records they send next, and how they react to reports.

use bson::DateTime;
use bucket_core::{
    EncodeError, Form, Limits,
    write::{Batch, Call, Reason, Report, Source, Terms},
};

use crate::{
    calls::{GRACE, Running, Task, Trouble},
    ledger::{Sent, Told, source_name},
    model::Model,
    plan::CallPlan,
    random::Random,
    server::namespace,
    world::{Event, Sender, Session, World},
};

/// A writer, as far as it has got.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    /// The place of its next call.
    next: usize,
    /// The call under way.
    running: Option<usize>,
    /// Its own session, if it has one.
    pub(crate) session: Option<Session>,
    /// The first position of its source that is not known to be stored.
    position: usize,
    /// The first position of the call under way.
    sent_from: usize,
    /// The last call stored nothing of its source.
    is_stuck: bool,
    /// Its client is dead until then.
    away_until: u64,
}

impl<T: Model> World<'_, T> {
    /// Makes the next call of a writer.
    pub(crate) fn begin_call(&mut self, at: usize) {
        let (now, plan) = (self.now, &self.plan.writers[at]);
        let writer = &mut self.writers[at];
        if writer.running.is_some() {
            return;
        }
        if let Some(left) = writer.away_until.checked_sub(now).filter(|left| *left > 0) {
            return self.at(left, Event::Turn(at));
        }
        let Some(call) = plan.calls.get(writer.next).copied() else {
            return;
        };
        writer.next += 1;
        let number = self.calls.len();
        writer.running = Some(number);
        if let Some(edit) = call.edit {
            return self.begin_edit(at, &call, edit);
        }
        let numbers = match self.source_of(at) {
            Some(source) => self.of_source(at, source, &call, number),
            None => self.new_records(&call, number),
        };
        let running = self.call(at, &call, &numbers);
        let ledger = &self.ledger;
        let records = || {
            numbers
                .iter()
                .map(|number| format!("{:?}", ledger.record(*number)))
        };
        let told = self
            .is_told()
            .then(|| records().collect::<Vec<_>>().join(", "));
        self.tell(|| {
            format!(
                "writer {at} makes call {number} of {}",
                told.unwrap_or_default()
            )
        });
        self.begin(running);
    }

    /// Lets a call go on until it waits.
    pub(crate) fn begin(&mut self, running: Running<T>) {
        let number = self.calls.len();
        let left = running.deadline + GRACE - self.now;
        self.calls.push(Some(running));
        self.at(left, Event::CallDeadline(number));
        self.go_on(number);
    }

    fn source_of(&self, writer: usize) -> Option<u8> {
        let has_sources = !matches!(T::SPEC.form(), Form::Hybrid { .. });
        self.plan.writers[writer].source.filter(|_| has_sources)
    }

    /// The records of the next positions, some before them again.
    fn of_source(
        &mut self,
        writer: usize,
        source: u8,
        call: &CallPlan,
        number: usize,
    ) -> Vec<usize> {
        let Writer {
            position, is_stuck, ..
        } = self.writers[writer];
        let first = position.saturating_sub(usize::from(call.again));
        let end = position + usize::from(call.records);
        let place = usize::from(source);
        while self.logs[place].len() < end {
            let position = self.logs[place].len();
            let stream = u64::from(source) << 32 | position as u64;
            let mut random = Random::new(self.plan.seed ^ 0x5eed, stream);
            let record = self.draw(&mut random, None);
            let position = i64::try_from(position).ok();
            let added = self
                .ledger
                .add(record, position.map(|it| (source, it)), number);
            self.logs[place].push(added);
        }
        let first = if is_stuck { position } else { first };
        self.writers[writer].sent_from = first;
        let mut numbers = self.logs[place][first..end].to_vec();
        if is_stuck && self.plan.validates {
            // Records that the server refuses are sent separately.
            let refused = numbers
                .iter()
                .position(|it| self.ledger.record(*it).is_refused());
            numbers.truncate(refused.unwrap_or(numbers.len()).max(1));
        }
        numbers
    }

    fn new_records(&mut self, call: &CallPlan, number: usize) -> Vec<usize> {
        let mut random = Random::new(call.stream, 3);
        let key = call
            .of_one_key
            .then(|| random.below(u64::from(self.plan.keys)));
        let has_ids = T::SPEC.unique().is_some();
        let again = if has_ids {
            call.again.min(call.records)
        } else {
            0
        };
        let mut numbers = Vec::with_capacity(usize::from(call.records));
        for index in 0..call.records {
            let known = self.ledger.next() as u64;
            let earlier = random.below(known.max(1));
            let earlier = usize::try_from(earlier).unwrap_or_default();
            if index >= again || known == 0 || self.ledger.is_of_source(earlier) {
                let record = self.draw(&mut random, key);
                numbers.push(self.ledger.add(record, None, number));
                continue;
            }
            let next = i64::try_from(self.ledger.next()).unwrap_or_default();
            let other = self.ledger.record(earlier).contradiction(next);
            match other.filter(|_| random.below(5) == 0) {
                Some(other) => numbers.push(self.ledger.add(other, None, number)),
                None => numbers.push(earlier),
            }
        }
        numbers
    }

    fn draw(&self, random: &mut Random, key: Option<u64>) -> T {
        let key = key.unwrap_or_else(|| random.below(u64::from(self.plan.keys)));
        let number = i64::try_from(self.ledger.next()).unwrap_or_default();
        T::draw(random, number, key, self.clock())
    }

    fn call(&mut self, writer: usize, call: &CallPlan, numbers: &[usize]) -> Running<T> {
        let plan = &self.plan.writers[writer];
        let (client, in_session) = (plan.client, plan.in_session);
        let source = self.source_of(writer);
        let is_shared = call.is_shared && numbers.len() > 1 && source.is_none() && !in_session;
        let first = if is_shared {
            numbers.len() / 2
        } else {
            numbers.len()
        };
        let mut batch = self.batch(source);
        let mut sent = self.push(&mut batch, writer, &numbers[..first]);
        let mut callers = None;
        if is_shared {
            let mut other = self.batch(None);
            sent.extend(self.push(&mut other, writer, &numbers[first..]));
            batch.join(other, first);
            callers = Some([0..first, first..numbers.len()]);
        }
        let mut terms = Terms::default();
        terms.in_session = in_session;
        terms.for_good = !self.clients[client].plan.is_weak;
        let deadline = self.now + u64::from(call.deadline);
        let task = Task::Write(Box::new(Call::new(batch, terms)));
        let mut running = Running::new(writer, client, task, deadline);
        running.in_session = in_session;
        running.sent = sent;
        running.callers = callers;
        running
    }

    fn batch(&self, source: Option<u8>) -> Batch {
        let mut batch = Batch::of::<T>();
        batch.set_now(DateTime::from_millis(self.clock()));
        let source = source.map(|source| Source::new(T::SPEC, &source_name(source)));
        if let Some(source) = source.transpose().expect("a source of the model") {
            batch.set_source(source);
        }
        batch
    }

    /// Encodes records; refused ones are reported immediately.
    fn push(&mut self, batch: &mut Batch, writer: usize, numbers: &[usize]) -> Vec<Option<Sent>> {
        let client = self.plan.writers[writer].client;
        let has_sources = self
            .plan
            .writers
            .iter()
            .any(|writer| writer.source.is_some());
        let takes_limits = match T::SPEC.form() {
            Form::Count { .. } => false,
            // Which part of a window is the last one each writer says by its own capacity, and positions
            // are kept by part.
            Form::Window { .. } => !has_sources,
            _ => true,
        };
        let capacity = self.clients[client].plan.capacity.filter(|_| takes_limits);
        let limits = capacity.map(|capacity| Limits::new().capacity(capacity));
        let mut sent = Vec::with_capacity(numbers.len());
        for (index, number) in numbers.iter().enumerate() {
            if batch.source().is_some() {
                let position = self.writers[writer].sent_from + index;
                batch.set_position(i64::try_from(position).unwrap_or_default());
            }
            let is_settled = self.lag.is_none();
            let stored = || is_settled.then(|| self.server.raw_documents(&namespace::<T>()));
            let delivery = self.ledger.send(*number, stored);
            match batch.push_with(index, self.ledger.record(*number), limits) {
                Ok(()) => sent.push(Some(delivery)),
                Err(error) => {
                    self.ledger.tell(delivery, Told::NotStored);
                    if matches!(error, EncodeError::Expired { .. }) {
                        // No later record waits for it.
                        self.ledger.skip(*number);
                    }
                    sent.push(None);
                }
            }
        }
        sent
    }

    /// Takes what the call came to, and lets the writer go on.
    pub(crate) fn end_call(&mut self, at: usize) {
        let Some(running) = self.calls[at].take() else {
            return;
        };
        let Running {
            writer,
            task,
            sent,
            left,
            ..
        } = running;
        let call = match task {
            Task::Write(call) => call,
            Task::Edit(editing) => return self.end_edit(at, writer, *editing),
        };
        let (_, report) = call.end();
        let withdrawn = report.failed.iter();
        let withdrawn = withdrawn.filter(|it| matches!(it.reason, Reason::Withdrawn));
        for index in withdrawn.flat_map(|it| &it.records) {
            if !left.contains(index) {
                self.ledger.complain(format!(
                    "call {at} withdraws {index} of a caller that waits"
                ));
            }
        }
        let told = self.outcomes(at, &sent, &report);
        self.tell(|| {
            format!("call {at} gets {told:?}, {report:?}")
                .chars()
                .take(3_000)
                .collect()
        });
        for (sent, told) in sent.iter().zip(&told) {
            if let (Some(sent), Some(told)) = (sent, told) {
                self.ledger.tell(*sent, *told);
                if *told == Told::Duplicate {
                    let stored = || self.server.raw_documents(&namespace::<T>());
                    self.ledger.check_duplicate(*sent, stored);
                }
            }
        }
        self.go_on_in_source(writer, &sent, &told);
        self.rest(writer);
    }

    /// The report on each record, by its index.
    fn outcomes(
        &mut self,
        at: usize,
        sent: &[Option<Sent>],
        report: &Report<Trouble>,
    ) -> Vec<Option<Told>> {
        let mut told: Vec<Option<Told>> = vec![None; sent.len()];
        let mut twice = Vec::new();
        let mut note = |index: usize, what: Told| {
            if told.get(index).is_none_or(Option::is_some) {
                twice.push(index);
            } else {
                told[index] = Some(what);
            }
        };
        for unstored in &report.failed {
            let what = match &unstored.reason {
                Reason::Conflict { .. } => Told::Conflict,
                reason if reason.is_unknown() => Told::Unknown,
                _ => Told::NotStored,
            };
            unstored.records.iter().for_each(|index| note(*index, what));
        }
        report
            .duplicates
            .iter()
            .for_each(|index| note(*index, Told::Duplicate));
        let mut stored = 0;
        for (sent, told) in sent.iter().zip(&mut told) {
            if sent.is_some() && told.is_none() {
                *told = Some(Told::Stored);
                stored += 1;
            }
        }
        if !twice.is_empty() {
            self.ledger
                .complain(format!("call {at} tells twice of {twice:?}: {report:?}"));
        }
        if stored != report.stored {
            self.ledger.complain(format!(
                "call {at} says {} are stored and means {stored}: {report:?}",
                report.stored
            ));
        }
        told
    }

    /// Goes on from the first position that is not known to be stored, but for what can never be.
    fn go_on_in_source(&mut self, writer: usize, sent: &[Option<Sent>], told: &[Option<Told>]) {
        let Some(source) = self.source_of(writer) else {
            return;
        };
        let log = usize::from(source);
        let first = self.writers[writer].sent_from;
        let before = self.writers[writer].position;
        let mut next = first;
        for (sent, told) in sent.iter().zip(told) {
            let number = self.logs[log][next];
            let is_for_ever = match (sent, told) {
                (None, _) | (_, Some(Told::Conflict)) => true,
                (_, Some(Told::Stored | Told::Duplicate)) => false,
                (_, Some(Told::NotStored))
                    if self.plan.validates && self.ledger.record(number).is_refused() =>
                {
                    true
                }
                _ => break,
            };
            if is_for_ever {
                self.ledger.skip(number);
            }
            next += 1;
        }
        let writer = &mut self.writers[writer];
        writer.position = next.max(before);
        writer.is_stuck = next <= before;
    }

    pub(crate) fn rest(&mut self, writer: usize) {
        self.writers[writer].running = None;
        let next = self.writers[writer].next;
        let wait = self.plan.writers[writer]
            .calls
            .get(next)
            .map(|call| call.wait);
        if let Some(wait) = wait {
            self.at(u64::from(wait), Event::Turn(writer));
        }
    }

    /// The call that a message belongs to is dropped: its records may be stored or not.
    pub(crate) fn drop_call(&mut self, sender: Sender) {
        let Some(at) = self.call_of(sender) else {
            return;
        };
        let Some(running) = self.calls[at].take() else {
            return;
        };
        self.let_go(at);
        self.writers[running.writer].is_stuck = false;
        self.rest(running.writer);
    }

    /// The process that sent a message dies. It is back after this long, with only its sources'
    /// positions.
    pub(crate) fn kill(&mut self, sender: Sender, span: u64) {
        let of_command = |at: usize| {
            self.commands
                .get(at)?
                .as_ref()
                .map(|command| command.client)
        };
        let client = match sender {
            Sender::Read(call, ..) => self.calls[call].as_ref().map(|call| call.client),
            Sender::Command(command, _) => of_command(command),
            Sender::Nobody => None,
        };
        let Some(client) = client else { return };
        for call in &mut self.calls {
            call.take_if(|call| call.client == client);
        }
        for command in &mut self.commands {
            command.take_if(|command| command.client == client);
        }
        self.clients[client].restart();
        for at in 0..self.writers.len() {
            if self.plan.writers[at].client == client {
                let writer = &mut self.writers[at];
                writer.running = None;
                writer.session = None;
                writer.away_until = self.now + span;
                self.at(span, Event::Turn(at));
            }
        }
    }

    /// One of two callers goes away.
    pub(crate) fn leave(&mut self, sender: Sender) {
        let Some(at) = self.call_of(sender) else {
            return;
        };
        if let Some(running) = &mut self.calls[at]
            && let Some(callers) = running.callers.take()
        {
            let [first, second] = callers;
            let leaves = if at % 2 == 0 { first } else { second };
            if let Task::Write(call) = &mut running.task {
                call.gone(leaves.clone());
            }
            running.left = leaves;
        }
    }
}

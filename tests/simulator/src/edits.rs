//! Writers that correct and remove what is stored: which record is next, and what an edit comes to.

use bson::{DateTime, RawDocumentBuf};
use bucket_core::{
    IntoTimeRange, RecordRef, Which,
    edit::{Change, Corrected, Edit, EditError, EditFailure, EditNext, Edited, OpenedBucket},
    write::{CallEvent, Delivered},
};

use crate::{
    calls::{Read, Running, Task, Trouble},
    commands::Order,
    corrections::{Outcome, Target},
    model::{Model, pick},
    plan::{CallPlan, EditKind, EditPlan},
    random::Random,
    server::namespace,
    world::{Event, World},
};

/// A removal of a range of time takes records up to this much older or newer, in milliseconds.
const AROUND: i64 = 250;

/// In one of this many replacements the record does not replace the stored one.
const SUPERSEDED: usize = 4;

/// A reference that somebody has read, and the record.
#[derive(Debug, Clone)]
pub(crate) struct Known<T> {
    reference: RecordRef,
    record: T,
    /// The step of the read.
    step: u64,
}

impl<T> Known<T> {
    fn choice(self, plan: EditPlan, filter: usize) -> Choice<T> {
        Choice {
            kind: plan.kind,
            forgets: plan.forgets,
            filter,
            record: self.record,
            which: self.reference.into(),
            by: By::Reference(self.step),
        }
    }
}

/// How an edit names its record.
#[derive(Debug, Clone, Copy)]
enum By {
    Id(i64),
    /// A reference that was read at this step.
    Reference(u64),
}

/// The record that an edit is about, and what it does.
#[derive(Debug, Clone)]
pub(crate) struct Choice<T> {
    kind: EditKind,
    record: T,
    which: Which,
    by: By,
    forgets: bool,
    /// The number of a filter.
    filter: usize,
}

/// An edit under way.
#[derive(Debug)]
pub(crate) struct Editing<T: Model> {
    edit: Edit<'static, T>,
    choice: Choice<T>,
    /// Its place among all of them.
    number: usize,
    /// What a read or a command has met, and whether something may have been changed.
    trouble: Option<(Trouble, bool)>,
}

impl<T: Model> Editing<T> {
    /// What came of its last step.
    pub(crate) fn told(&mut self, event: CallEvent<Trouble>, now: DateTime) {
        match event {
            CallEvent::Found(found) => {
                let found: Vec<RawDocumentBuf> = found.into_iter().flatten().collect();
                self.edit.found(&found, now);
            }
            CallEvent::Ended { commands, late } => {
                for command in commands {
                    self.delivered(command, late);
                }
            }
            CallEvent::Paused => self.edit.paused(),
            CallEvent::Failed(error) | CallEvent::Refused { error, .. } => {
                self.trouble = Some((error, false));
            }
            CallEvent::Listed(_) => {}
        }
    }

    fn delivered(&mut self, command: Delivered<Trouble>, late: bool) {
        match command {
            Delivered::Answer(answer) => self.edit.answered(&answer, late),
            Delivered::Failed { error, unknown, .. } => self.trouble = Some((error, unknown)),
            Delivered::CalledOff => {
                self.trouble = Some((Trouble("it was called off".to_owned()), false));
            }
        }
    }
}

impl<T: Model> World<'_, T> {
    /// Begins an edit of a record that the seed of the call says.
    pub(crate) fn begin_edit(&mut self, writer: usize, call: &CallPlan, plan: EditPlan) {
        let mut random = Random::new(call.stream, 5);
        // Who does not know the outcome of an edit makes it again.
        let again = self.again.iter().position(|(own, _)| *own == writer);
        let choice = match again {
            Some(at) => Some(self.again.swap_remove(at).1),
            None => self.choose(&mut random, plan),
        };
        let Some(choice) = choice else {
            self.calls.push(None);
            return self.rest(writer);
        };
        let Choice {
            kind,
            record,
            which,
            by,
            forgets,
            filter,
        } = choice.clone();
        // Another record than this one may have the id.
        let kind = match (kind, by) {
            (EditKind::Replace, By::Id(_)) => EditKind::Update,
            _ => kind,
        };
        // Without record ids there are none to forget.
        let forgets = forgets && T::SPEC.unique().is_some();
        let key = record.key();
        let own = usize::try_from(record.number()).unwrap_or_default();
        let time = record.time().timestamp_millis();
        let [from, to] =
            [time.saturating_sub(AROUND), time.saturating_add(AROUND)].map(DateTime::from_millis);
        let target = match (kind, by) {
            (EditKind::DeleteKey, _) => Target::Key,
            (EditKind::DeleteBetween, _) => Target::Between(from, to),
            (EditKind::DeleteWhere, _) => Target::Where(filter),
            (_, By::Id(id)) => Target::Id(id),
            (_, By::Reference(step)) => Target::Record(own, step),
        };
        let read = match by {
            By::Reference(step) => Some(step),
            By::Id(_) => None,
        };
        let number = self
            .ledger
            .begin_edit(kind, forgets, record.key_text(), target, (own, read));
        let edit = match kind {
            EditKind::Update => {
                let correct = move |record: &mut T| record.correct(number);
                Edit::update(key, &which, None, Change::Update(Box::new(correct)))
            }
            EditKind::Replace => {
                let mut new = record.clone();
                new.correct(number);
                // It lives as long as the history, which is short.
                let record: &'static T = Box::leak(Box::new(new));
                let replaces: &'static (dyn Fn(&T, &T) -> bool + Send + Sync) =
                    if number.is_multiple_of(SUPERSEDED) {
                        &|_, _| false
                    } else {
                        &|_, _| true
                    };
                Edit::update(key, &which, None, Change::Replace { record, replaces })
            }
            EditKind::Delete => Edit::delete(key, &which),
            EditKind::DeleteBetween => {
                Edit::delete_some(key, &which, (from..to).into_time_range(), None)
            }
            EditKind::DeleteWhere => {
                let filter = Some(T::filter(filter));
                Edit::delete_some(key, &which, (..).into_time_range(), filter)
            }
            EditKind::DeleteKey => Edit::delete_key(key),
        };
        let edit = if forgets { edit.forget_ids() } else { edit };
        let at = self.calls.len();
        self.tell(|| format!("writer {writer} makes call {at}: edit {number}, {kind:?} of {record:?} by {which:?}{}", if forgets { ", and its ids" } else { "" }));
        let task = Task::Edit(Box::new(Editing {
            edit,
            choice,
            number,
            trouble: None,
        }));
        let planned = &self.plan.writers[writer];
        let deadline = self.now + u64::from(call.deadline);
        let mut running = Running::new(writer, planned.client, task, deadline);
        running.in_session = planned.in_session;
        self.begin(running);
    }

    /// What an edit does, to which record.
    fn choose(&mut self, random: &mut Random, plan: EditPlan) -> Option<Choice<T>> {
        let filter = match plan.kind {
            EditKind::DeleteWhere => usize::try_from(random.below(2)).unwrap_or_default(),
            _ => 0,
        };
        let is_by_id = T::SPEC.unique().is_some() && !plan.by_reference;
        if is_by_id && self.ledger.next() > 0 {
            let number = random.below(self.ledger.next() as u64);
            let record = self.ledger.record(usize::try_from(number).ok()?).clone();
            let (_, id) = record.id()?;
            return Some(Choice {
                kind: plan.kind,
                record,
                which: Which::id(&id),
                by: By::Id(id),
                forgets: plan.forgets,
                filter,
            });
        }
        if !plan.is_stale || self.references.is_empty() {
            let documents = self.server.raw_documents(&namespace::<T>());
            if documents.is_empty() {
                return None;
            }
            let document = pick(random, &documents);
            let stored = bucket_core::bucket::decode::<T>(document).ok()?;
            let key = bucket_core::BucketDocument::as_ref(&stored).key;
            let rows = bucket_core::bucket::BucketRows::of(T::SPEC, document).ok()?;
            let opened = OpenedBucket::<T>::read(&key, &rows).ok()?;
            let step = self.ledger.step();
            let known = opened.referenced().ok()?.into_iter().map(|read| Known {
                reference: read.reference,
                record: read.record,
                step,
            });
            let known: Vec<Known<T>> = known.collect();
            if known.is_empty() {
                return None;
            }
            let picked = pick(random, &known).clone();
            self.references.push(picked.clone());
            return Some(picked.choice(plan, filter));
        }
        let known = pick(random, &self.references).clone();
        Some(known.choice(plan, filter))
    }

    /// Does what the edit asks for, until it waits.
    pub(crate) fn go_on_editing(&mut self, at: usize) {
        let Some(Running {
            task: Task::Edit(editing),
            ..
        }) = &mut self.calls[at]
        else {
            return;
        };
        if editing.trouble.is_some() {
            return self.end_call(at);
        }
        match editing.edit.next() {
            EditNext::Read(plan) => self.read(at, vec![Read::of::<T>(&plan)]),
            EditNext::Send {
                command,
                statements,
            } => {
                let order = Order {
                    body: command,
                    statements,
                    collection: None,
                    is_repeatable: true,
                };
                self.dispatch(at, vec![order]);
            }
            EditNext::Pause { ceiling } => {
                let pause = self.up_to(ceiling);
                self.at(pause, Event::CallPaused(at));
            }
            EditNext::Done => self.end_call(at),
        }
    }

    /// Takes what an edit came to, and lets the writer go on.
    pub(crate) fn end_edit(&mut self, at: usize, writer: usize, editing: Editing<T>) {
        let number = editing.number;
        let choice = editing.choice;
        let outcome = match editing.trouble {
            Some((_, true)) => Outcome::Unknown,
            Some((_, false)) => Outcome::NotMade,
            None => self.outcome(number, editing.edit.end()),
        };
        let is_made = matches!(outcome, Outcome::Made { .. });
        if is_made && self.ledger.is_replacement(number) && number.is_multiple_of(SUPERSEDED) {
            let what = format!("edit {number} has replaced what its record does not replace");
            self.ledger.complain(what);
        }
        self.tell(|| format!("call {at}: edit {number} comes to {outcome:?}"));
        self.ledger.end_edit(number, outcome);
        if outcome == Outcome::Unknown {
            self.again.push((writer, choice));
        }
        self.rest(writer);
    }

    fn outcome(&mut self, number: usize, ended: Result<Edited<T>, EditFailure>) -> Outcome {
        match ended {
            Ok(edited) if edited.corrected == Corrected::Superseded => Outcome::NotMade,
            Ok(edited) => {
                let record = edited.record.map(|record| record.number());
                match record.map(|number| usize::try_from(number).unwrap_or(usize::MAX)) {
                    Some(record) => Outcome::Made {
                        records: 1,
                        of: Some(record),
                    },
                    None if edited.records == 0 => Outcome::Nothing,
                    None => Outcome::Made {
                        records: edited.records,
                        of: None,
                    },
                }
            }
            Err(EditFailure::LostTry | EditFailure::Unconfirmed(_)) => Outcome::Unknown,
            Err(
                EditFailure::Changed
                | EditFailure::Refused(_)
                | EditFailure::Contention { .. }
                | EditFailure::Edit(EditError::Encode(_)),
            ) => Outcome::NotMade,
            Err(failure) => {
                self.ledger
                    .complain(format!("edit {number} fails: {failure:?}"));
                Outcome::Unknown
            }
        }
    }
}

//! A simplified replica set: what a majority has, failovers, and the refusals of a server that is
//! not the primary.

use std::borrow::Cow;

use crate::{
    collection::Collection,
    error::Refusal,
    oplog::{Change, Entry},
    server::Server,
};

/// The role of the server in its replica set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum State {
    /// It accepts writes.
    #[default]
    Primary,
    /// It refuses every command with "not primary" (10107).
    Secondary,
}

/// A refusal in the middle of the next write command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interruption {
    /// The number of statements that are executed before it.
    pub after: usize,
    /// The code: 189, 10107 or 11602.
    pub code: i32,
    /// Whether the whole command ends with an error, or each of the remaining statements has one.
    pub whole: bool,
}

impl Server {
    /// The role of the server.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// The server stops being the primary. It keeps its data.
    pub fn step_down(&mut self) {
        self.state = State::Secondary;
    }

    /// The server becomes the primary again, with its data. Of sessions, it only knows what is
    /// written.
    pub fn step_up(&mut self) {
        self.state = State::Primary;
        self.sessions.refresh();
    }

    /// Another server becomes the primary, with only the data that a majority has. All other writes
    /// are rolled back, with the sessions' records of them.
    pub fn fail_over(&mut self) {
        while let Some(entry) = self.oplog.take_back() {
            if let Some((session, before)) = entry.session.clone() {
                self.sessions.take_back(&session, before);
            }
            match self.collections.get_mut(entry.namespace()) {
                Some(collection) => match undo(collection, &entry) {
                    Undone::Changed => {}
                    Undone::Replaced(Some(before)) => *collection = before,
                    Undone::Replaced(None) => {
                        self.collections.remove(entry.namespace());
                    }
                },
                None => {
                    if let Change::Collection {
                        namespace,
                        before: Some(before),
                    } = entry.change
                    {
                        self.collections.insert(namespace, *before);
                    }
                }
            }
        }
        self.oplog.begin_term();
        self.step_up();
    }

    /// Interrupts the next write command in the middle.
    pub fn interrupt(&mut self, interruption: Interruption) {
        self.interruption = Some(interruption);
    }

    /// Sets whether writes reach a majority only through [`Server::replicate`].
    pub fn lag(&mut self, lags: bool) {
        self.lags = lags;
        if !lags {
            self.replicate(u64::MAX);
        }
    }

    /// Declares that a majority has everything up to this position.
    pub fn replicate(&mut self, position: u64) {
        self.oplog.commit(position);
    }

    /// The position of the last write.
    #[must_use]
    pub fn last_position(&self) -> u64 {
        self.oplog.last()
    }

    /// The position up to which a majority has everything.
    #[must_use]
    pub fn majority_position(&self) -> u64 {
        self.oplog.majority()
    }

    /// A collection as a majority has it.
    pub(crate) fn majority_view(&self, namespace: &str) -> Option<Cow<'_, Collection>> {
        let mut collection = self.collections.get(namespace).map(Cow::Borrowed);
        for entry in self
            .oplog
            .open()
            .filter(|it| **it.namespace() == *namespace)
        {
            match &mut collection {
                Some(current) => match undo(current.to_mut(), entry) {
                    Undone::Changed => {}
                    Undone::Replaced(before) => collection = before.map(Cow::Owned),
                },
                None => {
                    if let Change::Collection { before, .. } = &entry.change {
                        collection = before.as_deref().cloned().map(Cow::Owned);
                    }
                }
            }
        }
        collection
    }

    pub(crate) fn check_primary(&self) -> Result<(), Refusal> {
        match self.state {
            State::Primary => Ok(()),
            State::Secondary => Err(refusal(10_107)),
        }
    }
}

enum Undone {
    Changed,
    Replaced(Option<Collection>),
}

fn undo(collection: &mut Collection, entry: &Entry) -> Undone {
    match &entry.change {
        Change::Document {
            namespace,
            id,
            before,
            after,
        } => {
            let validator = collection.validator.take();
            // The indexes accepted this version before, and everything since was undone.
            let put = collection.put(namespace, *id, after.as_ref(), before.clone());
            debug_assert!(put.is_ok(), "{put:?}");
            collection.validator = validator;
            Undone::Changed
        }
        Change::Collection { before, .. } => Undone::Replaced(before.as_deref().cloned()),
    }
}

/// The refusal of a server that is no longer the primary.
pub(crate) fn refusal(code: i32) -> Refusal {
    let message = match code {
        189 => "Not primary while executing",
        10_107 => "not primary",
        _ => "operation was interrupted",
    };
    Refusal::new(code, message)
}

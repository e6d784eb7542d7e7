//! The oplog: the changes that can still be rolled back.

use std::{collections::VecDeque, sync::Arc};

use crate::{
    collection::Collection,
    index::RecordId,
    session::{Session, SessionId},
    value::Fields,
};

/// The change of one entry, as far as needed to undo it.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    Document {
        namespace: Arc<str>,
        id: RecordId,
        before: Option<Arc<Fields>>,
        after: Option<Arc<Fields>>,
    },
    /// A collection was created, dropped, or its indexes were changed.
    Collection {
        namespace: Arc<str>,
        before: Option<Box<Collection>>,
    },
}

#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) position: u64,
    pub(crate) change: Change,
    /// Its session, and what was written of that session before.
    pub(crate) session: Option<(SessionId, Option<Arc<Session>>)>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Oplog {
    last: u64,
    majority: u64,
    /// The entries that a majority does not have.
    open: VecDeque<Entry>,
}

impl Oplog {
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    pub(crate) fn majority(&self) -> u64 {
        self.majority
    }

    pub(crate) fn push(
        &mut self,
        change: Change,
        session: Option<(SessionId, Option<Arc<Session>>)>,
    ) {
        self.last += 1;
        self.open.push_back(Entry {
            position: self.last,
            change,
            session,
        });
    }

    /// Declares that a majority has everything up to this position.
    pub(crate) fn commit(&mut self, position: u64) {
        self.majority = self.majority.max(position.min(self.last));
        while self
            .open
            .front()
            .is_some_and(|entry| entry.position <= self.majority)
        {
            self.open.pop_front();
        }
    }

    /// The entries that a majority does not have, last ones first.
    pub(crate) fn open(&self) -> impl Iterator<Item = &Entry> {
        self.open.iter().rev()
    }

    /// Removes the last of them. Positions are never reused.
    pub(crate) fn take_back(&mut self) -> Option<Entry> {
        self.open.pop_back()
    }

    /// The end of a failover: a majority has everything that is left.
    pub(crate) fn begin_term(&mut self) {
        self.last += 1;
        self.majority = self.last;
    }
}

impl Entry {
    pub(crate) fn namespace(&self) -> &Arc<str> {
        match &self.change {
            Change::Document { namespace, .. } | Change::Collection { namespace, .. } => namespace,
        }
    }
}

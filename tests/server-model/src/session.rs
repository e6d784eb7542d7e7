//! Sessions: which statements of a numbered command have been applied.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use bson::Bson;

use crate::{
    command::Command,
    elements::{Element, Elements},
    error::Refusal,
    value::Value,
};

/// The id of a session, as its bytes.
pub(crate) type SessionId = Arc<[u8]>;

/// The statements of the last number of a session.
#[derive(Debug, Clone, Default)]
pub(crate) struct Session {
    number: i64,
    done: BTreeMap<i32, Done>,
}

/// What a statement did.
#[derive(Debug, Clone)]
pub(crate) enum Done {
    /// It inserted the document with this `_id`.
    Inserted(Value),
    Updated,
    Deleted,
}

/// All sessions of a server.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sessions {
    /// As the primary knows them.
    live: HashMap<SessionId, Arc<Session>>,
    /// As the written data shows them, which is what another primary knows.
    written: HashMap<SessionId, Arc<Session>>,
}

/// The session and the number of a command.
#[derive(Debug, Clone)]
pub(crate) struct Numbered {
    pub(crate) session: SessionId,
    number: i64,
}

impl Numbered {
    /// Of a command; `None` if it has no number.
    pub(crate) fn of(command: &Command<'_>) -> Result<Option<Self>, Refusal> {
        let Some(number) = command.get("txnNumber") else {
            return Ok(None);
        };
        let number = number.as_i64();
        let id = match command.get("lsid").and_then(Element::as_document) {
            Some(lsid) => Elements::of(lsid)?.find("id")?,
            None => None,
        };
        match (number, id.as_ref().and_then(Element::as_binary)) {
            (Some(number), Some(id)) => Ok(Some(Self {
                session: id.into(),
                number,
            })),
            _ => Err(Refusal::new(
                72,
                "a `txnNumber` needs an `lsid` and is a 64-bit integer",
            )),
        }
    }
}

impl Sessions {
    /// Begins or continues the number of a command.
    pub(crate) fn begin(&mut self, of: &Numbered) -> Result<(), Refusal> {
        let session = self.live.entry(Arc::clone(&of.session)).or_default();
        if of.number < session.number {
            let id = crate::text::hex(&of.session);
            return Err(Refusal::new(
                225,
                format!(
                    "Retryable write with txnNumber {} is prohibited on session {id} because a newer \
                 retryable write with txnNumber {} has already started on this session.",
                    of.number, session.number
                ),
            ));
        }
        if of.number > session.number {
            *session = Arc::new(Session {
                number: of.number,
                done: BTreeMap::new(),
            });
        }
        Ok(())
    }

    /// What a statement of the command did, if it was applied before.
    pub(crate) fn done(&self, of: &Numbered, statement: i32) -> Option<&Done> {
        self.live.get(&of.session)?.done.get(&statement)
    }

    /// Records that a statement was applied. Returns what was written of the session before.
    pub(crate) fn record(
        &mut self,
        of: &Numbered,
        statement: i32,
        done: Done,
    ) -> Option<Arc<Session>> {
        let session = self.live.entry(Arc::clone(&of.session)).or_default();
        Arc::make_mut(session).done.insert(statement, done);
        self.written
            .insert(Arc::clone(&of.session), Arc::clone(session))
    }

    /// Rolls back what was written of a session.
    pub(crate) fn take_back(&mut self, id: &SessionId, before: Option<Arc<Session>>) {
        match before {
            Some(before) => self.written.insert(Arc::clone(id), before),
            None => self.written.remove(id),
        };
    }

    /// Another primary only knows what is written.
    pub(crate) fn refresh(&mut self) {
        self.live = self.written.clone();
    }
}

impl Done {
    /// The `_id` of an upsert that inserted.
    pub(crate) fn upserted(&self) -> Option<Bson> {
        match self {
            Self::Inserted(id) => Some(id.to_bson()),
            Self::Updated | Self::Deleted => None,
        }
    }
}

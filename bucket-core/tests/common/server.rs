//! A server over the naive collection: sessions with the record of their last numbered command, and
//! commands in flight, some of which arrive late.

use std::collections::BTreeMap;

use bson::{Bson, Document, RawDocumentBuf};

use super::super::collection::{Answer, Collection, reply};

pub struct Server {
    pub collection: Collection,
    /// Executes a statement.
    execute: fn(&mut Collection, &Document) -> Answer,
    sessions: Vec<Session>,
    /// Commands that nobody waits for any more, but that still arrive.
    late: Vec<Message>,
}

/// The last numbered command of a session.
#[derive(Default)]
struct Session {
    number: i64,
    /// Its statements that were applied.
    applied: BTreeMap<usize, Answer>,
}

/// A command in flight.
pub struct Message {
    session: usize,
    number: Option<i64>,
    statements: Vec<Document>,
    ordered: bool,
    answers: Vec<Answer>,
    replayed: Vec<Bson>,
    /// The number is old.
    newer: Option<i64>,
}

impl Message {
    pub fn new(session: usize, number: Option<i64>, body: &RawDocumentBuf) -> Self {
        let body = Document::try_from(body.clone()).unwrap();
        let inserts = body.contains_key("insert");
        let list = if inserts { "documents" } else { "updates" };
        let statements = body.get_array(list).unwrap().iter();
        let statements = statements.map(|statement| statement.as_document().unwrap().clone());
        Self {
            session,
            number,
            statements: statements.collect(),
            ordered: body.get_bool("ordered").unwrap(),
            answers: Vec::new(),
            replayed: Vec::new(),
            newer: None,
        }
    }

    fn has_begun(&self) -> bool {
        !self.answers.is_empty()
    }

    /// The reply, or the number that the server has seen.
    pub fn reply(&self) -> Result<Document, i64> {
        if let Some(newer) = self.newer {
            return Err(newer);
        }
        let mut reply = reply(&self.answers);
        if !self.replayed.is_empty() {
            reply.insert("retriedStmtIds", self.replayed.clone());
        }
        Ok(reply)
    }
}

impl Server {
    pub fn new(collection: Collection) -> Self {
        Self {
            collection,
            execute: Collection::execute,
            sessions: Vec::new(),
            late: Vec::new(),
        }
    }

    /// Executes every statement with this function.
    pub fn executing(mut self, execute: fn(&mut Collection, &Document) -> Answer) -> Self {
        self.execute = execute;
        self
    }

    /// A new session. Another command, with this many statements, has used the first number.
    pub fn session(&mut self, taken: usize) -> usize {
        let applied = (0..taken).map(|at| (at, Answer::Matched));
        self.sessions.push(Session {
            number: i64::from(taken > 0),
            applied: applied.collect(),
        });
        self.sessions.len() - 1
    }

    /// Executes a statement. Returns whether one was left.
    pub fn go_on(&mut self, message: &mut Message) -> bool {
        if !message.has_begun() {
            self.end_what_has_begun(message.session);
        }
        let failed = matches!(message.answers.last(), Some(Answer::Refused(..)));
        let at = message.answers.len();
        if at == message.statements.len() || (message.ordered && failed) || message.newer.is_some()
        {
            return false;
        }
        let session = &mut self.sessions[message.session];
        if let Some(number) = message.number {
            if number < session.number {
                message.newer = Some(session.number);
                return false;
            }
            if number > session.number {
                *session = Session {
                    number,
                    applied: BTreeMap::new(),
                };
            }
            if let Some(answer) = session.applied.get(&at) {
                message.answers.push(answer.clone());
                message.replayed.push(Bson::Int32(at.try_into().unwrap()));
                return true;
            }
        }
        let answer = (self.execute)(&mut self.collection, &message.statements[at]);
        if message.number.is_some() && matches!(answer, Answer::Matched | Answer::Upserted) {
            self.sessions[message.session]
                .applied
                .insert(at, answer.clone());
        }
        message.answers.push(answer);
        true
    }

    /// A command that changes nothing.
    pub fn fence(&mut self, session: usize, number: i64) -> Result<(), i64> {
        self.end_what_has_begun(session);
        let session = &mut self.sessions[session];
        if number < session.number {
            return Err(session.number);
        }
        *session = Session {
            number,
            applied: BTreeMap::new(),
        };
        Ok(())
    }

    /// The server executes one command of a session at a time.
    fn end_what_has_begun(&mut self, session: usize) {
        let begun = |message: &Message| message.session == session && message.has_begun();
        while let Some(at) = self.late.iter().position(begun) {
            let mut message = self.late.remove(at);
            while self.go_on_begun(&mut message) {}
        }
    }

    fn go_on_begun(&mut self, message: &mut Message) -> bool {
        debug_assert!(message.has_begun());
        self.go_on(message)
    }

    /// Nobody waits for it any more.
    pub fn lose(&mut self, message: Message) {
        self.late.push(message);
    }

    /// Executes a statement of one of the late commands.
    pub fn go_on_late(&mut self, which: usize) {
        if self.late.is_empty() {
            return;
        }
        let at = which % self.late.len();
        let mut message = self.late.remove(at);
        if self.go_on(&mut message) {
            self.late.push(message);
        }
    }

    /// Everything in flight arrives.
    pub fn settle(&mut self) {
        while !self.late.is_empty() {
            self.go_on_late(0);
        }
    }
}

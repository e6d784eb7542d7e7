//! The modelled server, and commands in flight, some of which arrive late. Those of several writers
//! are executed statement by statement.

use bson::{Binary, Bson, Document, RawDocumentBuf, doc, oid::ObjectId, spec::BinarySubtype};
use bucket_core::write::Fault;

use crate::collection::{Collection, is_ok};

/// Looks at a statement: what the collection had before it, and has after it.
pub type Check = fn(before: &[Document], after: &[Document], statement: &Document);

pub struct Server {
    pub collection: Collection,
    check: Option<Check>,
    /// Commands that nobody waits for any more, but that still arrive.
    late: Vec<Message>,
}

/// A command in flight.
pub struct Message {
    session: usize,
    number: Option<i64>,
    /// The command, and the name of its list of statements.
    body: Document,
    list: &'static str,
    statements: Vec<Bson>,
    ordered: bool,
    replies: Vec<Document>,
    /// The server refused the number.
    fault: Option<Fault>,
}

impl Message {
    pub fn new(session: usize, number: Option<i64>, body: &RawDocumentBuf) -> Self {
        let mut body = Document::try_from(body.clone()).unwrap();
        let inserts = body.contains_key("insert");
        let list = if inserts { "documents" } else { "updates" };
        let statements = body.get_array_mut(list).map(std::mem::take).unwrap();
        Self {
            session,
            number,
            list,
            statements,
            ordered: body.get_bool("ordered").unwrap(),
            body,
            replies: Vec::new(),
            fault: None,
        }
    }

    fn has_begun(&self) -> bool {
        !self.replies.is_empty()
    }

    /// The next statement, as a command of its own under the number of the whole one.
    fn next(&self) -> Option<Document> {
        let at = self.replies.len();
        let failed = |reply: &Document| reply.contains_key("writeErrors");
        let is_over =
            self.fault.is_some() || (self.ordered && self.replies.last().is_some_and(failed));
        let statement = self.statements.get(at).filter(|_| !is_over)?;
        let mut command = self.body.clone();
        command.insert(self.list, vec![statement.clone()]);
        if let Some(number) = self.number {
            sign(&mut command, self.session, number);
            command.insert("stmtIds", vec![i32::try_from(at).unwrap()]);
        }
        Some(command)
    }

    /// The replies to all statements, as the one to the command.
    pub fn reply(&self) -> Result<Document, Fault> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let mut whole = doc! { "ok": 1, "n": 0 };
        let mut n = 0;
        for (at, reply) in self.replies.iter().enumerate() {
            n += reply.get_i32("n").unwrap();
            for name in ["writeErrors", "upserted", "retriedStmtIds"] {
                let Ok(entries) = reply.get_array(name) else {
                    continue;
                };
                let entries = entries.iter().cloned().map(|mut entry| {
                    if let Some(entry) = entry.as_document_mut() {
                        entry.insert("index", i32::try_from(at).unwrap());
                    }
                    entry
                });
                let list = whole
                    .entry(name.to_owned())
                    .or_insert(Bson::Array(Vec::new()));
                list.as_array_mut().unwrap().extend(entries);
            }
        }
        whole.insert("n", n);
        Ok(whole)
    }
}

impl Server {
    pub fn new(collection: Collection) -> Self {
        Self {
            collection,
            check: None,
            late: Vec::new(),
        }
    }

    /// Checks the collection after every statement.
    pub fn checking(mut self, check: Check) -> Self {
        self.check = Some(check);
        self
    }

    /// A new session. Another command, with this many statements, has used the first number.
    pub fn session(&mut self, taken: usize) -> usize {
        let session = self.collection.session();
        let others: Vec<Document> = (0..taken).map(|_| Document::new()).collect();
        if !others.is_empty() {
            let mut command = doc! { "insert": "others", "documents": others };
            sign(&mut command, session, 1);
            self.send(&command).unwrap();
        }
        session
    }

    /// Executes a statement. Returns whether one was left.
    pub fn go_on(&mut self, message: &mut Message) -> bool {
        if !message.has_begun() {
            self.end_what_has_begun(message.session);
        }
        let Some(command) = message.next() else {
            return false;
        };
        let before = self.check.map(|check| (check, self.collection.documents()));
        match self.send(&command) {
            Ok(reply) => message.replies.push(reply),
            Err(fault) => {
                message.fault = Some(fault);
                return false;
            }
        }
        if let Some((check, before)) = before {
            check(&before, &self.collection.documents(), &command);
        }
        true
    }

    /// A command that changes nothing.
    pub fn fence(&mut self, session: usize, number: i64) -> Result<Document, Fault> {
        self.end_what_has_begun(session);
        let nothing =
            doc! { "q": { "_id": ObjectId::from_bytes([0; 12]) }, "u": { "$set": { "fence": 1 } } };
        let mut command = doc! { "update": "others", "updates": [nothing] };
        sign(&mut command, session, number);
        self.send(&command)
    }

    fn send(&mut self, command: &Document) -> Result<Document, Fault> {
        let reply = self
            .collection
            .run(&RawDocumentBuf::try_from(command).unwrap());
        if is_ok(&reply) {
            return Ok(reply);
        }
        let code = reply.get_i32("code").unwrap();
        Err(Fault::of_error(code, reply.get_str("errmsg").unwrap()))
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

/// Adds a session and a number.
fn sign(command: &mut Document, session: usize, number: i64) {
    let id = Binary {
        subtype: BinarySubtype::Uuid,
        bytes: u128::try_from(session).unwrap().to_be_bytes().to_vec(),
    };
    command.insert("lsid", doc! { "id": id });
    command.insert("txnNumber", number);
}

//! Commands: the request and the reply.

mod catalog;
mod delete;
mod find;
mod insert;
mod update;
mod write;

use std::sync::Arc;

use bson::{Document, RawDocument};

use crate::{
    elements::{Element, Elements},
    error::Refusal,
    oplog::Change,
    replica,
    server::{Answer, Server},
    session::{Session, SessionId},
    value::Value,
};

/// Code that runs between the read and the insertion of an upsert.
pub type Between<'a> = &'a mut dyn FnMut(&mut Server);

/// Fields that any command may have and that change nothing here.
const COMMON: [&str; 9] = [
    "$db",
    "lsid",
    "txnNumber",
    "$clusterTime",
    "$readPreference",
    "comment",
    "maxTimeMS",
    "apiVersion",
    "writeConcern",
];

/// A command as received.
#[derive(Debug)]
pub(crate) struct Command<'a> {
    pub(crate) name: &'a str,
    fields: Vec<Element<'a>>,
}

pub(crate) fn execute(
    server: &mut Server,
    body: &RawDocument,
    between: Option<Between<'_>>,
) -> Answer {
    let result = parse(body).and_then(|command| dispatch(server, &command, between));
    let mut answer = result.unwrap_or_else(|refusal| Answer::Reply(refusal.of_command()));
    if let Answer::Reply(reply) | Answer::Held { reply, .. } = &mut answer {
        reply.insert("operationTime", Server::time(server.oplog.last()));
    }
    answer
}

fn parse(body: &RawDocument) -> Result<Command<'_>, Refusal> {
    let mut elements = Elements::of(body.as_bytes())?;
    let mut fields = Vec::with_capacity(8);
    while let Some(element) = elements.next()? {
        fields.push(element);
    }
    let first = fields.first();
    let name = first.ok_or_else(|| Refusal::new(59, "no command"))?.name;
    Ok(Command { name, fields })
}

fn dispatch(
    server: &mut Server,
    command: &Command<'_>,
    between: Option<Between<'_>>,
) -> Result<Answer, Refusal> {
    server.check_primary()?;
    match command.name {
        "insert" => insert::run(server, command),
        "update" => update::run(server, command, between),
        "delete" => delete::run(server, command),
        "find" => find::run(server, command),
        "create" => catalog::create(server, command),
        "createIndexes" => catalog::create_indexes(server, command),
        "dropIndexes" => catalog::drop_indexes(server, command),
        "drop" => catalog::drop(server, command),
        "collMod" => catalog::change(server, command),
        "listIndexes" => catalog::list_indexes(server, command),
        "listCollections" => catalog::list_collections(server, command),
        "ping" | "endSessions" => Ok(Answer::Reply(bson::doc! { "ok": 1.0 })),
        name => Err(Refusal::unknown(format_args!("the command `{name}`"))),
    }
}

impl<'a> Command<'a> {
    pub(crate) fn get(&self, name: &str) -> Option<&Element<'a>> {
        self.fields.iter().find(|field| field.name == name)
    }

    pub(crate) fn value(&self, name: &str) -> Result<Option<Value>, Refusal> {
        self.get(name).map(Element::value).transpose()
    }

    /// A flag, if it is present.
    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>, Refusal> {
        Ok(self.value(name)?.map(|value| value.is_truthy()))
    }

    pub(crate) fn database(&self) -> &'a str {
        self.get("$db").and_then(Element::as_str).unwrap_or("test")
    }

    /// The collection, with its database.
    pub(crate) fn namespace(&self) -> Result<Arc<str>, Refusal> {
        let collection = self.get(self.name).and_then(Element::as_str);
        match collection.filter(|name| !name.is_empty()) {
            Some(collection) => Ok(format!("{}.{collection}", self.database()).into()),
            None => Err(Refusal::new(
                73,
                "collection name has invalid type or is empty",
            )),
        }
    }

    /// Refuses fields that the model does not know.
    pub(crate) fn check_fields(&self, known: &[&str]) -> Result<(), Refusal> {
        for Element { name, .. } in &self.fields {
            if *name != self.name && !known.contains(name) && !COMMON.contains(name) {
                let command = self.name;
                return Err(Refusal::unknown(format_args!(
                    "the field `{name}` of `{command}`"
                )));
            }
        }
        Ok(())
    }

    /// Whether the reply must wait for a majority, which is the server's default.
    fn waits_for_majority(&self) -> Result<bool, Refusal> {
        let concern = self.get("writeConcern").and_then(Element::as_document);
        let w = match concern {
            Some(concern) => Elements::of(concern)?.find("w")?,
            None => None,
        };
        Ok(match w {
            None => true,
            Some(w) if w.as_str() == Some("majority") => true,
            Some(w) => match w.value()?.as_whole() {
                // With `j`, a server waits for its own journal; the model has none.
                Some(0) => return Err(Refusal::unknown("writes that are not acknowledged")),
                Some(1) => false,
                _ => return Err(Refusal::unknown("a write concern of some members")),
            },
        })
    }

    /// The answer of a write.
    fn written(&self, server: &Server, reply: Document) -> Result<Answer, Refusal> {
        // A write that changed nothing waits as well: it may depend on data that is not replicated
        // yet.
        let until = server.oplog.last();
        if until > server.oplog.majority() && self.waits_for_majority()? {
            return Ok(Answer::Held { reply, until });
        }
        Ok(Answer::Reply(reply))
    }
}

impl Server {
    /// Records that a change was made.
    pub(crate) fn written(
        &mut self,
        change: Change,
        session: Option<(SessionId, Option<Arc<Session>>)>,
    ) {
        self.oplog.push(change, session);
        if !self.lags {
            self.oplog.commit(u64::MAX);
        }
    }

    /// The interruption for this statement, if there is one.
    pub(crate) fn interrupted(&mut self, statement: usize) -> Result<Option<Refusal>, Refusal> {
        match self.interruption {
            Some(due) if statement >= due.after => {
                if due.whole {
                    self.interruption = None;
                    return Err(replica::refusal(due.code));
                }
                Ok(Some(replica::refusal(due.code)))
            }
            _ => Ok(None),
        }
    }
}

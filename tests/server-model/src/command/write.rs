//! The common part of all write commands: statements in order, their records, their errors.

use bson::{Binary, Bson, Document, doc, spec::BinarySubtype};

use super::Command;
use crate::{
    elements::Element,
    error::Refusal,
    oplog::Change,
    server::{Answer, Server},
    session::{Done, Numbered},
};

/// The result of one statement.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) n: i32,
    pub(super) modified: i32,
    /// The `_id` of a document that an upsert inserted.
    pub(super) upserted: Option<Bson>,
    /// The change, and the session's record of it.
    pub(super) change: Option<(Change, Done)>,
}

/// Runs the statements of a command.
pub(super) fn run(
    server: &mut Server,
    command: &Command<'_>,
    list: &str,
    mut execute: impl FnMut(&mut Server, &[u8]) -> Result<Outcome, Refusal>,
) -> Result<Answer, Refusal> {
    let ordered = command.flag("ordered")?.unwrap_or(true);
    let is_update = command.name == "update";
    let numbered = Numbered::of(command)?;
    command.waits_for_majority()?;
    let statements = command.get(list).and_then(Element::as_array);
    let mut statements = statements.ok_or_else(|| {
        Refusal::new(
            40_414,
            format!(
                "BSON field '{}.{list}' is missing but a required field",
                command.name
            ),
        )
    })?;
    let count = statements.clone().count()?;
    let max = server.limits().statements;
    if count == 0 || count > max {
        return Err(Refusal::new(
            16,
            format!("Write batch sizes must be between 1 and {max}. Got {count} operations."),
        ));
    }
    let ids = statement_ids(command, count)?;
    if let Some(numbered) = &numbered {
        server.sessions.begin(numbered)?;
    }
    let (mut n, mut modified) = (0, 0);
    let mut errors = Vec::new();
    let mut upserted: Vec<Bson> = Vec::new();
    let mut retried: Vec<Bson> = Vec::new();
    for at in 0..count {
        let statement = statements.next()?.and_then(|it| it.as_document());
        let statement = statement.ok_or_else(|| Refusal::new(14, "a statement is a document"))?;
        // The limit bounds their number.
        let index = i32::try_from(at).unwrap_or(i32::MAX);
        if let Some(refusal) = server.interrupted(at)? {
            errors.push(refusal.of_statement(index));
            if ordered {
                break;
            }
            continue;
        }
        let id = ids.as_ref().map_or(index, |ids| ids[at]);
        let done = numbered
            .as_ref()
            .and_then(|it| server.sessions.done(it, id));
        if let Some(done) = done {
            if matches!(done, Done::Deleted) != (command.name == "delete")
                || (command.name == "insert" && !matches!(done, Done::Inserted(_)))
            {
                return Err(Refusal::unknown("the number of a command of another kind"));
            }
            n += 1;
            modified += i32::from(matches!(done, Done::Updated));
            if let Some(id) = done.upserted().filter(|_| is_update) {
                upserted.push(doc! { "index": index, "_id": id }.into());
            }
            retried.push(id.into());
            continue;
        }
        match execute(server, statement) {
            Ok(outcome) => {
                n += outcome.n;
                modified += outcome.modified;
                if let Some(id) = outcome.upserted {
                    upserted.push(doc! { "index": index, "_id": id }.into());
                }
                if let Some((change, done)) = outcome.change {
                    let session = numbered.as_ref().map(|numbered| {
                        let before = server.sessions.record(numbered, id, done);
                        (numbered.session.clone(), before)
                    });
                    server.written(change, session);
                }
            }
            Err(refusal) if refusal.is_unknown() => return Err(refusal),
            Err(refusal) => {
                errors.push(refusal.of_statement(index));
                if ordered {
                    break;
                }
            }
        }
    }
    server.interruption = None;
    let mut reply = Document::new();
    reply.insert("n", n);
    if !errors.is_empty() {
        reply.insert("writeErrors", errors);
    }
    if !upserted.is_empty() {
        reply.insert("upserted", upserted);
    }
    if is_update {
        reply.insert("nModified", modified);
    }
    if !retried.is_empty() {
        reply.insert("retriedStmtIds", retried);
    }
    reply.insert("ok", 1.0);
    command.written(server, reply)
}

/// The numbers of the statements within the number of the command: their positions, unless it names
/// others.
fn statement_ids(command: &Command<'_>, count: usize) -> Result<Option<Vec<i32>>, Refusal> {
    let Some(mut list) = command.get("stmtIds").and_then(Element::as_array) else {
        return Ok(None);
    };
    let mut ids = Vec::with_capacity(count);
    while let Some(id) = list.next()? {
        let id = id.value()?.as_whole().and_then(|id| i32::try_from(id).ok());
        ids.push(id.ok_or_else(|| Refusal::unknown("such ids of statements"))?);
    }
    if ids.len() != count {
        return Err(Refusal::new(
            16,
            "Number of statement ids must match the number of batch entries",
        ));
    }
    Ok(Some(ids))
}

/// The refusal of a command for another collection with this name.
pub(super) fn check_uuid(
    server: &Server,
    command: &Command<'_>,
) -> Result<Option<Refusal>, Refusal> {
    let Some(expected) = command.get("collectionUUID") else {
        return Ok(None);
    };
    let Some(binary) = expected.as_binary() else {
        return Err(Refusal::new(14, "a `collectionUUID` is a UUID"));
    };
    let namespace = command.namespace()?;
    if server.uuid(&namespace).is_some_and(|uuid| uuid == *binary) {
        return Ok(None);
    }
    let (database, name) = namespace.split_once('.').unwrap_or_default();
    let within = format!("{database}.");
    let mut others = server.collections.iter();
    let actual = others.find_map(|(other, collection)| {
        (collection.uuid == *binary).then(|| other.strip_prefix(&within))?
    });
    Ok(Some(Refusal {
        details: Some(Box::new(doc! {
            "db": database,
            "collectionUUID": Binary { subtype: BinarySubtype::Uuid, bytes: binary.to_vec() },
            "expectedCollection": name,
            "actualCollection": actual,
        })),
        ..Refusal::new(361, "Collection UUID does not match that specified")
    }))
}

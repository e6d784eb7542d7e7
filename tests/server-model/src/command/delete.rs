//! The command `delete`.

use std::sync::Arc;

use super::{
    Command,
    write::{self, Outcome},
};
use crate::{
    elements::Elements,
    error::Refusal,
    filter,
    oplog::Change,
    server::{Answer, Server},
    session::{Done, Numbered},
};

pub(super) fn run(server: &mut Server, command: &Command<'_>) -> Result<Answer, Refusal> {
    command.check_fields(&["deletes", "ordered", "collectionUUID", "stmtIds"])?;
    let namespace = command.namespace()?;
    let is_numbered = Numbered::of(command)?.is_some();
    write::run(server, command, "deletes", |server, statement| {
        if let Some(refusal) = write::check_uuid(server, command)? {
            return Err(refusal);
        }
        let (mut filter, mut limit, mut hint) = (None, None, None);
        let mut fields = Elements::of(statement)?;
        while let Some(field) = fields.next()? {
            match (field.name, field.as_document()) {
                ("q", Some(query)) => filter = Some(filter::parse(query)?),
                ("limit", _) => limit = field.value()?.as_whole(),
                ("hint", _) => hint = Some(field.value()?),
                (name, _) => {
                    return Err(Refusal::unknown(format_args!(
                        "the field `{name}` of a statement"
                    )));
                }
            }
        }
        let (Some(filter), Some(limit @ 0..=1)) = (filter, limit) else {
            return Err(Refusal::unknown("such a statement of `delete`"));
        };
        let Some(collection) = server.collections.get_mut(&*namespace) else {
            return Ok(Outcome::default());
        };
        if limit == 0 && is_numbered {
            return Err(Refusal::unknown("numbered deletions of all that match"));
        }
        let wanted = if limit == 1 { 1 } else { usize::MAX };
        let found = collection.select(&filter, hint.as_ref(), wanted, limit == 1)?;
        let mut outcome = Outcome::default();
        for id in found {
            let Some(before) = collection.documents.get(&id).cloned() else {
                continue;
            };
            collection.put(&namespace, id, Some(&before), None)?;
            let change = Change::Document {
                namespace: Arc::clone(&namespace),
                id,
                before: Some(before),
                after: None,
            };
            outcome.n += 1;
            if let Some((earlier, _)) = outcome.change.replace((change, Done::Deleted)) {
                server.oplog.push(earlier, None);
            }
        }
        Ok(outcome)
    })
}

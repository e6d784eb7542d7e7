//! The command `insert`.

use std::sync::Arc;

use super::{
    Command,
    write::{self, Outcome},
};
use crate::{
    error::Refusal,
    oplog::Change,
    server::{Answer, Server},
    session::Done,
    value::{Fields, Value},
};

pub(super) fn run(server: &mut Server, command: &Command<'_>) -> Result<Answer, Refusal> {
    command.check_fields(&["documents", "ordered", "collectionUUID", "stmtIds"])?;
    let namespace = command.namespace()?;
    write::run(server, command, "documents", |server, document| {
        if let Some(refusal) = write::check_uuid(server, command)? {
            return Err(refusal);
        }
        let mut fields = Fields::read(document)?;
        if fields.0.iter().any(|(name, _)| name.starts_with('$')) {
            return Err(Refusal::unknown("fields whose name begins with `$`"));
        }
        if fields.get("_id").is_none() {
            let id = Value::ObjectId(server.object_id());
            fields.0.insert(0, ("_id".into(), id));
        }
        server.check_size(&fields, true)?;
        insert(server, &namespace, fields)
    })
}

/// Inserts a document. Creates the collection if it does not exist.
pub(super) fn insert(
    server: &mut Server,
    namespace: &Arc<str>,
    mut fields: Fields,
) -> Result<Outcome, Refusal> {
    fields.lead_with_id();
    let id = fields.get("_id").cloned().unwrap_or(Value::Null);
    if let Value::Array(_) | Value::Undefined = id {
        let kind = id.type_name();
        return Err(Refusal::new(
            53,
            format!("The '_id' value cannot be of type {kind}"),
        ));
    }
    let collection = server.ensure_collection(namespace);
    let record = collection.reserve();
    let after = Arc::new(fields);
    collection.put(namespace, record, None, Some(Arc::clone(&after)))?;
    Ok(Outcome {
        n: 1,
        upserted: None,
        modified: 0,
        change: Some((
            Change::Document {
                namespace: Arc::clone(namespace),
                id: record,
                before: None,
                after: Some(after),
            },
            Done::Inserted(id),
        )),
    })
}

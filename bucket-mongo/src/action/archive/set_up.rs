//! The indexes of an archive: one that leads to a key's copies, and those by which the collection removes what has expired.

use bucket_core::archive;
use mongodb::{
    Collection, Database,
    bson::{Bson, Document, RawDocumentBuf, doc},
};

use crate::{
    Error, ErrorKind, Result, collection::list_indexes, error::Context, store::Store,
    write_concern::durable, writer::faults::code,
};

/// The option that makes the server remove documents.
const EXPIRE_AFTER: &str = "expireAfterSeconds";
/// What the server answers if there is no such collection.
const NAMESPACE_NOT_FOUND: i32 = 26;

/// Gives the archive its indexes, and the limits by which the collection removes what has expired. An archive that does not
/// exist stays so, unless `creates` is set.
///
/// # Errors
///
/// [`ErrorKind::InvalidArgument`] if the archive is the collection itself, or removes what the collection keeps.
pub(in crate::action) async fn mirror(
    store: &Store,
    copies: &Collection<RawDocumentBuf>,
    creates: bool,
    context: &Context,
) -> Result<()> {
    let failed = |error| Error::read(error, context);
    let invalid = |message| Error::new(ErrorKind::InvalidArgument { message }, context);
    let there = copies.client().database(&copies.namespace().db);
    let (here, spec) = (store.database(), store.spec());
    let (name, other) = (spec.collection(), copies.name());
    let own = uuid(here, name).await.map_err(failed)?;
    if own.is_some() && own == uuid(&there, other).await.map_err(failed)? {
        let message = "the archive must be another collection than that of the buckets";
        return Err(invalid(message.to_owned()));
    }
    let own = expiring(&indexes(here, name).await.map_err(failed)?);
    let found = indexes(&there, other).await.map_err(failed)?;
    if found.is_empty() && !creates {
        return Ok(());
    }
    let expires = expiring(&found);
    if let Some(index) = expires.iter().find(|index| same(&own, index).is_none()) {
        let index = index.get_str("name").unwrap_or_default();
        return Err(invalid(format!(
            "the archive would remove what the collection keeps: its index `{index}` has `{EXPIRE_AFTER}`, and the \
             collection has no such index"
        )));
    }
    let mut missing = vec![archive::key_index(spec).definition()];
    for index in own {
        match same(&expires, &index) {
            None => missing.push(index),
            Some(other_limit) if other_limit.get(EXPIRE_AFTER) != index.get(EXPIRE_AFTER) => {
                let change = doc! {
                    "collMod": other,
                    "index": {
                        "name": other_limit.get_str("name").unwrap_or_default(),
                        EXPIRE_AFTER: index.get(EXPIRE_AFTER).cloned().unwrap_or(Bson::Null),
                    },
                };
                there.run_command(change).await.map_err(failed)?;
            }
            Some(_) => {}
        }
    }
    missing.retain(|index| same(&found, index).is_none());
    if missing.is_empty() {
        return Ok(());
    }
    let concern = bson::serialize_to_bson(&durable());
    let concern = concern.map_err(|error| failed(error.into()))?;
    let create = doc! { "createIndexes": other, "indexes": missing, "writeConcern": concern };
    there.run_command(create).await.map_err(failed)?;
    Ok(())
}

/// The definitions of those that make the server remove documents.
fn expiring(indexes: &[Document]) -> Vec<Document> {
    let expiring = indexes
        .iter()
        .filter(|index| index.contains_key(EXPIRE_AFTER));
    expiring
        .map(|index| {
            let mut definition = Document::new();
            for name in ["name", "key", "partialFilterExpression", EXPIRE_AFTER] {
                if let Some(value) = index.get(name) {
                    definition.insert(name, value.clone());
                }
            }
            definition
        })
        .collect()
}

/// The index with the same key and condition.
fn same<'i>(indexes: &'i [Document], index: &Document) -> Option<&'i Document> {
    let condition = "partialFilterExpression";
    indexes.iter().find(|other| {
        other.get("key") == index.get("key") && other.get(condition) == index.get(condition)
    })
}

async fn indexes(database: &Database, name: &str) -> Result<Vec<Document>, mongodb::error::Error> {
    match list_indexes(database, name).await {
        Err(error) if code(&error) == Some(NAMESPACE_NOT_FOUND) => Ok(Vec::new()),
        indexes => indexes,
    }
}

/// The identity of a collection, if there is one.
async fn uuid(database: &Database, name: &str) -> Result<Option<Bson>, mongodb::error::Error> {
    let list = doc! { "listCollections": 1, "filter": { "name": name } };
    let reply = database.run_command(list).await?;
    let cursor = reply.get_document("cursor").ok();
    let first =
        cursor.and_then(|cursor| cursor.get_array("firstBatch").ok()?.first()?.as_document());
    let info = first.and_then(|first| first.get_document("info").ok());
    Ok(info.and_then(|info| info.get("uuid").cloned()))
}

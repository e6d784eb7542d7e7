//! Commands about collections and indexes.

use std::sync::Arc;

use bson::{Binary, Bson, doc, spec::BinarySubtype};

use super::Command;
use crate::{
    collection::Collection,
    elements::Element,
    error::Refusal,
    filter,
    index::Index,
    oplog::Change,
    server::{Answer, Server},
    value::{Fields, Value, damaged},
};

impl Server {
    /// The collection; it is created if there is none.
    pub(crate) fn ensure_collection(&mut self, namespace: &Arc<str>) -> &mut Collection {
        if !self.collections.contains_key(namespace) {
            self.created += 1;
            self.written(
                Change::Collection {
                    namespace: Arc::clone(namespace),
                    before: None,
                },
                None,
            );
        }
        let number = self.created;
        let entry = self.collections.entry(Arc::clone(namespace));
        entry.or_insert_with(|| Collection::new(number))
    }

    /// Changes a collection as one entry of the oplog.
    fn replace(&mut self, namespace: &Arc<str>, after: Option<Collection>) {
        let before = match after {
            Some(after) => self.collections.insert(Arc::clone(namespace), after),
            None => self.collections.remove(namespace),
        };
        self.written(
            Change::Collection {
                namespace: Arc::clone(namespace),
                before: before.map(Box::new),
            },
            None,
        );
    }
}

pub(super) fn create(server: &mut Server, command: &Command<'_>) -> Result<Answer, Refusal> {
    command.check_fields(&["validator", "storageEngine"])?;
    let namespace = command.namespace()?;
    if server.collections.contains_key(&namespace) {
        let message = format!("Collection {namespace} already exists.");
        return Err(Refusal::new(48, message));
    }
    server.created += 1;
    let mut collection = Collection::new(server.created);
    set_validator(&mut collection, command)?;
    if let Some(Value::Document(engine)) = command.value("storageEngine")? {
        collection
            .options
            .insert("storageEngine", engine.to_document());
    }
    server.replace(&namespace, Some(collection));
    command.written(server, doc! { "ok": 1.0 })
}

/// `collMod`: another validator, another limit of an index.
pub(super) fn change(server: &mut Server, command: &Command<'_>) -> Result<Answer, Refusal> {
    command.check_fields(&["validator", "index"])?;
    let namespace = command.namespace()?;
    let mut collection = existing(server, &namespace)?.clone();
    set_validator(&mut collection, command)?;
    let mut reply = doc! {};
    if let Some(Value::Document(change)) = command.value("index")? {
        let name = change.get("name").cloned().unwrap_or(Value::Null);
        let seconds = change.get("expireAfterSeconds").cloned();
        let Some(seconds) = seconds.filter(|_| change.0.len() == 2) else {
            return Err(Refusal::unknown("such a change of an index"));
        };
        let index = collection
            .indexes
            .iter_mut()
            .find(|index| index.is_hinted(&name));
        let index = index.ok_or_else(|| Refusal::new(27, "cannot find index"))?;
        if let Some(old) = index
            .definition
            .insert("expireAfterSeconds", seconds.to_bson())
        {
            reply.insert("expireAfterSeconds_old", old);
        }
        reply.insert("expireAfterSeconds_new", seconds.to_bson());
        index.expire_after = seconds.as_whole();
    }
    reply.insert("ok", 1.0);
    server.replace(&namespace, Some(collection));
    command.written(server, reply)
}

fn set_validator(collection: &mut Collection, command: &Command<'_>) -> Result<(), Refusal> {
    let Some(validator) = command.get("validator").and_then(Element::as_document) else {
        return Ok(());
    };
    let fields = Fields::read(validator)?;
    collection.validator = None;
    collection.options.remove("validator");
    if !fields.0.is_empty() {
        collection.validator = Some(Arc::new(filter::parse_fields(&fields)?));
        collection.options.insert("validator", fields.to_document());
    }
    Ok(())
}

pub(super) fn drop(server: &mut Server, command: &Command<'_>) -> Result<Answer, Refusal> {
    command.check_fields(&[])?;
    let namespace = command.namespace()?;
    let Some(collection) = server.collections.get(&namespace) else {
        return Err(Refusal::new(26, "ns not found"));
    };
    let count = i32::try_from(collection.indexes.len()).unwrap_or(i32::MAX);
    server.replace(&namespace, None);
    command.written(
        server,
        doc! { "nIndexesWas": count, "ns": &*namespace, "ok": 1.0 },
    )
}

pub(super) fn create_indexes(
    server: &mut Server,
    command: &Command<'_>,
) -> Result<Answer, Refusal> {
    command.check_fields(&["indexes", "commitQuorum"])?;
    let namespace = command.namespace()?;
    let Some(mut definitions) = command.get("indexes").and_then(Element::as_array) else {
        return Err(Refusal::new(
            40_414,
            "BSON field 'createIndexes.indexes' is missing but a required field",
        ));
    };
    let is_new = !server.collections.contains_key(&namespace);
    let mut indexes = Vec::new();
    while let Some(definition) = definitions.next()? {
        let definition = definition.as_document();
        let definition = definition.ok_or_else(|| Refusal::new(14, "an index is a document"))?;
        indexes.push(Index::parse(&Fields::read(definition)?)?);
    }
    let mut collection = server.ensure_collection(&namespace).clone();
    let before = collection.indexes.len();
    // Definitions that meet are refused before anything is built.
    let mut pending: Vec<Index> = Vec::new();
    let mut some_exist = false;
    for index in indexes {
        let known = || collection.indexes.iter().chain(&pending);
        if index.paths.len() == 1 && &*index.paths[0] == "_id" {
            continue;
        }
        let same_name = known().find(|other| other.name == index.name);
        match same_name {
            Some(other) if other.is_same(&index) => {
                if pending.iter().any(|other| other.name == index.name) {
                    let message = format!("Identical index already exists: {}", index.name);
                    return Err(Refusal::new(68, message));
                }
                some_exist = true;
                continue;
            }
            Some(_) => {
                return Err(Refusal::new(
                    86,
                    format!(
                        "An existing index has the same name as the requested index. When index names are \
                     not specified, they are auto generated and can cause conflicts. Please refer to our \
                     documentation. Requested index: {}",
                        index.name
                    ),
                ));
            }
            None => {}
        }
        if let Some(other) = known().find(|other| other.is_alike(&index)) {
            return Err(Refusal::new(
                85,
                format!("Index already exists with a different name: {}", other.name),
            ));
        }
        pending.push(index);
    }
    for index in pending {
        collection.build(&namespace, index)?;
    }
    let after = collection.indexes.len();
    let count = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
    let mut reply = doc! {
        "numIndexesBefore": count(before),
        "numIndexesAfter": count(after),
        "createdCollectionAutomatically": is_new,
        "ok": 1.0,
    };
    if some_exist && after > before {
        reply.insert("note", "index already exists");
    }
    if after == before {
        reply.remove("createdCollectionAutomatically");
        reply.insert("note", "all indexes already exist");
    } else {
        server.replace(&namespace, Some(collection));
    }
    command.written(server, reply)
}

pub(super) fn drop_indexes(server: &mut Server, command: &Command<'_>) -> Result<Answer, Refusal> {
    command.check_fields(&["index"])?;
    let namespace = command.namespace()?;
    let mut collection = existing(server, &namespace)?.clone();
    let before = i32::try_from(collection.indexes.len()).unwrap_or(i32::MAX);
    let hint = command.value("index")?.unwrap_or(Value::Null);
    if hint.as_str() == Some("*") {
        collection.indexes.truncate(1);
    } else {
        let at = collection
            .indexes
            .iter()
            .position(|index| index.is_hinted(&hint));
        match at {
            Some(0) => return Err(Refusal::new(72, "cannot drop _id index")),
            Some(at) => {
                collection.indexes.remove(at);
            }
            None => {
                let name = crate::text::value(&hint);
                return Err(Refusal::new(
                    27,
                    format!("index not found with name [{name}]"),
                ));
            }
        }
    }
    server.replace(&namespace, Some(collection));
    command.written(server, doc! { "nIndexesWas": before, "ok": 1.0 })
}

pub(super) fn list_indexes(server: &mut Server, command: &Command<'_>) -> Result<Answer, Refusal> {
    // No build takes any time here.
    command.check_fields(&["cursor", "includeBuildUUIDs"])?;
    let namespace = command.namespace()?;
    let collection = existing(server, &namespace)?;
    let indexes: Vec<Bson> = collection
        .indexes
        .iter()
        .map(|index| index.definition.clone().into())
        .collect();
    Ok(Answer::Reply(doc! {
        "cursor": { "id": 0_i64, "ns": &*namespace, "firstBatch": indexes },
        "ok": 1.0,
    }))
}

pub(super) fn list_collections(
    server: &mut Server,
    command: &Command<'_>,
) -> Result<Answer, Refusal> {
    command.check_fields(&["filter", "cursor", "nameOnly", "authorizedCollections"])?;
    let database = command.database();
    let filter = command.get("filter").and_then(Element::as_document);
    let filter = filter.map_or(Ok(Fields::default()), Fields::read)?;
    let filter = filter::parse_fields(&filter)?;
    let within = format!("{database}.");
    let mut found = Vec::new();
    for (namespace, collection) in &server.collections {
        let Some(name) = namespace.strip_prefix(&within) else {
            continue;
        };
        let uuid = Binary {
            subtype: BinarySubtype::Uuid,
            bytes: collection.uuid.to_vec(),
        };
        let document = doc! {
            "name": name,
            "type": "collection",
            "options": collection.options.clone(),
            "info": { "readOnly": false, "uuid": uuid },
            "idIndex": { "v": 2, "key": { "_id": 1 }, "name": "_id_" },
        };
        let raw = bson::RawDocumentBuf::try_from(&document).map_err(damaged)?;
        if filter.matches(&Fields::read(raw.as_bytes())?) {
            found.push(document);
        }
    }
    Ok(Answer::Reply(doc! {
        "cursor": { "id": 0_i64, "ns": format!("{database}.$cmd.listCollections"), "firstBatch": found },
        "ok": 1.0,
    }))
}

fn existing<'a>(server: &'a Server, namespace: &str) -> Result<&'a Collection, Refusal> {
    let collection = server.collections.get(namespace);
    collection.ok_or_else(|| Refusal::new(26, format!("ns does not exist: {namespace}")))
}

//! A collection on the modelled server, with the indexes of a model of records.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::panic)]

use std::cell::{Cell, RefCell};

use bson::{Bson, Document, RawDocument, RawDocumentBuf, doc};
use bucket_core::{BucketSpec, index, read::FindPlan};
use server_model::Server;

pub struct Collection {
    /// A read is a command, too.
    server: RefCell<Server>,
    spec: &'static BucketSpec,
    sessions: Cell<usize>,
}

impl Collection {
    pub fn new(spec: &'static BucketSpec) -> Self {
        Self::with(spec, Vec::new())
    }

    /// A collection with these documents.
    pub fn with(spec: &'static BucketSpec, documents: Vec<Document>) -> Self {
        Self::make(spec, documents, true)
    }

    fn make(spec: &'static BucketSpec, documents: Vec<Document>, unique: bool) -> Self {
        let collection = Self {
            server: RefCell::new(Server::new()),
            spec,
            sessions: Cell::new(0),
        };
        let mut plans = index::plan(spec);
        plans.iter_mut().for_each(|plan| plan.unique &= unique);
        let indexes: Vec<Document> = plans.iter().map(index::IndexPlan::definition).collect();
        collection.succeed(&doc! { "createIndexes": spec.collection(), "indexes": indexes });
        if !documents.is_empty() {
            collection.succeed(&doc! { "insert": spec.collection(), "documents": documents });
        }
        collection
    }

    /// The documents, in the order of their insertion.
    pub fn documents(&self) -> Vec<Document> {
        let namespace = format!("test.{}", self.spec.collection());
        self.server.borrow().documents(&namespace)
    }

    /// Somebody changes documents by hand.
    pub fn edit(&mut self, edit: impl FnOnce(&mut Vec<Document>)) {
        let mut documents = self.documents();
        edit(&mut documents);
        *self = Self::with(self.spec, documents);
    }

    /// Somebody changes documents to what no unique index would allow.
    pub fn damage(&mut self, damage: impl FnOnce(&mut Vec<Document>)) {
        let mut documents = self.documents();
        damage(&mut documents);
        *self = Self::make(self.spec, documents, false);
    }

    /// The server's reply to a command.
    pub fn run(&self, command: &RawDocument) -> Document {
        let reply = self.server.borrow_mut().run(command);
        let code = reply.get_i32("code").unwrap_or_default();
        assert_ne!(code, server_model::UNKNOWN, "{reply}");
        reply
    }

    /// What a read finds.
    pub fn find(&self, plan: &FindPlan) -> Vec<RawDocumentBuf> {
        let reply = self.run(&plan.single_batch(self.spec.collection()));
        let cursor = reply.get_document("cursor");
        let cursor = cursor.unwrap_or_else(|_| panic!("{reply}"));
        let found = cursor.get_array("firstBatch").unwrap().iter();
        found
            .map(|it| RawDocumentBuf::try_from(it.as_document().unwrap()).unwrap())
            .collect()
    }

    /// A session that no command has used.
    pub fn session(&self) -> usize {
        self.sessions.update(|number| number + 1);
        self.sessions.get()
    }

    /// From now on, a validator refuses buckets with an item whose field has one of these values.
    pub fn refuse(&self, field: &str, values: &[i64]) {
        let values: Vec<Bson> = values.iter().copied().map(Bson::from).collect();
        let path = format!("{}.{field}", self.spec.items());
        self.succeed(&doc! {
            "collMod": self.spec.collection(),
            "validator": { path: { "$nin": values } },
        });
    }

    fn succeed(&self, command: &Document) {
        let reply = self.run(&RawDocumentBuf::try_from(command).unwrap());
        let is_done = is_ok(&reply) && !reply.contains_key("writeErrors");
        assert!(is_done, "{command}: {reply}");
    }
}

/// The index keys of a document for one path.
fn all_values<'a>(document: &'a Document, path: &str) -> Vec<Option<&'a Bson>> {
    if let Some((array, name)) = path.split_once('.')
        && let Ok(items) = document.get_array(array)
    {
        return items
            .iter()
            .map(|item| item.as_document().unwrap().get(name))
            .collect();
    }
    vec![document.get(path)]
}

fn share_a_value(a: &[Option<&Bson>], b: &[Option<&Bson>]) -> bool {
    a.iter().any(|a| b.contains(a))
}

/// The server's reply to a command with these executed statements.
pub fn reply(answers: &[Answer]) -> Document {
    let mut errors = Vec::new();
    let mut upserted = Vec::new();
    let mut n = 0;
    for (index, answer) in answers.iter().enumerate() {
        let index = i32::try_from(index).unwrap();
        match answer {
            Answer::Matched => n += 1,
            Answer::Upserted => {
                n += 1;
                upserted.push(doc! { "index": index });
            }
            Answer::Nothing => {}
            Answer::Refused(code, name) => errors.push(doc! {
                "index": index,
                "code": code,
                "errmsg": format!("E11000 duplicate key error collection: a.b index: {name} dup key: {{}}"),
            }),
        }
    }
    let mut reply = doc! { "ok": 1, "n": n, "writeErrors": errors };
    if !upserted.is_empty() {
        reply.insert("upserted", upserted);
    }
    reply
}

fn is_condition(value: &Bson) -> bool {
    value
        .as_document()
        .is_some_and(|value| value.keys().any(|key| key.starts_with('$')))
}

pub fn lookup<'a>(document: &'a Document, path: &str) -> Option<&'a Bson> {
    let (name, rest) = path
        .split_once('.')
        .map_or((path, None), |(name, rest)| (name, Some(rest)));
    let value = document.get(name)?;
    match (rest, value) {
        (None, value) => Some(value),
        (Some(rest), Bson::Document(inner)) => lookup(inner, rest),
        (Some(rest), Bson::Array(items)) => items.get(rest.parse::<usize>().ok()?),
        _ => None,
    }
}

pub fn matches(filter: &Document, document: &Document) -> bool {
    filter.iter().all(|(path, wanted)| {
        if path == "$and" {
            let branches = wanted.as_array().unwrap().iter();
            return branches
                .map(|branch| branch.as_document().unwrap())
                .all(|branch| matches(branch, document));
        }
        if path == "$nor" {
            let branches = wanted.as_array().unwrap().iter();
            return !branches
                .map(|branch| branch.as_document().unwrap())
                .any(|branch| matches(branch, document));
        }
        if path == "$or" {
            let branches = wanted.as_array().unwrap().iter();
            return branches
                .map(|branch| branch.as_document().unwrap())
                .any(|branch| matches(branch, document));
        }
        if let Some((array, name)) = path.split_once('.')
            && name.parse::<usize>().is_err()
            && document.get_array(array).is_ok()
        {
            let values = all_values(document, path);
            return match wanted {
                Bson::Document(conditions) => of_items(&values, conditions),
                value => values.contains(&Some(value)),
            };
        }
        let found = lookup(document, path);
        if !is_condition(wanted) {
            return found.is_some_and(|found| compare(found, wanted).is_eq());
        }
        wanted
            .as_document()
            .unwrap()
            .iter()
            .all(|(operator, operand)| {
                // Not for conditions, which compare with nothing.
                let order = || {
                    found.map(|found| (bracket(found) == bracket(operand), compare(found, operand)))
                };
                match operator.as_str() {
                    "$lt" => order().is_some_and(|(same, order)| same && order.is_lt()),
                    "$lte" => order().is_some_and(|(same, order)| same && order.is_le()),
                    "$gt" => order().is_some_and(|(same, order)| same && order.is_gt()),
                    "$gte" => order().is_some_and(|(same, order)| same && order.is_ge()),
                    "$ne" => order().is_none_or(|(_, order)| order.is_ne()),
                    "$in" => operand
                        .as_array()
                        .unwrap()
                        .iter()
                        .any(|one| found.is_some_and(|found| compare(found, one).is_eq())),
                    "$exists" => found.is_some() == operand.as_bool().unwrap(),
                    "$type" if operand.as_str() == Some("date") => {
                        matches!(found, Some(Bson::DateTime(_)))
                    }
                    "$type" if operand.as_str() == Some("long") => {
                        matches!(found, Some(Bson::Int64(_)))
                    }
                    "$type" => matches!(found, Some(Bson::Array(_))),
                    "$size" => found
                        .and_then(Bson::as_array)
                        .is_some_and(|items| i32::try_from(items.len()).ok() == operand.as_i32()),
                    "$not" => !matches(&doc! { path: operand.clone() }, document),
                    "$elemMatch" => found.and_then(Bson::as_array).is_some_and(|items| {
                        let mut items = items.iter().filter_map(Bson::as_document);
                        items.any(|item| matches(operand.as_document().unwrap(), item))
                    }),
                    other => panic!("{other}"),
                }
            })
    })
}

/// A condition on a field of the items of an array.
fn of_items(values: &[Option<&Bson>], wanted: &Document) -> bool {
    wanted.iter().all(|(operator, operand)| {
        let list = operand.as_array().map(Vec::as_slice);
        let one_of = |list: &[Bson]| list.iter().any(|one| values.contains(&Some(one)));
        match operator.as_str() {
            "$in" => one_of(list.unwrap()),
            "$nin" => !one_of(list.unwrap()),
            "$ne" => !one_of(std::slice::from_ref(operand)),
            other => panic!("{other}"),
        }
    })
}

fn bracket(value: &Bson) -> u8 {
    match value {
        Bson::Int32(_) | Bson::Int64(_) | Bson::Double(_) => 1,
        Bson::String(_) => 2,
        Bson::Document(_) => 3,
        Bson::Array(_) => 4,
        Bson::ObjectId(_) => 5,
        Bson::Boolean(_) => 6,
        Bson::DateTime(_) => 7,
        other => panic!("{other}"),
    }
}

pub fn compare(a: &Bson, b: &Bson) -> Ordering {
    let number = |value: &Bson| match value {
        Bson::Int32(value) => f64::from(*value),
        #[allow(clippy::cast_precision_loss)]
        Bson::Int64(value) => *value as f64,
        Bson::Double(value) => *value,
        _ => unreachable!(),
    };
    match (a, b) {
        (Bson::Int64(a), Bson::Int64(b)) => a.cmp(b),
        (Bson::String(a), Bson::String(b)) => a.cmp(b),
        (Bson::ObjectId(a), Bson::ObjectId(b)) => a.cmp(b),
        (Bson::Boolean(a), Bson::Boolean(b)) => a.cmp(b),
        (Bson::DateTime(a), Bson::DateTime(b)) => a.cmp(b),
        (Bson::Document(a), Bson::Document(b)) => {
            let pairs = a.values().zip(b.values());
            pairs
                .map(|(a, b)| compare(a, b))
                .find(|order| order.is_ne())
                .unwrap_or(Ordering::Equal)
        }
        _ if bracket(a) != bracket(b) => bracket(a).cmp(&bracket(b)),
        _ => number(a).total_cmp(&number(b)),
    }
}

fn set(document: &mut Document, path: &str, value: impl FnOnce(Option<&Bson>) -> Bson) {
    match path.split_once('.') {
        None => {
            let new = value(document.get(path));
            document.insert(path, new);
        }
        Some((name, rest)) => {
            if !document.contains_key(name) {
                document.insert(name, Document::new());
            }
            set(document.get_document_mut(name).unwrap(), rest, value);
        }
    }
}

fn apply(document: &mut Document, update: &Document, inserted: bool) {
    for (operator, fields) in update {
        if operator == "$setOnInsert" && !inserted {
            continue;
        }
        for (path, operand) in fields.as_document().unwrap() {
            set(document, path, |old| match operator.as_str() {
                "$set" | "$setOnInsert" => operand.clone(),
                "$inc" => add(old, operand),
                "$min" => match old {
                    Some(old) if compare(old, operand).is_le() => old.clone(),
                    _ => operand.clone(),
                },
                "$max" => match old {
                    Some(old) if compare(old, operand).is_ge() => old.clone(),
                    _ => operand.clone(),
                },
                "$push" => {
                    let mut items =
                        old.map_or_else(Vec::new, |old| old.as_array().unwrap().clone());
                    match operand.as_document().unwrap().get_array("$each") {
                        Ok(each) => items.extend(each.iter().cloned()),
                        Err(_) => items.push(operand.clone()),
                    }
                    Bson::Array(items)
                }
                other => panic!("{other}"),
            });
        }
    }
}

fn add(old: Option<&Bson>, by: &Bson) -> Bson {
    match (old, by) {
        (None, by) => by.clone(),
        (Some(Bson::Int32(a)), Bson::Int32(b)) => Bson::Int32(a + b),
        (Some(Bson::Int64(a)), Bson::Int64(b)) => Bson::Int64(a.checked_add(*b).unwrap()),
        (Some(Bson::Int64(a)), Bson::Int32(b)) => Bson::Int64(a + i64::from(*b)),
        (Some(Bson::Double(a)), Bson::Double(b)) => Bson::Double(a + b),
        other => panic!("{other:?}"),
    }
}

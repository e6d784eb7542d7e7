//! A naive collection. It implements what the server's documentation says about the statements,
//! reads and indexes of the plans, and nothing else.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::panic)]

use std::cmp::Ordering;

use bson::{Bson, Document, RawDocumentBuf, doc};
use bucket_core::{BucketSpec, index, read::FindPlan};

#[derive(Debug)]
pub struct Collection {
    pub documents: Vec<Document>,
    /// The object ids made so far.
    ids: u64,
    unique: Vec<index::IndexPlan>,
}

/// The server's answer to one statement.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    Matched,
    Upserted,
    Nothing,
    Refused(i32, String),
}

impl Collection {
    pub fn new(spec: &BucketSpec) -> Self {
        let unique = index::plan(spec).into_iter().filter(|plan| plan.unique);
        Self {
            documents: Vec::new(),
            ids: 0,
            unique: unique.collect(),
        }
    }

    pub fn find(&self, plan: &FindPlan) -> Vec<RawDocumentBuf> {
        let filter = Document::try_from(plan.filter.clone()).unwrap();
        let mut found: Vec<&Document> = self
            .documents
            .iter()
            .filter(|document| matches(&filter, document))
            .collect();
        let sort: Vec<(&String, &Bson)> = plan.sort.iter().collect();
        for (path, direction) in sort.into_iter().rev() {
            found.sort_by(|a, b| {
                // A missing field comes first.
                let order = match (a.get(path), b.get(path)) {
                    (Some(a), Some(b)) => compare(a, b),
                    (a, b) => a.is_some().cmp(&b.is_some()),
                };
                if direction.as_i32() == Some(-1) {
                    order.reverse()
                } else {
                    order
                }
            });
        }
        if plan.limit > 0 {
            found.truncate(usize::try_from(plan.limit).unwrap());
        }
        found
            .into_iter()
            .map(|document| RawDocumentBuf::try_from(document).unwrap())
            .collect()
    }

    /// An update statement, or a document to be inserted.
    pub fn execute(&mut self, statement: &Document) -> Answer {
        if !statement.contains_key("q") {
            return match self.store(None, statement.clone()) {
                Answer::Upserted => Answer::Matched,
                refused => refused,
            };
        }
        let filter = statement.get_document("q").unwrap();
        let update = statement.get_document("u").unwrap();
        let at = self
            .documents
            .iter()
            .position(|document| matches(filter, document));
        let (at, new) = match at {
            Some(at) => {
                let old = self.documents[at].clone();
                let mut new = old.clone();
                apply(&mut new, update, false);
                if old.get("_id") != new.get("_id") {
                    return Answer::Refused(66, String::new());
                }
                (Some(at), new)
            }
            None if filter.contains_key("$and") => return Answer::Refused(54, String::new()),
            None if statement.get_bool("upsert").unwrap_or(false) => {
                let mut new = Document::new();
                for (path, value) in filter {
                    if !path.starts_with('$') && !is_condition(value) {
                        assert!(!path.contains('.'), "{path}");
                        new.insert(path, value.clone());
                    }
                }
                apply(&mut new, update, true);
                if !new.contains_key("_id") {
                    self.ids += 1;
                    let mut id = [0; 12];
                    id[4..].copy_from_slice(&self.ids.to_be_bytes());
                    new.insert("_id", bson::oid::ObjectId::from_bytes(id));
                }
                (None, new)
            }
            None => return Answer::Nothing,
        };
        self.store(at, new)
    }

    fn store(&mut self, at: Option<usize>, new: Document) -> Answer {
        let id = new.get("_id");
        if at.is_none() && self.documents.iter().any(|other| other.get("_id") == id) {
            return Answer::Refused(11_000, "_id_".to_owned());
        }
        for plan in &self.unique {
            let indexed = |document: &Document| {
                plan.partial
                    .as_ref()
                    .is_none_or(|partial| matches(partial, document))
            };
            let same = |other: &Document| {
                let mut paths = plan.keys.keys();
                paths.all(|path| share_a_value(&all_values(other, path), &all_values(&new, path)))
            };
            let others = self.documents.iter().enumerate();
            let clash = others
                .filter(|(index, _)| Some(*index) != at)
                .any(|(_, other)| indexed(other) && same(other));
            if indexed(&new) && clash {
                return Answer::Refused(11_000, plan.name.clone());
            }
        }
        if let Some(at) = at {
            self.documents[at] = new;
            return Answer::Matched;
        }
        self.documents.push(new);
        Answer::Upserted
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

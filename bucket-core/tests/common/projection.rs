//! Projections with expressions, as the server's documentation describes them. The modelled server
//! has no decimals, in which lengths of buckets are compared.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::panic)]

use std::cmp::Ordering;

use bson::{Bson, Document, RawDocument, RawDocumentBuf, doc};
use bucket_core::read::FindPlan;

use crate::collection::Collection;

/// What a read finds.
pub fn find(collection: &Collection, plan: &FindPlan) -> Vec<RawDocumentBuf> {
    let mut whole = plan.clone();
    whole.projection = Document::new();
    whole.filter = each_once(&plan.filter);
    let found = collection.find(&whole).into_iter();
    let found = found.map(|it| project(&plan.projection, &Document::try_from(it).unwrap()));
    found
        .map(|it| RawDocumentBuf::try_from(&it).unwrap())
        .collect()
}

/// The same filter, for the model of a server that knows no document with two fields of one name.
fn each_once(filter: &RawDocument) -> RawDocumentBuf {
    let mut once = Document::new();
    let mut again = Vec::new();
    for element in filter {
        let (name, value) = element.unwrap();
        let value = Bson::try_from(value).unwrap();
        if once.contains_key(name.as_str()) {
            again.push(Bson::Document(doc! { name.as_str(): value }));
        } else {
            once.insert(name.as_str(), value);
        }
    }
    if !again.is_empty() {
        assert!(!once.contains_key("$and"), "{once}");
        once.insert("$and", again);
    }
    RawDocumentBuf::try_from(&once).unwrap()
}

/// The document with the fields of the projection.
fn project(projection: &Document, document: &Document) -> Document {
    let fields = projection.iter().filter_map(|(name, wanted)| {
        let value = match wanted {
            Bson::Int32(1) => document.get(name).cloned(),
            expression => evaluate(expression, document, None),
        };
        Some((name.clone(), value?))
    });
    fields.collect()
}

/// The value of an expression; `None` if it is missing.
fn evaluate(expression: &Bson, document: &Document, this: Option<&Bson>) -> Option<Bson> {
    match expression {
        Bson::String(text) => match text.strip_prefix("$$") {
            Some("REMOVE") => None,
            Some(path) => {
                let name = path.strip_prefix("this.").unwrap();
                this.unwrap().as_document()?.get(name).cloned()
            }
            None => match text.strip_prefix('$') {
                Some(path) => lookup(document, path).cloned(),
                None => Some(expression.clone()),
            },
        },
        Bson::Document(fields) => match fields.iter().next() {
            Some((operator, operand)) if operator.starts_with('$') => {
                call(operator, operand, document, this)
            }
            _ => {
                let fields = fields.iter();
                let value = |(name, value): (&String, &Bson)| {
                    Some((name.clone(), evaluate(value, document, this)?))
                };
                Some(Bson::Document(fields.filter_map(value).collect()))
            }
        },
        other => Some(other.clone()),
    }
}

fn call(operator: &str, operand: &Bson, document: &Document, this: Option<&Bson>) -> Option<Bson> {
    let list = operand
        .as_array()
        .map_or(std::slice::from_ref(operand), Vec::as_slice);
    let value = |at: usize| evaluate(&list[at], document, this);
    let is_true = |value: Option<Bson>| value.is_some_and(|value| value.as_bool().unwrap());
    let order = || match (value(0), value(1)) {
        (Some(a), Some(b)) => compare(&a, &b),
        (a, b) => a.is_some().cmp(&b.is_some()),
    };
    Some(Bson::Boolean(match operator {
        "$cond" => return value(if is_true(value(0)) { 1 } else { 2 }),
        "$size" => {
            let length = value(0).unwrap().as_array().unwrap().len();
            return Some(Bson::Int32(i32::try_from(length).unwrap()));
        }
        "$type" => {
            let name = match value(0) {
                None => "missing",
                Some(Bson::DateTime(_)) => "date",
                Some(Bson::Binary(_)) => "binData",
                Some(_) => "other",
            };
            return Some(Bson::String(name.to_owned()));
        }
        "$filter" => {
            let operand = operand.as_document().unwrap();
            let items = evaluate(&operand["input"], document, this).unwrap();
            let items = items.as_array().unwrap().iter();
            let kept =
                items.filter(|item| is_true(evaluate(&operand["cond"], document, Some(item))));
            return Some(Bson::Array(kept.cloned().collect()));
        }
        "$convert" => {
            let input = evaluate(&operand.as_document().unwrap()["input"], document, this);
            let millis = input.as_ref().and_then(Bson::as_datetime);
            return Some(millis.map_or(Bson::Null, |date| Bson::Int64(date.timestamp_millis())));
        }
        "$subtract" => {
            let number = |at| value(at).and_then(|value| value.as_i64());
            let difference = number(0).zip(number(1)).map(|(a, b)| a.saturating_sub(b));
            return Some(difference.map_or(Bson::Null, Bson::Int64));
        }
        "$min" | "$max" => {
            let (array, name) = operand.as_str().unwrap()[1..].split_once('.').unwrap();
            let items = document.get_array(array).unwrap().iter();
            let values = items.filter_map(|item| item.as_document()?.get(name));
            let best = if operator == "$min" {
                values.min_by(|a, b| compare(a, b))
            } else {
                values.max_by(|a, b| compare(a, b))
            };
            return Some(best.cloned().unwrap_or(Bson::Null));
        }
        "$not" => !is_true(value(0)),
        "$gt" => value(0) != Some(Bson::Null) && order() == Ordering::Greater,
        "$and" => (0..list.len()).all(|at| is_true(value(at))),
        "$or" => (0..list.len()).any(|at| is_true(value(at))),
        "$isArray" => value(0).is_some_and(|value| value.as_array().is_some()),
        "$eq" => order() == Ordering::Equal,
        "$ne" => order() != Ordering::Equal,
        "$gte" => order() != Ordering::Less,
        "$lt" => order() == Ordering::Less,
        "$lte" => order() != Ordering::Greater,
        other => panic!("{other}"),
    }))
}

fn lookup<'a>(document: &'a Document, path: &str) -> Option<&'a Bson> {
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

fn compare(a: &Bson, b: &Bson) -> Ordering {
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

#[test]
fn removed_fields_are_missing() {
    let projection = doc! { "a": 1, "b": { "$cond": [{ "$eq": ["$a", 1] }, "$$REMOVE", "$a"] } };
    assert_eq!(
        project(&projection, &doc! { "a": 1, "c": 1 }),
        doc! { "a": 1 }
    );
    assert_eq!(
        project(&projection, &doc! { "a": 2 }),
        doc! { "a": 2, "b": 2 }
    );
}

//! One change of a document, at its path.

use std::sync::Arc;

use super::{Change, Operation, number::add};
use crate::{
    error::Refusal,
    order::compare,
    path, text,
    value::{Fields, Value},
};

/// The server pads an array with at most this many nulls at once.
const MAX_PADDING: usize = 1_500_000;

struct Context<'a> {
    change: &'a Change,
    id: Option<&'a Value>,
}

/// Applies the change. Returns whether the document changed.
pub(super) fn at_path(fields: &mut Fields, change: &Change) -> Result<bool, Refusal> {
    if let Operation::Unset = change.operation {
        return Ok(unset(fields, &change.path));
    }
    let id = fields.get("_id").cloned();
    let context = Context {
        change,
        id: id.as_ref(),
    };
    context.in_document(fields, &change.path)
}

/// Removes a field; an item of an array is null after that. What is not there stays so.
fn unset(fields: &mut Fields, path: &str) -> bool {
    let (name, rest) = path::split(path);
    let Some(rest) = rest else {
        let before = fields.0.len();
        fields.0.retain(|(own, _)| &**own != name);
        return fields.0.len() < before;
    };
    fields
        .get_mut(name)
        .is_some_and(|value| unset_in(value, rest))
}

fn unset_in(value: &mut Value, path: &str) -> bool {
    match value {
        Value::Document(inner) => unset(Arc::make_mut(inner), path),
        Value::Array(items) => {
            let (next, rest) = path::split(path);
            let item = path::place(next).and_then(|place| Arc::make_mut(items).get_mut(place));
            match (item, rest) {
                (Some(item), Some(rest)) => unset_in(item, rest),
                (Some(Value::Null) | None, _) => false,
                (Some(item), None) => {
                    *item = Value::Null;
                    true
                }
            }
        }
        _ => false,
    }
}

impl Context<'_> {
    fn in_document(&self, fields: &mut Fields, path: &str) -> Result<bool, Refusal> {
        let (name, rest) = path::split(path);
        match (fields.get_mut(name), rest) {
            (None, rest) => {
                let value = self.created(rest);
                fields.0.push((name.into(), value));
                Ok(true)
            }
            (Some(value), None) => self.of_value(value, name),
            (Some(value), Some(rest)) => self.in_value(value, name, rest),
        }
    }

    fn in_value(&self, value: &mut Value, name: &str, path: &str) -> Result<bool, Refusal> {
        let not_viable = |value: &Value| {
            let (next, _) = path::split(path);
            let value = text::value(value);
            Refusal::new(
                28,
                format!("Cannot create field '{next}' in element {{{name}: {value}}}"),
            )
        };
        match value {
            Value::Document(inner) => self.in_document(Arc::make_mut(inner), path),
            Value::Array(items) => {
                let (next, rest) = path::split(path);
                let Some(place) = path::place(next) else {
                    return Err(not_viable(value));
                };
                if place >= items.len() + MAX_PADDING {
                    return Err(Refusal::unknown("arrays of millions of items"));
                }
                let items = Arc::make_mut(items);
                match (items.get_mut(place), rest) {
                    (Some(item), None) => self.of_value(item, next),
                    (Some(item), Some(rest)) => self.in_value(item, next, rest),
                    (None, rest) => {
                        let new = self.created(rest);
                        items.resize(place, Value::Null);
                        items.push(new);
                        Ok(true)
                    }
                }
            }
            value => Err(not_viable(value)),
        }
    }

    /// The value for a path that does not exist yet.
    fn created(&self, rest: Option<&str>) -> Value {
        if let Some(rest) = rest {
            let (name, rest) = path::split(rest);
            let inner = Fields(vec![(name.into(), self.created(rest))]);
            return Value::Document(Arc::new(inner));
        }
        match &self.change.operation {
            Operation::Set(value)
            | Operation::SetOnInsert(value)
            | Operation::Add(value)
            | Operation::Min(value)
            | Operation::Max(value) => value.clone(),
            Operation::Push(items) => Value::Array(Arc::new(items.clone())),
            // It goes another way, and creates nothing.
            Operation::Unset => Value::Null,
        }
    }

    fn of_value(&self, value: &mut Value, name: &str) -> Result<bool, Refusal> {
        let new = match &self.change.operation {
            Operation::Set(new) | Operation::SetOnInsert(new) if value.is_same(new) => None,
            Operation::Set(new) | Operation::SetOnInsert(new) => Some(new.clone()),
            // It goes another way.
            Operation::Unset => None,
            Operation::Min(new) => compare(new, value).is_lt().then(|| new.clone()),
            Operation::Max(new) => compare(new, value).is_gt().then(|| new.clone()),
            Operation::Add(by) => self.sum(value, by, name)?,
            Operation::Push(new) => {
                let Value::Array(items) = value else {
                    let path = &self.change.path;
                    return Err(Refusal::new(
                        2,
                        format!(
                            "The field '{path}' must be an array but is of type {} in document {{{}}}", // prose: allow
                            value.type_name(),
                            self.id(),
                        ),
                    ));
                };
                if new.is_empty() {
                    return Ok(false);
                }
                Arc::make_mut(items).extend(new.iter().cloned());
                return Ok(true);
            }
        };
        let changed = new.is_some();
        if let Some(new) = new {
            *value = new;
        }
        Ok(changed)
    }

    /// The sum, if it differs from the old number.
    fn sum(&self, old: &Value, by: &Value, name: &str) -> Result<Option<Value>, Refusal> {
        if !old.is_number() {
            return Err(Refusal::new(
                14,
                format!(
                    "Cannot apply $inc to a value of non-numeric type. {{{}}} has the field '{name}' of \
                 non-numeric type {}",
                    self.id(),
                    old.type_name(),
                ),
            ));
        }
        let Some(sum) = add(old, by) else {
            let kind = match old {
                Value::Int32(_) => "NumberInt",
                _ => "NumberLong",
            };
            return Err(Refusal::new(
                2,
                format!(
                    "Failed to apply $inc operations to current value (({kind}){}) for document {{{}}}",
                    text::value(old),
                    self.id(),
                ),
            ));
        };
        // The server compares numbers here, not bytes, so a zero keeps its sign.
        let is_old = match (old, &sum) {
            (Value::Double(_), Value::Double(_)) => {
                compare(old, &sum).is_eq() && old.as_double() == sum.as_double()
            }
            _ => old.is_same(&sum),
        };
        Ok((!is_old).then_some(sum))
    }

    fn id(&self) -> String {
        self.id.map_or_else(
            || "no id".to_owned(),
            |id| format!("_id: {}", text::value(id)),
        )
    }
}

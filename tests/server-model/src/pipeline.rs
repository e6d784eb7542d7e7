//! Updates by a pipeline: stages of `$set`.

use std::sync::Arc;

use crate::{
    error::Refusal,
    expression::{self, Expression, Scope},
    path, text,
    value::{Fields, Value},
};

/// The stages of an update. Each one sees the result of the previous stage.
#[derive(Debug, Clone)]
pub(crate) struct Pipeline(Vec<Node>);

/// The fields that a stage sets in a document, in the order in which it names them.
#[derive(Debug, Clone, Default)]
struct Node(Vec<(Box<str>, Part)>);

#[derive(Debug, Clone)]
enum Part {
    Value(Expression),
    Inner(Node),
}

impl Pipeline {
    pub(crate) fn parse(stages: &[Value]) -> Result<Self, Refusal> {
        let mut nodes = Vec::with_capacity(stages.len());
        for stage in stages {
            let fields = match stage.as_document().map(|stage| &*stage.0) {
                Some([(name, Value::Document(fields))])
                    if matches!(&**name, "$set" | "$addFields") =>
                {
                    fields
                }
                _ => return Err(Refusal::unknown("stages other than `$set`")),
            };
            let mut node = Node::default();
            for (path, value) in &fields.0 {
                node.add(path, value)?;
            }
            nodes.push(node);
        }
        Ok(Self(nodes))
    }

    /// The document after all stages.
    pub(crate) fn apply(&self, old: &Fields) -> Result<Fields, Refusal> {
        let mut fields = old.clone();
        for node in &self.0 {
            let root = Value::Document(Arc::new(fields.clone()));
            node.apply(&mut fields, &Scope::of(&root))?;
        }
        take_missing(&mut fields);
        match (old.get("_id"), fields.get("_id")) {
            (Some(old), Some(new)) if !old.is_same(new) => Err(Refusal::new(
                66,
                format!(
                    "After applying the update, the (immutable) field '_id' was found to have been \
                     altered to _id: {}",
                    text::value(new)
                ),
            )),
            (Some(_), None) => Err(Refusal::unknown("a pipeline that takes the `_id` away")),
            _ => {
                fields.lead_with_id();
                Ok(fields)
            }
        }
    }
}

impl Node {
    fn add(&mut self, path: &str, value: &Value) -> Result<(), Refusal> {
        let (name, rest) = path::split(path);
        if name.is_empty() || name.starts_with('$') {
            return Err(Refusal::unknown(format_args!(
                "the path `{path}` of a stage"
            )));
        }
        let part = self.0.iter_mut().find(|(other, _)| **other == *name);
        if let Some(rest) = rest {
            return match part {
                Some((_, Part::Inner(node))) => node.add(rest, value),
                Some(_) => Err(conflict(path)),
                None => {
                    let mut node = Self::default();
                    node.add(rest, value)?;
                    self.0.push((name.into(), Part::Inner(node)));
                    Ok(())
                }
            };
        }
        if part.is_some() {
            return Err(conflict(path));
        }
        let part = match value {
            // A document that is not an expression sets its fields and keeps the others.
            Value::Document(fields) if !expression::is_call(fields) && !fields.0.is_empty() => {
                let mut node = Self::default();
                for (inner, value) in &fields.0 {
                    if inner.contains('.') {
                        return Err(Refusal::unknown("dotted names within a stage"));
                    }
                    node.add(inner, value)?;
                }
                Part::Inner(node)
            }
            value => Part::Value(Expression::parse(value)?),
        };
        self.0.push((name.into(), part));
        Ok(())
    }

    fn apply(&self, fields: &mut Fields, scope: &Scope<'_>) -> Result<(), Refusal> {
        for (name, part) in &self.0 {
            let new = match part {
                Part::Value(expression) => expression.evaluate(scope)?,
                Part::Inner(node) => Some(node.within(fields.get(name), scope)?),
            };
            // A missing value keeps its position until the last stage, because a later stage may
            // set it.
            fields.set(name, new.unwrap_or(Value::Undefined));
        }
        Ok(())
    }

    fn within(&self, old: Option<&Value>, scope: &Scope<'_>) -> Result<Value, Refusal> {
        match old {
            Some(Value::Array(items)) => {
                let items = items.iter().map(|item| self.within(Some(item), scope));
                Ok(Value::Array(Arc::new(items.collect::<Result<_, _>>()?)))
            }
            old => {
                let mut fields = old
                    .and_then(Value::as_document)
                    .cloned()
                    .unwrap_or_default();
                self.apply(&mut fields, scope)?;
                Ok(Value::Document(Arc::new(fields)))
            }
        }
    }
}

/// Removes missing values.
fn take_missing(fields: &mut Fields) {
    fields
        .0
        .retain(|(_, value)| !matches!(value, Value::Undefined));
    for (_, value) in fields.0.iter_mut().filter(|(_, value)| has_missing(value)) {
        take_missing_within(value);
    }
}

fn take_missing_within(value: &mut Value) {
    match value {
        Value::Document(inner) => take_missing(Arc::make_mut(inner)),
        Value::Array(items) => {
            let items = Arc::make_mut(items);
            items.iter_mut().for_each(take_missing_within);
        }
        _ => {}
    }
}

fn has_missing(value: &Value) -> bool {
    match value {
        Value::Undefined => true,
        Value::Document(fields) => fields.0.iter().any(|(_, value)| has_missing(value)),
        Value::Array(items) => items.iter().any(has_missing),
        _ => false,
    }
}

fn conflict(path: &str) -> Refusal {
    Refusal::unknown(format_args!("stages that set `{path}` twice"))
}

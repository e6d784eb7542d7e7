//! Expressions: those that the library writes into pipelines and projections.

mod calls;

use std::sync::Arc;

pub(crate) use self::calls::Call;
use crate::{
    error::Refusal,
    path,
    value::{Fields, Value},
};

#[derive(Debug, Clone)]
pub(crate) enum Expression {
    Literal(Value),
    /// A path from a variable; without a name, from the document itself.
    Path(Option<Box<str>>, Option<Box<str>>),
    /// `$$REMOVE`.
    Missing,
    Document(Vec<(Box<str>, Expression)>),
    Array(Vec<Expression>),
    Call(Call, Vec<Expression>),
    /// `$map`: the list, the name of each item, and the expression for it.
    Map(Box<[Expression; 2]>, Box<str>),
    /// `$filter`: the list, the name of each item, the condition.
    Filter(Box<[Expression; 2]>, Box<str>),
}

/// The document and the variables that an expression sees.
#[derive(Debug)]
pub(crate) struct Scope<'a> {
    root: &'a Value,
    variable: Option<(&'a str, &'a Value)>,
    outer: Option<&'a Scope<'a>>,
}

impl<'a> Scope<'a> {
    pub(crate) fn of(root: &'a Value) -> Self {
        Self {
            root,
            variable: None,
            outer: None,
        }
    }

    fn with(&'a self, name: &'a str, value: &'a Value) -> Self {
        Self {
            root: self.root,
            variable: Some((name, value)),
            outer: Some(self),
        }
    }

    fn get(&self, name: &str) -> Option<&'a Value> {
        match self.variable {
            Some((other, value)) if other == name => Some(value),
            _ => self.outer.and_then(|outer| outer.get(name)),
        }
    }
}

/// Whether a document is an operator call.
pub(crate) fn is_call(fields: &Fields) -> bool {
    matches!(&*fields.0, [(name, _), ..] if name.starts_with('$'))
}

impl Expression {
    pub(crate) fn parse(value: &Value) -> Result<Self, Refusal> {
        Ok(match value {
            Value::String(text) if &**text == "$$REMOVE" => Self::Missing,
            Value::String(text) if text.starts_with("$$") => {
                let (name, rest) = path::split(&text[2..]);
                match name {
                    "ROOT" | "CURRENT" => Self::Path(None, rest.map(Into::into)),
                    "NOW" | "CLUSTER_TIME" | "DESCEND" | "PRUNE" | "KEEP" => {
                        return Err(Refusal::unknown(format_args!("the variable `{name}`")));
                    }
                    name => Self::Path(Some(name.into()), rest.map(Into::into)),
                }
            }
            Value::String(text) if text.starts_with('$') => {
                Self::Path(None, Some(text[1..].into()))
            }
            Value::Document(fields) if is_call(fields) => match &*fields.0 {
                [(name, operand)] => Self::parse_call(name, operand)?,
                _ => return Err(Refusal::unknown("expressions with two operators")),
            },
            Value::Document(fields) => {
                let mut parts: Vec<(Box<str>, Self)> = Vec::with_capacity(fields.0.len());
                for (name, value) in &fields.0 {
                    if name.contains('.') || name.is_empty() {
                        return Err(Refusal::unknown("dotted names within an expression"));
                    }
                    parts.push(((**name).into(), Self::parse(value)?));
                }
                Self::Document(parts)
            }
            Value::Array(items) => Self::Array(Self::parse_all(items)?),
            value => Self::Literal(value.clone()),
        })
    }

    fn parse_all(items: &[Value]) -> Result<Vec<Self>, Refusal> {
        items.iter().map(Self::parse).collect()
    }

    fn parse_call(name: &str, operand: &Value) -> Result<Self, Refusal> {
        if name == "$literal" {
            return Ok(Self::Literal(operand.clone()));
        }
        if name == "$map" || name == "$filter" {
            let Some(fields) = operand.as_document() else {
                return Err(Refusal::unknown(format_args!("`{name}` of no document")));
            };
            let of_each = if name == "$map" { "in" } else { "cond" };
            let known = |name: &str| ["input", "as", of_each].contains(&name);
            let (Some(input), Some(body)) = (fields.get("input"), fields.get(of_each)) else {
                return Err(Refusal::unknown(format_args!("such a `{name}`")));
            };
            if fields.0.iter().any(|(name, _)| !known(name)) {
                return Err(Refusal::unknown(format_args!("such a `{name}`")));
            }
            let variable = fields.get("as").and_then(Value::as_str).unwrap_or("this");
            let parts = Box::new([Self::parse(input)?, Self::parse(body)?]);
            return Ok(if name == "$map" {
                Self::Map(parts, variable.into())
            } else {
                Self::Filter(parts, variable.into())
            });
        }
        let arguments = match operand {
            Value::Array(items) => Self::parse_all(items)?,
            one => vec![Self::parse(one)?],
        };
        Ok(Self::Call(Call::named(name, arguments.len())?, arguments))
    }

    /// The value; `None` if it is missing.
    pub(crate) fn evaluate(&self, scope: &Scope<'_>) -> Result<Option<Value>, Refusal> {
        Ok(match self {
            Self::Literal(value) => Some(value.clone()),
            Self::Missing => None,
            Self::Path(None, None) => Some(scope.root.clone()),
            Self::Path(None, Some(path)) => lookup(scope.root, path),
            Self::Path(Some(variable), path) => {
                let Some(value) = scope.get(variable) else {
                    return Err(Refusal::new(
                        17_276,
                        format!("Use of undefined variable: {variable}"),
                    ));
                };
                match path {
                    None => Some(value.clone()),
                    Some(path) => lookup(value, path),
                }
            }
            Self::Document(parts) => {
                let mut fields = Fields::default();
                for (name, part) in parts {
                    if let Some(value) = part.evaluate(scope)? {
                        fields.set(name, value);
                    }
                }
                Some(Value::Document(Arc::new(fields)))
            }
            Self::Array(items) => {
                let mut values = Vec::with_capacity(items.len());
                for item in items {
                    values.push(item.evaluate(scope)?.unwrap_or(Value::Null));
                }
                Some(Value::Array(Arc::new(values)))
            }
            Self::Call(call, arguments) => call.evaluate(arguments, scope)?,
            Self::Map(parts, name) => {
                let Some(input) = list("$map", &parts[0], scope)? else {
                    return Ok(Some(Value::Null));
                };
                let mut mapped = Vec::with_capacity(input.len());
                for item in input.iter() {
                    let value = parts[1].evaluate(&scope.with(name, item))?;
                    mapped.push(value.unwrap_or(Value::Null));
                }
                Some(Value::Array(Arc::new(mapped)))
            }
            Self::Filter(parts, name) => {
                let Some(input) = list("$filter", &parts[0], scope)? else {
                    return Ok(Some(Value::Null));
                };
                let mut kept = Vec::new();
                for item in input.iter() {
                    let holds = parts[1].evaluate(&scope.with(name, item))?;
                    if holds.as_ref().is_some_and(Value::is_truthy) {
                        kept.push(item.clone());
                    }
                }
                Some(Value::Array(Arc::new(kept)))
            }
        })
    }
}

/// The list that `$map` and `$filter` iterate over; `None` for null.
fn list(
    name: &str,
    input: &Expression,
    scope: &Scope<'_>,
) -> Result<Option<Arc<Vec<Value>>>, Refusal> {
    match input.evaluate(scope)? {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items)),
        Some(other) => {
            let (code, what) = match name {
                "$map" => (16_883, "input to $map must be an array not"),
                _ => (28_651, "input to $filter must be an array not"),
            };
            Err(Refusal::new(code, format!("{what} {}", other.type_name())))
        }
    }
}

/// The value at a path; through an array, the array of its items' values.
fn lookup(value: &Value, path: &str) -> Option<Value> {
    match value {
        Value::Document(fields) => {
            let (name, rest) = path::split(path);
            let value = fields.get(name)?;
            match rest {
                // An earlier stage removed it.
                None if matches!(value, Value::Undefined) => None,
                None => Some(value.clone()),
                Some(rest) => lookup(value, rest),
            }
        }
        Value::Array(items) => {
            let items = items
                .iter()
                .filter(|item| item.as_document().is_some() || item.as_array().is_some());
            let found = items.filter_map(|item| match item {
                Value::Document(_) => lookup(item, path),
                // Nested arrays are only entered for the rest of a path.
                _ => None,
            });
            Some(Value::Array(Arc::new(found.collect())))
        }
        _ => None,
    }
}

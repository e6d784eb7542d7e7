//! Projections: the fields that a read returns.

use std::sync::Arc;

use crate::{
    error::Refusal,
    expression::{self, Expression, Scope},
    path,
    value::{Fields, Value},
};

/// The fields that are included, and those that are computed.
#[derive(Debug, Default)]
pub(crate) struct Projection {
    whole: bool,
    without_id: bool,
    included: Tree,
    computed: Vec<(Box<str>, Expression)>,
}

#[derive(Debug, Default)]
struct Tree(Vec<(Box<str>, Option<Tree>)>);

impl Projection {
    pub(crate) fn parse(projection: &Fields) -> Result<Self, Refusal> {
        let mut parsed = Self {
            whole: projection.0.is_empty(),
            ..Self::default()
        };
        for (path, value) in &projection.0 {
            match value {
                value
                    if &**path == "_id"
                        && (value.is_number() || matches!(value, Value::Boolean(_))) =>
                {
                    parsed.without_id = !value.is_truthy();
                }
                Value::Document(fields) if expression::is_call(fields) && !path.contains('.') => {
                    if fields
                        .0
                        .iter()
                        .any(|(name, _)| matches!(&**name, "$slice" | "$elemMatch" | "$meta"))
                    {
                        return Err(Refusal::unknown("projections by `$slice` and the like"));
                    }
                    parsed
                        .computed
                        .push(((**path).into(), Expression::parse(value)?));
                }
                value
                    if (value.is_number() || matches!(value, Value::Boolean(_)))
                        && value.is_truthy() =>
                {
                    if path
                        .split('.')
                        .any(|name| name.is_empty() || name.starts_with('$'))
                    {
                        return Err(Refusal::unknown(format_args!("the projection `{path}`")));
                    }
                    parsed.included.add(path)?;
                }
                _ => {
                    return Err(Refusal::unknown(format_args!(
                        "such a projection of `{path}`"
                    )));
                }
            }
        }
        if !parsed.whole
            && parsed.without_id
            && parsed.included.0.is_empty()
            && parsed.computed.is_empty()
        {
            return Err(Refusal::unknown(
                "projections that only leave something away",
            ));
        }
        Ok(parsed)
    }

    pub(crate) fn apply(&self, fields: &Arc<Fields>) -> Result<Fields, Refusal> {
        if self.whole {
            return Ok((**fields).clone());
        }
        let mut projected = Fields::default();
        for (name, value) in &fields.0 {
            if &**name == "_id" {
                if !self.without_id {
                    projected.0.push((Arc::clone(name), value.clone()));
                }
            } else if let Some(value) = self.included.field(name, value) {
                projected.0.push((Arc::clone(name), value));
            }
        }
        let root = Value::Document(Arc::clone(fields));
        for (name, expression) in &self.computed {
            if let Some(value) = expression.evaluate(&Scope::of(&root))? {
                projected.set(name, value);
            }
        }
        Ok(projected)
    }
}

impl Tree {
    fn add(&mut self, path: &str) -> Result<(), Refusal> {
        let (name, rest) = path::split(path);
        let found = self.0.iter_mut().find(|(other, _)| **other == *name);
        match (found, rest) {
            (None, None) => self.0.push((name.into(), None)),
            (None, Some(rest)) => {
                let mut inner = Self::default();
                inner.add(rest)?;
                self.0.push((name.into(), Some(inner)));
            }
            (Some((_, Some(inner))), Some(rest)) => inner.add(rest)?,
            _ => return Err(Refusal::new(31_249, format!("Path collision at {path}"))),
        }
        Ok(())
    }

    fn field(&self, name: &str, value: &Value) -> Option<Value> {
        let (_, inner) = self.0.iter().find(|(other, _)| **other == *name)?;
        match inner {
            None => Some(value.clone()),
            Some(inner) => inner.within(value),
        }
    }

    fn within(&self, value: &Value) -> Option<Value> {
        match value {
            Value::Document(fields) => {
                let fields = fields.0.iter();
                let fields = fields
                    .filter_map(|(name, value)| Some((Arc::clone(name), self.field(name, value)?)));
                Some(Value::Document(Arc::new(Fields(fields.collect()))))
            }
            Value::Array(items) => {
                let items = items.iter().filter_map(|item| self.within(item));
                Some(Value::Array(Arc::new(items.collect())))
            }
            _ => None,
        }
    }
}

//! The fields that an upsert takes from its filter.

use bson::Document;

use crate::{
    error::Refusal,
    filter::{Comparison, Filter, Test},
    path,
    value::{Fields, Value},
};

/// The document from the equalities of a filter.
///
/// The server orders them by path and refuses overlapping ones.
pub(crate) fn document(filter: &Filter) -> Result<Fields, Refusal> {
    let mut equalities: Vec<(&str, &Value)> = Vec::new();
    collect(filter, &mut equalities);
    equalities.sort_by_key(|(path, _)| *path);
    for (at, (path, _)) in equalities.iter().enumerate() {
        for (other, _) in &equalities[..at] {
            check(path, other)?;
        }
    }
    let mut fields = Fields::default();
    for (path, value) in equalities {
        if path
            .split('.')
            .any(|name| name.is_empty() || name.starts_with('$'))
        {
            return Err(Refusal::unknown(format_args!(
                "an upsert with the path `{path}`"
            )));
        }
        plant(&mut fields, path, value)?;
    }
    fields.lead_with_id();
    Ok(fields)
}

/// Whether the filter consists only of equalities, on exactly these paths.
pub(crate) fn is_equality_on(filter: &Filter, paths: &Document) -> bool {
    fn only(filter: &Filter) -> bool {
        match filter {
            Filter::And(all) => all.iter().all(only),
            Filter::Field(_, Test::Is(Comparison::Equal, _)) => true,
            _ => false,
        }
    }
    let mut equalities = Vec::new();
    if !only(filter) {
        return false;
    }
    collect(filter, &mut equalities);
    let mut asked: Vec<&str> = equalities.into_iter().map(|(path, _)| path).collect();
    let mut paths: Vec<&str> = paths.keys().map(String::as_str).collect();
    asked.sort_unstable();
    paths.sort_unstable();
    asked == paths
}

fn collect<'a>(filter: &'a Filter, found: &mut Vec<(&'a str, &'a Value)>) {
    match filter {
        Filter::And(all) => all.iter().for_each(|one| collect(one, found)),
        Filter::Field(path, Test::Is(Comparison::Equal, value)) => found.push((path, value)),
        _ => {}
    }
}

/// Refuses two overlapping equalities.
fn check(path: &str, other: &str) -> Result<(), Refusal> {
    let what = if path == other {
        format!("path '{path}' is matched twice")
    } else if is_within(path, other) {
        format!("both paths '{path}' and '{other}' are matched")
    } else {
        return Ok(());
    };
    Err(Refusal::new(
        54,
        format!("cannot infer query fields to set, {what}"),
    ))
}

/// Whether a path is inside another one.
pub(crate) fn is_within(path: &str, outer: &str) -> bool {
    path.strip_prefix(outer)
        .is_some_and(|rest| rest.starts_with('.'))
}

fn plant(fields: &mut Fields, path: &str, value: &Value) -> Result<(), Refusal> {
    let (name, rest) = path::split(path);
    let Some(rest) = rest else {
        fields.set(name, value.clone());
        return Ok(());
    };
    if fields.get(name).is_none() {
        fields.set(name, Value::Document(std::sync::Arc::default()));
    }
    match fields.get_mut(name) {
        Some(Value::Document(inner)) => plant(std::sync::Arc::make_mut(inner), rest, value),
        // Overlapping paths were refused above.
        _ => Err(Refusal::unknown("equalities that meet")),
    }
}

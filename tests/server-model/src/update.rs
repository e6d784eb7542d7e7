//! Updates by operators: `$push`, `$inc`, `$min`, `$max`, `$set`, `$setOnInsert`, `$unset`.

mod apply;
mod number;

use std::cmp::Ordering;

use crate::{
    error::Refusal,
    path, text,
    upsert::is_within,
    value::{Fields, Value},
};

/// The effect of an update on one path.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) path: Box<str>,
    pub(crate) operation: Operation,
}

#[derive(Debug, Clone)]
pub(crate) enum Operation {
    Set(Value),
    SetOnInsert(Value),
    Unset,
    Add(Value),
    Min(Value),
    Max(Value),
    Push(Vec<Value>),
}

/// The changes in the server's order: by path.
pub(crate) fn parse(update: &Fields) -> Result<Vec<Change>, Refusal> {
    let mut changes: Vec<Change> = Vec::with_capacity(8);
    for (name, fields) in &update.0 {
        if !matches!(
            &**name,
            "$push" | "$inc" | "$min" | "$max" | "$set" | "$setOnInsert" | "$unset"
        ) {
            return Err(match &**name {
                "$rename" | "$mul" | "$currentDate" | "$pull" | "$pullAll" | "$pop"
                | "$addToSet" | "$bit" => Refusal::unknown(format_args!("the operator `{name}`")),
                name => Refusal::new(
                    9,
                    format!(
                        "Unknown modifier: {name}. Expected a valid update modifier or pipeline-style \
                     update specified as an array"
                    ),
                ),
            });
        }
        let Some(fields) = fields.as_document() else {
            return Err(Refusal::new(
                9,
                format!(
                    "Modifiers operate on fields but we found type {} instead. For example: \
                 {{$mod: {{<field>: ...}}}} not {{{name}: {}}}",
                    fields.type_name(),
                    text::value(fields),
                ),
            ));
        };
        for (path, operand) in &fields.0 {
            check_path(path)?;
            let operation = operation(name, path, operand)?;
            for other in &changes {
                let meets = *other.path == **path
                    || is_within(path, &other.path)
                    || is_within(&other.path, path);
                if meets {
                    let at = if other.path.len() < path.len() {
                        &other.path
                    } else {
                        &**path
                    };
                    return Err(Refusal::new(
                        40,
                        format!("Updating the path '{path}' would create a conflict at '{at}'"),
                    ));
                }
            }
            changes.push(Change {
                path: (**path).into(),
                operation,
            });
        }
    }
    changes.sort_by(|a, b| compare_paths(&a.path, &b.path));
    Ok(changes)
}

fn check_path(path: &str) -> Result<(), Refusal> {
    if path
        .split('.')
        .any(|name| name.is_empty() || name.starts_with('$'))
    {
        return Err(Refusal::unknown(format_args!(
            "the path `{path}` of an update"
        )));
    }
    Ok(())
}

fn operation(name: &str, path: &str, operand: &Value) -> Result<Operation, Refusal> {
    let value = operand.clone();
    Ok(match name {
        "$set" => Operation::Set(value),
        "$setOnInsert" => Operation::SetOnInsert(value),
        "$unset" => Operation::Unset,
        "$min" => Operation::Min(value),
        "$max" => Operation::Max(value),
        "$inc" if value.is_number() => Operation::Add(value),
        "$inc" => {
            let value = text::value(&value);
            let message =
                format!("Cannot increment with non-numeric argument: {{{path}: {value}}}");
            return Err(Refusal::new(14, message));
        }
        _ => Operation::Push(pushed(operand)?),
    })
}

fn pushed(operand: &Value) -> Result<Vec<Value>, Refusal> {
    let modifiers = operand
        .as_document()
        .filter(|fields| fields.0.iter().any(|(name, _)| name.starts_with('$')));
    let Some(modifiers) = modifiers else {
        return Ok(vec![operand.clone()]);
    };
    match &*modifiers.0 {
        [(name, Value::Array(items))] if &**name == "$each" => Ok(items.to_vec()),
        [(name, other)] if &**name == "$each" => Err(Refusal::new(
            2,
            format!(
                "The argument to $each in $push must be an array but it was of type: {}",
                other.type_name()
            ),
        )),
        _ => Err(Refusal::unknown("modifiers of `$push` other than `$each`")),
    }
}

/// Name by name; array indexes by their number.
fn compare_paths(a: &str, b: &str) -> Ordering {
    let same = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    // The names before the first difference are equal.
    let from = a.as_bytes()[..same].iter().rposition(|byte| *byte == b'.');
    let from = from.map_or(0, |dot| dot + 1);
    let [a_name, b_name] = [a, b].map(|path| path::split(&path[from..]).0);
    let is_number = |name: &str| name.starts_with(|first: char| first.is_ascii_digit());
    if is_number(a_name)
        && is_number(b_name)
        && let (Some(a), Some(b)) = (path::place(a_name), path::place(b_name))
        && a != b
    {
        return a.cmp(&b);
    }
    a_name.cmp(b_name).then_with(|| a.len().cmp(&b.len()))
}

/// Applies the changes. Returns whether the document changed.
pub(crate) fn apply(
    changes: &[Change],
    fields: &mut Fields,
    inserting: bool,
) -> Result<bool, Refusal> {
    let mut is_other = false;
    let id = fields.get("_id").cloned();
    for change in changes {
        if matches!(change.operation, Operation::SetOnInsert(_)) && !inserting {
            continue;
        }
        let made = apply::at_path(fields, change)?;
        let of_id = &*change.path == "_id" || change.path.starts_with("_id.");
        if made && of_id && id.is_some() {
            return Err(immutable(&change.path));
        }
        is_other |= made;
    }
    Ok(is_other)
}

/// The refusal of a changed `_id`.
pub(crate) fn immutable(path: &str) -> Refusal {
    let message =
        format!("Performing an update on the path '{path}' would modify the immutable field '_id'");
    Refusal::new(66, message)
}

#[cfg(test)]
mod tests {
    use super::compare_paths;

    #[test]
    fn paths_are_ordered_name_by_name_and_places_by_their_number() {
        for (a, b) in [
            ("a", "a.b"),
            ("a.b", "ab"),
            ("a.9", "a.10"),
            ("a.10", "a.9b"),
            ("a.b", "a.b%"),
            ("a.b", "a%"),
            ("a.2.z", "a.10.b"),
        ] {
            assert!(compare_paths(a, b).is_lt(), "{a} {b}");
            assert!(compare_paths(b, a).is_gt(), "{b} {a}");
        }
    }
}

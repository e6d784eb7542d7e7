//! Filters from BSON.

use super::{Comparison, Filter, Kind, Test};
use crate::{
    error::Refusal,
    value::{Fields, Value},
};

const KINDS: [(&str, i64); 14] = [
    ("double", 1),
    ("string", 2),
    ("object", 3),
    ("array", 4),
    ("binData", 5),
    ("objectId", 7),
    ("bool", 8),
    ("date", 9),
    ("null", 10),
    ("int", 16),
    ("timestamp", 17),
    ("long", 18),
    ("minKey", -1),
    ("maxKey", 127),
];

pub(crate) fn parse(filter: &[u8]) -> Result<Filter, Refusal> {
    parse_fields(&Fields::read(filter)?)
}

pub(crate) fn parse_fields(filter: &Fields) -> Result<Filter, Refusal> {
    let mut all = Vec::with_capacity(filter.0.len());
    for (name, value) in &filter.0 {
        match &**name {
            "$and" => all.extend(branches(name, value)?),
            "$or" => {
                let mut any = branches(name, value)?;
                // An `$or` with one branch is no choice.
                all.push(if any.len() == 1 {
                    any.remove(0)
                } else {
                    Filter::Or(any)
                });
            }
            "$nor" => all.push(Filter::Not(Box::new(Filter::Or(branches(name, value)?)))),
            name if name.starts_with('$') => {
                return Err(Refusal::unknown(format_args!("the filter `{name}`")));
            }
            path => field(path, value, &mut all)?,
        }
    }
    Ok(Filter::And(all))
}

fn branches(name: &str, value: &Value) -> Result<Vec<Filter>, Refusal> {
    let branches = value.as_array().filter(|branches| !branches.is_empty());
    let branches = branches
        .ok_or_else(|| Refusal::new(2, format!("{name} argument must be a nonempty array")))?;
    let mut filters = Vec::with_capacity(branches.len());
    for branch in branches {
        let Some(branch) = branch.as_document() else {
            return Err(Refusal::new(
                2,
                "$or/$and/$nor entries need to be full objects",
            ));
        };
        filters.push(parse_fields(branch)?);
    }
    Ok(filters)
}

/// Whether a value is a document of operators.
fn operators(value: &Value) -> Option<&Fields> {
    let fields = value.as_document()?;
    let (first, _) = fields.0.first()?;
    first.starts_with('$').then_some(fields)
}

fn field(path: &str, value: &Value, all: &mut Vec<Filter>) -> Result<(), Refusal> {
    let Some(operators) = operators(value) else {
        all.push(is(path, Comparison::Equal, value));
        return Ok(());
    };
    for (name, operand) in &operators.0 {
        all.push(operator(path, name, operand)?);
    }
    Ok(())
}

fn is(path: &str, comparison: Comparison, value: &Value) -> Filter {
    Filter::Field(path.into(), Test::Is(comparison, value.clone()))
}

fn not(filter: Filter) -> Filter {
    Filter::Not(Box::new(filter))
}

fn operator(path: &str, name: &str, operand: &Value) -> Result<Filter, Refusal> {
    let of = |test| Filter::Field(path.into(), test);
    Ok(match name {
        "$eq" => is(path, Comparison::Equal, operand),
        "$ne" => not(is(path, Comparison::Equal, operand)),
        "$lt" => is(path, Comparison::Less, operand),
        "$lte" => is(path, Comparison::LessOrEqual, operand),
        "$gt" => is(path, Comparison::Greater, operand),
        "$gte" => is(path, Comparison::GreaterOrEqual, operand),
        "$in" => one_of(path, name, operand)?,
        "$nin" => not(one_of(path, name, operand)?),
        "$exists" if operand.is_truthy() => of(Test::Exists),
        "$exists" => not(of(Test::Exists)),
        "$type" => of(Test::Type(kinds(operand)?)),
        "$size" => of(Test::Size(size(operand)?)),
        "$not" => {
            let Some(inner) = operators(operand) else {
                return Err(Refusal::new(2, "$not needs a regex or a document"));
            };
            let mut all = Vec::new();
            for (name, operand) in &inner.0 {
                all.push(operator(path, name, operand)?);
            }
            not(Filter::And(all))
        }
        "$elemMatch" => {
            let Some(inner) = operand.as_document() else {
                return Err(Refusal::new(2, "$elemMatch needs an Object"));
            };
            let of_values = operators(operand)
                .is_some_and(|inner| !["$and", "$or", "$nor"].contains(&&*inner.0[0].0));
            if of_values {
                let mut tests = Vec::new();
                for (name, operand) in &inner.0 {
                    if name.as_ref() == "$elemMatch" {
                        return Err(Refusal::unknown("`$elemMatch` on items of items"));
                    }
                    tests.push(operator("", name, operand)?);
                }
                of(Test::ItemValue(tests))
            } else {
                of(Test::Item(Box::new(parse_fields(inner)?)))
            }
        }
        name => return Err(Refusal::unknown(format_args!("the operator `{name}`"))),
    })
}

fn one_of(path: &str, name: &str, operand: &Value) -> Result<Filter, Refusal> {
    let Some(list) = operand.as_array() else {
        return Err(Refusal::new(2, format!("{name} needs an array")));
    };
    // The server treats a list of one as an equality.
    Ok(match list {
        [one] => is(path, Comparison::Equal, one),
        list => Filter::Field(path.into(), Test::In(list.to_vec())),
    })
}

fn size(operand: &Value) -> Result<usize, Refusal> {
    let whole = operand.as_whole();
    whole
        .and_then(|size| usize::try_from(size).ok())
        .ok_or_else(|| Refusal::unknown("a `$size` that is no number of items"))
}

fn kinds(operand: &Value) -> Result<Vec<Kind>, Refusal> {
    let list = match operand {
        Value::Array(list) => list,
        one => std::slice::from_ref(one),
    };
    let kind = |one: &Value| {
        let found = match one {
            Value::String(name) if &**name == "number" => Some(Kind::Number),
            Value::String(name) => KINDS
                .iter()
                .find(|(known, _)| **known == **name)
                .map(|(known, _)| Kind::Named(known)),
            number => KINDS
                .iter()
                .find(|(_, known)| number.as_whole() == Some(*known))
                .map(|(known, _)| Kind::Named(known)),
        };
        found.ok_or_else(|| Refusal::unknown(format_args!("the type {}", crate::text::value(one))))
    };
    list.iter().map(kind).collect()
}

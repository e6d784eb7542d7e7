//! Filters: which documents they match.

mod parse;

use std::cmp::Ordering;

pub(crate) use self::parse::{parse, parse_fields};
use crate::{
    order::{bracket, compare},
    path,
    value::{Fields, Value},
};

#[derive(Debug, Clone)]
pub(crate) enum Filter {
    And(Vec<Filter>),
    Or(Vec<Filter>),
    Not(Box<Filter>),
    Field(Box<str>, Test),
}

/// A condition on the values at a path.
#[derive(Debug, Clone)]
pub(crate) enum Test {
    Is(Comparison, Value),
    In(Vec<Value>),
    Exists,
    Type(Vec<Kind>),
    /// An array of this many items.
    Size(usize),
    /// An item of an array is a document that matches.
    Item(Box<Filter>),
    /// An item of an array meets all of these conditions.
    ItemValue(Vec<Filter>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// The types that `$type` accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Named(&'static str),
    Number,
}

impl Filter {
    pub(crate) fn matches(&self, fields: &Fields) -> bool {
        match self {
            Self::And(all) => all.iter().all(|one| one.matches(fields)),
            Self::Or(any) => any.iter().any(|one| one.matches(fields)),
            Self::Not(inner) => !inner.matches(fields),
            Self::Field(path, test) => {
                path::any(fields, path, test.expands(), &mut |value| test.holds(value))
            }
        }
    }

    /// The value that the `_id`, or another field of the document itself, must equal.
    pub(crate) fn equal_to(&self, name: &str) -> Option<&Value> {
        match self {
            Self::And(all) => all.iter().find_map(|one| one.equal_to(name)),
            Self::Field(path, Test::Is(Comparison::Equal, value)) if **path == *name => Some(value),
            _ => None,
        }
    }

    /// Whether the filter bounds the values of a field, so that the server uses an index for it.
    pub(crate) fn is_bounded(&self, name: &str) -> bool {
        match self {
            Self::And(all) => all.iter().any(|one| one.is_bounded(name)),
            Self::Field(path, Test::Is(..) | Test::In(_)) => **path == *name,
            _ => false,
        }
    }

    /// The fields of a document that the filter reads.
    pub(crate) fn each_root(&self, take: &mut dyn FnMut(&str)) {
        match self {
            Self::And(all) | Self::Or(all) => all.iter().for_each(|one| one.each_root(take)),
            Self::Not(inner) => inner.each_root(take),
            Self::Field(path, _) => take(path::split(path).0),
        }
    }

    /// Whether there is a condition of any kind on a field.
    pub(crate) fn mentions(&self, name: &str) -> bool {
        match self {
            Self::And(all) | Self::Or(all) => all.iter().any(|one| one.mentions(name)),
            Self::Not(inner) => inner.mentions(name),
            Self::Field(path, _) => **path == *name,
        }
    }

    /// Whether one of several branches decides.
    pub(crate) fn has_branches(&self) -> bool {
        match self {
            Self::And(all) => all.iter().any(Self::has_branches),
            Self::Or(_) => true,
            Self::Not(_) | Self::Field(..) => false,
        }
    }
}

impl Test {
    fn expands(&self) -> bool {
        !matches!(
            self,
            Self::Exists | Self::Size(_) | Self::Item(_) | Self::ItemValue(_)
        )
    }

    pub(crate) fn holds(&self, value: Option<&Value>) -> bool {
        match self {
            Self::Is(comparison, operand) => is(*comparison, value, operand),
            Self::In(list) => match value {
                Some(value) => list.iter().any(|one| compare(value, one).is_eq()),
                None => list.iter().any(|one| matches!(one, Value::Null)),
            },
            Self::Exists => value.is_some(),
            Self::Type(kinds) => value.is_some_and(|value| {
                kinds.iter().any(|kind| match kind {
                    Kind::Named(name) => value.type_name() == *name,
                    Kind::Number => value.is_number(),
                })
            }),
            Self::Size(size) => {
                let array = value.and_then(Value::as_array);
                array.is_some_and(|items| items.len() == *size)
            }
            Self::Item(filter) => items(value).any(|item| match item {
                Value::Document(fields) => filter.matches(fields),
                Value::Array(inner) => filter.matches(&as_document(inner)),
                _ => false,
            }),
            Self::ItemValue(tests) => items(value).any(|item| {
                let alone = Fields(vec![("".into(), item.clone())]);
                tests.iter().all(|test| test.matches_item(&alone))
            }),
        }
    }
}

impl Filter {
    /// Like `matches`, for a document whose only field is an item; the item's own items are
    /// ignored.
    fn matches_item(&self, alone: &Fields) -> bool {
        match self {
            Self::And(all) => all.iter().all(|one| one.matches_item(alone)),
            Self::Or(any) => any.iter().any(|one| one.matches_item(alone)),
            Self::Not(inner) => !inner.matches_item(alone),
            Self::Field(_, test) => test.holds(alone.get("")),
        }
    }
}

fn items(value: Option<&Value>) -> std::slice::Iter<'_, Value> {
    value.and_then(Value::as_array).unwrap_or_default().iter()
}

/// An array as a document whose field names are its indexes.
fn as_document(items: &[Value]) -> Fields {
    let items = items.iter().enumerate();
    Fields(
        items
            .map(|(at, item)| (at.to_string().into(), item.clone()))
            .collect(),
    )
}

fn is(comparison: Comparison, value: Option<&Value>, operand: &Value) -> bool {
    use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual};
    // A missing value equals null. In any other order, it only compares with the ends of the order.
    let is_null = matches!(value, None | Some(Value::Null));
    if is_null && matches!(operand, Value::Null) {
        return matches!(comparison, Equal | LessOrEqual | GreaterOrEqual);
    }
    let Some(value) = value.filter(|value| bracket(value) == bracket(operand)) else {
        return match operand {
            Value::MaxKey => matches!(comparison, Less | LessOrEqual),
            Value::MinKey => matches!(comparison, Greater | GreaterOrEqual),
            _ => false,
        };
    };
    let nan = |value: &Value| matches!(value, Value::Double(number) if number.is_nan());
    if nan(value) || nan(operand) {
        let both = nan(value) && nan(operand);
        return both && matches!(comparison, Equal | LessOrEqual | GreaterOrEqual);
    }
    let order = compare(value, operand);
    match comparison {
        Equal => order == Ordering::Equal,
        Less => order.is_lt(),
        LessOrEqual => order.is_le(),
        Greater => order.is_gt(),
        GreaterOrEqual => order.is_ge(),
    }
}

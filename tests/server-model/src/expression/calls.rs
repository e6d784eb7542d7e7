//! The operators of expressions.

use std::sync::Arc;

use super::{Expression, Scope};
use crate::{
    error::Refusal,
    order::compare,
    text::digits,
    value::{Fields, Value},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Add,
    Subtract,
    Divide,
    IfNull,
    Min,
    Max,
    ConcatArrays,
    MergeObjects,
    Cond,
    Type,
    ToLong,
    In,
    Eq,
    Ne,
    Lt,
    Lte,
    Gt,
    Gte,
    And,
    Or,
    Not,
}

impl Call {
    pub(super) fn named(name: &str, arguments: usize) -> Result<Self, Refusal> {
        let (call, takes) = match name {
            "$add" => (Self::Add, 0..=usize::MAX),
            "$subtract" => (Self::Subtract, 2..=2),
            "$divide" => (Self::Divide, 2..=2),
            "$ifNull" => (Self::IfNull, 2..=usize::MAX),
            // With one argument, they operate on the items of a list.
            "$min" => (Self::Min, 2..=usize::MAX),
            "$max" => (Self::Max, 2..=usize::MAX),
            "$concatArrays" => (Self::ConcatArrays, 0..=usize::MAX),
            "$mergeObjects" => (Self::MergeObjects, 0..=usize::MAX),
            "$cond" => (Self::Cond, 3..=3),
            "$type" => (Self::Type, 1..=1),
            "$toLong" => (Self::ToLong, 1..=1),
            "$in" => (Self::In, 2..=2),
            "$eq" => (Self::Eq, 2..=2),
            "$ne" => (Self::Ne, 2..=2),
            "$lt" => (Self::Lt, 2..=2),
            "$lte" => (Self::Lte, 2..=2),
            "$gt" => (Self::Gt, 2..=2),
            "$gte" => (Self::Gte, 2..=2),
            "$and" => (Self::And, 0..=usize::MAX),
            "$or" => (Self::Or, 0..=usize::MAX),
            "$not" => (Self::Not, 1..=1),
            name => return Err(Refusal::unknown(format_args!("the expression `{name}`"))),
        };
        if takes.contains(&arguments) {
            Ok(call)
        } else {
            Err(Refusal::unknown(format_args!(
                "`{name}` of {arguments} arguments"
            )))
        }
    }

    pub(super) fn evaluate(
        self,
        arguments: &[Expression],
        scope: &Scope<'_>,
    ) -> Result<Option<Value>, Refusal> {
        match self {
            Self::Cond => {
                let holds = arguments[0].evaluate(scope)?;
                let branch = usize::from(!holds.as_ref().is_some_and(Value::is_truthy)) + 1;
                return arguments[branch].evaluate(scope);
            }
            Self::IfNull => {
                for argument in &arguments[..arguments.len() - 1] {
                    match argument.evaluate(scope)? {
                        None | Some(Value::Null) => {}
                        found => return Ok(found),
                    }
                }
                return arguments[arguments.len() - 1].evaluate(scope);
            }
            Self::And | Self::Or => {
                for argument in arguments {
                    let holds = argument.evaluate(scope)?;
                    let holds = holds.as_ref().is_some_and(Value::is_truthy);
                    if holds == (self == Self::Or) {
                        return Ok(Some(Value::Boolean(holds)));
                    }
                }
                return Ok(Some(Value::Boolean(self == Self::And)));
            }
            // These evaluate their arguments in order and stop at the first that decides.
            Self::Add => return sum(arguments.iter().map(|it| it.evaluate(scope))).map(Some),
            Self::ConcatArrays => {
                return concatenated(arguments.iter().map(|it| it.evaluate(scope))).map(Some);
            }
            Self::MergeObjects => {
                return merged(arguments.iter().map(|it| it.evaluate(scope))).map(Some);
            }
            _ => {}
        }
        let mut values = Vec::with_capacity(arguments.len());
        for argument in arguments {
            values.push(argument.evaluate(scope)?);
        }
        Ok(match self {
            Self::Subtract => Some(difference(&values)?),
            Self::Divide => Some(quotient(&values)?),
            Self::Min | Self::Max => Some(extreme(&values, self == Self::Min)),
            Self::Type => {
                let name = values[0].as_ref().map_or("missing", Value::type_name);
                Some(Value::String(name.into()))
            }
            Self::ToLong => Some(long(values[0].as_ref())?),
            Self::In => {
                let Some(Value::Array(list)) = &values[1] else {
                    let found = values[1].as_ref().map_or("missing", Value::type_name);
                    return Err(Refusal::new(
                        40_081,
                        format!("$in requires an array as a second argument, found: {found}"),
                    ));
                };
                let found = list
                    .iter()
                    .any(|one| ordered(Some(one), values[0].as_ref()).is_eq());
                Some(Value::Boolean(found))
            }
            Self::Not => Some(Value::Boolean(
                !values[0].as_ref().is_some_and(Value::is_truthy),
            )),
            _ => {
                let order = ordered(values[0].as_ref(), values[1].as_ref());
                Some(Value::Boolean(match self {
                    Self::Eq => order.is_eq(),
                    Self::Ne => order.is_ne(),
                    Self::Lt => order.is_lt(),
                    Self::Lte => order.is_le(),
                    Self::Gt => order.is_gt(),
                    _ => order.is_ge(),
                }))
            }
        })
    }
}

/// A missing value comes before null.
fn ordered(a: Option<&Value>, b: Option<&Value>) -> std::cmp::Ordering {
    let undefined = &Value::Undefined;
    compare(a.unwrap_or(undefined), b.unwrap_or(undefined))
}

/// A sum of doubles that keeps rounding errors, as the server's `$add` does. Source: Knuth, "The
/// Art of Computer Programming", volume 2, section 4.2.2, theorem B.
#[derive(Debug, Default)]
struct Total {
    sum: f64,
    rest: f64,
    /// The sum without the correction, for values that are not finite.
    plain: f64,
}

impl Total {
    fn add(&mut self, number: f64) {
        self.plain += number;
        let sum = self.sum + number;
        let part = sum - self.sum;
        self.rest += (self.sum - (sum - part)) + (number - part);
        self.sum = sum;
    }

    fn get(&self) -> f64 {
        let total = self.sum + self.rest;
        if total.is_nan() { self.plain } else { total }
    }
}

/// An argument's value; `None` if it is missing.
type Argument = Result<Option<Value>, Refusal>;

#[allow(clippy::cast_precision_loss)]
fn sum(values: impl Iterator<Item = Argument>) -> Result<Value, Refusal> {
    let mut whole = 0_i128;
    let mut total = Total::default();
    let mut is_double = false;
    let mut is_long = false;
    for value in values {
        match value? {
            None | Some(Value::Null) => return Ok(Value::Null),
            Some(Value::Int32(number)) => {
                whole += i128::from(number);
                total.add(f64::from(number));
            }
            Some(Value::Int64(number)) => {
                is_long = true;
                whole += i128::from(number);
                // In two parts that doubles can hold.
                let high = number / (1 << 32) * (1 << 32);
                total.add((number - high) as f64);
                total.add(high as f64);
            }
            Some(Value::Double(number)) => {
                is_double = true;
                total.add(number);
            }
            Some(Value::DateTime(_)) => return Err(Refusal::unknown("the sum of dates")),
            Some(other) => {
                return Err(Refusal::new(
                    16_554,
                    format!(
                        "$add only supports numeric or date types, not {}",
                        other.type_name()
                    ),
                ));
            }
        }
    }
    if is_double {
        return Ok(Value::Double(total.get()));
    }
    if !is_long && let Ok(number) = i32::try_from(whole) {
        return Ok(Value::Int32(number));
    }
    // A sum that does not fit in 64 bits continues as a double.
    Ok(i64::try_from(whole).map_or(Value::Double(whole as f64), Value::Int64))
}

fn difference(values: &[Option<Value>]) -> Result<Value, Refusal> {
    let [Some(a), Some(b)] = values else {
        return Ok(Value::Null);
    };
    let negative = match b {
        Value::Null => Value::Null,
        Value::Int32(number) => number
            .checked_neg()
            .map_or(Value::Int64(-i64::from(*number)), Value::Int32),
        Value::Int64(number) => number
            .checked_neg()
            .map_or(Value::Double(2_f64.powi(63)), Value::Int64),
        Value::Double(number) => Value::Double(-number),
        _ => {
            return Err(Refusal::unknown(
                "the difference of other values than numbers",
            ));
        }
    };
    if !a.is_number() && !matches!(a, Value::Null) {
        return Err(Refusal::unknown(
            "the difference of other values than numbers",
        ));
    }
    sum([Ok(Some(a.clone())), Ok(Some(negative))].into_iter())
}

fn quotient(values: &[Option<Value>]) -> Result<Value, Refusal> {
    let [Some(a), Some(b)] = values else {
        return Ok(Value::Null);
    };
    match (a.as_double(), b.as_double()) {
        (_, Some(0.0)) if a.is_number() => Err(Refusal::new(2, "can't $divide by zero")),
        (Some(a), Some(b)) => Ok(Value::Double(a / b)),
        _ if matches!(a, Value::Null) || matches!(b, Value::Null) => Ok(Value::Null),
        _ => Err(Refusal::new(
            14,
            format!(
                "$divide only supports numeric types, not {} and {}",
                a.type_name(),
                b.type_name()
            ),
        )),
    }
}

/// The smallest or the largest value, the first of equal ones. Null and missing values are ignored.
fn extreme(values: &[Option<Value>], smallest: bool) -> Value {
    let mut best: Option<&Value> = None;
    for value in values.iter().flatten() {
        if matches!(value, Value::Null) {
            continue;
        }
        let better = best.is_none_or(|best| {
            let order = compare(value, best);
            if smallest {
                order.is_lt()
            } else {
                order.is_gt()
            }
        });
        if better {
            best = Some(value);
        }
    }
    best.cloned().unwrap_or(Value::Null)
}

fn concatenated(values: impl Iterator<Item = Argument>) -> Result<Value, Refusal> {
    let mut all: Option<Arc<Vec<Value>>> = None;
    for value in values {
        match value? {
            None | Some(Value::Null) => return Ok(Value::Null),
            Some(Value::Array(items)) => match &mut all {
                None => all = Some(items),
                Some(all) => Arc::make_mut(all).extend(items.iter().cloned()),
            },
            Some(other) => {
                return Err(Refusal::new(
                    28_664,
                    format!(
                        "$concatArrays only supports arrays, not {}",
                        other.type_name()
                    ),
                ));
            }
        }
    }
    Ok(Value::Array(all.unwrap_or_default()))
}

fn merged(values: impl Iterator<Item = Argument>) -> Result<Value, Refusal> {
    let mut all = Fields::default();
    for value in values {
        match value? {
            None | Some(Value::Null) => {}
            Some(Value::Document(fields)) => {
                for (name, value) in &fields.0 {
                    all.set(name, value.clone());
                }
            }
            Some(other) => {
                return Err(Refusal::new(
                    40_400,
                    format!(
                        "$mergeObjects requires object inputs, but input {} is of type {}", // prose: allow
                        crate::text::value(&other),
                        other.type_name()
                    ),
                ));
            }
        }
    }
    Ok(Value::Document(Arc::new(all)))
}

#[allow(clippy::cast_possible_truncation)]
fn long(value: Option<&Value>) -> Result<Value, Refusal> {
    Ok(match value {
        None | Some(Value::Null) => Value::Null,
        Some(Value::Int32(number)) => Value::Int64(i64::from(*number)),
        Some(Value::Int64(number) | Value::DateTime(number)) => Value::Int64(*number),
        Some(Value::Boolean(value)) => Value::Int64(i64::from(*value)),
        Some(Value::Double(number)) => {
            let bounds = -9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0;
            if !bounds.contains(number) {
                let what = if number.is_nan() {
                    "Attempt to convert NaN value to integer type"
                } else if number.is_infinite() {
                    "Attempt to convert infinity value to integer type"
                } else {
                    "Conversion would overflow target type"
                };
                let mut message = format!("{what} in $convert with no onError value");
                if number.is_finite() {
                    message = format!("{message}: {}", digits(*number, 6));
                }
                return Err(Refusal::new(241, message));
            }
            Value::Int64(*number as i64)
        }
        Some(other @ Value::String(_)) => {
            return Err(Refusal::unknown(format_args!(
                "`$toLong` of a {}",
                other.type_name()
            )));
        }
        Some(other) => {
            return Err(Refusal::new(
                241,
                format!(
                    "Unsupported conversion from {} to long in $convert with no onError value",
                    other.type_name()
                ),
            ));
        }
    })
}

//! Measures: the types that a bucket can sum, compare and average.

use std::cmp::Ordering;

/// A number to aggregate. Integers stay exact.
///
/// ```
/// use bucket_core::{Measure, Number};
/// assert_eq!(7_i32.to_number(), Some(Number::Int(7)));
/// assert_eq!(Some(0.5_f64).to_number(), Some(Number::Float(0.5)));
/// assert_eq!(None::<f64>.to_number(), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// An integer.
    Int(i64),
    /// A floating point number.
    Float(f64),
}

impl Number {
    /// As a floating point number. Integers beyond 2^53 are rounded.
    ///
    /// ```
    /// assert_eq!(bucket_core::Number::Int(3).to_f64(), 3.0);
    /// ```
    #[must_use]
    #[allow(
        clippy::cast_precision_loss,
        reason = "the rounding is what is asked for"
    )]
    pub const fn to_f64(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::Float(value) => value,
        }
    }

    /// Compares as the server does: NaN before all others, integers and floats exactly.
    pub(crate) fn compare(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => a.cmp(&b),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(&b).unwrap_or_else(|| {
                // One of them is NaN.
                b.is_nan().cmp(&a.is_nan())
            }),
            (Self::Int(a), Self::Float(b)) => compare_exactly(a, b),
            (Self::Float(a), Self::Int(b)) => compare_exactly(b, a).reverse(),
        }
    }
}

fn compare_exactly(integer: i64, float: f64) -> Ordering {
    if float.is_nan() {
        return Ordering::Greater;
    }
    // A float of 64 bits or more is whole, and the conversion saturates far beyond `i64`.
    #[allow(clippy::cast_possible_truncation)]
    let whole = float.trunc() as i128;
    i128::from(integer).cmp(&whole).then_with(|| {
        0.0_f64
            .partial_cmp(&float.fract())
            .unwrap_or(Ordering::Equal)
    })
}

/// A type whose values can be aggregated: floats, integers that BSON holds, and options of them.
///
/// Implement it for your own newtype by forwarding to its number.
///
/// ```
/// use bucket_core::Measure;
///
/// fn total<M: Measure>(values: &[M]) -> f64 {
///     values.iter().filter_map(Measure::to_number).map(|number| number.to_f64()).sum()
/// }
/// assert_eq!(total(&[Some(1_u32), None, Some(2)]), 3.0);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be aggregated",
    label = "not a number that a bucket can aggregate",
    note = "a bucket aggregates `f64`, `f32`, integers up to `i64` and `u32`, and options of them"
)]
pub trait Measure {
    /// The type of the smallest, largest, first and last value.
    type Value;
    /// The type of a sum.
    type Sum;

    /// The number; `None` if the value is missing.
    fn to_number(&self) -> Option<Number>;

    /// The value of a stored number; `None` if the type cannot hold it.
    fn from_number(number: Number) -> Option<Self::Value>;

    /// The sum of a stored number; `None` if the type cannot hold it.
    fn sum_from(number: Number) -> Option<Self::Sum>;
}

fn whole(number: Number) -> Option<i64> {
    match number {
        Number::Int(value) => Some(value),
        Number::Float(value) => super::whole::of_double(value),
    }
}

macro_rules! integers {
    ($($ty:ty),+) => {$(
        impl Measure for $ty {
            type Value = $ty;
            type Sum = i64;

            fn to_number(&self) -> Option<Number> {
                Some(Number::Int(i64::from(*self)))
            }

            fn from_number(number: Number) -> Option<$ty> {
                whole(number).and_then(|value| <$ty>::try_from(value).ok())
            }

            fn sum_from(number: Number) -> Option<i64> {
                whole(number)
            }
        }
    )+};
}

integers!(i8, i16, i32, i64, u8, u16, u32);

impl Measure for f64 {
    type Value = f64;
    type Sum = f64;

    fn to_number(&self) -> Option<Number> {
        Some(Number::Float(*self))
    }

    fn from_number(number: Number) -> Option<f64> {
        Some(number.to_f64())
    }

    fn sum_from(number: Number) -> Option<f64> {
        Some(number.to_f64())
    }
}

impl Measure for f32 {
    type Value = f32;
    type Sum = f64;

    fn to_number(&self) -> Option<Number> {
        Some(Number::Float(f64::from(*self)))
    }

    #[allow(
        clippy::cast_possible_truncation,
        reason = "what was stored was an `f32`"
    )]
    fn from_number(number: Number) -> Option<f32> {
        Some(number.to_f64() as f32)
    }

    fn sum_from(number: Number) -> Option<f64> {
        Some(number.to_f64())
    }
}

impl<M: Measure> Measure for Option<M> {
    type Value = M::Value;
    type Sum = M::Sum;

    fn to_number(&self) -> Option<Number> {
        self.as_ref().and_then(M::to_number)
    }

    fn from_number(number: Number) -> Option<M::Value> {
        M::from_number(number)
    }

    fn sum_from(number: Number) -> Option<M::Sum> {
        M::sum_from(number)
    }
}

//! Sums over any number of buckets: integers exactly, floats compensated.

use crate::model::measure::Number;

/// A running sum.
///
/// Source of the compensation: Neumaier, "Rundungsfehleranalyse einiger Verfahren zur Summation
/// endlicher Summen", ZAMM 54 (1974).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sum {
    /// It has room for 2^64 values of 64 bits.
    integers: i128,
    floats: f64,
    /// What was lost by rounding.
    lost: f64,
    has_integers: bool,
    has_floats: bool,
    /// Whether a NaN or an infinity was stored.
    not_finite: bool,
}

/// A sum that no stored number can hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TooLarge;

impl Sum {
    pub(super) const NOTHING: Self = Self {
        integers: 0,
        // So that a signed zero keeps its sign.
        floats: -0.0,
        lost: 0.0,
        has_integers: false,
        has_floats: false,
        not_finite: false,
    };

    #[inline]
    pub(super) fn add(&mut self, value: Number) {
        match value {
            Number::Int(value) => {
                self.has_integers = true;
                self.integers += i128::from(value);
            }
            Number::Float(value) => {
                self.has_floats = true;
                self.not_finite |= !value.is_finite();
                self.add_float(value);
            }
        }
    }

    fn add_float(&mut self, value: f64) {
        let sum = self.floats + value;
        self.lost += if self.floats.abs() >= value.abs() {
            (self.floats - sum) + value
        } else {
            (value - sum) + self.floats
        };
        self.floats = sum;
    }

    /// The sum as a bucket stores it: values added one after the other, rounded each time. All
    /// values are integers, or all are floats. `None` for no values.
    pub(super) fn in_order(&self) -> Option<Number> {
        if self.has_floats {
            return Some(Number::Float(self.floats));
        }
        // Values were checked to be so small that no sum over a bucket overflows.
        let sum = i64::try_from(self.integers).unwrap_or(i64::MAX);
        self.has_integers.then_some(Number::Int(sum))
    }

    /// The sum; `None` for no values.
    pub(super) fn total(mut self) -> Result<Option<Number>, TooLarge> {
        if !self.has_floats {
            let whole = || i64::try_from(self.integers).map_err(|_| TooLarge);
            return Ok(if self.has_integers {
                Some(Number::Int(whole()?))
            } else {
                None
            });
        }
        if self.has_integers {
            // Rounded once: the type of the field changed from integers to floats.
            #[allow(clippy::cast_precision_loss)]
            self.add_float(self.integers as f64);
        }
        let compensated = self.floats + self.lost;
        // With an infinity among the values, the compensation is NaN.
        let total = if self.not_finite {
            self.floats
        } else {
            compensated
        };
        if total.is_finite() || self.not_finite {
            Ok(Some(Number::Float(total)))
        } else {
            Err(TooLarge)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Sum, TooLarge};
    use crate::model::measure::Number;

    fn total(values: impl IntoIterator<Item = Number>) -> Result<Option<Number>, TooLarge> {
        let mut sum = Sum::NOTHING;
        values.into_iter().for_each(|value| sum.add(value));
        sum.total()
    }

    #[test]
    fn integers_are_exact_beyond_64_bits_on_the_way_and_refused_at_the_end() {
        let [max, min] = [i64::MAX, i64::MIN].map(Number::Int);
        assert_eq!(total([max, max, min, min]), Ok(Some(Number::Int(-2))));
        assert_eq!(total([max, Number::Int(1)]), Err(TooLarge));
        assert_eq!(total([]), Ok(None));
    }

    #[test]
    fn what_rounding_loses_is_kept() {
        let values = [1.0, 1e100, 1.0, -1e100].map(Number::Float);
        assert_eq!(total(values), Ok(Some(Number::Float(2.0))));
    }

    #[test]
    fn infinities_that_were_stored_stay_and_those_of_the_sum_are_refused() {
        let infinite = [f64::INFINITY, 1.0].map(Number::Float);
        assert_eq!(total(infinite), Ok(Some(Number::Float(f64::INFINITY))));
        assert_eq!(total([f64::MAX; 2].map(Number::Float)), Err(TooLarge));
    }
}

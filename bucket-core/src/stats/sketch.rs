//! Quantile sketches: percentiles with a stated relative error, mergeable by addition.
//!
//! The sketch is a histogram whose bins grow geometrically: with the relative error `a` and
//! `g = (1 + a) / (1 - a)` the bin `i` holds the values in `(g^(i-1), g^i]`, and `2 g^i / (g + 1)`
//! is within `a` of all of them. Source: Masson, Rim and Lee, "`DDSketch`: a fast and fully-mergeable
//! quantile sketch with relative-error guarantees", VLDB 2019.
//!
//! Stored form: a document `e<error in parts per million>` of counters: `p<i>` for positive values,
//! `n<i>` for negative ones by their magnitude, `z` for zero. Counters only grow by `$inc`, so
//! writers need no coordination, and adding counters merges sketches of one error. The error is
//! part of the path: after the model's error changes, a bucket keeps both sketches apart.

use std::collections::BTreeMap;

/// A bin of a sketch. Bins order as their values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Bin {
    /// Values below zero; the greatest magnitudes come first.
    Negative(std::cmp::Reverse<i32>),
    Zero,
    Positive(i32),
}

/// Smaller magnitudes count as zero: their reciprocal is not finite.
const SMALLEST: f64 = f64::MIN_POSITIVE;

impl Bin {
    /// The bin of a finite value.
    pub(crate) fn of(value: f64, error_ppm: u32) -> Self {
        let magnitude = value.abs();
        if magnitude < SMALLEST || magnitude.is_nan() {
            return Self::Zero;
        }
        // The logarithm of a double is below 746, and gamma's is above 2e-6.
        #[allow(clippy::cast_possible_truncation)]
        let index = (magnitude.ln() / gamma(error_ppm).ln()).ceil() as i32;
        if value > 0.0 {
            Self::Positive(index)
        } else {
            Self::Negative(std::cmp::Reverse(index))
        }
    }

    /// The value that represents the bin.
    fn value(self, error_ppm: u32) -> f64 {
        let gamma = gamma(error_ppm);
        // In logarithms: the power itself may exceed the largest double by less than the error.
        let middle = |index: i32| {
            (f64::from(index) * gamma.ln() + (2.0 / (gamma + 1.0)).ln())
                .exp()
                .min(f64::MAX)
        };
        match self {
            Self::Negative(index) => -middle(index.0),
            Self::Zero => 0.0,
            Self::Positive(index) => middle(index),
        }
    }

    /// The name of its counter.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Negative(index) => format!("n{}", index.0),
            Self::Zero => "z".to_owned(),
            Self::Positive(index) => format!("p{index}"),
        }
    }

    /// The bin of a counter's name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        match name.split_at_checked(1)? {
            ("z", "") => Some(Self::Zero),
            ("p", index) => index.parse().ok().map(Self::Positive),
            ("n", index) => index
                .parse()
                .ok()
                .map(|index| Self::Negative(std::cmp::Reverse(index))),
            _ => None,
        }
    }
}

fn gamma(error_ppm: u32) -> f64 {
    let error = f64::from(error_ppm) / 1e6;
    (1.0 + error) / (1.0 - error)
}

/// The name of the document that holds the counters of this error.
pub(crate) fn name(error_ppm: u32) -> String {
    format!("e{error_ppm}")
}

/// The error, in parts per million, of the counters in a document of this name.
pub(crate) fn error_of(name: &str) -> Option<u32> {
    let error_ppm = name.strip_prefix('e')?.parse().ok()?;
    (100..=500_000).contains(&error_ppm).then_some(error_ppm)
}

/// The quantiles of the values in one or more buckets.
///
/// ```
/// use bucket_core::Sketch;
///
/// let mut sketch = Sketch::with_error(0.01);
/// (1..=1_000).for_each(|value| sketch.add(f64::from(value)));
/// let median = sketch.quantile(0.5).unwrap();
/// assert!((median - 500.0).abs() <= 0.01 * 500.0 + 1.0);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Sketch {
    error_ppm: u32,
    bins: BTreeMap<Bin, u64>,
}

impl Sketch {
    /// An empty sketch with this relative error, clamped to 0.0001 to 0.5.
    ///
    /// ```
    /// assert_eq!(bucket_core::Sketch::with_error(0.01).quantile(0.5), None);
    /// ```
    #[must_use]
    pub fn with_error(error: f64) -> Self {
        // Between 100 and 500,000. NaN becomes zero, then the smallest.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let error_ppm = ((error.clamp(1e-4, 0.5) * 1e6).round() as u32).max(100);
        Self::new(error_ppm)
    }

    pub(crate) const fn new(error_ppm: u32) -> Self {
        Self {
            error_ppm,
            bins: BTreeMap::new(),
        }
    }

    /// Adds a value. NaN and infinities are ignored.
    ///
    /// ```
    /// let mut sketch = bucket_core::Sketch::with_error(0.01);
    /// sketch.add(f64::NAN);
    /// assert_eq!(sketch.count(), 0);
    /// ```
    pub fn add(&mut self, value: f64) {
        if value.is_finite() {
            self.count_in(Bin::of(value, self.error_ppm), 1);
        }
    }

    /// Adds the values of another sketch. If the errors differ, the result has the coarser bins,
    /// and the finer values get an error of at most the sum of both.
    ///
    /// ```
    /// # use bucket_core::Sketch;
    /// let (mut a, mut b) = (Sketch::with_error(0.01), Sketch::with_error(0.01));
    /// a.add(1.0);
    /// b.add(2.0);
    /// a.merge(&b);
    /// assert_eq!(a.count(), 2);
    /// ```
    pub fn merge(&mut self, other: &Self) {
        if self.error_ppm == other.error_ppm {
            for (bin, count) in other.bins() {
                self.count_in(bin, count);
            }
            return;
        }
        let error_ppm = self.error_ppm.max(other.error_ppm);
        let mut merged = Self::new(error_ppm);
        for part in [&*self, other] {
            for (bin, count) in part.bins() {
                merged.count_in(Bin::of(bin.value(part.error_ppm), error_ppm), count);
            }
        }
        *self = merged;
    }

    /// The number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.bins
            .values()
            .fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// The relative error of a quantile, such as 0.01.
    ///
    /// ```
    /// assert_eq!(bucket_core::Sketch::with_error(0.01).error(), 0.01);
    /// ```
    #[must_use]
    pub fn error(&self) -> f64 {
        f64::from(self.error_ppm) / 1e6
    }

    /// The value at or below which the share `q` of the values is, within the relative error;
    /// `None` if there are no values or `q` is not from 0 to 1.
    ///
    /// It is the value of rank `floor(q (n - 1))` counted from 0, as in the source.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let count = self.count();
        if count == 0 || !(0.0..=1.0).contains(&q) {
            return None;
        }
        // A rank is not negative and at most the count, which is far below 2^53.
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss
        )]
        let rank = (q * (count - 1) as f64).floor() as u64;
        let mut below = 0_u64;
        for (bin, count) in &self.bins {
            below = below.saturating_add(*count);
            if below > rank {
                return Some(bin.value(self.error_ppm));
            }
        }
        None
    }

    /// Adds this many values of one bin.
    pub(crate) fn count_in(&mut self, bin: Bin, count: u64) {
        let counter = self.bins.entry(bin).or_default();
        *counter = counter.saturating_add(count);
    }

    /// The bins in the order of their values, with their counters.
    pub(crate) fn bins(&self) -> impl Iterator<Item = (Bin, u64)> {
        self.bins.iter().map(|(bin, count)| (*bin, *count))
    }

    pub(crate) const fn error_ppm(&self) -> u32 {
        self.error_ppm
    }
}

#[cfg(test)]
mod tests {
    use super::{Bin, Sketch};

    #[test]
    fn every_quantile_is_within_the_relative_error() {
        for error_ppm in [100, 10_000, 100_000] {
            let mut values: Vec<f64> = (-500..=500)
                .map(|n| f64::from(n).powi(3) / 7.0)
                .chain([1e-300, -1e300, f64::MAX, f64::MIN_POSITIVE])
                .collect();
            let mut sketch = Sketch::new(error_ppm);
            for value in &values {
                sketch.add(*value);
            }
            values.sort_by(f64::total_cmp);
            for rank in 0..values.len() {
                #[allow(clippy::cast_precision_loss)]
                let q = (rank as f64 + 0.5) / (values.len() - 1) as f64;
                let Some(found) = sketch.quantile(q.min(1.0)) else {
                    continue;
                };
                let exact = values[rank];
                let bound = exact.abs() * sketch.error() * (1.0 + 1e-9) + f64::MIN_POSITIVE;
                assert!((found - exact).abs() <= bound, "{q}: {found} for {exact}");
            }
        }
    }

    #[test]
    fn the_stored_names_of_bins_never_change() {
        for (value, error_ppm, name) in [
            (0.0, 10_000, "z"),
            (1.0, 10_000, "p0"),
            (-1.0, 10_000, "n0"),
            (100.0, 10_000, "p231"),
            (-100.0, 10_000, "n231"),
            (1e-9, 10_000, "p-1036"),
            (100.0, 1_000, "p2303"),
        ] {
            assert_eq!(Bin::of(value, error_ppm).name(), name);
        }
    }

    #[test]
    fn names_read_back() {
        for value in [0.0, 1.0, -1.0, 1e-9, -1e9] {
            let bin = Bin::of(value, 10_000);
            assert_eq!(Bin::parse(&bin.name()), Some(bin));
        }
    }

    #[test]
    fn sketches_of_two_errors_merge_into_the_coarser_one() {
        let (mut fine, mut coarse) = (Sketch::new(1_000), Sketch::new(50_000));
        fine.add(100.0);
        coarse.add(200.0);
        fine.merge(&coarse);
        assert_eq!(fine.count(), 2);
        let largest = fine.quantile(1.0).unwrap_or_default();
        assert!((largest - 200.0).abs() < 200.0 * 0.11);
    }
}

//! What a rollup returns for steps without data.

use bson::DateTime;

/// What a rollup returns for a step without a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fill {
    /// The step is left out.
    #[default]
    Skip,
    /// The step is included, without a value.
    Null,
    /// The last value before the step, however old; a value from before the range if it is known.
    Previous,
    /// The point on the straight line, by time, between the known values on both sides. Steps
    /// before the first and after the last known value stay empty.
    Linear,
}

/// A step and its value after gaps are filled.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Filled {
    /// The start of the step.
    pub at: DateTime,
    /// The value; `None` if there was none and none could be computed.
    pub value: Option<f64>,
    /// Whether the value was computed to fill a gap.
    pub is_filled: bool,
}

impl Fill {
    /// Fills the gaps of `rows`: the starts of steps, in order, and their known values. `before` is
    /// the last known value from before the first row, with its time; `Previous` and `Linear` begin
    /// with it. A gap that cannot be filled stays, as with `Null`. So does a gap next to an
    /// infinite value or NaN, if the line would go through that value.
    ///
    /// ```
    /// use bson::DateTime;
    /// use bucket_core::Fill;
    ///
    /// let hour = |n: i64| DateTime::from_millis(n * 3_600_000);
    /// let rows = vec![(hour(1), None), (hour(2), Some(4.0)), (hour(3), None), (hour(4), Some(8.0))];
    /// let values = |fill: Fill, before| -> Vec<Option<f64>> {
    ///     fill.apply(rows.clone(), before).iter().map(|row| row.value).collect()
    /// };
    /// assert_eq!(values(Fill::Skip, None), [Some(4.0), Some(8.0)]);
    /// assert_eq!(values(Fill::Null, None), [None, Some(4.0), None, Some(8.0)]);
    /// assert_eq!(values(Fill::Linear, None), [None, Some(4.0), Some(6.0), Some(8.0)]);
    /// let before = Some((hour(0), 2.0));
    /// assert_eq!(values(Fill::Previous, before), [Some(2.0), Some(4.0), Some(4.0), Some(8.0)]);
    /// assert_eq!(values(Fill::Linear, before), [Some(3.0), Some(4.0), Some(6.0), Some(8.0)]);
    /// ```
    #[must_use]
    pub fn apply(
        self,
        rows: Vec<(DateTime, Option<f64>)>,
        before: Option<(DateTime, f64)>,
    ) -> Vec<Filled> {
        let rows = rows.into_iter().map(|(at, value)| Filled {
            at,
            value,
            is_filled: false,
        });
        match self {
            Self::Skip => rows.filter(|row| row.value.is_some()).collect(),
            Self::Null => rows.collect(),
            Self::Previous => previous(rows, before.map(|(_, value)| value)),
            Self::Linear => linear(rows.collect(), before),
        }
    }
}

fn previous(rows: impl Iterator<Item = Filled>, mut last: Option<f64>) -> Vec<Filled> {
    rows.map(|row| {
        if row.value.is_none() && last.is_some() {
            return Filled {
                value: last,
                is_filled: true,
                ..row
            };
        }
        last = row.value;
        row
    })
    .collect()
}

fn linear(mut rows: Vec<Filled>, before: Option<(DateTime, f64)>) -> Vec<Filled> {
    let mut left = before;
    // The first row after the last known value.
    let mut gap = 0;
    for next in 0..rows.len() {
        let Some(value) = rows[next].value else {
            continue;
        };
        let right = (rows[next].at, value);
        if let Some(left) = left {
            for row in &mut rows[gap..next] {
                row.value = between(left, right, row.at);
                row.is_filled = row.value.is_some();
            }
        }
        left = Some(right);
        gap = next + 1;
    }
    rows
}

/// The value at a moment strictly between two others.
fn between(left: (DateTime, f64), right: (DateTime, f64), at: DateTime) -> Option<f64> {
    let passed = millis(left.0, at);
    let length = millis(left.0, right.0);
    let known = left.1.is_finite() && right.1.is_finite();
    if !known || passed <= 0.0 || passed >= length {
        return None;
    }
    let part = passed / length;
    // Two products instead of a difference, which could overflow. Rounding must not leave the line.
    let value = left.1 * (1.0 - part) + right.1 * part;
    Some(value.clamp(left.1.min(right.1), left.1.max(right.1)))
}

#[allow(
    clippy::cast_precision_loss,
    reason = "a share of a span: 53 bits are more than enough"
)]
fn millis(from: DateTime, to: DateTime) -> f64 {
    (i128::from(to.timestamp_millis()) - i128::from(from.timestamp_millis())) as f64
}

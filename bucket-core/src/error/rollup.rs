//! A span of time that cannot be cut into steps.

use std::fmt;

use super::IntervalError;

/// Why a span of time cannot be rolled up.
///
/// ```
/// use bucket_core::{Interval, TimeRange, error::RollupError, read::RollupSteps};
///
/// let error = RollupSteps::new(TimeRange::ALL, &Interval::hours(1)).unwrap_err();
/// assert_eq!(error, RollupError::Unbounded);
/// assert_eq!(error.to_string(), "a rollup needs the start and the end of its range");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RollupError {
    /// The range has no start or no end.
    Unbounded,
    /// The end of the range is before its start.
    Reversed,
    /// The step is invalid.
    Step(IntervalError),
    /// The range has too many steps.
    TooManySteps {
        /// The number of steps of the range.
        steps: u64,
        /// The largest number of steps that a rollup accepts.
        most: u64,
    },
}

impl fmt::Display for RollupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unbounded => f.write_str("a rollup needs the start and the end of its range"),
            Self::Reversed => f.write_str("the end of the range is before its start"),
            Self::Step(error) => error.fmt(f),
            Self::TooManySteps { steps, most } => write!(
                f,
                "the range has {steps} steps, but a rollup takes at most {most}: use longer steps or a \
                 shorter range"
            ),
        }
    }
}

impl std::error::Error for RollupError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Step(error) => Some(error),
            _ => None,
        }
    }
}

impl From<IntervalError> for RollupError {
    fn from(error: IntervalError) -> Self {
        Self::Step(error)
    }
}

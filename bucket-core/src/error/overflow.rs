//! A sum that exceeds what a stored number can hold.

use std::fmt;

/// The sum of an aggregate over a span of time exceeds 64 bits or the largest double.
///
/// The sums of single buckets never do. A shorter span has a sum.
///
/// ```
/// use bucket_core::SumOverflow;
///
/// let error = SumOverflow::new("stats.sum");
/// assert_eq!(error.to_string(), "the total of `stats.sum` does not fit in 64 bits: read a shorter span");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SumOverflow {
    path: &'static str,
}

impl SumOverflow {
    /// An error about the aggregate of this path.
    #[must_use]
    pub const fn new(path: &'static str) -> Self {
        Self { path }
    }

    /// The path of the aggregate in a bucket.
    #[must_use]
    pub const fn path(&self) -> &'static str {
        self.path
    }
}

impl fmt::Display for SumOverflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the total of `{}` does not fit in 64 bits: read a shorter span",
            self.path
        )
    }
}

impl std::error::Error for SumOverflow {}

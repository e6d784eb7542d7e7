//! How much is measured.

/// A full run, or a quick one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    /// For figures.
    Full,
    /// For the tests: everything runs once, in seconds.
    Quick,
}

impl Scale {
    pub(crate) fn pick<T>(self, full: T, quick: T) -> T {
        match self {
            Self::Full => full,
            Self::Quick => quick,
        }
    }

    /// The number of rounds, unless it is given.
    pub(crate) fn rounds(self) -> usize {
        self.pick(5, 1)
    }
}

//! How a command ended, and the exit code that says so.

use std::process::ExitCode;

use crate::signal::Signal;

/// How a command ended that met no error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All is done.
    Done,
    /// Something is wrong with the data or the indexes.
    Found,
    /// A plan was shown and not carried out.
    Planned,
    /// An error of one model, which was shown.
    Failed(u8),
    /// A signal ended it at a safe point.
    Interrupted(Signal),
}

impl Outcome {
    /// The code of a process that ends so.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Found => 3,
            Self::Planned => 4,
            Self::Failed(code) => code,
            Self::Interrupted(signal) => signal.exit_code(),
        }
    }

    /// Of two models, what matters more.
    pub(crate) fn and(self, other: Self) -> Self {
        let weight = |of: Self| match of {
            Self::Interrupted(_) => (2, of.code()),
            Self::Failed(_) => (1, of.code()),
            _ => (0, of.code()),
        };
        if weight(other) > weight(self) {
            other
        } else {
            self
        }
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        outcome.code().into()
    }
}

/// The code of an error.
pub(crate) const FAILED: u8 = 1;
/// The code of a command line that is wrong.
pub(crate) const USAGE: u8 = 2;

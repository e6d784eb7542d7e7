//! A step that is none.

use std::fmt;

/// What is no step, or a step that cannot be in a time zone.
///
/// ```
/// use bucket_core::{Every, StepError};
///
/// let error = "0s".parse::<Every>().unwrap_err();
/// assert_eq!(error, StepError::Zero);
/// assert_eq!(error.to_string(), "a step lasts at least one second");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StepError {
    /// A step of no length: it would never end.
    Zero,
    /// A text that is no step.
    Syntax {
        /// The text.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// No time zone has this name.
    UnknownZone {
        /// The name that was given.
        name: String,
        /// A name that may have been meant.
        meant: Option<String>,
    },
    /// Fixed steps are the same everywhere: only those of the calendar are in a time zone.
    FixedInZone {
        /// The step.
        step: String,
        /// The time zone.
        zone: String,
    },
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero => f.write_str("a step lasts at least one second"),
            Self::Syntax { text, reason } => write!(
                f,
                "`{}` is no step: {reason}; a step is a duration such as `30s`, `15m`, `1h30m` or \
                 `7d`, or one of `day`, `week`, `month`, `quarter` and `year`",
                text.escape_debug()
            ),
            Self::UnknownZone { name, meant } => {
                write!(
                    f,
                    "unknown time zone `{}`: zones have the names of the IANA database, such as \
                     `Europe/Berlin` or `UTC`",
                    name.escape_debug()
                )?;
                match meant {
                    Some(meant) => write!(f, "; did you mean `{meant}`?"),
                    None => Ok(()),
                }
            }
            Self::FixedInZone { step, zone } => write!(
                f,
                "a step of `{step}` cannot be in the zone `{}`: only `day`, `week`, `month`, \
                 `quarter` and `year` differ from zone to zone",
                zone.escape_debug()
            ),
        }
    }
}

impl std::error::Error for StepError {}

//! A step that is invalid.

use std::fmt;

/// A text is not a step, or a step cannot have a time zone.
///
/// ```
/// use bucket_core::{Interval, IntervalError};
///
/// let error = "0s".parse::<Interval>().unwrap_err();
/// assert_eq!(error, IntervalError::Zero);
/// assert_eq!(error.to_string(), "a step lasts at least one second");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum IntervalError {
    /// A step without length, which would never end.
    Zero,
    /// A text that is not a step.
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
        /// A similar name that may have been intended.
        meant: Option<String>,
    },
    /// A fixed step with a time zone. Fixed steps are the same everywhere; only calendar steps
    /// depend on the zone.
    FixedInZone {
        /// The step.
        step: String,
        /// The time zone.
        zone: String,
    },
}

impl fmt::Display for IntervalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero => f.write_str("a step lasts at least one second"),
            Self::Syntax { text, reason } => write!(
                f,
                "`{}` is not a step: {reason}; a step is a duration such as `30s`, `15m`, `1h30m` or \
                 `7d`, or one of `day`, `week`, `month`, `quarter` and `year`",
                text.escape_debug()
            ),
            Self::UnknownZone { name, meant } => {
                write!(f, "unknown time zone `{}`", name.escape_debug())?;
                match meant {
                    Some(meant) => write!(f, ", did you mean `{meant}`?"),
                    None => f.write_str(":"),
                }?;
                f.write_str(
                    " zones have the names of the IANA database, such as `Europe/Berlin` or `UTC`",
                )
            }
            Self::FixedInZone { step, zone } => write!(
                f,
                "the step `{step}` cannot have the zone `{}`: only `day`, `week`, `month`, \
                 `quarter` and `year` depend on the zone",
                zone.escape_debug()
            ),
        }
    }
}

impl std::error::Error for IntervalError {}

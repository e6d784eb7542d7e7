//! How long a write goes on being tried, and what is left of that: for the server to work on something, and
//! for its reply to come.

use std::time::Duration;

use tokio::time::Instant;

/// How long a write goes on being tried unless the caller says otherwise.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);
/// The server keeps the record of a session for 30 minutes.
pub(crate) const LONGEST_DEADLINE: Duration = Duration::from_secs(20 * 60);
/// How much longer than its deadline a command is waited for, so that it is the one to say why.
pub(crate) const GRACE: Duration = Duration::from_millis(250);
/// How much longer than its deadline the server may work on something, so that its reply comes within the grace.
const SERVER_GRACE: Duration = Duration::from_millis(100);

/// How long the server may work on what has this deadline, in milliseconds.
pub(crate) fn time_limit(deadline: Instant) -> i64 {
    millis(left(deadline) + SERVER_GRACE)
}

/// How long the server may wait for other members until this deadline, in milliseconds.
pub(super) fn patience(deadline: Instant) -> i64 {
    // Zero would be without a limit.
    millis(left(deadline)).max(1)
}

fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

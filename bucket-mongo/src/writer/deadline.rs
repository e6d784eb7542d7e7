//! How long a write is retried, and how the remaining time is split between the server's work and its reply.

use std::time::Duration;

use tokio::time::Instant;

/// How long a write is retried by default.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);
/// The server keeps the record of a session for 30 minutes.
pub(crate) const LONGEST_DEADLINE: Duration = Duration::from_secs(20 * 60);
/// How much longer than its deadline a command is awaited, so that its own error gives the reason.
pub(crate) const GRACE: Duration = Duration::from_millis(250);
/// How much longer than the deadline the server may work, so that its reply arrives within the grace.
const SERVER_GRACE: Duration = Duration::from_millis(100);

/// How long the server may work on an operation with this deadline, in milliseconds.
pub(crate) fn time_limit(deadline: Instant) -> i64 {
    millis(left(deadline) + SERVER_GRACE)
}

/// How long the server may wait for other members until this deadline, in milliseconds.
pub(super) fn patience(deadline: Instant) -> i64 {
    // Zero would mean no limit.
    millis(left(deadline)).max(1)
}

fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

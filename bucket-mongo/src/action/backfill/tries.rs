//! Commands that may be sent any number of times.

use std::time::Duration;

use bucket_core::write::codes::{INTERRUPTED, NO_SUCH_TRANSACTION};
use tokio::time::{Instant, sleep, timeout_at};

use crate::{
    Error, Result,
    action::edit::passes,
    backoff,
    error::{Context, ReadFault},
    store::Store,
    writer::LONGEST_DEADLINE,
};

/// The longest pause before another try, in milliseconds.
const PAUSE: u64 = 64;
const TRANSIENT: &str = "TransientTransactionError";

/// How long a command is waited for and tried, and how long a chunk is.
pub(super) fn patience(store: &Store) -> Duration {
    store.deadline().min(LONGEST_DEADLINE)
}

/// Whether others have ended a command or its transaction, as a worker that takes over does: it ends the sessions of former
/// workers, which the driver may use for other commands by then.
pub(super) fn is_ended_by_others(error: &Error) -> bool {
    matches!(error.code(), Some(NO_SUCH_TRANSACTION | INTERRUPTED))
}

/// Waits before another try, if the error passes and there is time for one.
pub(super) async fn again(error: Error, until: Instant) -> Result<()> {
    let is_transient = is_ended_by_others(&error) || error.contains_label(TRANSIENT);
    if is_transient && Instant::now() < until {
        sleep(backoff::spread(PAUSE)).await;
        return Ok(());
    }
    passes(error, until).await
}

/// Repeats a command until the server answers it, or the time is over.
pub(super) async fn tried<R, F>(
    until: Instant,
    context: &Context,
    command: impl Fn() -> F,
) -> Result<R>
where
    F: IntoFuture<Output = mongodb::error::Result<R>>,
{
    loop {
        let error = match timeout_at(until, command()).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => Error::read(error, context),
            Err(_) => return Err(Error::read(ReadFault::Late, context)),
        };
        again(error, until).await?;
    }
}

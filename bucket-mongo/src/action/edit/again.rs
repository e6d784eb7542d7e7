//! Whether an edit does again what failed before it changed anything.

use tokio::time::{Instant, sleep};

use crate::{Error, Result, backoff};

/// The longest pause before another try, in milliseconds.
const PAUSE: u64 = 64;

/// Waits, if this error of a read passes and there is time for another one; otherwise it is the end.
///
/// What an edit does before its statement (the look for the record, the walk over the buckets, the begin of a
/// transaction) changes nothing, so it may be done any number of times, as the statement itself.
pub(in crate::action) async fn passes(error: Error, deadline: Instant) -> Result<()> {
    if !error.is_retryable() || Instant::now() >= deadline {
        return Err(error);
    }
    sleep(backoff::spread(PAUSE)).await;
    Ok(())
}

//! How long a move waits for a server that is away.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::backoff;

/// A server that is away for longer ends the move.
const LONGEST: Duration = Duration::from_secs(30);
/// The first pause, in milliseconds; it doubles up to the longest one.
const FIRST_PAUSE_MS: u64 = 10;
const LONGEST_PAUSE_MS: u64 = 1_000;

/// Waits between the tries of one thing.
#[derive(Debug)]
pub(super) struct Patience {
    since: Instant,
    tries: u32,
}

impl Patience {
    pub(super) fn new() -> Self {
        Self {
            since: Instant::now(),
            tries: 0,
        }
    }

    /// Waits before another try; false if there is to be none.
    pub(super) async fn is_left(&mut self) -> bool {
        if self.since.elapsed() > LONGEST {
            return false;
        }
        let pause = backoff::ceiling(FIRST_PAUSE_MS, self.tries, LONGEST_PAUSE_MS);
        self.tries = self.tries.saturating_add(1);
        sleep(backoff::spread(pause)).await;
        true
    }
}

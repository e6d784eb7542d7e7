//! How long a migration waits for an unavailable server.

use std::time::Duration;

use bucket_core::write::Pauses;
use tokio::time::{Instant, sleep};

use crate::backoff;

/// A server that is unavailable for longer ends the migration.
const LONGEST: Duration = Duration::from_secs(30);

/// Waits between the attempts of one operation.
#[derive(Debug)]
pub(super) struct Patience {
    since: Instant,
    pauses: Pauses,
}

impl Patience {
    pub(super) fn new() -> Self {
        Self {
            since: Instant::now(),
            pauses: Pauses::OF_A_TRY,
        }
    }

    /// Waits before another attempt; returns false if there is no time for one.
    pub(super) async fn is_left(&mut self) -> bool {
        if self.since.elapsed() > LONGEST {
            return false;
        }
        sleep(backoff::spread(self.pauses.next_ceiling())).await;
        true
    }
}

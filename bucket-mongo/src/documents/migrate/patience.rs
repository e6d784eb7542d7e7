//! How long a move waits for a server that is away.

use std::time::Duration;

use bucket_core::write::Pauses;
use tokio::time::{Instant, sleep};

use crate::backoff;

/// A server that is away for longer ends the move.
const LONGEST: Duration = Duration::from_secs(30);

/// Waits between the tries of one thing.
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

    /// Waits before another try; false if there is to be none.
    pub(super) async fn is_left(&mut self) -> bool {
        if self.since.elapsed() > LONGEST {
            return false;
        }
        sleep(backoff::spread(self.pauses.next_ceiling())).await;
        true
    }
}

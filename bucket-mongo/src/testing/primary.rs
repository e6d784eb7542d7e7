//! Finds the primary of a started server, and makes it step down.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::time;

use super::{
    dev_server::DevServer,
    error::Error,
    member::Member,
    replica_set::{self, Role},
    startup::{POLL_PAUSE, START_LIMIT},
};

/// How long a primary that steps down cannot be elected again.
const STEP_DOWN_PAUSE: Duration = Duration::from_secs(5);

impl DevServer {
    /// Finds the member that takes writes; waits for it during an election. Paused members are not asked.
    ///
    /// # Errors
    /// [`Error::NotStarted`] for the server of `MONGODB_URI`; [`Error::NoPrimary`] if there is no primary
    /// within 60 s.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), bucket_mongo::testing::Error> {
    /// let server = bucket_mongo::testing::DevServer::builder().own().members(3).await?;
    /// server.primary().await?.kill().await?;
    /// println!("{} was elected", server.primary().await?.address());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn primary(&self) -> Result<&Member, Error> {
        if self.members().is_empty() {
            return Err(Error::NotStarted);
        }
        let start = Instant::now();
        while start.elapsed() < START_LIMIT {
            let roles = join_all(self.members().iter().map(Member::role)).await;
            let roles = self.members().iter().zip(roles);
            let primaries = roles.filter_map(|(member, role)| match role {
                Role::Primary(election) => Some((member, election)),
                _ => None,
            });
            // A resumed member may not know yet that it missed an election.
            if let Some((member, _)) = primaries.max_by_key(|(_, election)| *election) {
                return Ok(member);
            }
            time::sleep(POLL_PAUSE).await;
        }
        Err(Error::NoPrimary { limit: START_LIMIT })
    }

    /// Makes the primary step down (`replSetStepDown` by force) for 5 s. If there are several members,
    /// another one is elected in the meantime; the call does not wait for that.
    ///
    /// # Errors
    /// Those of [`primary`](Self::primary), and [`Error::Command`] if it refuses.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), bucket_mongo::testing::Error> {
    /// let server = bucket_mongo::testing::DevServer::builder().own().members(3).await?;
    /// server.step_down().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn step_down(&self) -> Result<(), Error> {
        let primary = self.primary().await?;
        replica_set::step_down(&primary.address(), STEP_DOWN_PAUSE).await
    }
}

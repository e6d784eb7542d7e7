//! Faults of a replica set: members die and come back, stop and continue, step down.

use std::{collections::BTreeMap, time::Duration};

use bucket_mongo::testing::{DevServer, Error, Member};
use tokio::time;

use super::random::Random;

/// The minimum time that a member is away. An election takes 2 s and more.
const AWAY: Duration = Duration::from_millis(500);
const AWAY_FOR_AN_ELECTION: Duration = Duration::from_millis(3_500);

/// One fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Disturbance {
    /// The primary is killed, and started again once another one is elected.
    KillPrimary,
    /// The primary is forced to step down.
    StepDown,
    /// A secondary is killed and started again.
    StopSecondary,
    /// The primary stops, and later continues as if it were still the primary.
    PausePrimary,
}

impl Disturbance {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::KillPrimary,
        Self::StepDown,
        Self::StopSecondary,
        Self::PausePrimary,
    ];

    /// Causes the fault and repairs it: at the end, all members are available and one is the
    /// primary.
    ///
    /// # Errors
    ///
    /// If the set does not recover.
    pub async fn run(self, set: &DevServer) -> Result<(), Error> {
        let primary = set.primary().await?;
        match self {
            Self::KillPrimary => {
                primary.kill().await?;
                set.primary().await?;
                time::sleep(AWAY).await;
                primary.restart().await?;
            }
            Self::StepDown => set.step_down().await?,
            Self::StopSecondary => {
                let secondary = other_than(primary, set);
                secondary.kill().await?;
                time::sleep(AWAY).await;
                secondary.restart().await?;
            }
            Self::PausePrimary => {
                primary.pause().await?;
                time::sleep(AWAY_FOR_AN_ELECTION).await;
                primary.resume().await?;
            }
        }
        set.primary().await?;
        Ok(())
    }
}

fn other_than<'a>(member: &'a Member, set: &'a DevServer) -> &'a Member {
    let others = set.members().iter();
    let mut others = others.filter(|other| other.address() != member.address());
    others.next().unwrap_or(member)
}

/// Disturbs the set in every way, in an order that is drawn, for at least this long. Prints how
/// often each way was used.
///
/// # Panics
///
/// If the set does not recover.
pub async fn disturb(set: &DevServer, seed: u64, duration: Duration) -> BTreeMap<Disturbance, u64> {
    let mut random = Random::new(seed, 1);
    let mut done = BTreeMap::new();
    let start = time::Instant::now();
    let mut order = Disturbance::ALL;
    while done.is_empty() || start.elapsed() < duration {
        for index in (1..order.len()).rev() {
            let other = random.below(u64::try_from(index + 1).unwrap_or(1));
            order.swap(index, usize::try_from(other).unwrap_or(0));
        }
        for disturbance in order {
            disturbance.run(set).await.expect("a set that recovers");
            *done.entry(disturbance).or_default() += 1;
            time::sleep(AWAY).await;
        }
    }
    done
}

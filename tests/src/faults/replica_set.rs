//! What goes wrong in a replica set: members die and come back, stop and go on, give up their role.

use std::{collections::BTreeMap, time::Duration};

use bucket_mongo::testing::{DevServer, Error, Member};
use tokio::time;

use super::random::Random;

/// How long a member is away at least. An election takes 2 s and more.
const AWAY: Duration = Duration::from_millis(500);
const AWAY_FOR_AN_ELECTION: Duration = Duration::from_millis(3_500);

/// One thing that goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Disturbance {
    /// The primary is killed, and started again once another one is elected.
    KillPrimary,
    /// The primary gives up its role by force.
    StepDown,
    /// A secondary is killed and started again.
    StopSecondary,
    /// The primary stops, and goes on in the belief that it is one still.
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

    /// Does it and repairs it: when this ends, all members are there again and one is the primary.
    ///
    /// # Errors
    ///
    /// If the set does not come to itself again.
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

/// Disturbs the set in every way, in an order that is drawn, and goes on with that for so long; says
/// how often each way was taken.
///
/// # Panics
///
/// If the set does not come to itself again.
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

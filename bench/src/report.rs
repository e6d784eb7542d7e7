//! The results of a run. `--json` prints its serialised form.

use serde::{Deserialize, Serialize};

use crate::{
    goal::{Goal, Unit},
    plan::Plan,
    spread::Spread,
    workload::Workload,
};

/// The result of a run. Of the machine, it only contains the number of cores.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    /// The server's version.
    pub(crate) server: String,
    /// Whether it was started for this run, as a replica set of one node on the same machine.
    pub(crate) own_server: bool,
    /// About the machine that the run was on.
    pub(crate) cores: usize,
    pub(crate) rounds: usize,
    /// Whether the figures are useless.
    pub(crate) quick: bool,
    pub(crate) workloads: Vec<Outcome>,
}

/// The results of a workload.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) unit: Unit,
    pub(crate) more_is_better: bool,
    pub(crate) contestants: Vec<Figures>,
    pub(crate) comparisons: Vec<Compared>,
}

/// The figures of a contestant.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Figures {
    pub(crate) name: String,
    /// Whether it is this library.
    pub(crate) own: bool,
    #[serde(flatten)]
    pub(crate) spread: Spread,
}

/// A comparison.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Compared {
    pub(crate) own: String,
    /// The contestant whose figure is the divisor; none if the figure itself counts.
    pub(crate) peer: Option<String>,
    #[serde(flatten)]
    pub(crate) spread: Spread,
    pub(crate) goal: Option<Goal>,
    pub(crate) reached: Option<bool>,
}

impl Outcome {
    /// The results of a plan's contestants for these figures, round by round.
    pub(crate) fn of(workload: &Workload, plan: &Plan, figures: Vec<Vec<f64>>) -> Self {
        let entries = plan.entries.iter().zip(figures);
        let contestants: Vec<_> = entries
            .map(|(entry, figures)| Figures {
                name: entry.contestant.name(),
                own: entry.own,
                spread: Spread::of(figures),
            })
            .collect();
        let comparisons = plan.comparisons.iter().map(|comparison| {
            let own = &contestants[comparison.own.0];
            let peer = comparison.peer.map(|peer| &contestants[peer.0]);
            let spread = match peer {
                Some(peer) => own.spread.over(&peer.spread),
                None => own.spread.clone(),
            };
            Compared {
                own: own.name.clone(),
                peer: peer.map(|peer| peer.name.clone()),
                goal: comparison.goal,
                reached: comparison.goal.map(|goal| goal.is_reached(spread.median)),
                spread,
            }
        });
        Self {
            name: workload.name.to_owned(),
            title: workload.title.to_owned(),
            unit: plan.unit,
            more_is_better: plan.unit.more_is_better(),
            comparisons: comparisons.collect(),
            contestants,
        }
    }
}

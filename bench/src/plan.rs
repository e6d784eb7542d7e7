//! The parts of a workload: its contestants, their comparisons, and the goals.

use crate::{
    contestant::Contestant,
    data::Data,
    goal::{Goal, Unit},
};

/// A contestant of a plan.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Id(pub(crate) usize);

/// A contestant, and whether it is this library.
pub(crate) struct Entry {
    pub(crate) contestant: Box<dyn Contestant>,
    pub(crate) own: bool,
}

/// A figure divided by that of a peer, or a figure by itself.
#[derive(Debug)]
pub(crate) struct Comparison {
    pub(crate) own: Id,
    pub(crate) peer: Option<Id>,
    pub(crate) goal: Option<Goal>,
}

/// A workload that is ready to run.
pub(crate) struct Plan {
    pub(crate) unit: Unit,
    /// The data that are stored before the first round, and removed after the last one.
    pub(crate) data: Vec<Box<dyn Data>>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) comparisons: Vec<Comparison>,
}

impl Plan {
    pub(crate) fn new(unit: Unit) -> Self {
        Self {
            unit,
            data: Vec::new(),
            entries: Vec::new(),
            comparisons: Vec::new(),
        }
    }

    /// Adds a collection that the contestants read.
    pub(crate) fn store(&mut self, data: impl Data + 'static) {
        self.data.push(Box::new(data));
    }

    /// Adds a contestant that is this library.
    pub(crate) fn own(&mut self, contestant: impl Contestant + 'static) -> Id {
        self.add(contestant, true)
    }

    /// Adds a contestant that this library is compared with.
    pub(crate) fn peer(&mut self, contestant: impl Contestant + 'static) -> Id {
        self.add(contestant, false)
    }

    fn add(&mut self, contestant: impl Contestant + 'static, own: bool) -> Id {
        self.entries.push(Entry {
            contestant: Box::new(contestant),
            own,
        });
        Id(self.entries.len() - 1)
    }

    /// Compares two contestants, with or without a goal.
    pub(crate) fn compare(&mut self, own: Id, peer: Id, goal: impl Into<Option<Goal>>) {
        self.comparisons.push(Comparison {
            own,
            peer: Some(peer),
            goal: goal.into(),
        });
    }

    /// Requests a figure by itself.
    pub(crate) fn expect(&mut self, own: Id, goal: Goal) {
        self.comparisons.push(Comparison {
            own,
            peer: None,
            goal: Some(goal),
        });
    }
}

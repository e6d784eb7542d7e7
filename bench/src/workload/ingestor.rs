//! The memory of an ingestor while the server hangs under full load.

use futures_util::future::{BoxFuture, FutureExt as _};

use super::Workload;
use crate::{
    arena::Arena,
    contestant::Contestant,
    error::Result,
    goal::{Goal, Unit},
    hold_up,
    plan::Plan,
    scale::Scale,
};

pub(super) const WORKLOAD: Workload = Workload {
    name: "ingestor",
    title: "memory of an ingestor while the server is stopped for 10 s",
    about: include_str!("about/ingestor.md"),
    plan,
};

fn plan(scale: Scale) -> Plan {
    let mut plan = Plan::new(Unit::Mebibytes);
    // The figure is one that Linux keeps.
    if cfg!(target_os = "linux") {
        for (limit, most) in [(16, 48.0), (64, 144.0)] {
            let ingestor = plan.own(HeldUp { limit, scale });
            plan.expect(ingestor, Goal::AtMost(most));
        }
    }
    plan
}

/// An ingestor with this limit, in MiB.
struct HeldUp {
    limit: usize,
    scale: Scale,
}

impl Contestant for HeldUp {
    fn name(&self) -> String {
        format!("ingestor, max_buffered_bytes of {} MiB", self.limit)
    }

    fn round<'a>(&'a self, _: &'a Arena) -> BoxFuture<'a, Result<f64>> {
        hold_up::grown(self.limit, self.scale).boxed()
    }
}

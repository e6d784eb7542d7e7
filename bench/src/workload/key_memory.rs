//! The memory of one call with records of very many keys.

use futures_util::future::{BoxFuture, FutureExt as _};

use super::Workload;
use crate::{
    arena::Arena,
    contestant::Contestant,
    error::Result,
    goal::{Goal, Unit},
    key_load,
    output::number::grouped,
    plan::Plan,
    scale::Scale,
};

pub(super) const WORKLOAD: Workload = Workload {
    name: "key-memory",
    title: "memory of one insert_many over very many keys",
    about: include_str!("about/key_memory.md"),
    plan,
};

fn plan(scale: Scale) -> Plan {
    let mut plan = Plan::new(Unit::Mebibytes);
    // The figure is one that Linux keeps.
    if cfg!(target_os = "linux") {
        for keys in [100_000, 1_000_000] {
            let load = plan.own(Load { keys, scale });
            plan.expect(load, Goal::AtMost(250.0));
        }
    }
    plan
}

/// A load with records of this number of keys.
struct Load {
    keys: usize,
    scale: Scale,
}

impl Contestant for Load {
    fn name(&self) -> String {
        format!("one insert_many, {} keys", grouped(self.keys))
    }

    fn round<'a>(&'a self, _: &'a Arena) -> BoxFuture<'a, Result<f64>> {
        key_load::grown(self.keys, self.scale).boxed()
    }
}

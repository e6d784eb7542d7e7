//! One call with records of few and of very many keys.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::Workload;
use crate::{
    arena::Arena,
    contestant::{BucketInserts, Contestant, FlatInserts, TimeSeriesInserts},
    error::Result,
    goal::{Goal, Unit},
    model::{Count200, Hourly},
    output::number::grouped,
    plan::Plan,
    reading::readings_of,
    scale::Scale,
};

pub(super) const WORKLOAD: Workload = Workload {
    name: "many-keys",
    title: "one insert_many over 100 to 1,000,000 keys",
    about: include_str!("about/many_keys.md"),
    plan,
};

/// The first of them are for time series collections, in commands of a thousand. All of them take minutes, as does a
/// command of very many keys.
const SERIES: usize = 200_000;
const SERIES_BATCH: usize = 1_000;

fn plan(scale: Scale) -> Plan {
    let number = scale.pick(1_000_000, 1_000);
    // The number of keys, and the goals against flat and time series.
    let cases = [
        (100, None),
        (10_000, None),
        (100_000, Some((3.0, 3.0))),
        (1_000_000, Some((0.8, 1.5))),
    ];
    let mut plan = Plan::new(Unit::RecordsPerSecond);
    for (keys, goals) in cases {
        let readings = readings_of(scale.pick(keys, keys / 1_000 + 1), number);
        let own = [
            plan.own(over(keys, BucketInserts::<Hourly>::one_call(&readings))),
            plan.own(over(keys, BucketInserts::<Count200>::one_call(&readings))),
        ];
        let (batch, in_flight) = (number, 1);
        let flat = plan.peer(over(
            keys,
            FlatInserts {
                readings: readings.clone(),
                batch,
                in_flight,
            },
        ));
        let series = plan.peer(over(
            keys,
            TimeSeriesInserts {
                readings: Arc::new(readings[..scale.pick(SERIES, number)].to_vec()),
                batch: SERIES_BATCH,
                in_flight,
            },
        ));
        for own in own {
            plan.compare(own, flat, goals.map(|(flat, _)| Goal::AtLeast(flat)));
            plan.compare(own, series, goals.map(|(_, series)| Goal::AtLeast(series)));
        }
    }
    plan
}

/// A contestant whose records have this number of keys.
struct OverKeys<C> {
    keys: usize,
    contestant: C,
}

fn over<C: Contestant>(keys: usize, contestant: C) -> OverKeys<C> {
    OverKeys { keys, contestant }
}

impl<C: Contestant> Contestant for OverKeys<C> {
    fn name(&self) -> String {
        format!("{}, {} keys", self.contestant.name(), grouped(self.keys))
    }

    fn round<'a>(&'a self, arena: &'a Arena) -> BoxFuture<'a, Result<f64>> {
        self.contestant.round(arena)
    }
}

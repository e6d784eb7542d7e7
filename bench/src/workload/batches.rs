//! Ingest in batches that have few records of each key.

use std::sync::Arc;

use super::Workload;
use crate::{
    contestant::{BucketInserts, FlatInserts, TimeSeriesInserts},
    goal::{Goal, Unit},
    model::{HourOr10, HourOr100, Hourly, HourlyParts, MergedParts, Model, Numbered10},
    plan::{Id, Plan},
    reading::{Readings, readings},
    scale::Scale,
};

pub(super) const WORKLOAD: Workload = Workload {
    name: "batches",
    title: "batches of 1,000 readings, 10 of each of 100 sensors",
    about: include_str!("about/batches.md"),
    plan,
};

const BATCH: usize = 1_000;

fn plan(scale: Scale) -> Plan {
    let readings = readings(scale.pick(400_000, 4_000));
    let mut plan = Plan::new(Unit::RecordsPerSecond);
    for in_flight in [1, 4] {
        let parts = own::<HourlyParts>(&mut plan, &readings, in_flight);
        let own = [
            own::<Numbered10>(&mut plan, &readings, in_flight),
            own::<HourOr10>(&mut plan, &readings, in_flight),
            own::<HourOr100>(&mut plan, &readings, in_flight),
            own::<Hourly>(&mut plan, &readings, in_flight),
        ];
        let merged = BucketInserts::<MergedParts>::batches(&readings, BATCH, in_flight);
        let merged = plan.own(merged.and_merged());
        let flat = plan.peer(FlatInserts {
            readings: Arc::clone(&readings),
            batch: BATCH,
            in_flight,
        });
        let time_series = plan.peer(TimeSeriesInserts {
            readings: Arc::clone(&readings),
            batch: BATCH,
            in_flight,
        });
        plan.compare(parts, flat, Goal::AtLeast(2.0));
        plan.compare(parts, time_series, Goal::AtLeast(2.3));
        let (of_flat, of_series) = if in_flight == 1 {
            (1.3, 1.5)
        } else {
            (1.8, 2.2)
        };
        plan.compare(merged, flat, Goal::AtLeast(of_flat));
        plan.compare(merged, time_series, Goal::AtLeast(of_series));
        for own in own {
            plan.compare(own, flat, Goal::AtLeast(1.3));
            plan.compare(own, time_series, Goal::AtLeast(1.5));
        }
    }
    plan
}

fn own<M: Model>(plan: &mut Plan, readings: &Readings, in_flight: usize) -> Id {
    plan.own(BucketInserts::<M>::batches(readings, BATCH, in_flight))
}

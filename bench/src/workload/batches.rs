//! Ingest in batches that have few records of each key.

use std::sync::Arc;

use super::Workload;
use crate::{
    contestant::{BucketInserts, FlatInserts, TimeSeriesInserts},
    model::{Count200, Hourly},
    plan::{Goal, Plan, Unit},
    reading::readings,
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
        let buckets = BucketInserts::<Hourly>::batches(&readings, BATCH, in_flight);
        let buckets = plan.own(buckets);
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
        let count = BucketInserts::<Count200>::batches(&readings, BATCH, in_flight);
        let count = plan.own(count);
        plan.compare(buckets, flat, Goal::AtLeast(1.3));
        plan.compare(buckets, time_series, Goal::AtLeast(1.5));
        plan.compare(count, flat, None);
        plan.compare(count, time_series, None);
    }
    plan
}

//! Ingest of many records in large batches.

use std::sync::Arc;

use super::Workload;
use crate::{
    contestant::{BucketInserts, FlatInserts, ManualUpserts, PrebuiltBuckets, TimeSeriesInserts},
    goal::{Goal, Unit},
    model::{Count200, Count1000, Hourly, HourlyStats},
    plan::Plan,
    reading::readings,
    scale::Scale,
};

pub(super) const WORKLOAD: Workload = Workload {
    name: "ingest",
    title: "1,000,000 readings of 100 sensors, large batches",
    about: include_str!("about/ingest.md"),
    plan,
};

/// The batch size that driver users choose, and the server's own tools.
const BATCH: usize = 1_000;
/// The number of records in one call when several calls are in flight: the size of a chunk of the
/// library.
const CHUNK: usize = 20_000;

fn plan(scale: Scale) -> Plan {
    let all = readings(scale.pick(1_000_000, 20_000));
    // The rest, one by one, would take half an hour and change nothing: the rate is the same.
    let some = Arc::new(all[..scale.pick(1_000, 200)].to_vec());
    let more = Arc::new(all[..scale.pick(8_000, 400)].to_vec());
    let flat = |in_flight| FlatInserts {
        readings: Arc::clone(&all),
        batch: BATCH,
        in_flight,
    };
    let time_series = |in_flight| TimeSeriesInserts {
        readings: Arc::clone(&all),
        batch: BATCH,
        in_flight,
    };
    let manual = |readings, in_flight| ManualUpserts {
        readings,
        capacity: 200,
        in_flight,
    };

    let mut plan = Plan::new(Unit::RecordsPerSecond);
    let buckets = plan.own(BucketInserts::<Hourly>::one_call(&all));
    let flat = [1, 4].map(|in_flight| plan.peer(flat(in_flight)));
    let time_series = [1, 4].map(|in_flight| plan.peer(time_series(in_flight)));
    let manual = [plan.peer(manual(some, 1)), plan.peer(manual(more, 32))];
    let prebuilt = plan.peer(PrebuiltBuckets {
        readings: Arc::clone(&all),
    });
    let several = plan.own(BucketInserts::<Hourly>::batches(&all, CHUNK, 4));
    plan.own(BucketInserts::<HourlyStats>::one_call(&all));
    plan.own(BucketInserts::<Count1000>::one_call(&all));
    plan.own(BucketInserts::<Count200>::one_call(&all));

    plan.compare(buckets, flat[0], Goal::AtLeast(8.0));
    plan.compare(several, flat[1], None);
    plan.compare(buckets, time_series[0], Goal::AtLeast(10.0));
    plan.compare(several, time_series[1], None);
    plan.compare(buckets, manual[0], Goal::AtLeast(300.0));
    plan.compare(several, manual[1], None);
    plan.compare(buckets, prebuilt, Goal::AtLeast(0.5));
    plan
}

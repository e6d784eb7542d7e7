//! A check of all that is stored against what the library promises of it.

use std::marker::PhantomData;

use super::Workload;
use crate::{
    arena::Arena,
    contestant::{Read, Timed},
    data::Buckets,
    error::Result,
    goal::{Goal, Unit},
    model::{Count10, Hourly, HourlyStats, Model, Numbered10},
    plan::Plan,
    reading::readings_of,
    scale::Scale,
};

pub(super) const WORKLOAD: Workload = Workload {
    name: "verify",
    title: "a check of everything that is stored",
    about: include_str!("about/verify.md"),
    plan,
};

/// The sensors that report.
const SENSORS: usize = 100;

fn plan(scale: Scale) -> Plan {
    let all = readings_of(SENSORS, scale.pick(1_000_000, 10_000));
    let mut plan = Plan::new(Unit::RecordsPerSecond);
    plan.store(Buckets::<Hourly>::of(&all));
    plan.store(Buckets::<HourlyStats>::of(&all));
    plan.store(Buckets::<Numbered10>::of(&all));
    plan.store(Buckets::<Count10>::of(&all));
    let (records, times) = (all.len(), scale.pick(3, 2));
    let verified = [
        plan.own(Timed::new(Verified::<Hourly>::of(records), records, times)),
        plan.own(Timed::new(
            Verified::<HourlyStats>::of(records),
            records,
            times,
        )),
        plan.own(Timed::new(
            Verified::<Numbered10>::of(records),
            records,
            times,
        )),
        plan.own(Timed::new(Verified::<Count10>::of(records), records, times)),
    ];
    for verified in verified {
        plan.expect(verified, Goal::AtLeast(1e6));
    }
    plan
}

/// The library's `verify`.
struct Verified<M> {
    records: usize,
    model: PhantomData<fn() -> M>,
}

impl<M> Verified<M> {
    fn of(records: usize) -> Self {
        Self {
            records,
            model: PhantomData,
        }
    }
}

impl<M: Model> Read for Verified<M> {
    type Source = bucket_mongo::Buckets<M>;
    /// The number of records, if nothing is wrong.
    type Found = Option<u64>;

    fn name(&self) -> String {
        format!("buckets, {}, verify", M::NAME)
    }

    fn open(&self, arena: &Arena) -> Self::Source {
        M::buckets(arena.database())
    }

    async fn read(&self, source: &Self::Source) -> Result<Option<u64>> {
        let report = source.verify().await?;
        Ok(report.is_clean().then_some(report.records))
    }

    fn is_right(&self, found: Option<u64>) -> bool {
        found == u64::try_from(self.records).ok()
    }
}

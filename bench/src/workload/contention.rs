//! Single inserts by several writers at once: all for one key, or a key for each.

use std::marker::PhantomData;

use futures_util::future::{BoxFuture, FutureExt as _, try_join_all};

use super::Workload;
use crate::{
    arena::{Arena, durability, rate},
    contestant::Contestant,
    error::{Error, Result},
    goal::{Goal, Unit},
    model::{Count200, Hourly, ITEMS, Model, records},
    plan::Plan,
    reading::{Reading, Readings, readings_of},
    scale::Scale,
};

pub(super) const WORKLOAD: Workload = Workload {
    name: "contention",
    title: "8 writers with single inserts, on one hot key and on 8",
    about: include_str!("about/contention.md"),
    plan,
};

const WRITERS: usize = 8;

fn plan(scale: Scale) -> Plan {
    let mut plan = Plan::new(Unit::RecordsPerSecond);
    compare::<Hourly>(&mut plan, scale, Goal::AtLeast(1.0 / 3.0).into());
    compare::<Count200>(&mut plan, scale, None);
    plan
}

fn compare<M: Model>(plan: &mut Plan, scale: Scale, goal: Option<Goal>) {
    let records = WRITERS * scale.pick(200, 25);
    let hot = plan.own(Writers::<M>::on(1, records));
    let spread = plan.own(Writers::<M>::on(WRITERS, records));
    plan.compare(hot, spread, goal);
}

/// Eight tasks with clones of one handle. A task takes every eighth record.
struct Writers<M> {
    keys: usize,
    readings: Readings,
    model: PhantomData<fn() -> M>,
}

impl<M> Writers<M> {
    fn on(keys: usize, records: usize) -> Self {
        Self {
            keys,
            readings: readings_of(keys, records),
            model: PhantomData,
        }
    }
}

impl<M: Model> Contestant for Writers<M> {
    fn name(&self) -> String {
        let keys = match self.keys {
            1 => "one key for all writers",
            _ => "a key for each writer",
        };
        format!("buckets, {}, insert, {keys}", M::NAME)
    }

    fn round<'a>(&'a self, arena: &'a Arena) -> BoxFuture<'a, Result<f64>> {
        async {
            let collection = M::SPEC.collection();
            arena.clear(collection).await?;
            let buckets = M::buckets(arena.database()).with_write_concern(durability());
            buckets.ensure().await?;
            let shares = (0..WRITERS).map(|writer| share(&self.readings, writer));
            let shares: Vec<Vec<M>> = shares.map(|share| records(&share)).collect();
            let write = async {
                let tasks = shares.into_iter().map(|share| {
                    let buckets = buckets.clone();
                    tokio::spawn(async move {
                        for record in &share {
                            buckets.insert(record).await?;
                        }
                        Ok::<_, Error>(())
                    })
                });
                for ended in try_join_all(tasks).await? {
                    ended?;
                }
                Ok(())
            };
            let (time, ()) = arena.clock(write).await?;
            let number = self.readings.len();
            arena.expect_items(collection, ITEMS, number).await?;
            arena.clear(collection).await?;
            Ok(rate(number, time))
        }
        .boxed()
    }
}

/// The records of one writer.
fn share(readings: &[Reading], writer: usize) -> Vec<Reading> {
    readings
        .iter()
        .skip(writer)
        .step_by(WRITERS)
        .cloned()
        .collect()
}

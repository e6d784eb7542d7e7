//! Batches of one key, one after the other.

use futures_util::future::{BoxFuture, FutureExt as _};

use super::Workload;
use crate::{
    arena::{Arena, durability},
    contestant::Contestant,
    error::Result,
    goal::{Goal, Unit},
    model::{Count10, ITEMS, Model, Numbered10, records},
    plan::{Id, Plan},
    reading::{Readings, readings_of},
    scale::Scale,
};

pub(super) const WORKLOAD: Workload = Workload {
    name: "bulk",
    title: "bulk load of one key, ten readings a bucket",
    about: include_str!("about/bulk.md"),
    plan,
};

fn plan(scale: Scale) -> Plan {
    let batch = scale.pick(20_000, 400);
    let last = scale.pick(100, 12);
    let readings = readings_of(1, batch * last);
    let mut plan = Plan::new(Unit::Microseconds);
    let first = own::<Count10>(&mut plan, &readings, batch, 1);
    let mut later = vec![own::<Count10>(&mut plan, &readings, batch, 12)];
    if last > 12 {
        later.push(own::<Count10>(&mut plan, &readings, batch, last));
    }
    for later in later {
        plan.compare(later, first, Goal::AtMost(1.3));
    }
    let numbered = own::<Numbered10>(&mut plan, &readings, batch, 12);
    plan.compare(first, numbered, None);
    plan
}

fn own<M: Model>(plan: &mut Plan, readings: &Readings, batch: usize, number: usize) -> Id {
    plan.own(Load::<M> {
        readings: readings.clone(),
        batch,
        number,
        model: std::marker::PhantomData,
    })
}

/// The library's `insert_many`; one of its batches is timed.
struct Load<M> {
    readings: Readings,
    batch: usize,
    /// That batch, counted from 1.
    number: usize,
    model: std::marker::PhantomData<fn() -> M>,
}

impl<M: Model> Contestant for Load<M> {
    fn name(&self) -> String {
        format!("{}, batch {}", M::NAME, self.number)
    }

    fn round<'a>(&'a self, arena: &'a Arena) -> BoxFuture<'a, Result<f64>> {
        async {
            let collection = M::SPEC.collection();
            arena.clear(collection).await?;
            let buckets = M::buckets(arena.database()).with_write_concern(durability());
            buckets.ensure().await?;
            let behind = self.batch * (self.number - 1);
            let (earlier, rest) = self.readings.split_at(behind);
            for batch in earlier.chunks(self.batch) {
                let batch: Vec<M> = records(batch);
                buckets.insert_many(&batch).await?.into_result()?;
            }
            let batch: Vec<M> = records(&rest[..self.batch]);
            let insert = async {
                buckets.insert_many(&batch).await?.into_result()?;
                Ok(())
            };
            let (time, ()) = arena.clock(insert).await?;
            let number = self.batch * self.number;
            arena.expect_items(collection, ITEMS, number).await?;
            arena.clear(collection).await?;
            Ok(micros(time, self.batch))
        }
        .boxed()
    }
}

/// The time of one record, in microseconds.
#[allow(clippy::cast_precision_loss, reason = "far less than 2^53")]
fn micros(time: std::time::Duration, number: usize) -> f64 {
    time.as_secs_f64() * 1e6 / number as f64
}

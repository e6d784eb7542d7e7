//! Batches of one key, one after the other.

use std::{
    collections::HashMap,
    marker::PhantomData,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::future::{BoxFuture, FutureExt as _};

use super::Workload;
use crate::{
    arena::{Arena, durability},
    contestant::Contestant,
    error::{Error, Result},
    goal::{Goal, Unit},
    model::{Count2, Count10, ITEMS, Model, Numbered10, records},
    plan::{Id, Plan},
    reading::{Readings, readings_of},
    scale::Scale,
};

pub(super) const WORKLOAD: Workload = Workload {
    name: "bulk",
    title: "bulk load of one key, ten and two readings a bucket",
    about: include_str!("about/bulk.md"),
    plan,
};

fn plan(scale: Scale) -> Plan {
    let batch = scale.pick(20_000, 400);
    let last = scale.pick(100, 14);
    let readings = readings_of(1, batch * last);
    let mut plan = Plan::new(Unit::Microseconds);
    let tens = own::<Count10>(&mut plan, &readings, batch, &[1, 12, last]);
    let twos = own::<Count2>(&mut plan, &readings, batch, &[1, 12, last]);
    for numbers in [&tens, &twos] {
        for later in &numbers[1..] {
            plan.compare(*later, numbers[0], Goal::AtMost(1.3));
        }
    }
    let numbered = own::<Numbered10>(&mut plan, &readings, batch, &[12]);
    plan.compare(tens[0], numbered[0], None);
    plan
}

/// A contestant for each of these batches of one load, which are counted from 1.
fn own<M: Model>(plan: &mut Plan, readings: &Readings, batch: usize, timed: &[usize]) -> Vec<Id> {
    let load = Arc::new(Load {
        readings: readings.clone(),
        batch,
        timed: timed.to_vec(),
        figures: Mutex::default(),
    });
    let of_load = timed.iter().map(|number| {
        plan.own(Timed::<M> {
            load: Arc::clone(&load),
            number: *number,
            model: PhantomData,
        })
    });
    of_load.collect()
}

/// The library's `insert_many`, batch after batch.
struct Load {
    readings: Readings,
    batch: usize,
    timed: Vec<usize>,
    /// The batches that were timed and not asked for yet: what is compared comes from one load.
    figures: Mutex<HashMap<usize, f64>>,
}

impl Load {
    async fn figure<M: Model>(&self, number: usize, arena: &Arena) -> Result<f64> {
        let known = self.figures().remove(&number);
        if let Some(figure) = known {
            return Ok(figure);
        }
        let mut figures = self.run::<M>(arena).await?;
        let figure = figures.remove(&number);
        *self.figures() = figures;
        figure.ok_or_else(|| Error::WrongRead(format!("{}, batch {number}", M::NAME)))
    }

    fn figures(&self) -> MutexGuard<'_, HashMap<usize, f64>> {
        self.figures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn run<M: Model>(&self, arena: &Arena) -> Result<HashMap<usize, f64>> {
        let collection = M::SPEC.collection();
        arena.clear(collection).await?;
        let buckets = M::buckets(arena.database()).with_write_concern(durability());
        buckets.ensure().await?;
        let mut figures = HashMap::new();
        let last = self.timed.iter().copied().max().unwrap_or_default();
        for (number, batch) in (1..=last).zip(self.readings.chunks(self.batch)) {
            let batch: Vec<M> = records(batch);
            let insert = async {
                buckets.insert_many(&batch).await?.into_result()?;
                Ok(())
            };
            if self.timed.contains(&number) {
                let (time, ()) = arena.clock(insert).await?;
                figures.insert(number, micros(time, self.batch));
            } else {
                insert.await?;
            }
        }
        let number = self.batch * last;
        arena.expect_items(collection, ITEMS, number).await?;
        arena.clear(collection).await?;
        Ok(figures)
    }
}

/// One batch of a load.
struct Timed<M> {
    load: Arc<Load>,
    number: usize,
    model: PhantomData<fn() -> M>,
}

impl<M: Model> Contestant for Timed<M> {
    fn name(&self) -> String {
        format!("{}, batch {}", M::NAME, self.number)
    }

    fn round<'a>(&'a self, arena: &'a Arena) -> BoxFuture<'a, Result<f64>> {
        self.load.figure::<M>(self.number, arena).boxed()
    }
}

/// The time of one record, in microseconds.
#[allow(clippy::cast_precision_loss, reason = "far less than 2^53")]
fn micros(time: Duration, number: usize) -> f64 {
    time.as_secs_f64() * 1e6 / number as f64
}

//! How fast a watch gives what was written.

use std::{marker::PhantomData, time::Duration};

use bucket_mongo::{
    RecordChange,
    mongodb::change_stream::{ChangeStream, event::ChangeStreamEvent},
};
use futures_util::{
    TryStreamExt as _,
    future::{BoxFuture, FutureExt as _},
};

use super::Workload;
use crate::{
    arena::{Arena, durability, rate},
    contestant::Contestant,
    error::{Error, Result},
    goal::Unit,
    model::{Count10, Hourly, HourlyStats, Model},
    plan::Plan,
    reading::{Reading, Readings, readings},
    scale::Scale,
};

pub(super) const WORKLOAD: Workload = Workload {
    name: "watch",
    title: "following what was written in batches of 1,000",
    about: include_str!("about/watch.md"),
    plan,
};

/// The records of a batch.
const BATCH: usize = 1_000;

fn plan(scale: Scale) -> Plan {
    let all = readings(scale.pick(200_000, 5_000));
    let mut plan = Plan::new(Unit::RecordsPerSecond);
    let hourly = plan.own(Own::<Hourly>::of(&all));
    plan.own(Own::<HourlyStats>::of(&all));
    plan.own(Own::<Count10>::of(&all));
    let flat = plan.peer(Flat(all));
    plan.compare(hourly, flat, None);
    plan
}

/// The library's `watch`.
struct Own<M> {
    readings: Readings,
    model: PhantomData<fn() -> M>,
}

impl<M> Own<M> {
    fn of(readings: &Readings) -> Self {
        Self {
            readings: readings.clone(),
            model: PhantomData,
        }
    }
}

impl<M: Model> Contestant for Own<M> {
    fn name(&self) -> String {
        format!("buckets, {}, watch", M::NAME)
    }

    fn round<'a>(&'a self, arena: &'a Arena) -> BoxFuture<'a, Result<f64>> {
        async {
            arena.clear(M::SPEC.collection()).await?;
            let buckets = M::buckets(arena.database()).with_write_concern(durability());
            buckets.ensure().await?;
            let mut events = buckets.watch().await?;
            for batch in self.readings.chunks(BATCH) {
                let records: Vec<M> = batch.iter().map(M::of).collect();
                buckets.insert_many(&records).await?.into_result()?;
            }
            let read = async {
                let mut read = 0;
                while read < self.readings.len() {
                    let Some(event) = events.try_next().await? else {
                        break;
                    };
                    read += usize::from(matches!(event.change, RecordChange::Stored { .. }));
                }
                Ok::<_, Error>(read)
            };
            let (time, read) = arena.clock(read).await?;
            arena.clear(M::SPEC.collection()).await?;
            figure(&self.name(), self.readings.len(), read, time)
        }
        .boxed()
    }
}

/// The driver's change stream of a flat collection.
struct Flat(Readings);

const FLAT: &str = "watched_flat";

impl Contestant for Flat {
    fn name(&self) -> String {
        "flat, change stream".to_owned()
    }

    fn round<'a>(&'a self, arena: &'a Arena) -> BoxFuture<'a, Result<f64>> {
        async {
            arena.clear(FLAT).await?;
            let collection = arena.collection::<Reading>(FLAT);
            let mut events: ChangeStream<ChangeStreamEvent<Reading>> = collection.watch().await?;
            for batch in self.0.chunks(BATCH) {
                collection.insert_many(batch).await?;
            }
            let read = async {
                let mut read = 0;
                while read < self.0.len() {
                    let Some(event) = events.try_next().await? else {
                        break;
                    };
                    read += usize::from(event.full_document.is_some());
                }
                Ok::<_, Error>(read)
            };
            let (time, read) = arena.clock(read).await?;
            arena.clear(FLAT).await?;
            figure(&self.name(), self.0.len(), read, time)
        }
        .boxed()
    }
}

/// The figure of a round, if the stream gave every record.
fn figure(name: &str, written: usize, read: usize, time: Duration) -> Result<f64> {
    if read == written {
        return Ok(rate(read, time));
    }
    Err(Error::WrongRead(name.to_owned()))
}

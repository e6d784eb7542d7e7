//! How soon a watch gives a record that was written.

use std::time::{Duration, Instant};

use bucket_mongo::Bucketed;
use futures_util::{
    TryStreamExt as _,
    future::{BoxFuture, FutureExt as _},
};

use super::Workload;
use crate::{
    arena::{Arena, durability},
    contestant::Contestant,
    error::{Error, Result},
    goal::Unit,
    model::{Hourly, Model},
    plan::Plan,
    reading::{Reading, Readings, readings},
    scale::Scale,
};

pub(super) const WORKLOAD: Workload = Workload {
    name: "watch-delay",
    title: "from the call of a write to its event",
    about: include_str!("about/watch-delay.md"),
    plan,
};

fn plan(scale: Scale) -> Plan {
    let all = readings(scale.pick(1_000, 50));
    let mut plan = Plan::new(Unit::Microseconds);
    let own = plan.own(Own(all.clone()));
    let flat = plan.peer(Flat(all));
    plan.compare(own, flat, None);
    plan
}

/// The library's `watch`.
struct Own(Readings);

impl Contestant for Own {
    fn name(&self) -> String {
        format!("buckets, {}, insert to watch", Hourly::NAME)
    }

    fn round<'a>(&'a self, arena: &'a Arena) -> BoxFuture<'a, Result<f64>> {
        async {
            arena.clear(Hourly::SPEC.collection()).await?;
            let buckets = Hourly::buckets(arena.database()).with_write_concern(durability());
            buckets.ensure().await?;
            let mut events = buckets.watch().await?;
            let mut delays = Vec::with_capacity(self.0.len());
            for reading in self.0.iter() {
                let record = Hourly::of(reading);
                let called = Instant::now();
                let written = async { Ok::<_, Error>(buckets.insert(&record).await?) };
                let came = async {
                    events.try_next().await?;
                    Ok::<_, Error>(called.elapsed())
                };
                delays.push(tokio::try_join!(written, came)?.1);
            }
            arena.clear(Hourly::SPEC.collection()).await?;
            Ok(median(delays))
        }
        .boxed()
    }
}

/// The driver's change stream of a flat collection.
struct Flat(Readings);

const FLAT: &str = "watched_flat";

impl Contestant for Flat {
    fn name(&self) -> String {
        "flat, insertOne to change stream".to_owned()
    }

    fn round<'a>(&'a self, arena: &'a Arena) -> BoxFuture<'a, Result<f64>> {
        async {
            arena.clear(FLAT).await?;
            let collection = arena.collection::<Reading>(FLAT);
            let mut events = collection.watch().await?;
            let mut delays = Vec::with_capacity(self.0.len());
            for reading in self.0.iter() {
                let called = Instant::now();
                let written = async { Ok::<_, Error>(collection.insert_one(reading).await?) };
                let came = async {
                    events.try_next().await?;
                    Ok::<_, Error>(called.elapsed())
                };
                delays.push(tokio::try_join!(written, came)?.1);
            }
            arena.clear(FLAT).await?;
            Ok(median(delays))
        }
        .boxed()
    }
}

/// In microseconds.
fn median(mut delays: Vec<Duration>) -> f64 {
    delays.sort_unstable();
    let middle = delays.get(delays.len() / 2).copied();
    middle.unwrap_or_default().as_secs_f64() * 1e6
}

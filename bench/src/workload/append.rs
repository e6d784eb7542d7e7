//! Single appends after a short and after a long history.

use std::time::Duration;

use bucket_mongo::{
    Bucketed as _,
    bson::{Document, RawDocumentBuf},
};
use futures_util::future::{BoxFuture, FutureExt as _};

use super::Workload;
use crate::{
    arena::{Arena, durability},
    contestant::{Contestant, manual_bucket, manual_upsert},
    error::Result,
    goal::{Goal, Unit},
    model::{Count10, ITEMS, records},
    output::number::grouped,
    plan::Plan,
    reading::{Reading, Readings, readings_of},
    scale::Scale,
};

pub(super) const WORKLOAD: Workload = Workload {
    name: "append",
    title: "one append after 10,000 full buckets of its key",
    about: include_str!("about/append.md"),
    plan,
};

/// As in the manual: every tenth append opens a bucket.
const CAPACITY: usize = 10;
const SHORT: usize = 10;

fn plan(scale: Scale) -> Plan {
    let long = scale.pick(10_000, 100);
    let appends = scale.pick(500, 50);
    // Every append of the manual's examines all full buckets.
    let manual_appends = scale.pick(100, 20);
    let readings = readings_of(1, long * CAPACITY + appends);

    let mut plan = Plan::new(Unit::Microseconds);
    let [short_own, long_own] = [SHORT, long].map(|behind| {
        plan.own(Inserts {
            readings: readings.clone(),
            behind,
            appends,
        })
    });
    let [short_manual, long_manual] = [SHORT, long].map(|behind| {
        plan.peer(Upserts {
            readings: readings.clone(),
            behind,
            appends: manual_appends,
        })
    });
    plan.compare(long_own, short_own, Goal::AtMost(1.2));
    plan.compare(long_manual, short_manual, None);
    plan.compare(long_own, long_manual, None);
    plan
}

/// The library's `insert`.
struct Inserts {
    readings: Readings,
    /// The number of full buckets of the key.
    behind: usize,
    appends: usize,
}

impl Contestant for Inserts {
    fn name(&self) -> String {
        format!("buckets, insert after {} full ones", grouped(self.behind))
    }

    fn round<'a>(&'a self, arena: &'a Arena) -> BoxFuture<'a, Result<f64>> {
        async {
            let collection = Count10::COLLECTION;
            arena.clear(collection).await?;
            let buckets = Count10::buckets(arena.database()).with_write_concern(durability());
            buckets.ensure().await?;
            let (history, appended) = split(&self.readings, self.behind, self.appends);
            let history: Vec<Count10> = records(history);
            let appended: Vec<Count10> = records(appended);
            buckets.insert_many(&history).await?.into_result()?;
            // Entries that were removed from the index on open buckets stay in it for some minutes.
            if let Some(open) = Count10::SPEC.open_index_name() {
                buckets.collection::<Document>().drop_index(open).await?;
            }
            buckets.ensure().await?;
            let append = async {
                for record in &appended {
                    buckets.insert(record).await?;
                }
                Ok(())
            };
            let (time, ()) = arena.clock(append).await?;
            let number = history.len() + appended.len();
            arena.expect_items(collection, ITEMS, number).await?;
            arena.clear(collection).await?;
            Ok(micros(time, appended.len()))
        }
        .boxed()
    }
}

/// The manual's upsert.
struct Upserts {
    readings: Readings,
    behind: usize,
    appends: usize,
}

const MANUAL: &str = "manual_history";

impl Contestant for Upserts {
    fn name(&self) -> String {
        format!(
            "the manual's upsert after {} full ones",
            grouped(self.behind)
        )
    }

    fn round<'a>(&'a self, arena: &'a Arena) -> BoxFuture<'a, Result<f64>> {
        async {
            arena.clear(MANUAL).await?;
            let (history, appended) = split(&self.readings, self.behind, self.appends);
            let full = history.chunks(CAPACITY).map(manual_bucket);
            let full = full.collect::<Result<Vec<_>>>()?;
            arena
                .collection::<RawDocumentBuf>(MANUAL)
                .insert_many(full)
                .await?;
            let collection = arena.collection::<Document>(MANUAL);
            let capacity = i32::try_from(CAPACITY).unwrap_or(i32::MAX);
            let append = async {
                for reading in appended {
                    manual_upsert(&collection, reading, capacity).await?;
                }
                Ok(())
            };
            let (time, ()) = arena.clock(append).await?;
            let number = history.len() + appended.len();
            arena.expect_items(MANUAL, ITEMS, number).await?;
            arena.clear(MANUAL).await?;
            Ok(micros(time, appended.len()))
        }
        .boxed()
    }
}

/// The records of the full buckets, and those that are appended.
fn split(readings: &Readings, behind: usize, appends: usize) -> (&[Reading], &[Reading]) {
    let (history, rest) = readings.split_at(behind * CAPACITY);
    (history, &rest[..appends])
}

/// The time of one append, in microseconds.
#[allow(clippy::cast_precision_loss, reason = "far less than 2^53")]
fn micros(time: Duration, number: usize) -> f64 {
    time.as_secs_f64() * 1e6 / number as f64
}

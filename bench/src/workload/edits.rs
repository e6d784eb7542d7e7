//! Corrections and removals of single records.

use std::time::Duration;

use bucket_mongo::{
    Bucketed, RecordRef,
    bson::{DateTime, Document, doc},
};
use futures_util::future::{BoxFuture, FutureExt as _};
use serde::{Deserialize, Serialize};

use super::Workload;
use crate::{
    arena::{Arena, durability},
    contestant::Contestant,
    error::Result,
    goal::{Goal, Unit},
    plan::Plan,
    reading::{Reading, Readings, readings_of},
    scale::Scale,
};

pub(super) const WORKLOAD: Workload = Workload {
    name: "edits",
    title: "one correction and one removal in buckets of 100",
    about: include_str!("about/edits.md"),
    plan,
};

/// A reading in buckets with aggregates.
#[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "edited", items = "readings", capacity = 100)]
struct Edited {
    #[bucket(key)]
    sensor_id: String,
    #[bucket(time)]
    ts: DateTime,
    #[bucket(min, max, sum)]
    v: f64,
    q: f64,
}

fn plan(scale: Scale) -> Plan {
    let edits = scale.pick(500, 30);
    let readings = readings_of(1, scale.pick(5_000, 200));
    let mut plan = Plan::new(Unit::Microseconds);
    let mut own = |deed| {
        let readings = readings.clone();
        plan.own(Own {
            readings,
            edits,
            deed,
        })
    };
    let inserts = own(Deed::Insert);
    let updates = own(Deed::Update);
    let deletes = own(Deed::Delete);
    let flat = [Deed::Update, Deed::Delete].map(|deed| {
        let readings = readings.clone();
        plan.peer(Flat {
            readings,
            edits,
            deed,
        })
    });
    plan.compare(updates, inserts, Goal::AtMost(3.0));
    plan.compare(deletes, inserts, Goal::AtMost(3.0));
    plan.compare(updates, flat[0], None);
    plan.compare(deletes, flat[1], None);
    plan
}

#[derive(Debug, Clone, Copy)]
enum Deed {
    Insert,
    Update,
    Delete,
}

impl Deed {
    const fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }
}

/// The library.
struct Own {
    readings: Readings,
    edits: usize,
    deed: Deed,
}

impl Contestant for Own {
    fn name(&self) -> String {
        format!("buckets of 100, {}", self.deed.name())
    }

    fn round<'a>(&'a self, arena: &'a Arena) -> BoxFuture<'a, Result<f64>> {
        async {
            arena.clear(Edited::SPEC.collection()).await?;
            let buckets = Edited::buckets(arena.database()).with_write_concern(durability());
            buckets.ensure().await?;
            let all: Vec<Edited> = self.readings.iter().map(record).collect();
            let (stored, more) = all.split_at(all.len() - self.edits);
            buckets.insert_many(stored).await?.into_result()?;
            let Some(key) = stored.first().map(|record| record.sensor_id.clone()) else {
                return Ok(0.0);
            };
            let read = buckets.records(&*key).with_refs().collect().await?;
            let step = (read.len() / self.edits).max(1);
            let refs: Vec<RecordRef> = read
                .into_iter()
                .step_by(step)
                .take(self.edits)
                .map(|read| read.reference)
                .collect();
            let edits = async {
                match self.deed {
                    Deed::Insert => {
                        for record in more {
                            buckets.insert(record).await?;
                        }
                    }
                    Deed::Update => {
                        for reference in &refs {
                            let update = |record: &mut Edited| record.v += 0.5;
                            buckets.update(&*key, reference, update).await?;
                        }
                    }
                    Deed::Delete => {
                        for reference in &refs {
                            buckets.delete(&*key, reference).await?;
                        }
                    }
                }
                Ok(())
            };
            let (time, ()) = arena.clock(edits).await?;
            arena.clear(Edited::SPEC.collection()).await?;
            Ok(micros(time, self.edits))
        }
        .boxed()
    }
}

/// A flat collection.
struct Flat {
    readings: Readings,
    edits: usize,
    deed: Deed,
}

const FLAT: &str = "edited_flat";

impl Contestant for Flat {
    fn name(&self) -> String {
        format!("flat, {}One", self.deed.name())
    }

    fn round<'a>(&'a self, arena: &'a Arena) -> BoxFuture<'a, Result<f64>> {
        async {
            arena.clear(FLAT).await?;
            arena.index(FLAT, doc! { "sensor_id": 1, "ts": 1 }).await?;
            let all: Vec<Edited> = self.readings.iter().map(record).collect();
            arena.collection::<Edited>(FLAT).insert_many(&all).await?;
            let collection = arena.collection::<Document>(FLAT);
            let step = (all.len() / self.edits).max(1);
            let edited: Vec<&Edited> = all.iter().step_by(step).take(self.edits).collect();
            let edits = async {
                for record in edited {
                    let one = doc! { "sensor_id": &record.sensor_id, "ts": record.ts };
                    if let Deed::Delete = self.deed {
                        collection.delete_one(one).await?;
                    } else {
                        let change = doc! { "$inc": { "v": 0.5 } };
                        collection.update_one(one, change).await?;
                    }
                }
                Ok(())
            };
            let (time, ()) = arena.clock(edits).await?;
            arena.clear(FLAT).await?;
            Ok(micros(time, self.edits))
        }
        .boxed()
    }
}

fn record(reading: &Reading) -> Edited {
    let Reading {
        sensor_id,
        ts,
        v,
        q,
    } = reading.clone();
    Edited {
        sensor_id,
        ts,
        v,
        q,
    }
}

/// The time of one edit, in microseconds.
#[allow(clippy::cast_precision_loss, reason = "far less than 2^53")]
fn micros(time: Duration, number: usize) -> f64 {
    time.as_secs_f64() * 1e6 / number as f64
}

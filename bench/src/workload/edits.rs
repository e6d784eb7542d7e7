//! Corrections and removals of single records.

use std::{marker::PhantomData, time::Duration};

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
    title: "one correction and one removal",
    about: include_str!("about/edits.md"),
    plan,
};

/// A model whose buckets are edited.
trait Edits: Bucketed<Key: From<String>> + Clone {
    /// What closes a bucket, for the tables.
    const NAME: &'static str;

    fn of(reading: &Reading) -> Self;

    fn value(&mut self) -> &mut f64;
}

/// Readings in buckets with aggregates.
macro_rules! models {
    ($($(#[$bucket:meta])+ $model:ident: $name:literal;)+) => {$(
        $(#[$bucket])+
        #[derive(Debug, Clone, Serialize, Deserialize)]
        struct $model {
            #[bucket(key)]
            sensor_id: String,
            #[bucket(time)]
            ts: DateTime,
            #[bucket(min, max, sum)]
            v: f64,
            q: f64,
        }

        impl Edits for $model {
            const NAME: &'static str = $name;

            fn of(reading: &Reading) -> Self {
                let Reading { sensor_id, ts, v, q } = reading.clone();
                Self { sensor_id, ts, v, q }
            }

            fn value(&mut self) -> &mut f64 {
                &mut self.v
            }
        }
    )+};
}

models! {
    #[derive(Bucketed)]
    #[bucket(collection = "edited", items = "readings", capacity = 100)]
    Edited100: "buckets of 100";

    #[derive(Bucketed)]
    #[bucket(collection = "edited_1000", items = "readings", capacity = 1_000)]
    Edited1000: "buckets of 1,000";

    #[derive(Bucketed)]
    #[bucket(collection = "edited_sealed", items = "readings", capacity = 1_000, seal_after = "1h")]
    EditedSealed: "sealed buckets of 1,000";
}

fn plan(scale: Scale) -> Plan {
    let edits = scale.pick(500, 30);
    let readings = readings_of(1, scale.pick(5_000, 200));
    let of_1000 = readings_of(1, scale.pick(20_500, 2_030));
    let mut plan = Plan::new(Unit::Microseconds);
    let inserts = plan.own(Own::<Edited100>::new(&readings, edits, Deed::Insert));
    let updates = plan.own(Own::<Edited100>::new(&readings, edits, Deed::Update));
    let deletes = plan.own(Own::<Edited100>::new(&readings, edits, Deed::Delete));
    let of_rows = [Deed::Update, Deed::Delete]
        .map(|deed| plan.own(Own::<Edited1000>::new(&of_1000, edits, deed)));
    let of_columns = [Deed::Update, Deed::Delete]
        .map(|deed| plan.own(Own::<EditedSealed>::new(&of_1000, edits, deed)));
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
    for (columns, rows) in of_columns.into_iter().zip(of_rows) {
        plan.compare(columns, rows, Goal::AtMost(3.0));
    }
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
struct Own<M> {
    readings: Readings,
    edits: usize,
    deed: Deed,
    model: PhantomData<fn() -> M>,
}

impl<M> Own<M> {
    fn new(readings: &Readings, edits: usize, deed: Deed) -> Self {
        Self {
            readings: readings.clone(),
            edits,
            deed,
            model: PhantomData,
        }
    }
}

impl<M: Edits> Contestant for Own<M> {
    fn name(&self) -> String {
        format!("{}, {}", M::NAME, self.deed.name())
    }

    fn round<'a>(&'a self, arena: &'a Arena) -> BoxFuture<'a, Result<f64>> {
        async {
            arena.clear(M::SPEC.collection()).await?;
            let buckets = M::buckets(arena.database()).with_write_concern(durability());
            buckets.ensure().await?;
            let all: Vec<M> = self.readings.iter().map(M::of).collect();
            let (stored, more) = all.split_at(all.len() - self.edits);
            buckets.insert_many(stored).await?.into_result()?;
            if M::SPEC.seal_after().is_some() {
                buckets.seal().await?;
            }
            let Some(first) = self.readings.first() else {
                return Ok(0.0);
            };
            let key = || first.sensor_id.clone();
            let read = buckets.records(key()).with_refs().collect().await?;
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
                            let update = |record: &mut M| *record.value() += 0.5;
                            buckets.update(key(), reference, update).await?;
                        }
                    }
                    Deed::Delete => {
                        for reference in &refs {
                            buckets.delete(key(), reference).await?;
                        }
                    }
                }
                Ok(())
            };
            let (time, ()) = arena.clock(edits).await?;
            arena.clear(M::SPEC.collection()).await?;
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
            let all = self.readings.as_slice();
            arena.collection::<Reading>(FLAT).insert_many(all).await?;
            let collection = arena.collection::<Document>(FLAT);
            let step = (all.len() / self.edits).max(1);
            let edited: Vec<&Reading> = all.iter().step_by(step).take(self.edits).collect();
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

/// The time of one edit, in microseconds.
#[allow(clippy::cast_precision_loss, reason = "far less than 2^53")]
fn micros(time: Duration, number: usize) -> f64 {
    time.as_secs_f64() * 1e6 / number as f64
}

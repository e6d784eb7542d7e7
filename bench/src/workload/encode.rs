//! The client's own work: from records to finished bytes, without a server.

use std::{
    marker::PhantomData,
    sync::Arc,
    time::{Duration, Instant},
};

use bucket_core::write::{Batch, Certainty, Round};
use bucket_mongo::bson::{
    DateTime, Document, doc, serialize_to_raw_document_buf, serialize_to_vec,
};
use futures_util::future::{BoxFuture, FutureExt as _};

use super::Workload;
use crate::{
    arena::{Arena, rate},
    contestant::Contestant,
    error::{Error, Result},
    goal::{Goal, Unit},
    model::{Hourly, HourlyStats, Model, records},
    plan::Plan,
    reading::{Reading, Readings, readings},
    scale::Scale,
};

pub(super) const WORKLOAD: Workload = Workload {
    name: "encode",
    title: "encoding on one core, without a server",
    about: include_str!("about/encode.md"),
    plan,
};

/// The number of records that `insert_many` encodes before it sends anything.
const CHUNK: usize = 262_144;

fn plan(scale: Scale) -> Plan {
    let readings = readings(scale.pick(1_000_000, 40_000));
    let encoder = |way| Documents {
        readings: Arc::clone(&readings),
        way,
    };
    let mut plan = Plan::new(Unit::RecordsPerSecond);
    let items = plan.own(Items::<Hourly>::of(&readings, false));
    let commands = plan.own(Items::<Hourly>::of(&readings, true));
    plan.own(Items::<HourlyStats>::of(&readings, true));
    let raw = plan.peer(encoder(Way::Raw));
    let values = plan.peer(encoder(Way::Values));
    plan.expect(items, Goal::AtLeast(5e6));
    plan.expect(commands, Goal::AtLeast(5e6));
    plan.compare(commands, raw, None);
    plan.compare(commands, values, None);
    plan
}

/// The library's encoder, chunk by chunk as `insert_many` uses it.
struct Items<M> {
    readings: Readings,
    /// Whether the commands are finished as well.
    commands: bool,
    model: PhantomData<fn() -> M>,
}

impl<M> Items<M> {
    fn of(readings: &Readings, commands: bool) -> Self {
        Self {
            readings: Arc::clone(readings),
            commands,
            model: PhantomData,
        }
    }
}

impl<M: Model> Contestant for Items<M> {
    fn name(&self) -> String {
        let what = if self.commands {
            "to finished commands"
        } else {
            "to items by key"
        };
        format!("buckets, {}, {what}", M::NAME)
    }

    fn round<'a>(&'a self, _: &'a Arena) -> BoxFuture<'a, Result<f64>> {
        let (readings, commands) = (Arc::clone(&self.readings), self.commands);
        let encode = move || {
            let records: Vec<M> = records(&readings);
            let mut time = Duration::ZERO;
            for chunk in records.chunks(CHUNK) {
                time += encode(chunk, commands)?;
            }
            Ok(rate(records.len(), time))
        };
        async { tokio::task::spawn_blocking(encode).await? }.boxed()
    }
}

/// Encodes a chunk; returns the time without that of the replies.
fn encode<M: Model>(records: &[M], commands: bool) -> Result<Duration> {
    let start = Instant::now();
    let mut batch = Batch::of::<M>();
    batch.set_now(DateTime::MIN);
    for (index, record) in records.iter().enumerate() {
        batch.push(index, record)?;
    }
    let mut time = start.elapsed();
    let mut stored = if commands { 0 } else { batch.records() };
    while stored < records.len() {
        let start = Instant::now();
        let mut rounds = batch.rounds(None);
        let bodies: Vec<_> = rounds.iter_mut().map(Round::take_body).collect();
        time += start.elapsed();
        if bodies.is_empty() {
            return Err(Error::Stuck);
        }
        for round in &rounds {
            // Every statement found its bucket as expected.
            let reply: Document = doc! { "ok": 1, "n": 1 };
            stored += batch.settle(round, &reply, Certainty::Full).stored.len();
        }
    }
    Ok(time)
}

/// Documents for a flat collection.
struct Documents {
    readings: Readings,
    way: Way,
}

#[derive(Clone, Copy)]
enum Way {
    /// Serde straight into bytes, as the driver does it.
    Raw,
    /// Values of `doc!`, then bytes.
    Values,
}

impl Contestant for Documents {
    fn name(&self) -> String {
        match self.way {
            Way::Raw => "flat, serde into a raw document a record".to_owned(),
            Way::Values => "flat, doc! a record".to_owned(),
        }
    }

    fn round<'a>(&'a self, _: &'a Arena) -> BoxFuture<'a, Result<f64>> {
        let (readings, way) = (Arc::clone(&self.readings), self.way);
        let encode = move || {
            let start = Instant::now();
            let mut bytes = 0;
            for reading in readings.iter() {
                bytes += way.encode(reading)?;
            }
            let time = start.elapsed();
            // A value that is never used need not be computed.
            if bytes == 0 {
                return Err(Error::Stuck);
            }
            Ok(rate(readings.len(), time))
        };
        async { tokio::task::spawn_blocking(encode).await? }.boxed()
    }
}

impl Way {
    fn encode(self, reading: &Reading) -> Result<usize> {
        let Reading {
            sensor_id,
            ts,
            v,
            q,
        } = reading;
        Ok(match self {
            Self::Raw => serialize_to_raw_document_buf(reading)?.as_bytes().len(),
            Self::Values => {
                let document = doc! { "sensor_id": sensor_id, "ts": ts, "v": v, "q": q };
                serialize_to_vec(&document)?.len()
            }
        })
    }
}

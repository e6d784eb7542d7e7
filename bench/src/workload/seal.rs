//! Items of full buckets as columns, and as rows again.

use std::{hint::black_box, marker::PhantomData, time::Instant};

use bucket_columns::{Columns, pack};
use bucket_mongo::bson::{RawDocumentBuf, serialize_to_raw_document_buf};
use futures_util::future::{BoxFuture, FutureExt as _};
use serde::Serialize;

use super::Workload;
use crate::{
    arena::{Arena, durability, rate},
    contestant::Contestant,
    error::{Error, Result},
    goal::{Goal, Unit},
    model::{ITEMS, Model, Sealed1000, SealedHourlyStats, records},
    plan::Plan,
    reading::{Reading, Readings, readings_of},
    scale::Scale,
};

pub(super) const WORKLOAD: Workload = Workload {
    name: "seal",
    title: "sealing full buckets, and giving the rows back",
    about: include_str!("about/seal.md"),
    plan,
};

/// The sensors that report.
const SENSORS: usize = 20;
/// The items that are packed together.
const TOGETHER: usize = 1_000;
/// The values of an item: a time, and two numbers.
const VALUES: f64 = 3.0;

fn plan(scale: Scale) -> Plan {
    let readings = readings_of(SENSORS, scale.pick(1_000_000, 40_000));
    let mut plan = Plan::new(Unit::RecordsPerSecond);
    let sealed = [
        plan.own(Stored::<Sealed1000>::new(&readings, Way::Pack)),
        plan.own(Stored::<SealedHourlyStats>::new(&readings, Way::Pack)),
    ];
    plan.own(Stored::<Sealed1000>::new(&readings, Way::Unpack));
    let [packing, reading, _] = [Way::Pack, Way::Read, Way::Unpack].map(|way| {
        let readings = readings.clone();
        plan.own(InMemory { readings, way })
    });
    for sealed in sealed {
        plan.expect(sealed, Goal::AtLeast(1e6));
    }
    plan.expect(packing, Goal::AtLeast(20e6 / VALUES));
    plan.expect(reading, Goal::AtLeast(150e6 / VALUES));
    plan
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Pack,
    /// The values, without rows.
    Read,
    Unpack,
}

/// The library's `seal` or `unseal`: reading, packing and writing.
struct Stored<M> {
    readings: Readings,
    way: Way,
    model: PhantomData<fn() -> M>,
}

impl<M> Stored<M> {
    fn new(readings: &Readings, way: Way) -> Self {
        Self {
            readings: readings.clone(),
            way,
            model: PhantomData,
        }
    }
}

impl<M: Model> Contestant for Stored<M> {
    fn name(&self) -> String {
        let call = match self.way {
            Way::Pack => "seal",
            Way::Read | Way::Unpack => "unseal",
        };
        format!("buckets, {}, {call}", M::NAME)
    }

    fn round<'a>(&'a self, arena: &'a Arena) -> BoxFuture<'a, Result<f64>> {
        async {
            let collection = M::SPEC.collection();
            arena.clear(collection).await?;
            let buckets = M::buckets(arena.database()).with_write_concern(durability());
            buckets.ensure().await?;
            let all: Vec<M> = records(&self.readings);
            buckets.insert_many(&all).await?.into_result()?;
            arena.expect_items(collection, ITEMS, all.len()).await?;
            let (time, report) = if self.way == Way::Pack {
                arena.clock(async { Ok(buckets.seal().await?) }).await?
            } else {
                buckets.seal().await?;
                arena.clock(async { Ok(buckets.unseal().await?) }).await?
            };
            arena.clear(collection).await?;
            let records = usize::try_from(report.records).unwrap_or_default();
            // What may be open is not sealed.
            if records + SENSORS * TOGETHER < all.len() {
                return Err(Error::NotSealed(report.to_string()));
            }
            Ok(rate(records, time))
        }
        .boxed()
    }
}

/// Only the columns, without a server.
struct InMemory {
    readings: Readings,
    way: Way,
}

/// A reading as an item of a bucket.
#[derive(Serialize)]
struct Item {
    ts: bucket_mongo::bson::DateTime,
    v: f64,
    q: f64,
}

impl Contestant for InMemory {
    fn name(&self) -> String {
        match self.way {
            Way::Pack => "packing 1,000 items, in memory".to_owned(),
            Way::Read => "unpacking 1,000 items, in memory, only the values".to_owned(),
            Way::Unpack => "unpacking 1,000 items, in memory".to_owned(),
        }
    }

    fn round<'a>(&'a self, _: &'a Arena) -> BoxFuture<'a, Result<f64>> {
        let (readings, way) = (self.readings.clone(), self.way);
        async move { tokio::task::spawn_blocking(move || in_memory(&readings, way)).await? }.boxed()
    }
}

fn in_memory(readings: &Readings, way: Way) -> Result<f64> {
    // A bucket has the readings of one sensor.
    let mut of_one: Vec<&Reading> = readings.iter().collect();
    of_one.sort_by(|one, other| one.sensor_id.cmp(&other.sensor_id));
    let items: Vec<RawDocumentBuf> = of_one
        .into_iter()
        .map(|reading| {
            let Reading { ts, v, q, .. } = *reading;
            serialize_to_raw_document_buf(&Item { ts, v, q })
        })
        .collect::<std::result::Result<_, _>>()?;
    let packed = || {
        items
            .chunks(TOGETHER)
            .map(|items| pack(items.iter().map(|item| &**item)))
    };
    let start = Instant::now();
    if way == Way::Pack {
        for packed in packed() {
            black_box(packed.map_err(|_| Error::Stuck)?);
        }
        return Ok(rate(items.len(), start.elapsed()));
    }
    let all = packed().collect::<std::result::Result<Vec<_>, _>>();
    let all = all.map_err(|_| Error::Stuck)?;
    let start = Instant::now();
    let mut rows = 0;
    for packed in &all {
        let columns = Columns::read(packed).map_err(|_| Error::Stuck)?;
        if way == Way::Read {
            black_box(&columns);
            rows += TOGETHER;
            continue;
        }
        let mut unpacked = columns.into_rows();
        while let Some(row) = unpacked.next_row() {
            black_box(row);
            rows += 1;
        }
    }
    Ok(rate(rows, start.elapsed()))
}

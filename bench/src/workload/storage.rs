//! The space that real readings take on disk.

use std::marker::PhantomData;

use bucket_mongo::{
    bson::{Document, doc},
    mongodb::{
        action::{Action as _, CreateCollection},
        options::{TimeseriesGranularity, TimeseriesOptions},
    },
};
use futures_util::future::{BoxFuture, FutureExt as _};
use serde::Serialize;

use super::Workload;
use crate::{
    arena::{Arena, durability},
    contestant::Contestant,
    error::Result,
    goal::{Goal, Unit},
    model::ITEMS,
    plan::Plan,
    scale::Scale,
    sensors::{
        SensorModel, SensorReading, Sensors200, Sensors1000, Sensors1000Sealed, SensorsHourly,
        SensorsHourlySealed, SensorsWeeklySealed, sensor_readings,
    },
};

pub(super) const WORKLOAD: Workload = Workload {
    name: "storage",
    title: "53,060 real readings on disk, indexes included",
    about: include_str!("about/storage.md"),
    plan,
};

/// Smaller collections would say little: even the files of empty ones have some pages.
fn plan(_: Scale) -> Plan {
    let time_series = |granularity, zstd| TimeSeries { granularity, zstd };
    let mut plan = Plan::new(Unit::BytesPerRecord);
    let buckets = plan.own(Buckets::<Sensors1000>::default());
    plan.own(Buckets::<Sensors200>::default());
    plan.own(Buckets::<SensorsHourly>::default());
    let large_pages = plan.own(Buckets::<Sensors1000> {
        large_pages: true,
        ..Buckets::default()
    });
    let sealed = [
        plan.own(Buckets::<Sensors1000Sealed>::sealed(false)),
        plan.own(Buckets::<Sensors1000Sealed>::sealed(true)),
        plan.own(Buckets::<SensorsWeeklySealed>::sealed(true)),
    ];
    plan.own(Buckets::<SensorsHourlySealed>::sealed(false));
    let flat = [true, false].map(|zstd| plan.peer(Flat { zstd }));
    let time_series = [
        plan.peer(time_series(None, false)),
        plan.peer(time_series(None, true)),
        plan.peer(time_series(Some(TimeseriesGranularity::Minutes), false)),
        plan.peer(time_series(Some(TimeseriesGranularity::Hours), false)),
    ];
    plan.compare(buckets, flat[0], Goal::AtMost(1.0 / 9.0));
    plan.compare(buckets, flat[1], Goal::AtMost(1.0 / 9.0));
    for peer in flat {
        plan.compare(large_pages, peer, Goal::AtMost(1.0 / 9.0));
    }
    for peer in time_series {
        plan.compare(buckets, peer, None);
    }
    for sealed in sealed {
        plan.compare(sealed, flat[0], Goal::AtMost(1.0 / 18.0));
        for peer in time_series {
            plan.compare(sealed, peer, Goal::AtMost(0.75));
        }
    }
    plan
}

/// The library's buckets.
struct Buckets<M> {
    /// In a collection that was created in advance, with pages that hold many buckets.
    large_pages: bool,
    sealed: bool,
    model: PhantomData<fn() -> M>,
}

impl<M> Buckets<M> {
    /// Sealed where no more records are taken.
    fn sealed(large_pages: bool) -> Self {
        Self {
            large_pages,
            sealed: true,
            ..Self::default()
        }
    }
}

impl<M> Default for Buckets<M> {
    fn default() -> Self {
        Self {
            large_pages: false,
            sealed: false,
            model: PhantomData,
        }
    }
}

impl<M: SensorModel> Contestant for Buckets<M> {
    fn name(&self) -> String {
        let pages = if self.large_pages {
            ", pages of 512 KB"
        } else {
            ""
        };
        format!("buckets, {}, zstd{pages}", M::NAME)
    }

    fn round<'a>(&'a self, arena: &'a Arena) -> BoxFuture<'a, Result<f64>> {
        async {
            let collection = M::SPEC.collection();
            arena.clear(collection).await?;
            if self.large_pages {
                let create = arena.database().create_collection(collection);
                create.storage_engine(large_pages()).await?;
            }
            let buckets = M::buckets(arena.database()).with_write_concern(durability());
            buckets.ensure().await?;
            let records: Vec<M> = sensor_readings()?.iter().map(M::of).collect();
            buckets.insert_many(&records).await?.into_result()?;
            arena.expect_items(collection, ITEMS, records.len()).await?;
            if self.sealed {
                buckets.seal().await?;
            }
            each(arena, collection, records.len()).await
        }
        .boxed()
    }
}

/// One document per record.
struct Flat {
    zstd: bool,
}

const FLAT: &str = "flat_sensors";

impl Contestant for Flat {
    fn name(&self) -> String {
        format!("flat, {}", compressor(self.zstd, "snappy"))
    }

    fn round<'a>(&'a self, arena: &'a Arena) -> BoxFuture<'a, Result<f64>> {
        async {
            arena.clear(FLAT).await?;
            let create = arena.database().create_collection(FLAT);
            let storage = self.zstd.then(zstd);
            create
                .optional(storage, CreateCollection::storage_engine)
                .await?;
            let index = doc! { "device_id": 1, "sensor_type": 1, "ts": 1 };
            arena.index(FLAT, index).await?;
            store(arena, FLAT, &sensor_readings()?).await
        }
        .boxed()
    }
}

/// The server's own buckets.
struct TimeSeries {
    /// The time between two readings of a series, from which the server chooses its buckets.
    granularity: Option<TimeseriesGranularity>,
    zstd: bool,
}

/// A reading with its key in one field, the `metaField`.
#[derive(Serialize)]
struct Measurement {
    sensor: Document,
    ts: bucket_mongo::bson::DateTime,
    v: f64,
    q: f64,
}

const TIME_SERIES: &str = "time_series_sensors";

impl Contestant for TimeSeries {
    fn name(&self) -> String {
        let granularity = match self.granularity {
            Some(TimeseriesGranularity::Hours) => ", granularity hours",
            Some(TimeseriesGranularity::Minutes) => ", granularity minutes",
            _ => "",
        };
        format!(
            "time series{granularity}, {}",
            compressor(self.zstd, "default")
        )
    }

    fn round<'a>(&'a self, arena: &'a Arena) -> BoxFuture<'a, Result<f64>> {
        async {
            arena.clear(TIME_SERIES).await?;
            let options = TimeseriesOptions::builder()
                .time_field("ts")
                .meta_field("sensor".to_owned())
                .granularity(self.granularity.clone())
                .build();
            let create = arena
                .database()
                .create_collection(TIME_SERIES)
                .timeseries(options);
            let storage = self.zstd.then(zstd);
            create
                .optional(storage, CreateCollection::storage_engine)
                .await?;
            let index = doc! { "sensor.device_id": 1, "sensor.sensor_type": 1, "ts": 1 };
            arena.index(TIME_SERIES, index).await?;
            let measurement = |reading: &SensorReading| {
                let SensorReading {
                    device_id,
                    sensor_type,
                    ts,
                    v,
                    q,
                } = reading.clone();
                let sensor = doc! { "device_id": device_id, "sensor_type": sensor_type };
                Measurement { sensor, ts, v, q }
            };
            let measurements: Vec<_> = sensor_readings()?.iter().map(measurement).collect();
            store(arena, TIME_SERIES, &measurements).await
        }
        .boxed()
    }
}

fn zstd() -> Document {
    doc! { "wiredTiger": { "configString": "block_compressor=zstd" } }
}

fn large_pages() -> Document {
    // Files grow by blocks of 512 bytes instead of 4 KB: unfilled blocks count.
    let config = "block_compressor=zstd,leaf_page_max=512KB,allocation_size=512B";
    doc! { "wiredTiger": { "configString": config } }
}

fn compressor(zstd: bool, other: &str) -> &str {
    if zstd { "zstd" } else { other }
}

/// Stores documents and returns the bytes that each takes.
async fn store<T>(arena: &Arena, collection: &str, documents: &[T]) -> Result<f64>
where
    T: Serialize + Send + Sync,
{
    arena
        .collection::<T>(collection)
        .insert_many(documents)
        .await?;
    arena.expect_documents(collection, documents.len()).await?;
    each(arena, collection, documents.len()).await
}

/// The bytes of each record, and an end of the collection.
#[allow(clippy::cast_precision_loss, reason = "far less than 2^53")]
async fn each(arena: &Arena, collection: &str, records: usize) -> Result<f64> {
    let bytes = arena.bytes(collection).await?;
    arena.clear(collection).await?;
    Ok(bytes as f64 / records as f64)
}

//! The space that real readings take on disk.

use std::marker::PhantomData;

use bucket_mongo::{
    bson::{Document, doc},
    mongodb::{
        action::{Action as _, CreateCollection},
        options::{IndexOptionDefaults, TimeseriesGranularity, TimeseriesOptions},
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
    let flat = [Packed::All, Packed::Documents, Packed::Nothing];
    let flat = flat.map(|packed| plan.peer(Flat { packed }));
    let time_series = [
        plan.peer(time_series(None, false)),
        plan.peer(time_series(None, true)),
        plan.peer(time_series(Some(TimeseriesGranularity::Minutes), false)),
        plan.peer(time_series(Some(TimeseriesGranularity::Hours), false)),
    ];
    let [flat_with_indexes, flat_zstd, flat_snappy] = flat;
    for own in [buckets, large_pages] {
        plan.compare(own, flat_with_indexes, None);
        plan.compare(own, flat_zstd, Goal::AtMost(1.0 / 9.0));
        plan.compare(own, flat_snappy, Goal::AtMost(1.0 / 9.0));
    }
    for peer in time_series {
        plan.compare(buckets, peer, None);
    }
    for sealed in sealed {
        plan.compare(sealed, flat_with_indexes, None);
        plan.compare(sealed, flat_zstd, Goal::AtMost(1.0 / 18.0));
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
                let create = create.storage_engine(large_pages());
                create.index_option_defaults(packed_indexes()).await?;
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
    packed: Packed,
}

/// What zstd packs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Packed {
    Nothing,
    /// As whoever asks the server for zstd gets it.
    Documents,
    /// Indexes too, as this library asks for it.
    All,
}

const FLAT: &str = "flat_sensors";

impl Contestant for Flat {
    fn name(&self) -> String {
        let indexes = match self.packed {
            Packed::All => ", its indexes too",
            Packed::Nothing | Packed::Documents => "",
        };
        let zstd = self.packed != Packed::Nothing;
        format!("flat, {}{indexes}", compressor(zstd, "snappy"))
    }

    fn round<'a>(&'a self, arena: &'a Arena) -> BoxFuture<'a, Result<f64>> {
        async {
            arena.clear(FLAT).await?;
            let create = arena.database().create_collection(FLAT);
            let storage = (self.packed != Packed::Nothing).then(zstd);
            let indexes = (self.packed == Packed::All).then(packed_indexes);
            create
                .optional(storage, CreateCollection::storage_engine)
                .optional(indexes, CreateCollection::index_option_defaults)
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

fn packed_indexes() -> IndexOptionDefaults {
    IndexOptionDefaults::builder()
        .storage_engine(zstd())
        .build()
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

//! The data that exist before a workload's rounds begin: collections that are only read.

use std::{marker::PhantomData, sync::Arc, time::Duration};

use bucket_mongo::{
    Archive,
    bson::{DateTime, Document, RawDocumentBuf},
    object_store::memory::InMemory,
};
use futures_util::future::{BoxFuture, FutureExt as _};
use serde::Serialize;

use crate::{
    arena::{Arena, durability},
    contestant::{create_time_series, manual_bucket},
    error::{Error, Result},
    model::{ITEMS, Model, records},
    reading::{Reading, Readings},
};

/// A flat collection.
pub(crate) const FLAT: &str = "flat_reads";
/// A time series collection.
pub(crate) const TIME_SERIES: &str = "time_series_reads";
/// Buckets of the manual's form.
pub(crate) const MANUAL: &str = "manual_reads";

/// Where the items of archived buckets are.
#[derive(Clone)]
pub(crate) enum Elsewhere {
    /// In another collection.
    Collection,
    Files(Archive),
}

impl Elsewhere {
    /// Files in the memory of this process: what they cost without the way to an object store.
    pub(crate) fn files() -> Self {
        Self::Files(Archive::files(Arc::new(InMemory::new()), ""))
    }

    pub(crate) fn archive(&self, arena: &Arena) -> Archive {
        match self {
            Self::Collection => arena.collection::<Document>("archive").into(),
            Self::Files(files) => files.clone(),
        }
    }
}

/// The number of documents in one command.
const BATCH: usize = 10_000;

/// A collection that is stored once, off the clock, and read in all rounds.
pub(crate) trait Data: Send + Sync {
    /// Its name, unique in its workload.
    fn collection(&self) -> &str;

    /// Stores it, and fails if something is missing afterwards.
    fn store<'a>(&'a self, arena: &'a Arena) -> BoxFuture<'a, Result<()>>;
}

/// This library's buckets of a model.
pub(crate) struct Buckets<M> {
    readings: Readings,
    /// The number of readings that a call brings, if there are several.
    batch: Option<usize>,
    is_merged: bool,
    sealed: bool,
    /// What is before this time is archived.
    archived: Option<(DateTime, Elsewhere)>,
    model: PhantomData<fn() -> M>,
}

impl<M> Buckets<M> {
    pub(crate) fn of(readings: &Readings) -> Self {
        Self {
            readings: Readings::clone(readings),
            batch: None,
            is_merged: false,
            sealed: false,
            archived: None,
            model: PhantomData,
        }
    }

    /// The same, written in calls that bring this number of readings.
    pub(crate) fn in_batches(readings: &Readings, of: usize) -> Self {
        Self {
            batch: Some(of),
            ..Self::of(readings)
        }
    }

    /// The same, and then merged.
    pub(crate) fn merged(readings: &Readings, of: usize) -> Self {
        Self {
            is_merged: true,
            ..Self::in_batches(readings, of)
        }
    }

    /// The same, and sealed where no more records are taken.
    pub(crate) fn sealed(readings: &Readings) -> Self {
        Self {
            sealed: true,
            ..Self::of(readings)
        }
    }

    /// The same, with the items of what is before this time in the archive.
    pub(crate) fn archived(readings: &Readings, before: DateTime, to: &Elsewhere) -> Self {
        Self {
            archived: Some((before, to.clone())),
            ..Self::sealed(readings)
        }
    }
}

impl<M: Model> Data for Buckets<M> {
    fn collection(&self) -> &str {
        M::SPEC.collection()
    }

    fn store<'a>(&'a self, arena: &'a Arena) -> BoxFuture<'a, Result<()>> {
        async {
            let buckets = M::buckets(arena.database()).with_write_concern(durability());
            buckets.ensure().await?;
            let records: Vec<M> = records(&self.readings);
            for batch in records.chunks(self.batch.unwrap_or(records.len())) {
                buckets.insert_many(batch).await?.into_result()?;
            }
            arena
                .expect_items(self.collection(), ITEMS, records.len())
                .await?;
            if self.is_merged {
                buckets.merge().settled(Duration::ZERO).await?;
                arena
                    .expect_counted(self.collection(), records.len())
                    .await?;
            }
            if self.sealed {
                let report = buckets.seal().await?;
                let sealed = usize::try_from(report.records).unwrap_or_default();
                // What may be open is not sealed.
                if sealed + BATCH < records.len() {
                    return Err(Error::NotSealed(report.to_string()));
                }
            }
            if let Some((before, to)) = &self.archived {
                let archive = to.archive(arena);
                let report = buckets.archive_to(archive).between(..*before).await?;
                if report.buckets == 0 {
                    return Err(Error::NotSealed(report.to_string()));
                }
            }
            Ok(())
        }
        .boxed()
    }
}

/// One document per record.
pub(crate) struct Flat {
    pub(crate) readings: Readings,
    pub(crate) index: Document,
}

impl Data for Flat {
    fn collection(&self) -> &str {
        FLAT
    }

    fn store<'a>(&'a self, arena: &'a Arena) -> BoxFuture<'a, Result<()>> {
        async {
            arena.index(FLAT, self.index.clone()).await?;
            documents(arena, FLAT, &self.readings).await
        }
        .boxed()
    }
}

/// The server's own buckets; the sensor is the `metaField`.
pub(crate) struct TimeSeries {
    pub(crate) readings: Readings,
    pub(crate) index: Document,
}

impl Data for TimeSeries {
    fn collection(&self) -> &str {
        TIME_SERIES
    }

    fn store<'a>(&'a self, arena: &'a Arena) -> BoxFuture<'a, Result<()>> {
        async {
            create_time_series(arena, TIME_SERIES).await?;
            arena.index(TIME_SERIES, self.index.clone()).await?;
            documents(arena, TIME_SERIES, &self.readings).await
        }
        .boxed()
    }
}

/// Full buckets of the manual's form, of one sensor's readings.
pub(crate) struct ManualBuckets {
    pub(crate) readings: Readings,
    pub(crate) capacity: usize,
}

impl Data for ManualBuckets {
    fn collection(&self) -> &str {
        MANUAL
    }

    fn store<'a>(&'a self, arena: &'a Arena) -> BoxFuture<'a, Result<()>> {
        async {
            let buckets = self.readings.chunks(self.capacity).map(manual_bucket);
            let buckets = buckets.collect::<Result<Vec<_>>>()?;
            let collection = arena.collection::<RawDocumentBuf>(MANUAL);
            collection.insert_many(buckets).await?;
            arena.expect_items(MANUAL, ITEMS, self.readings.len()).await
        }
        .boxed()
    }
}

async fn documents<T>(arena: &Arena, collection: &str, records: &[T]) -> Result<()>
where
    T: Serialize + Send + Sync,
{
    let stored = arena.collection::<T>(collection);
    for batch in records.chunks(BATCH) {
        stored.insert_many(batch).await?;
    }
    arena.expect_documents(collection, records.len()).await
}

/// The readings of one sensor, in their order.
pub(crate) fn of_sensor(readings: &[Reading], sensor: &str) -> Readings {
    let of_sensor = readings
        .iter()
        .filter(|reading| reading.sensor_id == sensor);
    Readings::new(of_sensor.cloned().collect())
}

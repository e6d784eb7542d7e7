//! The server's own buckets: a time series collection with an index on key and time.

use std::{ops::Range, sync::Arc};

use bucket_mongo::{bson::doc, mongodb::options::TimeseriesOptions};
use futures_util::future::{BoxFuture, FutureExt as _};

use super::{Contestant, in_flight_text};
use crate::{
    arena::{Arena, rate},
    error::Result,
    in_flight,
    output::number::grouped,
    reading::{Reading, Readings},
};

const COLLECTION: &str = "time_series";

/// Stores readings with the driver's `insert_many`; the sensor is the `metaField`.
pub(crate) struct TimeSeriesInserts {
    pub(crate) readings: Readings,
    pub(crate) batch: usize,
    pub(crate) in_flight: usize,
}

/// Makes a time series collection for readings.
pub(crate) async fn create_time_series(arena: &Arena, collection: &str) -> Result<()> {
    let options = TimeseriesOptions::builder()
        .time_field("ts")
        .meta_field("sensor_id".to_owned())
        .build();
    let create = arena.database().create_collection(collection);
    Ok(create.timeseries(options).await?)
}

impl Contestant for TimeSeriesInserts {
    fn name(&self) -> String {
        let in_flight = in_flight_text(self.in_flight);
        format!(
            "time series, insert_many({}){in_flight}",
            grouped(self.batch)
        )
    }

    fn round<'a>(&'a self, arena: &'a Arena) -> BoxFuture<'a, Result<f64>> {
        async {
            arena.clear(COLLECTION).await?;
            create_time_series(arena, COLLECTION).await?;
            arena
                .index(COLLECTION, doc! { "sensor_id": 1, "ts": 1 })
                .await?;
            let collection = arena.collection::<Reading>(COLLECTION);
            let readings = Arc::clone(&self.readings);
            let number = readings.len();
            let store = move |range: Range<usize>| {
                let (collection, readings) = (collection.clone(), Arc::clone(&readings));
                async move {
                    collection.insert_many(&readings[range]).await?;
                    Ok(())
                }
            };
            let store = in_flight::batches(number, self.batch, self.in_flight, store);
            let (time, ()) = arena.clock(store).await?;
            arena.expect_documents(COLLECTION, number).await?;
            arena.clear(COLLECTION).await?;
            Ok(rate(number, time))
        }
        .boxed()
    }
}

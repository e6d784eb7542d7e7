//! The server's own buckets: a time series collection with an index on key and time.

use std::sync::Arc;

use bucket_mongo::mongodb::options::TimeseriesOptions;
use futures_util::future::{BoxFuture, FutureExt as _};

use super::{Contestant, documents, in_flight_text};
use crate::{arena::Arena, error::Result, output::number::grouped, reading::Readings};

const COLLECTION: &str = "time_series";

/// Stores readings with the driver's `insert_many`; the sensor is the `metaField`.
pub(crate) struct TimeSeriesInserts {
    pub(crate) readings: Readings,
    pub(crate) batch: usize,
    pub(crate) in_flight: usize,
}

/// Creates a time series collection for readings.
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
            let readings = Arc::clone(&self.readings);
            documents::insert(arena, COLLECTION, readings, self.batch, self.in_flight).await
        }
        .boxed()
    }
}

//! A document a record, in a regular collection with an index on key and time.

use std::{ops::Range, sync::Arc};

use bucket_mongo::bson::doc;
use futures_util::future::{BoxFuture, FutureExt as _};

use super::{Contestant, in_flight_text};
use crate::{
    arena::{Arena, rate},
    error::Result,
    in_flight,
    output::number::grouped,
    reading::{Reading, Readings},
};

const COLLECTION: &str = "flat";

/// Stores readings with the driver's `insert_many`.
pub(crate) struct FlatInserts {
    pub(crate) readings: Readings,
    pub(crate) batch: usize,
    pub(crate) in_flight: usize,
}

impl Contestant for FlatInserts {
    fn name(&self) -> String {
        let in_flight = in_flight_text(self.in_flight);
        format!("flat, insert_many({}){in_flight}", grouped(self.batch))
    }

    fn round<'a>(&'a self, arena: &'a Arena) -> BoxFuture<'a, Result<f64>> {
        async {
            arena.clear(COLLECTION).await?;
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

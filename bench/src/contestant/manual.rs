//! The manual's own way: one upsert per record, into a bucket that is found by the beginning of its
//! id.

use std::{ops::Range, sync::Arc};

use bucket_mongo::{
    bson::{DateTime, Document, RawDocumentBuf, doc, serialize_to_raw_document_buf},
    mongodb::Collection,
};
use futures_util::future::{BoxFuture, FutureExt as _};
use serde::Serialize;

use super::{Contestant, in_flight_text};
use crate::{
    arena::{Arena, rate},
    error::Result,
    in_flight,
    model::ITEMS,
    reading::{Reading, Readings},
};

const COLLECTION: &str = "manual";

/// Stores readings one by one.
pub(crate) struct ManualUpserts {
    pub(crate) readings: Readings,
    pub(crate) capacity: i32,
    pub(crate) in_flight: usize,
}

/// The update of the manual's page for one reading.
pub(crate) async fn manual_upsert(
    collection: &Collection<Document>,
    reading: &Reading,
    capacity: i32,
) -> Result<()> {
    let Reading {
        sensor_id,
        ts,
        v,
        q,
    } = reading;
    let filter = doc! {
        "_id": { "$regex": format!("^{sensor_id}_") },
        "count": { "$lt": capacity },
    };
    let update = doc! {
        "$push": { ITEMS: { "ts": ts, "v": v, "q": q } },
        "$inc": { "count": 1 },
        "$setOnInsert": { "_id": id(reading), "sensor_id": sensor_id },
    };
    collection.update_one(filter, update).upsert(true).await?;
    Ok(())
}

/// A bucket of the manual's form with these readings of one sensor.
pub(crate) fn manual_bucket(readings: &[Reading]) -> Result<RawDocumentBuf> {
    #[derive(Serialize)]
    struct Item {
        ts: DateTime,
        v: f64,
        q: f64,
    }
    #[derive(Serialize)]
    struct Bucket<'a> {
        _id: Option<String>,
        sensor_id: Option<&'a str>,
        count: usize,
        readings: Vec<Item>,
    }
    let first = readings.first();
    let item = |&Reading { ts, v, q, .. }: &Reading| Item { ts, v, q };
    let bucket = Bucket {
        _id: first.map(id),
        sensor_id: first.map(|first| first.sensor_id.as_str()),
        count: readings.len(),
        readings: readings.iter().map(item).collect(),
    };
    Ok(serialize_to_raw_document_buf(&bucket)?)
}

/// The id of a bucket that begins with this reading.
fn id(reading: &Reading) -> String {
    let seconds = reading.ts.timestamp_millis().div_euclid(1_000);
    format!("{}_{seconds}", reading.sensor_id)
}

impl Contestant for ManualUpserts {
    fn name(&self) -> String {
        let in_flight = in_flight_text(self.in_flight);
        format!("the manual's upsert, one a record{in_flight}")
    }

    fn round<'a>(&'a self, arena: &'a Arena) -> BoxFuture<'a, Result<f64>> {
        async {
            arena.clear(COLLECTION).await?;
            // The collection must be created off the clock.
            arena.database().create_collection(COLLECTION).await?;
            let collection = arena.collection::<Document>(COLLECTION);
            let (readings, capacity) = (Arc::clone(&self.readings), self.capacity);
            let number = readings.len();
            let store = move |range: Range<usize>| {
                let (collection, readings) = (collection.clone(), Arc::clone(&readings));
                async move {
                    for reading in &readings[range] {
                        manual_upsert(&collection, reading, capacity).await?;
                    }
                    Ok(())
                }
            };
            let store = in_flight::batches(number, 1, self.in_flight, store);
            let (time, ()) = arena.clock(store).await?;
            arena.expect_items(COLLECTION, ITEMS, number).await?;
            arena.clear(COLLECTION).await?;
            Ok(rate(number, time))
        }
        .boxed()
    }
}

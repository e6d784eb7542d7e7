//! What collections with one document per record have in common: the index, and the driver's
//! `insert_many`.

use std::{ops::Range, sync::Arc};

use bucket_mongo::bson::doc;

use crate::{
    arena::{Arena, rate},
    error::Result,
    in_flight,
    reading::{Reading, Readings},
};

/// Stores the readings in an empty collection and removes it. Returns readings per second.
pub(super) async fn insert(
    arena: &Arena,
    collection: &str,
    readings: Readings,
    batch: usize,
    at_once: usize,
) -> Result<f64> {
    arena
        .index(collection, doc! { "sensor_id": 1, "ts": 1 })
        .await?;
    let target = arena.collection::<Reading>(collection);
    let number = readings.len();
    let store = move |range: Range<usize>| {
        let (target, readings) = (target.clone(), Arc::clone(&readings));
        async move {
            target.insert_many(&readings[range]).await?;
            Ok(())
        }
    };
    let store = in_flight::batches(number, batch, at_once, store);
    let (time, ()) = arena.clock(store).await?;
    arena.expect_documents(collection, number).await?;
    arena.clear(collection).await?;
    Ok(rate(number, time))
}

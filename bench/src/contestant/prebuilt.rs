//! The server's limit: complete buckets that were encoded in advance, stored with `insert_many`.
//!
//! They have the fields and the indexes of the library's own buckets.

use std::collections::BTreeMap;

use bucket_mongo::{
    Bucketed as _,
    bson::{DateTime, RawDocumentBuf, serialize_to_raw_document_buf},
};
use futures_util::future::{BoxFuture, FutureExt as _};
use serde::Serialize;

use super::Contestant;
use crate::{
    arena::{Arena, durability, rate},
    error::Result,
    model::{Hourly, ITEMS},
    reading::{Reading, Readings},
};

/// Stores readings as complete buckets of `Hourly`.
pub(crate) struct PrebuiltBuckets {
    pub(crate) readings: Readings,
}

const HOUR: i64 = 3_600_000;

#[derive(Serialize)]
struct Bucket<'a> {
    _id: String,
    sensor_id: &'a str,
    #[serde(rename = "bucket_start")]
    start: DateTime,
    #[serde(rename = "bucket_end")]
    end: DateTime,
    count: usize,
    readings: Vec<Item>,
}

#[derive(Serialize)]
struct Item {
    ts: DateTime,
    v: f64,
    q: f64,
}

/// The buckets of all sensors, hour by hour.
fn buckets(readings: &[Reading]) -> Result<Vec<RawDocumentBuf>> {
    let mut buckets = BTreeMap::<(i64, &str), Vec<Item>>::new();
    for Reading {
        sensor_id,
        ts,
        v,
        q,
    } in readings
    {
        let start = ts.timestamp_millis().div_euclid(HOUR) * HOUR;
        let bucket = buckets.entry((start, sensor_id)).or_default();
        bucket.push(Item {
            ts: *ts,
            v: *v,
            q: *q,
        });
    }
    let encode = |((start, sensor_id), readings): ((i64, &str), Vec<Item>)| {
        let bucket = Bucket {
            _id: format!("{sensor_id}_{}", start / 1_000),
            sensor_id,
            start: DateTime::from_millis(start),
            end: DateTime::from_millis(start + HOUR),
            count: readings.len(),
            readings,
        };
        Ok(serialize_to_raw_document_buf(&bucket)?)
    };
    buckets.into_iter().map(encode).collect()
}

impl Contestant for PrebuiltBuckets {
    fn name(&self) -> String {
        "prebuilt buckets, insert_many (the server's limit)".to_owned()
    }

    fn round<'a>(&'a self, arena: &'a Arena) -> BoxFuture<'a, Result<f64>> {
        async {
            let name = Hourly::COLLECTION;
            arena.clear(name).await?;
            let own = Hourly::buckets(arena.database()).with_write_concern(durability());
            own.ensure().await?;
            let collection = arena.collection::<RawDocumentBuf>(name);
            let buckets = buckets(&self.readings)?;
            let store = async { Ok(collection.insert_many(&buckets).await?) };
            let (time, _) = arena.clock(store).await?;
            arena.expect_items(name, ITEMS, self.readings.len()).await?;
            arena.clear(name).await?;
            Ok(rate(self.readings.len(), time))
        }
        .boxed()
    }
}

//! This library's `insert_many`.

use std::{marker::PhantomData, ops::Range, sync::Arc, time::Duration};

use futures_util::future::{BoxFuture, FutureExt as _};

use super::{Contestant, in_flight_text};
use crate::{
    arena::{Arena, durability, rate},
    error::Result,
    in_flight,
    model::{ITEMS, Model, records},
    output::number::grouped,
    reading::Readings,
};

/// Stores readings in buckets of a model.
pub(crate) struct BucketInserts<M> {
    readings: Readings,
    /// The number of records in one call, unless one call has all; the library splits them into
    /// commands.
    batch: Option<usize>,
    in_flight: usize,
    /// Whether the buckets are merged afterwards, on the clock.
    merged: bool,
    model: PhantomData<fn() -> M>,
}

impl<M> BucketInserts<M> {
    /// One call of `insert_many` with all readings.
    pub(crate) fn one_call(readings: &Readings) -> Self {
        Self {
            readings: Arc::clone(readings),
            batch: None,
            in_flight: 1,
            merged: false,
            model: PhantomData,
        }
    }

    /// Calls with this number of readings each, this many at a time.
    pub(crate) fn batches(readings: &Readings, batch: usize, in_flight: usize) -> Self {
        Self {
            readings: Arc::clone(readings),
            batch: Some(batch),
            in_flight,
            merged: false,
            model: PhantomData,
        }
    }

    /// The same, and the time to merge all buckets counts.
    pub(crate) fn and_merged(self) -> Self {
        Self {
            merged: true,
            ..self
        }
    }
}

impl<M: Model> Contestant for BucketInserts<M> {
    fn name(&self) -> String {
        let call = match self.batch {
            Some(batch) => format!("insert_many({})", grouped(batch)),
            None => "one insert_many".to_owned(),
        };
        format!(
            "buckets, {}, {call}{}{}",
            M::NAME,
            in_flight_text(self.in_flight),
            if self.merged { ", and merged" } else { "" }
        )
    }

    fn round<'a>(&'a self, arena: &'a Arena) -> BoxFuture<'a, Result<f64>> {
        async {
            let collection = M::SPEC.collection();
            arena.clear(collection).await?;
            let buckets = M::buckets(arena.database()).with_write_concern(durability());
            buckets.ensure().await?;
            let records: Arc<Vec<M>> = Arc::new(records(&self.readings));
            let number = records.len();
            let batch = self.batch.unwrap_or(number);
            // Freeing them is off the clock.
            let shared = Arc::clone(&records);
            let all = buckets.clone();
            let store = move |range: Range<usize>| {
                let (buckets, records) = (buckets.clone(), Arc::clone(&shared));
                async move {
                    buckets.insert_many(&records[range]).await?.into_result()?;
                    Ok(())
                }
            };
            let store = in_flight::batches(number, batch, self.in_flight, store);
            let (mut time, ()) = arena.clock(store).await?;
            arena.expect_items(collection, ITEMS, number).await?;
            if self.merged {
                let merge = async { Ok(all.merge().settled(Duration::ZERO).await?) };
                let (merging, _) = arena.clock(merge).await?;
                arena.expect_counted(collection, number).await?;
                time += merging;
            }
            arena.clear(collection).await?;
            Ok(rate(number, time))
        }
        .boxed()
    }
}

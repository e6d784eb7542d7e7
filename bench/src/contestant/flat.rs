//! One document per record, in a regular collection with an index on key and time.

use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt as _};

use super::{Contestant, documents, in_flight_text};
use crate::{arena::Arena, error::Result, output::number::grouped, reading::Readings};

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
            let readings = Arc::clone(&self.readings);
            documents::insert(arena, COLLECTION, readings, self.batch, self.in_flight).await
        }
        .boxed()
    }
}

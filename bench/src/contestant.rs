//! The contestants: a small type for each way to store records.

use futures_util::future::BoxFuture;

use crate::{arena::Arena, error::Result};

mod buckets;
mod documents;
mod flat;
mod interleaved;
mod manual;
mod prebuilt;
mod time_series;
mod timed;

pub(crate) use self::{
    buckets::BucketInserts,
    flat::FlatInserts,
    interleaved::{Interleaved, ReadOnce, ShortRead},
    manual::{ManualUpserts, manual_bucket, manual_upsert},
    prebuilt::PrebuiltBuckets,
    time_series::{TimeSeriesInserts, create_time_series},
    timed::{Read, Timed},
};

/// Something that is measured once per round.
pub(crate) trait Contestant: Send + Sync {
    /// Its name in the tables: unique in its workload.
    fn name(&self) -> String;

    /// One round, on a fresh collection or on the data of the plan. Returns the figure, in the unit
    /// of the workload. Anything else, such as making the records and checking the result, happens
    /// off the clock.
    fn round<'a>(&'a self, arena: &'a Arena) -> BoxFuture<'a, Result<f64>>;
}

/// The part of a name that says how many calls are in flight: empty for one.
fn in_flight_text(in_flight: usize) -> String {
    match in_flight {
        1 => String::new(),
        more => format!(", {more} in flight"),
    }
}

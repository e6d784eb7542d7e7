//! A separate process for one figure: the memory of one call with records of very many keys.

use bucket_mongo::{Bucketed as _, testing::DevServer};

use crate::{
    arena::{Arena, durability},
    error::Result,
    model::{Hourly, ITEMS, Model as _},
    own_process::{self, end_with_the_caller, grown_from, resident},
    reading::reading_of,
    scale::Scale,
};

/// Starts the process, with this number of keys. Returns the growth of its memory, in MiB.
pub(crate) async fn grown(keys: usize, scale: Scale) -> Result<f64> {
    own_process::figure("--key-load", keys, scale).await
}

/// The work of the process: a million records, made one by one as the call takes them. Returns the growth of its memory,
/// in MiB.
pub(crate) async fn run(keys: usize, scale: Scale) -> Result<f64> {
    end_with_the_caller();
    let server = DevServer::builder().own().await?;
    let database = server.database("bench").await?;
    let arena = Arena::new(&database);
    let buckets = Hourly::buckets(&database).with_write_concern(durability());
    buckets.ensure().await?;
    let number = scale.pick(1_000_000, 1_000);
    let keys = scale.pick(keys, keys / 1_000 + 1);
    let records =
        |from: usize, to: usize| (from..to).map(move |at| Hourly::of(&reading_of(at, keys)));
    // Connections and buffers are made before anything is measured.
    buckets.insert_many(records(0, 100)).await?.into_result()?;
    let before = resident()?;
    let load = buckets.insert_many(records(100, number));
    load.await?.into_result()?;
    let grown = grown_from(before)?;
    arena
        .expect_items(Hourly::SPEC.collection(), ITEMS, number)
        .await?;
    Ok(grown)
}

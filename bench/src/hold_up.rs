//! A separate process for one figure: how far an ingestor's memory grows while the server hangs.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use bucket_mongo::{Bucketed as _, Buckets, Ingestor, testing::DevServer};
use futures_util::future::try_join_all;
use tokio::time::sleep;

use crate::{
    arena::{Arena, durability},
    error::{Error, Result},
    model::{Hourly, ITEMS, Model as _},
    own_process::{self, MIB, end_with_the_caller, grown_from, resident},
    reading::reading_at,
    scale::Scale,
};

/// Tasks that push as fast as they can.
const TASKS: usize = 4;
/// More than a record of each task takes by the ingestor's own count.
const SLACK: usize = TASKS * 1_024;

/// Starts the process, with this limit in MiB. Returns the growth of its memory, in MiB.
pub(crate) async fn grown(limit: usize, scale: Scale) -> Result<f64> {
    own_process::figure("--hold-up", limit, scale).await
}

/// The work of the process. Returns the growth of its memory, in MiB.
pub(crate) async fn run(limit: usize, scale: Scale) -> Result<f64> {
    end_with_the_caller();
    let server = DevServer::builder().own().await?;
    let database = server.database("bench").await?;
    let arena = Arena::new(&database);
    let buckets = Hourly::buckets(&database).with_write_concern(durability());
    buckets.ensure().await?;
    warm_up(&buckets).await?;
    let before = resident()?;

    let limit = limit * MIB;
    let ingestor = buckets.ingestor().max_buffered_bytes(limit).start()?;
    let (next, ends) = (Arc::<AtomicUsize>::default(), Arc::<AtomicBool>::default());
    let tasks = (0..TASKS).map(|_| {
        let pushing = push(ingestor.clone(), Arc::clone(&next), Arc::clone(&ends));
        tokio::spawn(pushing)
    });
    let tasks: Vec<_> = tasks.collect();
    let [load, stop] = scale.pick([3_000, 10_000], [300, 500]);
    let hold_up = async {
        sleep(Duration::from_millis(load)).await;
        for member in server.members() {
            member.pause().await?;
        }
        sleep(Duration::from_millis(stop)).await;
        for member in server.members() {
            member.resume().await?;
        }
        sleep(Duration::from_millis(load)).await;
        Ok::<_, bucket_mongo::testing::Error>(())
    };
    let went_on = hold_up.await;
    ends.store(true, Ordering::Relaxed);
    went_on?;
    for most in try_join_all(tasks).await? {
        let most = most?;
        if most > limit + SLACK {
            return Err(Error::TooMuchBuffered { limit, most });
        }
    }
    let report = ingestor.shutdown().await.into_result()?;
    let accepted = usize::try_from(report.accepted()).unwrap_or(usize::MAX);
    arena
        .expect_items(Hourly::SPEC.collection(), ITEMS, accepted)
        .await?;
    grown_from(before)
}

/// Connections and buffers are made before anything is measured.
async fn warm_up(buckets: &Buckets<Hourly>) -> Result<()> {
    let records: Vec<Hourly> = (0..1_000)
        .map(|index| Hourly::of(&reading_at(index)))
        .collect();
    buckets.insert_many(&records).await?.into_result()?;
    buckets
        .collection::<bucket_mongo::bson::Document>()
        .drop()
        .await?;
    buckets.ensure().await?;
    Ok(())
}

/// Pushes until the end. Returns the most bytes that were buffered.
async fn push(
    ingestor: Ingestor<Hourly>,
    next: Arc<AtomicUsize>,
    ends: Arc<AtomicBool>,
) -> Result<usize> {
    let mut most = 0;
    while !ends.load(Ordering::Relaxed) {
        let index = next.fetch_add(1, Ordering::Relaxed);
        let record = Hourly::of(&reading_at(index));
        let _receipt = ingestor.push(&record).await?;
        most = most.max(ingestor.buffered_bytes());
    }
    Ok(most)
}

//! A separate process for one figure: how far an ingestor's memory grows while the server hangs.
//!
//! Memory that the process held before, or that its allocator keeps, would hide growth.
//! So each round has a fresh process.

use std::{
    fs, io,
    process::{self, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use bucket_mongo::{Bucketed as _, Buckets, Ingestor, testing::DevServer};
use futures_util::future::try_join_all;
use tokio::{process::Command, time::sleep};

use crate::{
    arena::{Arena, durability},
    error::{Error, Result},
    model::{Hourly, ITEMS, Model as _},
    reading::reading_at,
    scale::Scale,
};

/// Tasks that push as fast as they can.
const TASKS: usize = 4;
/// More than a record of each task takes by the ingestor's own count.
const SLACK: usize = TASKS * 1_024;
const MIB: usize = 1_024 * 1_024;

/// Starts the process, with this limit in MiB. Returns the growth of its memory, in MiB.
pub(crate) async fn grown(limit: usize, scale: Scale) -> Result<f64> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--hold-up").arg(limit.to_string());
    if scale == Scale::Quick {
        command.arg("--quick");
    }
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .spawn()?;
    // This end closes with this process, however it ends.
    let _tie = child.stdin.take();
    let ended = child.wait_with_output().await?;
    let text = String::from_utf8_lossy(&ended.stdout);
    let figure = ended.status.success().then(|| text.trim().parse());
    figure.and_then(std::result::Result::ok).ok_or(Error::Child)
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
    let before = resident("VmRSS:")?;

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
    let after = resident("VmHWM:")?;
    #[allow(clippy::cast_precision_loss, reason = "far less than 2^53")]
    let grown = after.saturating_sub(before) as f64 / MIB as f64;
    Ok(grown)
}

/// This process must not outlive a program that was killed.
fn end_with_the_caller() {
    thread::spawn(|| {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        process::exit(1);
    });
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

/// Bytes of this process in memory, as Linux counts them: now (`VmRSS:`), or at most (`VmHWM:`).
fn resident(name: &str) -> Result<usize> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let figure = line.and_then(|line| line.split_whitespace().next());
    let kib: Option<usize> = figure.and_then(|figure| figure.parse().ok());
    kib.map(|kib| kib * 1_024).ok_or(Error::Child)
}

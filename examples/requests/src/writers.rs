//! Several writers that record requests of the same endpoints at the same time.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use bucket_mongo::Buckets;
use example_kit::Error;
use tokio::task::JoinSet;

use crate::{model::Request, traffic};

/// The number of writers.
pub(crate) const WRITERS: u64 = 8;
/// The number of requests of each writer.
pub(crate) const REQUESTS: usize = 500;
/// The number of requests in one batch.
const BATCH: usize = 20;

/// What the writers have stored.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// Requests that are stored.
    pub(crate) requests: u64,
    /// Buckets that were opened for them.
    pub(crate) buckets: u64,
}

/// Stores the requests of all writers. A stop takes effect between two batches.
pub(crate) async fn run(requests: &Buckets<Request>, stop: &Stop) -> Result<Written, Error> {
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        writers.spawn(write(requests.clone(), writer, stop.clone()));
    }
    let mut all = Written::default();
    while let Some(written) = writers.join_next().await {
        let written = written??;
        all.requests += written.requests;
        all.buckets += written.buckets;
    }
    Ok(all)
}

/// Stops the writers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    pub(crate) fn now(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_wanted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

async fn write(requests: Buckets<Request>, writer: u64, stop: Stop) -> Result<Written, Error> {
    let mut traffic = traffic::of_writer(writer).take(REQUESTS).peekable();
    let mut written = Written::default();
    while traffic.peek().is_some() && !stop.is_wanted() {
        let batch: Vec<_> = traffic.by_ref().take(BATCH).collect();
        let report = requests.insert_many(batch).await?.into_result()?;
        written.requests += report.stored() as u64;
        written.buckets += report.opened_buckets() as u64;
    }
    Ok(written)
}

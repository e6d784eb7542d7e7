//! Several writers that record requests of the same endpoints at the same time.

use bucket_mongo::Buckets;
use example_kit::Error;
use tokio::task::JoinSet;

use crate::{model::Request, traffic};

/// The number of writers.
pub(crate) const WRITERS: u64 = 8;
/// The requests of each.
pub(crate) const REQUESTS: usize = 500;
/// The requests that a writer sends at once.
const BATCH: usize = 20;

/// Stores the requests of all writers; gives the number of buckets that were opened.
pub(crate) async fn run(requests: &Buckets<Request>) -> Result<u64, Error> {
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        writers.spawn(write(requests.clone(), writer));
    }
    let mut opened = 0;
    while let Some(written) = writers.join_next().await {
        opened += written??;
    }
    Ok(opened)
}

async fn write(requests: Buckets<Request>, writer: u64) -> Result<u64, Error> {
    let mut traffic = traffic::of_writer(writer).take(REQUESTS).peekable();
    let mut opened = 0;
    while traffic.peek().is_some() {
        let batch: Vec<_> = traffic.by_ref().take(BATCH).collect();
        let report = requests.insert_many(batch).await?.into_result()?;
        opened += report.opened_buckets() as u64;
    }
    Ok(opened)
}

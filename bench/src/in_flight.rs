//! Batches that are stored one after the other, or several at a time.

use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use futures_util::future::try_join_all;

use crate::error::{Error, Result};

/// Stores `records` in batches, `in_flight` of them at a time: each task takes the next batch when
/// it has stored one.
pub(crate) async fn batches<F>(
    records: usize,
    batch: usize,
    in_flight: usize,
    store: impl Fn(Range<usize>) -> F + Clone + Send + 'static,
) -> Result<()>
where
    F: Future<Output = Result<()>> + Send,
{
    let next = Arc::new(AtomicUsize::new(0));
    let tasks = (0..in_flight).map(|_| {
        let (next, store) = (Arc::clone(&next), store.clone());
        tokio::spawn(async move {
            loop {
                let start = next.fetch_add(batch, Ordering::Relaxed);
                if start >= records {
                    return Ok::<_, Error>(());
                }
                store(start..records.min(start + batch)).await?;
            }
        })
    });
    for ended in try_join_all(tasks).await? {
        ended?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[tokio::test]
    async fn every_record_is_in_one_batch() {
        for in_flight in [1, 3] {
            let seen = Arc::new(Mutex::new(Vec::new()));
            let seeing = Arc::clone(&seen);
            let store = move |range: Range<usize>| {
                let seen = Arc::clone(&seeing);
                async move {
                    assert!(range.len() <= 4);
                    seen.lock().unwrap().extend(range);
                    Ok(())
                }
            };
            batches(10, 4, in_flight, store).await.unwrap();
            let mut seen = seen.lock().unwrap().clone();
            seen.sort_unstable();
            assert_eq!(seen, (0..10).collect::<Vec<_>>());
        }
    }
}

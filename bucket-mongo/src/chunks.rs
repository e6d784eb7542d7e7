//! Chunks of an iterator's items: one is filled while the one before it is stored.

use std::{pin::pin, task::Poll, time::Duration};

use futures_util::poll;
use tokio::{task::yield_now, time::Instant};

/// The most items that are taken in a row while other tasks wait.
const BREATHER: usize = 1_024;
/// The longest time in which items are taken in a row, because an iterator may be slow.
const BREATH: Duration = Duration::from_millis(5);

/// Fills a chunk item by item, until `take` says that the chunk is full.
pub(crate) async fn fill(mut take: impl FnMut() -> bool) {
    while take_some(&mut take) {
        yield_now().await;
    }
}

/// The same while the chunk before is being stored. If that ends the call, nothing more is taken.
pub(crate) async fn fill_beside<T>(
    store: impl Future<Output = T>,
    ends_the_call: impl FnOnce(&T) -> bool,
    mut take: impl FnMut() -> bool,
) -> T {
    let mut store = pin!(store);
    loop {
        // The store starts before anything is taken.
        if let Poll::Ready(stored) = poll!(store.as_mut()) {
            if !ends_the_call(&stored) {
                fill(take).await;
            }
            return stored;
        }
        if !take_some(&mut take) {
            return store.await;
        }
        yield_now().await;
    }
}

/// Takes some items; returns whether the chunk takes more.
fn take_some(take: &mut impl FnMut() -> bool) -> bool {
    let end = Instant::now() + BREATH;
    for _ in 0..BREATHER {
        if !take() {
            return false;
        }
        if Instant::now() >= end {
            break;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use tokio::task::yield_now;

    use super::{BREATHER, fill_beside};

    /// How many of these items are taken next to a store that is polled this often.
    async fn taken(items: usize, looks: usize, ends_the_call: bool) -> usize {
        let mut taken = 0;
        let store = async {
            for _ in 0..looks {
                yield_now().await;
            }
        };
        let take = || {
            taken += 1;
            taken < items
        };
        fill_beside(store, |()| ends_the_call, take).await;
        taken
    }

    #[tokio::test]
    async fn a_chunk_is_filled_unless_the_one_before_ends_the_call() {
        let many = 100 * BREATHER;
        assert_eq!(taken(many, 3, false).await, many);
        assert_eq!(taken(many, 0, true).await, 0);
        assert!(taken(many, 3, true).await <= 3 * BREATHER);
        assert_eq!(taken(10, 1_000, true).await, 10);
    }
}

//! How long to wait before the next attempt: core sets the longest time, and this module draws one.

use std::time::Duration;

/// A time that differs from waiter to waiter, so that they do not return at the same time: at least half of
/// this number of milliseconds.
pub(crate) fn spread(ceiling: u64) -> Duration {
    Duration::from_millis(ceiling / 2 + jitter() % (ceiling / 2 + 1))
}

/// A time between these numbers of milliseconds, and at least one.
pub(crate) fn between(floor: u64, ceiling: u64) -> Duration {
    let span = ceiling.saturating_sub(floor);
    Duration::from_millis((floor + jitter() % span.saturating_add(1)).max(1))
}

/// A number that differs from call to call.
fn jitter() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{between, spread};

    #[test]
    fn a_pause_is_within_its_bounds() {
        for _ in 0..100 {
            let pause = spread(1_000);
            assert!((Duration::from_millis(500)..=Duration::from_secs(1)).contains(&pause));
            let pause = between(0, 16);
            assert!((Duration::from_millis(1)..=Duration::from_millis(16)).contains(&pause));
            let pause = between(50, 100);
            assert!((Duration::from_millis(50)..=Duration::from_millis(100)).contains(&pause));
        }
        assert_eq!(spread(0), Duration::ZERO);
        assert_eq!(between(0, 0), Duration::from_millis(1));
    }
}

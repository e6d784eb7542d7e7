//! How long to wait before the next try of the same thing.

use std::time::Duration;

/// `first` milliseconds, doubled so many times: at most `longest`.
pub(crate) fn ceiling(first: u64, times: u32, longest: u64) -> u64 {
    // A shift by 64 bits or more is the longest pause as well, and not none.
    let factor = 1_u64.checked_shl(times).unwrap_or(u64::MAX);
    first.saturating_mul(factor).min(longest)
}

/// A time that differs from waiter to waiter, so that they do not come again in step: at least half of
/// these milliseconds.
pub(crate) fn spread(ceiling: u64) -> Duration {
    Duration::from_millis(ceiling / 2 + jitter() % (ceiling / 2 + 1))
}

/// A number that differs from call to call.
pub(crate) fn jitter() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{ceiling, spread};

    #[test]
    fn a_pause_never_gets_shorter_however_many_tries_there_were() {
        assert_eq!(ceiling(10, 0, 1_000), 10);
        assert_eq!(ceiling(10, 3, 1_000), 80);
        let mut last = 0;
        for times in 0..200 {
            let pause = ceiling(10, times, 1_000);
            assert!(pause >= last && pause > 0, "{pause} ms after {times} tries");
            last = pause;
        }
        assert_eq!(last, 1_000);
        assert_eq!(ceiling(10, u32::MAX, 1_000), 1_000);
        assert_eq!(ceiling(u64::MAX, 1, u64::MAX), u64::MAX);
    }

    #[test]
    fn a_spread_pause_is_at_least_half_of_its_ceiling() {
        for _ in 0..100 {
            let pause = spread(1_000);
            assert!((Duration::from_millis(500)..=Duration::from_secs(1)).contains(&pause));
        }
        assert_eq!(spread(0), Duration::ZERO);
    }
}

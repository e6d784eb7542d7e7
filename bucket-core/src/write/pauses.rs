//! How long to wait before the next attempt of the same operation.

/// The longest pauses before the attempts of one operation: each is twice as long as the one before, up to
/// the longest. The executor draws a random time below the ceiling, so that waiting callers do not return at
/// the same time.
///
/// ```
/// use bucket_core::write::Pauses;
///
/// let mut pauses = Pauses::of(10, 1_000);
/// assert_eq!((pauses.next_ceiling(), pauses.next_ceiling()), (10, 20));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pauses {
    first: u64,
    longest: u64,
    tries: u32,
}

impl Pauses {
    /// Before a command or a read is sent again.
    pub const OF_A_TRY: Self = Self::of(10, 1_000);

    /// Pauses from `first` to `longest` milliseconds.
    #[must_use]
    pub const fn of(first: u64, longest: u64) -> Self {
        Self {
            first,
            longest,
            tries: 0,
        }
    }

    /// The number of pauses so far.
    #[must_use]
    pub fn tries(&self) -> u32 {
        self.tries
    }

    /// The ceiling of the next pause, in milliseconds.
    #[must_use = "this counts a pause"]
    pub fn next_ceiling(&mut self) -> u64 {
        let ceiling = self.after(self.tries);
        self.tries = self.tries.saturating_add(1);
        ceiling
    }

    /// The ceiling of the pause after this many others, in milliseconds.
    #[must_use]
    pub fn after(&self, tries: u32) -> u64 {
        // A shift by 64 bits or more also gives the longest pause, not zero.
        let factor = 1_u64.checked_shl(tries).unwrap_or(u64::MAX);
        self.first.saturating_mul(factor).min(self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::Pauses;

    #[test]
    fn a_pause_never_gets_shorter_however_many_attempts_there_were() {
        let pauses = Pauses::of(10, 1_000);
        assert_eq!((pauses.after(0), pauses.after(3)), (10, 80));
        let mut last = 0;
        for tries in 0..200 {
            let pause = pauses.after(tries);
            assert!(pause >= last && pause > 0, "{pause} ms after {tries} tries");
            last = pause;
        }
        assert_eq!(last, 1_000);
        assert_eq!(pauses.after(u32::MAX), 1_000);
        assert_eq!(Pauses::of(u64::MAX, u64::MAX).after(1), u64::MAX);
    }
}

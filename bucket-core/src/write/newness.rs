//! Whether the buckets that a handle has not met yet are new to the server too.
//!
//! Such a bucket is opened by an upsert, which appends where it exists. The insert of a new bucket costs the server a
//! fourth of that, and is refused for little where it exists. So what the last ones turned out to be decides how the next
//! one is sent.

/// This many outcomes are remembered before older ones lose weight.
const REMEMBERED: u32 = 1_024;

/// What unmet buckets turned out to be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Newness {
    new: u32,
    existing: u32,
}

impl Newness {
    pub(super) fn saw(&mut self, is_new: bool) {
        if self.new + self.existing >= REMEMBERED {
            self.new /= 2;
            self.existing /= 2;
        }
        if is_new {
            self.new += 1;
        } else {
            self.existing += 1;
        }
    }

    /// Nothing has been learned yet.
    pub(super) fn is_open(self) -> bool {
        self == Self::default()
    }

    /// The next one is probably new.
    pub(super) fn is_likely(self) -> bool {
        self.new > self.existing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_outcomes_decide() {
        let mut newness = Newness::default();
        assert!(newness.is_open() && !newness.is_likely());
        newness.saw(true);
        assert!(!newness.is_open() && newness.is_likely());
        newness.saw(false);
        assert!(!newness.is_likely());
        for is_new in [true, false, true] {
            (0..100 * REMEMBERED).for_each(|_| newness.saw(is_new));
            assert_eq!(newness.is_likely(), is_new);
            // It takes no longer to change again.
            let flips = (0..10 * REMEMBERED).find(|_| {
                newness.saw(!is_new);
                newness.is_likely() != is_new
            });
            assert!(flips.is_some_and(|flips| flips < REMEMBERED));
        }
    }
}

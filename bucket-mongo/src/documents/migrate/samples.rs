//! Which changed documents are compared: every nth one, so that they are spread evenly.

/// Picks about the wanted number of documents out of the expected number.
#[derive(Debug)]
pub(super) struct Samples {
    wanted: u64,
    every: u64,
    seen: u64,
    taken: u64,
}

impl Samples {
    pub(super) fn none() -> Self {
        Self::new(0, 0)
    }

    pub(super) fn new(wanted: u32, expected: u64) -> Self {
        let wanted = u64::from(wanted);
        Self {
            wanted,
            every: expected.checked_div(wanted).unwrap_or(0).max(1),
            seen: 0,
            taken: 0,
        }
    }

    /// Whether the next document is a sample.
    pub(super) fn takes(&mut self) -> bool {
        if self.wanted == 0 {
            return false;
        }
        let takes = self.seen.is_multiple_of(self.every);
        self.seen += 1;
        if takes {
            self.taken += 1;
            // There are more documents than expected.
            if self.taken.is_multiple_of(self.wanted) {
                self.every *= 2;
            }
        }
        takes
    }
}

#[cfg(test)]
mod tests {
    use super::Samples;

    fn taken(wanted: u32, expected: u64, seen: u64) -> Vec<u64> {
        let mut samples = Samples::new(wanted, expected);
        (0..seen).filter(|_| samples.takes()).collect()
    }

    #[test]
    fn samples_are_spread_over_the_expected_documents_and_grow_rare_after_them() {
        assert_eq!(taken(4, 12, 12), [0, 3, 6, 9]);
        assert_eq!(taken(10, 3, 3), [0, 1, 2]);
        assert_eq!(taken(2, 0, 16), [0, 1, 2, 4, 8, 12]);
        assert!(taken(0, 12, 12).is_empty());
    }
}

//! The median of several rounds, and their spread.

use serde::{Deserialize, Serialize};

/// The figures of all rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
    /// In the order of the rounds.
    pub(crate) rounds: Vec<f64>,
}

impl Spread {
    /// For at least one round; without any, all figures are 0.
    pub(crate) fn of(rounds: Vec<f64>) -> Self {
        let mut sorted = rounds.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |index: usize| sorted.get(index).copied().unwrap_or_default();
        let last = sorted.len().saturating_sub(1);
        Self {
            median: f64::midpoint(at(last / 2), at(sorted.len() / 2)),
            min: at(0),
            max: at(last),
            rounds,
        }
    }

    /// The ratios of the same rounds.
    pub(crate) fn over(&self, other: &Self) -> Self {
        let pairs = self.rounds.iter().zip(&other.rounds);
        Self::of(pairs.map(|(own, other)| own / other).collect())
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "the values are exact")]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_one_or_between_the_two_middle_ones() {
        let odd = Spread::of(vec![5.0, 1.0, 3.0]);
        assert_eq!((odd.median, odd.min, odd.max), (3.0, 1.0, 5.0));
        assert_eq!(odd.rounds, [5.0, 1.0, 3.0]);
        assert_eq!(Spread::of(vec![4.0, 1.0, 2.0, 8.0]).median, 3.0);
        assert_eq!(Spread::of(vec![7.0]).median, 7.0);
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        // The ratio of the medians would be 1.
        let own = Spread::of(vec![10.0, 20.0, 90.0]);
        let other = Spread::of(vec![5.0, 40.0, 20.0]);
        assert_eq!(own.over(&other).rounds, [2.0, 0.5, 4.5]);
        assert_eq!(own.over(&other).median, 2.0);
    }
}

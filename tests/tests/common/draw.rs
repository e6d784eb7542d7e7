//! Random records, spans of time and numbers, the same for each seed.
#![allow(unreachable_pub, missing_docs, dead_code)]

use bucket_mongo::{IntoTimeRange, TimeRange, bson::DateTime};
use proptest::{
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};

use super::{
    drawn::{Drawn, drawn},
    sample::Sample,
};

/// Random values for one seed, always the same.
pub struct Draw(TestRunner);

impl Draw {
    pub fn new(seed: u8) -> Self {
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
        Self(TestRunner::new_with_rng(Config::default(), rng))
    }

    pub fn draw<S: Strategy>(&mut self, strategy: S) -> S::Value {
        strategy.new_tree(&mut self.0).unwrap().current()
    }

    pub fn samples<const F: usize>(&mut self, from: usize, number: usize) -> Vec<Sample<F>> {
        let drawn: Vec<Drawn> = self.draw(prop::collection::vec(drawn(), number));
        let numbered = (from..).zip(&drawn);
        numbered
            .map(|(unique, drawn)| drawn.sample(unique))
            .collect()
    }

    pub fn range(&mut self) -> TimeRange {
        let moment = || prop_oneof![4 => -4_500..8_500_i64, 1 => any::<i64>()];
        let (one, two) = self.draw((moment(), moment()));
        let (start, end) = (one.min(two), one.max(two));
        let (start, end) = (DateTime::from_millis(start), DateTime::from_millis(end));
        match self.draw(0..4) {
            0 => (start..).into_time_range(),
            1 => (..end).into_time_range(),
            _ => (start..end).into_time_range(),
        }
    }
}

//! A pseudo-random sequence from a seed: whose turn it is, and which step fails.

/// Each step is another number.
#[derive(Debug, Clone, Default)]
pub struct Turns(pub u64);

impl Turns {
    /// A number below this one.
    ///
    /// Source of the constants: Knuth, "The Art of Computer Programming", volume 2, section 3.3.4.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    /// The next of this many writers.
    pub fn next(&mut self, writers: usize) -> usize {
        let writers = u64::try_from(writers).unwrap();
        usize::try_from(self.below(writers)).unwrap()
    }
}

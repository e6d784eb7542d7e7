//! Random numbers from a fixed seed.

/// `SplitMix64` of Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// A generator; different streams of one seed are independent.
    #[must_use]
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut random = Self(stream);
        random.0 = random.next() ^ seed;
        random.0 = random.next();
        random
    }

    /// A number from 0 to `limit - 1`.
    ///
    /// # Panics
    ///
    /// If the limit is 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

//! Made-up data: the same in every run, so that the output of an app can be checked.

/// A random number generator with a fixed seed: `SplitMix64` of Steele, Lea and Flood, "Fast
/// splittable pseudorandom number generators" (2014).
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// Dice that give the same numbers for the same seed.
    #[must_use]
    pub fn new(start: u64) -> Self {
        Self(start)
    }

    /// A number from 0 to `sides - 1`; `sides` is not 0.
    pub fn roll(&mut self, sides: u16) -> u16 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let [high, low, ..] = (mixed ^ (mixed >> 31)).to_be_bytes();
        u16::from_be_bytes([high, low]) % sides
    }
}

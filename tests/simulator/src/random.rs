//! Random numbers from a known seed, the same as in the storms.

#[path = "../../src/faults/random.rs"]
mod shared;

pub use self::shared::Random;

//! Random numbers with a known start: those of the storms.

#[path = "../../src/faults/random.rs"]
mod shared;

pub use self::shared::Random;

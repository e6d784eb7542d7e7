//! The errors of pure logic, one kind per file.

mod attribute;
mod damage;
mod encode;
mod id;
mod key;
mod overflow;
mod rollup;
mod step;

pub use self::{
    attribute::{AttributeError, AttributeFault},
    damage::{Damage, DamagedBucket},
    encode::EncodeError,
    id::IdError,
    key::KeyError,
    overflow::SumOverflow,
    rollup::RollupError,
    step::StepError,
};

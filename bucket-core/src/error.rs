//! The errors of pure logic, one kind per file.

mod attribute;
mod damage;
mod encode;
mod filter;
mod id;
mod key;
mod overflow;
mod redacted;
mod rollup;
mod step;

pub(crate) use self::redacted::redacted_bson;
pub use self::{
    attribute::{AttributeError, AttributeFault},
    damage::{Damage, DamagedBucket},
    encode::EncodeError,
    filter::FilterError,
    id::IdError,
    key::KeyError,
    overflow::SumOverflow,
    rollup::RollupError,
    step::IntervalError,
};

//! Samples of a type: values that its `Deserialize` makes from what the tracer offers it.
//!
//! The columns must be known before the first record, and must be the same for each part of an export. So they follow from the
//! type and not from the data: a field that is null in all records of a month has its column in that month, too. What
//! `Deserialize` asks for is offered in turn, until each option was there and missing, each list full and empty, and each
//! variant was made once. `Serialize` then shows what a sample looks like (`shape/observe.rs`): only it decides about columns.

mod deserializer;
mod offers;
mod refusal;
mod samples;
mod tree;
mod untraceable;

pub(crate) use self::{offers::ANY_KEY, samples::samples, untraceable::Untraceable};

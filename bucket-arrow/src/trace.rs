//! Samples of a type: values that its `Deserialize` makes from what the tracer offers it.
//!
//! The columns must be known before the first record, and must be the same for each part of an export. So they follow from the
//! type and not from the data: a field that is null in all records of a month has its column in that month, too. What
//! `Deserialize` asks for is offered in turn, until each option was there and missing, each list full and empty, and each
//! variant was made once. `Serialize` then shows what a sample looks like (`shape/observe.rs`): only it decides about columns.

mod deserializer;
mod tree;

use serde::de::DeserializeOwned;

pub(crate) use self::deserializer::ANY_KEY;
use self::{deserializer::Offer, tree::Tree};

/// The number of tries after which a type is given up.
const MOST: usize = 20_000;

/// Why a type has no samples.
#[derive(Debug)]
pub(crate) struct Untraceable {
    /// The path of the value that nothing fits; empty for the whole.
    pub(crate) path: String,
    /// What its `Deserialize` says.
    pub(crate) message: String,
}

/// Passes samples of a type to `take`.
pub(crate) fn samples<T: DeserializeOwned>(
    mut take: impl FnMut(T) -> Result<(), Untraceable>,
) -> Result<(), Untraceable> {
    let tree = Tree::new();
    let mut made = false;
    for _ in 0..MOST {
        tree.begin();
        match T::deserialize(Offer::root(&tree)) {
            Ok(sample) => {
                made = true;
                take(sample)?;
                if tree.accepted() {
                    return Ok(());
                }
            }
            Err(error) => tree.refused(error)?,
        }
    }
    if made {
        return Ok(());
    }
    Err(Untraceable {
        path: String::new(),
        message: format!("none of {MOST} samples is one"),
    })
}

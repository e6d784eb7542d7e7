//! The tries, one after the other.

use serde::de::DeserializeOwned;

use super::{deserializer::Offer, tree::Tree, untraceable::Untraceable};

/// The number of tries after which a type is given up.
const MOST: usize = 20_000;

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

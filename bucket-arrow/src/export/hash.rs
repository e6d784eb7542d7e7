//! SHA-256 as text.

use sha2::{Digest, Sha256};

use crate::hexadecimal;

/// The hash of these bytes, one after the other.
pub(crate) fn of(parts: impl IntoIterator<Item = impl AsRef<[u8]>>) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
    }
    hexadecimal::text(&hasher.finalize())
}

//! Where the copies of a collection's buckets are.

use mongodb::{Collection, bson::RawDocumentBuf};

#[cfg(feature = "object-store")]
use crate::archive::Files;

/// Where the copies of a collection's buckets are.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    #[cfg_attr(
        not(feature = "seal"),
        expect(dead_code, reason = "no handle has an archive then")
    )]
    Collection(Collection<RawDocumentBuf>),
    #[cfg(feature = "object-store")]
    Files(Files),
}

impl Place {
    /// The collection, which has indexes, options and limits; files have none.
    #[cfg_attr(
        not(feature = "object-store"),
        expect(clippy::unnecessary_wraps, reason = "as with the feature")
    )]
    pub(crate) fn collection(&self) -> Option<&Collection<RawDocumentBuf>> {
        match self {
            Self::Collection(collection) => Some(collection),
            #[cfg(feature = "object-store")]
            Self::Files(_) => None,
        }
    }
}

//! What a read depends on: text is compared as keys and ids need it.

use bson::RawDocumentBuf;
use bucket_core::{
    index::Drift,
    read::SIMPLE,
    write::{Fault, Listing, Look, collection_drift},
};
use mongodb::{Collection, options::Collation};

use crate::{Error, ErrorKind, Result, error::Context, store::Store, writer::faults};

/// The collation of every read of buckets, whatever the collection's own is.
pub(crate) fn simple_collation() -> Collation {
    Collation::builder().locale(SIMPLE).build()
}

impl Store {
    /// The collection for reads. A collection with a collation is refused, because its indexes do not serve.
    /// If it gets one later, reads are slow but correct.
    pub(crate) async fn readable(&self, context: &Context) -> Result<Collection<RawDocumentBuf>> {
        if self.learnt().lock().is_readable() {
            return Ok(self.collection());
        }
        let mut look = self
            .database()
            .run_command(Look::Collection.command(self.spec()));
        if let Some(criteria) = self.database().selection_criteria() {
            look = look.selection_criteria(criteria.clone());
        }
        let listing = match look.await {
            Ok(reply) => Some(Listing::of_reply(&reply)),
            Err(error) if faults::fault(&error) == Fault::NotSent => {
                return Err(Error::read(error, context));
            }
            Err(error) => faults::code(&error).and_then(Listing::of_error),
        };
        match listing {
            Some(Listing::Found(found)) => {
                if let Some(found) = found.first() {
                    if let Some(drift @ Drift::Collation { .. }) = collection_drift(found) {
                        return Err(Error::new(ErrorKind::Drift(Box::new(drift)), context));
                    }
                    self.learnt().lock().saw_readable();
                }
            }
            Some(Listing::NotPermitted | Listing::NotKnown) => {
                self.learnt().lock().saw_readable();
            }
            // What is wrong the read will say.
            Some(Listing::OtherKind(_)) | None => {}
        }
        Ok(self.collection())
    }
}

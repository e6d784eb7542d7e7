//! What a read rests on: the collection orders text as ids need it.

use bson::RawDocumentBuf;
use bucket_core::{
    index::Drift,
    write::{Fault, Listing, Look, collection_drift},
};
use mongodb::Collection;

use crate::{Error, ErrorKind, Result, error::Context, store::Store, writer::faults};

impl Store {
    /// The collection, to be read: one with a collation would give the records of other keys too.
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
            Some(Listing::NotPermitted | Listing::NotKnown) => self.learnt().lock().saw_readable(),
            // What is wrong the read will say.
            None => {}
        }
        Ok(self.collection())
    }
}

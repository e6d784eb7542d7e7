//! What a read depends on: text is compared as keys and ids need it.

use bson::RawDocumentBuf;
use bucket_core::{
    index::Drift,
    write::{Fault, Listing, Look, collection_drift, collection_uuid},
};
use mongodb::Collection;

use crate::{
    Error, ErrorKind, Result,
    error::{Context, ReadFault},
    read::ReadOptions,
    store::Store,
    writer::faults,
};

impl Store {
    /// The collection for reads; the call begins here, and knows from here on the archive, and whether it sees one moment. A
    /// collection with a collation is refused, because its indexes do not serve. If it gets one later, reads are slow but
    /// correct.
    pub(crate) async fn readable(
        &self,
        options: &mut ReadOptions<'_>,
        context: &Context,
    ) -> Result<Collection<RawDocumentBuf>> {
        options.begin(context).await?;
        self.at_one_moment(options, context).await?;
        self.readable_anytime(options, context).await
    }

    /// The same for reads that may last longer than the server remembers one moment, or need what there is now.
    pub(crate) async fn readable_anytime(
        &self,
        options: &mut ReadOptions<'_>,
        context: &Context,
    ) -> Result<Collection<RawDocumentBuf>> {
        options.begin(context).await?;
        options.terms.archived = self.archived().cloned();
        let terms = &options.terms;
        if self.cache().lock().is_readable() {
            return Ok(self.collection());
        }
        let command = terms.command(Look::Collection.command(self.spec()));
        let mut look = self.database().run_command(command);
        let criteria = terms.criteria.as_ref();
        if let Some(criteria) = criteria.or(self.database().selection_criteria()) {
            look = look.selection_criteria(criteria.clone());
        }
        let looked = match terms.is_in_time() {
            Ok(()) => terms.within(look.into_future()).await,
            Err(late) => Err(late),
        };
        let listing = match looked {
            Ok(reply) => Some(Listing::of_reply(&reply)),
            Err(ReadFault::Driver(error)) if faults::fault(&error) != Fault::NotSent => {
                faults::code(&error).and_then(Listing::of_error)
            }
            Err(fault) => return Err(Error::read(fault, context)),
        };
        match listing {
            Some(Listing::Found(found)) => {
                if let Some(found) = found.first() {
                    if let Some(drift @ Drift::Collation { .. }) = collection_drift(found) {
                        return Err(Error::new(ErrorKind::Drift(Box::new(drift)), context));
                    }
                    self.cache().saw_collection(collection_uuid(found));
                    self.cache().lock().saw_readable();
                }
            }
            Some(Listing::NotPermitted | Listing::NotKnown) => {
                self.cache().lock().saw_readable();
            }
            // What is wrong the read will say.
            Some(Listing::OtherKind(_)) | None => {}
        }
        Ok(self.collection())
    }
}

//! The copies in the quarantine: each is there as long as a call relies on it.
//!
//! A call stores a copy, and then removes the bucket if it is still the one that was copied. If a writer has changed it, the
//! call takes its copy back. Several calls may rely on one copy: it stays if one of them has moved the bucket.

use bucket_core::{
    Record,
    check::Problem,
    repair::{
        copied_document, document_with_id, leave, may_be_taken_back, quarantine, rely_on, take_back,
    },
};
use mongodb::{
    bson::{Bson, DateTime, Document, RawDocumentBuf, oid::ObjectId},
    error::Error as DriverError,
};

use super::repairing::Repairing;
use crate::{
    Error, ErrorKind, Result,
    action::edit::{Editing, Sent},
    write_concern::durable,
    writer::Settings,
};

/// How often a bucket with one id can be in the quarantine.
const MOST_COPIES: i32 = 1_000;

/// A copy in the quarantine, and by which name this call relies on it.
pub(super) struct Copy {
    id: RawDocumentBuf,
    call: ObjectId,
}

impl<T: Record> Repairing<'_, T> {
    /// Stores a copy in the quarantine, or goes on with the one of an earlier call. The copy is there as long as this call
    /// relies on it.
    pub(super) async fn copy(&self, stored: &RawDocumentBuf, problems: &[Problem]) -> Result<Copy> {
        // A new one each time: an earlier statement that still arrives does not name it.
        let call = ObjectId::new();
        let by = (DateTime::now(), call);
        let mut was_gone = false;
        for number in 0..MOST_COPIES {
            let into = self.quarantine;
            let (id, command) = quarantine(T::SPEC, into, stored, problems, number, by);
            let error = match self.in_quarantine(command).await {
                Ok(Sent::Made(_)) => return Ok(Copy { id, call }),
                Ok(Sent::Lost) => continue,
                Err(error) => error,
            };
            let is_same = |copy: &RawDocumentBuf| {
                copied_document(copy).is_some_and(|it| it.as_bytes() == stored.as_bytes())
            };
            let is_unknown = error.is_outcome_unknown();
            if !error.is_duplicate_key() && !is_unknown {
                return Err(error);
            }
            let is_gone = loop {
                // Each call that relies on it says so before it looks.
                let named = self.in_quarantine(rely_on(into, &id, call)).await?;
                let is_named = matches!(named, Sent::Made(_));
                let copy = self.copied(&id).await?;
                let is_same = copy.as_ref().is_some_and(is_same);
                let is_lasting = copy.as_ref().is_some_and(|copy| !may_be_taken_back(copy));
                if is_same && (is_named || is_lasting) {
                    return Ok(Copy { id, call });
                }
                if is_named {
                    self.leave(&Copy {
                        id: id.clone(),
                        call,
                    })
                    .await?;
                }
                // Another call has made it since this one named itself.
                if !is_same {
                    break copy.is_none();
                }
            };
            // Other calls make and leave copies with this id meanwhile. A unique index of others refuses each one.
            let is_rival = is_gone && is_of_id(&error);
            if is_unknown || (is_gone && was_gone && !is_rival) {
                return Err(error);
            }
            was_gone |= is_gone && !is_rival;
        }
        let message = format!("the quarantine has {MOST_COPIES} buckets with this id");
        let kind = ErrorKind::InvalidArgument { message };
        Err(Error::new(kind, &self.context))
    }

    /// This call does not rely on the copy any more. The last one removes it.
    pub(super) async fn leave(&self, copy: &Copy) -> Result<()> {
        let Copy { id, call } = copy;
        let into = self.quarantine;
        self.in_quarantine(leave(into, id, *call)).await?;
        self.in_quarantine(take_back(into, id)).await.map(drop)
    }

    /// Sends a statement for the quarantine.
    async fn in_quarantine(&self, command: RawDocumentBuf) -> Result<Sent> {
        let settings = Settings {
            write_concern: Some(durable()),
            deadline: self.settings.deadline,
        };
        let mut editing = Editing::new(self.buckets, None, &settings, self.context.clone())?;
        editing.send(command, 1).await
    }

    /// The copy with this id, on the primary. A rollback that takes it takes a later removal too.
    async fn copied(&self, id: &RawDocumentBuf) -> Result<Option<RawDocumentBuf>> {
        let id = Document::try_from(id.clone());
        let id = id.map_err(|error| Error::read(DriverError::from(error), &self.context))?;
        let context = self.context.clone();
        let mut editing = Editing::new(self.buckets, None, self.settings, context)?;
        editing.goes_on_in(self.quarantine);
        let found = editing.read(document_with_id(&Bson::Document(id))).await?;
        Ok(found.into_iter().next())
    }
}

/// Whether the quarantine had a copy with this id.
fn is_of_id(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::DuplicateKey { index, .. } if index == "_id_")
}

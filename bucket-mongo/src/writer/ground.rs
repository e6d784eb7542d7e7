//! The look at the collection before the first write, and wherever it turns out to be another one.
//!
//! It is done outside of the caller's session: in a transaction the server lists nothing.

use std::sync::Arc;

use bson::{Binary, Document, RawDocumentBuf};
use bucket_core::{
    Record,
    index::{self, Unmet},
    write::{Batch, Round},
};

use super::{Writer, send::ReadError};
use crate::{
    error::{Error, ErrorKind},
    footing::{self, Ground},
};

const NAMESPACE_NOT_FOUND: i32 = 26;

impl<T: Record> Writer<'_, T> {
    /// Makes sure that the collection is as the model needs it: once for a handle and its clones.
    pub(super) async fn find_ground(&mut self) -> Result<(), Error> {
        let known = self.buckets.learnt().footing.ground();
        if known.is_some() && known != self.ground {
            self.ground = known;
            return Ok(());
        }
        self.look_around().await
    }

    async fn look_around(&mut self) -> Result<(), Error> {
        let learnt = Arc::clone(self.buckets.learnt());
        let name = || Some(Ground::Name);
        let Some(found) = self.list(footing::list_collections(T::SPEC)).await? else {
            learnt.footing.warn(T::SPEC);
            learnt.footing.stand_on(Ground::Name);
            self.ground = name();
            return Ok(());
        };
        let Some(info) = found.into_iter().next() else {
            return Err(self.unmet(index::unmet(T::SPEC, &[])));
        };
        if let Some(drift) = footing::collection_drift(&info) {
            let kind = ErrorKind::Drift(Box::new(drift));
            return Err(Error::new(kind, &self.context));
        }
        // After the collection: were it replaced in between, its UUID is the one that is refused.
        self.check_indexes().await?;
        let ground = footing::uuid(&info).map_or(Ground::Name, Ground::Collection);
        learnt.footing.stand_on(ground.clone());
        self.ground = Some(ground);
        Ok(())
    }

    /// Makes sure of the indexes.
    async fn check_indexes(&mut self) -> Result<(), Error> {
        self.has_looked = true;
        let learnt = Arc::clone(self.buckets.learnt());
        let Some(found) = self.list(footing::list_indexes(T::SPEC)).await? else {
            learnt.footing.warn(T::SPEC);
            return Ok(());
        };
        let unmet = index::unmet(T::SPEC, &found);
        if unmet.is_some() {
            return Err(self.unmet(unmet));
        }
        learnt.saw_record_ids();
        Ok(())
    }

    fn unmet(&self, unmet: Option<Unmet>) -> Error {
        let kind = match unmet {
            Some(Unmet::Missing { name }) => ErrorKind::MissingIndex { name },
            Some(Unmet::Differs(drift)) => ErrorKind::Drift(Box::new(drift)),
            // Every model has an index that writes rest on.
            _ => ErrorKind::MissingIndex {
                name: T::SPEC.pages_index_name(),
            },
        };
        Error::new(kind, &self.context)
    }

    /// What a command lists; none if it is not permitted.
    async fn list(&self, command: Document) -> Result<Option<Vec<Document>>, Error> {
        let command = RawDocumentBuf::try_from(&command).unwrap_or_default();
        match self.ask(&command).await {
            Ok(reply) => Ok(Some(footing::listed(&reply))),
            Err(ReadError::Late(error)) => Err(error),
            Err(ReadError::Driver(error)) if footing::is_unauthorized(&error) => Ok(None),
            Err(ReadError::Driver(error)) if is_missing(&error) => Ok(Some(Vec::new())),
            Err(ReadError::Driver(error)) => Err(Error::read(error, &self.context)),
        }
    }

    /// Servers before MongoDB 6.0 do not say that the collection is another one. There a call looks
    /// before it opens buckets, which needs no index to be there.
    pub(super) async fn look_before(&mut self, rounds: &[Round]) -> Result<(), Error> {
        let is_named = !self.buckets.learnt().footing.naming().is_unknown();
        let may_look = matches!(self.ground, Some(Ground::Collection(_)));
        if is_named || !may_look || self.has_looked || !rounds.iter().any(Round::opens) {
            return Ok(());
        }
        self.check_indexes().await
    }

    /// The server has refused statements because the collection is another one than before.
    pub(super) async fn go_elsewhere(&mut self, batch: &mut Batch<T>) {
        self.is_astray = false;
        batch.forget();
        let learnt = Arc::clone(self.buckets.learnt());
        learnt.forget_keys();
        learnt.footing.leave(self.ground.as_ref());
        if let Err(error) = self.find_ground().await {
            self.written.stopped_by = Some(error);
        }
    }

    /// What commands name the collection by.
    pub(super) fn collection_uuid(&self) -> Option<Binary> {
        let Some(Ground::Collection(uuid)) = &self.ground else {
            return None;
        };
        let naming = self.buckets.learnt().footing.naming();
        // A transaction would end by a field that the server does not know.
        let is_sent = !naming.is_unknown() && (self.session.is_none() || naming.is_taken());
        is_sent.then(|| uuid.clone())
    }
}

fn is_missing(error: &mongodb::error::Error) -> bool {
    use mongodb::error::ErrorKind as Kind;
    matches!(error.kind.as_ref(), Kind::Command(error) if error.code == NAMESPACE_NOT_FOUND)
}

//! Whether all commands of a read met the same collection.
//!
//! The server ends the cursors of a collection that is dropped or renamed with an error. It answers a further
//! command to the name as if nothing were stored, or from the collection that has the name now. So a read of
//! several commands looks at the collection when it ends.

use bucket_core::write::{Listing, Look, codes::QUERY_PLAN_KILLED, collection_uuid};
use futures_core::Stream;
use futures_util::{FutureExt, StreamExt, stream};
use mongodb::bson::{Document, Uuid};
use tokio::time::Instant;

use super::{SharedOptions, options::ReadOptions, terms::Terms};
use crate::{
    Error, ErrorKind, Result,
    error::Context,
    store::Store,
    writer::{LONGEST_DEADLINE, is_in_transaction},
};

/// The collection that a read began with.
pub(crate) struct SameCollection {
    store: Store,
    /// `None` if there was none, or if it was not looked at.
    uuid: Option<Uuid>,
}

/// What the commands of a read have met, as far as the end of the read shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Met {
    One,
    /// The name belongs to no collection now.
    Gone,
    /// The handle knew another one, which may have been replaced before the read or during it.
    Another,
}

/// Whether a session goes on with what it began with. A session that reads a snapshot does not: the server looks
/// the name up today.
async fn is_in_one_transaction(options: &mut ReadOptions<'_>) -> bool {
    let Some(session) = options.session.as_deref_mut() else {
        return false;
    };
    let until = options.terms.until();
    let until = until.unwrap_or_else(|| Instant::now() + LONGEST_DEADLINE);
    is_in_transaction(session, until).await.unwrap_or(true)
}

impl SameCollection {
    /// Before the first command of a read. `looks` says whether the read needs several commands in any case: only
    /// then a look at the start costs little beside them. Without it, the end shows whether the collection is gone.
    ///
    /// `None` for a session in a transaction.
    pub(crate) async fn begin(
        store: &Store,
        options: &mut ReadOptions<'_>,
        looks: bool,
    ) -> Option<Self> {
        if is_in_one_transaction(options).await {
            return None;
        }
        let mut own = Self {
            store: store.clone(),
            uuid: None,
        };
        if looks {
            let found = own.look(&options.terms).await;
            own.uuid = found
                .as_ref()
                .and_then(|found| collection_uuid(found.first()?));
        }
        Some(own)
    }

    /// Before the first command of a read that can begin again: the collection that the handle knows, without a look.
    pub(crate) fn known(store: &Store) -> Self {
        Self {
            store: store.clone(),
            uuid: store.cache().seen_collection(),
        }
    }

    /// At the end of such a read, if it has sent several commands. From now on the handle knows the collection that
    /// has the name.
    pub(crate) async fn met(&self, options: &mut ReadOptions<'_>) -> Met {
        if is_in_one_transaction(options).await {
            return Met::One;
        }
        let Some(found) = self.look(&options.terms).await else {
            return Met::One;
        };
        let Some(found) = found.first() else {
            return Met::Gone;
        };
        let now = collection_uuid(found);
        let is_another = now.is_some() && self.uuid.is_some() && now != self.uuid;
        self.store.cache().saw_collection(now);
        if is_another { Met::Another } else { Met::One }
    }

    /// The collection that has the name now, if any; `None` if the user may not look, or in case of a fault.
    async fn look(&self, terms: &Terms) -> Option<Vec<Document>> {
        terms.is_in_time().ok()?;
        let command = terms.command(Look::Collection.command(self.store.spec()));
        // Outside of the call's session, whose command may be under way.
        let database = self.store.database();
        let mut look = database.run_command(command);
        let criteria = terms.criteria.as_ref();
        if let Some(criteria) = criteria.or(database.selection_criteria()) {
            look = look.selection_criteria(criteria.clone());
        }
        let reply = terms.within(look.into_future()).await.ok()?;
        match Listing::of_reply(&reply) {
            Listing::Found(found) => Some(found),
            _ => None,
        }
    }

    /// Whether the collection is gone, or another one has its name.
    pub(crate) async fn is_gone(&self, terms: &Terms) -> bool {
        let Some(found) = self.look(terms).await else {
            return false;
        };
        match (found.first(), &self.uuid) {
            // Something was found in it.
            (None, _) => true,
            (Some(found), Some(before)) => collection_uuid(found).is_some_and(|now| now != *before),
            (Some(_), None) => false,
        }
    }
}

/// The server's error for the cursors of such a collection.
pub(crate) fn taken_away(context: &Context) -> Error {
    let message = "the collection was dropped, renamed or replaced during the read";
    let kind = ErrorKind::Server {
        code: QUERY_PLAN_KILLED,
        message: message.to_owned(),
    };
    Error::new(kind, context)
}

/// The same stream, with the server's error for a killed cursor at its end if the commands of the read did not
/// all meet one collection. Where the read sent only one command, nothing is looked at.
pub(crate) fn of_one_collection<'a, R: Send + 'a>(
    stream: impl Stream<Item = Result<R>> + Send + 'a,
    began: Option<SameCollection>,
    options: SharedOptions<'a>,
    context: Context,
) -> impl Stream<Item = Result<R>> + Send + 'a {
    let end = async move {
        let began = began.filter(|_| options.has_sent_several())?;
        let is_gone = began.is_gone(options.terms()).await;
        is_gone.then(|| Err(taken_away(&context)))
    };
    stream.chain(end.into_stream().map(stream::iter).flatten())
}

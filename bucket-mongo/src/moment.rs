//! Reads that see one moment, of models whose sealed buckets are merged.
//!
//! A merge takes records to a place that a read may have passed. So a find of such a model sees what was stored at one moment
//! (read concern `snapshot`), and a call whose finds depend on one another has a session of its own for that. The read concern
//! of the caller goes first, and a session that sees one moment already.

use mongodb::{
    ClientSession,
    bson::{Document, doc},
    options::ReadConcern,
};

use crate::{
    Error, Result,
    error::{Context, ReadFault},
    read::{ReadOptions, Terms},
    store::Store,
    writer::sees_one_moment,
};

/// The wire version of MongoDB 5.0, the first one that reads a snapshot outside of transactions.
const SINCE: i32 = 13;

impl Store {
    /// Whether the server reads snapshots, and takes transactions. Then it does for good.
    pub(crate) async fn has_moments(&self, terms: &Terms) -> Result<bool, ReadFault> {
        if self.cache().has_moments() {
            return Ok(true);
        }
        terms.is_in_time()?;
        let hello = self
            .database()
            .run_command(terms.command(doc! { "hello": 1 }));
        let hello = terms.within(hello.into_future()).await?;
        let has_moments = has_moments(&hello);
        if has_moments {
            self.cache().saw_moments();
        }
        Ok(has_moments)
    }

    /// Lets each find of a read see one moment, if buckets may be merged meanwhile.
    pub(crate) async fn at_one_moment(
        &self,
        options: &mut ReadOptions<'_>,
        context: &Context,
    ) -> Result<()> {
        if self.spec().merge().is_none() || options.terms.concern.is_some() {
            return Ok(());
        }
        if let Some(session) = options.session.as_deref_mut()
            && sees_one_moment(session).await
        {
            return Ok(());
        }
        let has_moments = self.has_moments(&options.terms).await;
        if has_moments.map_err(|fault| Error::read(fault, context))? {
            options.terms.concern = Some(ReadConcern::snapshot());
        }
        Ok(())
    }

    /// A session in which all finds of a read see the same moment, if each of them would see its own, also in the session of the
    /// caller; `None` if the read needs none. Its finds need no read concern then.
    pub(crate) async fn moment(
        &self,
        options: &mut ReadOptions<'_>,
        context: &Context,
    ) -> Result<Option<ClientSession>> {
        let has_own = options.terms.concern.is_some();
        options.begin(context).await?;
        self.at_one_moment(options, context).await?;
        if has_own || options.terms.concern.is_none() {
            return Ok(None);
        }
        options.terms.concern = None;
        let session = self.database().client().start_session().snapshot(true);
        let session = options.terms.within(session.into_future()).await;
        session
            .map(Some)
            .map_err(|fault| Error::read(fault, context))
    }
}

fn has_moments(hello: &Document) -> bool {
    let takes_transactions = hello.contains_key("setName") || hello.contains_key("msg");
    takes_transactions
        && hello
            .get_i32("maxWireVersion")
            .is_ok_and(|version| version >= SINCE)
}

//! The documents of a plan, one after the other, in a session or outside of one.

use bucket_core::read::FindPlan;
use mongodb::{
    ClientSession, Collection, Cursor, SessionCursor,
    action::Find,
    bson::{Document, RawDocument, RawDocumentBuf},
    error::Result,
    options::Hint,
};

/// The find of a plan, not sent yet.
pub(crate) fn prepared(
    collection: &Collection<RawDocumentBuf>,
    plan: FindPlan,
) -> Result<Find<'_, RawDocumentBuf>> {
    let filter = Document::try_from(plan.filter)?;
    let mut find = collection
        .find(filter)
        .sort(plan.sort)
        .skip(plan.skip)
        .hint(Hint::Name(plan.hint));
    if plan.limit > 0 {
        // One more than the limit: the server closes the cursor with its reply. One that is left
        // open would have to be killed by another command.
        let all = u32::try_from(plan.limit).unwrap_or(u32::MAX);
        find = find.limit(plan.limit).batch_size(all.saturating_add(1));
    }
    if !plan.projection.is_empty() {
        find = find.projection(plan.projection);
    }
    Ok(find)
}

/// A cursor over stored documents, of which none is copied.
pub(crate) enum Rows<'a> {
    Plain(Cursor<RawDocumentBuf>),
    InSession(SessionCursor<RawDocumentBuf>, &'a mut ClientSession),
}

impl<'a> Rows<'a> {
    /// Sends the plan. `batch` is how many documents the server sends at once; 0 leaves it to the
    /// server.
    pub(crate) async fn open(
        collection: &Collection<RawDocumentBuf>,
        plan: FindPlan,
        batch: u32,
        session: Option<&'a mut ClientSession>,
    ) -> Result<Self> {
        let mut find = prepared(collection, plan)?;
        if batch > 0 {
            find = find.batch_size(batch);
        }
        Ok(match session {
            Some(session) => Self::InSession(find.session(&mut *session).await?, session),
            None => Self::Plain(find.await?),
        })
    }

    /// The session, to be used for another plan.
    pub(super) fn into_session(self) -> Option<&'a mut ClientSession> {
        match self {
            Self::Plain(_) => None,
            Self::InSession(_, session) => Some(session),
        }
    }

    /// The next document.
    pub(crate) async fn next(&mut self) -> Result<Option<&RawDocument>> {
        Ok(match self {
            Self::Plain(cursor) => cursor.advance().await?.then(|| cursor.current()),
            Self::InSession(cursor, session) => {
                let more = cursor.advance(session).await?;
                more.then(|| cursor.current())
            }
        })
    }
}

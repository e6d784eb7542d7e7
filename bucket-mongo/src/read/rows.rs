//! The documents of a plan, one after the other, in a session or outside of one.

use std::{pin::pin, time::Duration};

use bucket_core::read::FindPlan;
use futures_util::future::{Either, select};
use mongodb::{
    ClientSession, Collection, Cursor, SessionCursor,
    action::Find,
    bson::{Document, RawDocument, RawDocumentBuf},
    error::{Error, Result},
    options::Hint,
};
use tokio::{sync::oneshot, time::timeout};

/// How long the reply to a read is waited for that nobody wants any more.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

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

fn with_batches(find: Find<'_, RawDocumentBuf>, batch: u32) -> Find<'_, RawDocumentBuf> {
    if batch > 0 {
        find.batch_size(batch)
    } else {
        find
    }
}

/// Opens a cursor in a task of its own. Were its future dropped before the reply comes, nobody would know
/// the cursor that the server has opened by then, and it would stay open for ten minutes: so the reply is
/// waited for, and the cursor that comes is closed.
async fn opened(
    collection: Collection<RawDocumentBuf>,
    plan: FindPlan,
    batch: u32,
) -> Result<Cursor<RawDocumentBuf>> {
    let (waiting, gone) = oneshot::channel::<()>();
    let task = tokio::spawn(async move {
        let find = with_batches(prepared(&collection, plan)?, batch);
        let mut opening = pin!(find.into_future());
        match select(&mut opening, gone).await {
            Either::Left((opened, _)) => opened.map(Some),
            Either::Right(_) => {
                // Dropped at once, and so closed; not for ever, as it holds a connection.
                drop(timeout(LONGEST_WAIT, opening).await);
                Ok(None)
            }
        }
    });
    let opened = task.await;
    drop(waiting);
    match opened {
        Ok(Ok(Some(cursor))) => Ok(cursor),
        Ok(Ok(None)) => Err(Error::custom("the read was dropped")),
        Ok(Err(error)) => Err(error),
        Err(stopped) => Err(Error::custom(format!("the runtime stopped: {stopped}"))),
    }
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
        let Some(session) = session else {
            return Ok(Self::Plain(opened(collection.clone(), plan, batch).await?));
        };
        let find = with_batches(prepared(collection, plan)?, batch);
        Ok(Self::InSession(find.session(&mut *session).await?, session))
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

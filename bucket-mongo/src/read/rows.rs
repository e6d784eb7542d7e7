//! The documents of one plan or of several, one after the other, inside or outside a session.

use std::{cmp::Reverse, collections::BinaryHeap, pin::pin, time::Duration};

use bucket_core::read::FindPlan;
use futures_util::{
    StreamExt, TryStreamExt,
    future::{Either, select},
    stream,
};
use mongodb::{
    ClientSession, Collection, Cursor, SessionCursor,
    action::Find,
    bson::{Document, RawDocument, RawDocumentBuf},
    error::{Error, Result},
    options::Hint,
};
use tokio::{sync::oneshot, time::timeout};

use crate::footing::simple_collation;

/// How long to wait for the reply to a read that is no longer wanted.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// The most cursors that are opened at the same time.
const SIDE_BY_SIDE: usize = 4;

/// Prepares the find of a plan, without sending it.
pub(crate) fn prepared(
    collection: &Collection<RawDocumentBuf>,
    plan: FindPlan,
) -> Result<Find<'_, RawDocumentBuf>> {
    let filter = Document::try_from(plan.filter)?;
    let mut find = collection
        .find(filter)
        .sort(plan.sort)
        .skip(plan.skip)
        .hint(Hint::Name(plan.hint))
        .collation(simple_collation());
    if plan.limit > 0 {
        // One more than the limit: then the server closes the cursor with its reply. An open cursor would
        // need another command to kill it.
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

/// Opens a cursor in a task of its own. If the caller dropped the find before its reply came, nobody would
/// know the cursor that the server opened, and it would stay open for ten minutes. So the task waits for the
/// reply and closes that cursor.
pub(crate) async fn opened(
    opening: impl Future<Output = Result<Cursor<RawDocumentBuf>>> + Send + 'static,
) -> Result<Cursor<RawDocumentBuf>> {
    let (waiting, gone) = oneshot::channel::<()>();
    let task = tokio::spawn(async move {
        let mut opening = pin!(opening);
        match select(&mut opening, gone).await {
            Either::Left((opened, _)) => opened.map(Some),
            Either::Right(_) => {
                // Dropped at once, and so closed. The wait is bounded, because it holds a connection.
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

/// Cursors over stored documents, which are not copied.
pub(crate) struct Rows<'a> {
    cursors: Cursors<'a>,
    /// The sort positions of the cursors' documents, each with the index of its cursor.
    heads: BinaryHeap<Reverse<(i64, usize)>>,
    /// The cursors whose next document is not known yet.
    to_advance: Vec<usize>,
}

enum Cursors<'a> {
    Plain(Vec<Cursor<RawDocumentBuf>>),
    InSession(Vec<SessionCursor<RawDocumentBuf>>, &'a mut ClientSession),
}

impl<'a> Rows<'a> {
    /// Sends the plans. `batch` is the number of documents that the server sends at once; 0 leaves it to the
    /// server.
    pub(crate) async fn open(
        collection: &Collection<RawDocumentBuf>,
        plans: Vec<FindPlan>,
        batch: u32,
        session: Option<&'a mut ClientSession>,
    ) -> Result<Self> {
        let cursors = if let Some(session) = session {
            let mut cursors = Vec::with_capacity(plans.len());
            for plan in plans {
                let find = with_batches(prepared(collection, plan)?, batch);
                cursors.push(find.session(&mut *session).await?);
            }
            Cursors::InSession(cursors, session)
        } else {
            let open = |plan| {
                let collection = collection.clone();
                opened(async move { with_batches(prepared(&collection, plan)?, batch).await })
            };
            let opening = stream::iter(plans).map(open).buffered(SIDE_BY_SIDE);
            Cursors::Plain(opening.try_collect().await?)
        };
        let number = match &cursors {
            Cursors::Plain(cursors) => cursors.len(),
            Cursors::InSession(cursors, _) => cursors.len(),
        };
        Ok(Self {
            cursors,
            heads: BinaryHeap::new(),
            to_advance: (0..number).collect(),
        })
    }

    /// The only document of a plan.
    pub(crate) async fn one(
        collection: &Collection<RawDocumentBuf>,
        plan: FindPlan,
        session: Option<&'a mut ClientSession>,
    ) -> Result<Option<RawDocumentBuf>> {
        let mut rows = Self::open(collection, vec![plan], 0, session).await?;
        Ok(rows.next(|_| 0).await?.map(RawDocument::to_owned))
    }

    /// Returns the session, for another plan.
    pub(super) fn into_session(self) -> Option<&'a mut ClientSession> {
        match self.cursors {
            Cursors::Plain(_) => None,
            Cursors::InSession(_, session) => Some(session),
        }
    }

    /// The next document. With several plans it is the one with the lowest sort position; if equal, that of
    /// the earlier plan.
    pub(crate) async fn next(
        &mut self,
        turn: impl Fn(&RawDocument) -> i64,
    ) -> Result<Option<&RawDocument>> {
        while let Some(at) = self.to_advance.last().copied() {
            if let Some(head) = self.cursors.advance(at).await? {
                self.heads.push(Reverse((turn(head), at)));
            }
            self.to_advance.pop();
        }
        let Some(Reverse((_, at))) = self.heads.pop() else {
            return Ok(None);
        };
        self.to_advance.push(at);
        Ok(Some(self.cursors.current(at)))
    }
}

impl Cursors<'_> {
    async fn advance(&mut self, at: usize) -> Result<Option<&RawDocument>> {
        Ok(match self {
            Self::Plain(cursors) => {
                let cursor = &mut cursors[at];
                cursor.advance().await?.then(|| cursor.current())
            }
            Self::InSession(cursors, session) => {
                let cursor = &mut cursors[at];
                cursor.advance(session).await?.then(|| cursor.current())
            }
        })
    }

    /// The document that a cursor was advanced to.
    fn current(&self, at: usize) -> &RawDocument {
        match self {
            Self::Plain(cursors) => cursors[at].current(),
            Self::InSession(cursors, _) => cursors[at].current(),
        }
    }
}

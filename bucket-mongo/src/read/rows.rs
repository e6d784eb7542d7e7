//! The documents of one plan or of several, one after the other, inside or outside a session.

use std::{cmp::Reverse, collections::BinaryHeap};

use super::{
    ahead::{Ahead, Stored},
    opened::opened,
    options::ReadOptions,
    other_kind,
    terms::Terms,
};
use crate::{collection::simple_collation, error::ReadFault, writer::sees_one_moment};
use bucket_core::read::FindPlan;
use futures_util::{StreamExt, TryStreamExt, stream};
use mongodb::{
    ClientSession, Collection, Cursor, SessionCursor,
    bson::{Document, RawDocument, RawDocumentBuf},
    error::Error,
    options::{FindOptions, Hint},
};

type Result<R, E = ReadFault> = std::result::Result<R, E>;

/// The most cursors that are opened at the same time.
const SIDE_BY_SIDE: usize = 4;

/// A find that is not sent yet.
#[derive(Debug)]
pub(crate) struct Find {
    filter: Document,
    options: FindOptions,
}

impl Find {
    pub(crate) fn new(filter: Document, options: FindOptions) -> Self {
        Self { filter, options }
    }

    /// `batch` is how many documents the server sends at once; 0 leaves it to the server.
    fn of_plan(plan: FindPlan, batch: u32) -> Result<Self, Error> {
        let mut options = FindOptions::default();
        options.sort = Some(plan.sort);
        options.skip = Some(plan.skip);
        options.hint = Some(Hint::Name(plan.hint));
        options.collation = Some(simple_collation());
        if plan.limit > 0 {
            // One more than the limit: the server closes the cursor with its reply. One that is left
            // open would have to be killed by another command.
            let all = u32::try_from(plan.limit).unwrap_or(u32::MAX);
            options.limit = Some(plan.limit);
            options.batch_size = Some(all.saturating_add(1));
        }
        if batch > 0 {
            options.batch_size = Some(batch);
        }
        if !plan.projection.is_empty() {
            options.projection = Some(plan.projection);
        }
        Ok(Self::new(Document::try_from(plan.filter)?, options))
    }

    /// With these terms, as they are now.
    fn on(mut self, terms: &Terms) -> Result<Self> {
        terms.is_in_time()?;
        terms.set_for_find(&mut self.options);
        Ok(self)
    }
}

/// The sort position of a document. Not a type of its own for each caller: what reads would be compiled for each model.
pub(crate) type Turn<'a> = dyn Fn(&RawDocument) -> i64 + Send + Sync + 'a;

/// Cursors over stored documents, which are not copied.
pub(crate) struct Rows<'a> {
    stored: Merged<'a>,
    ahead: Ahead,
    /// The document that was given last, if the read has an archive.
    given: Option<RawDocumentBuf>,
}

/// The documents of several cursors in one order.
struct Merged<'a> {
    cursors: Cursors<'a>,
    terms: Terms,
    /// The turns of the cursors' documents, each with the number of its cursor.
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
        options: ReadOptions<'a>,
    ) -> Result<Self> {
        let finds = plans.into_iter().map(|plan| Find::of_plan(plan, batch));
        let finds = finds.collect::<Result<_, Error>>()?;
        Self::found(collection, finds, options).await
    }

    /// Sends the finds.
    pub(crate) async fn found(
        collection: &Collection<RawDocumentBuf>,
        finds: Vec<Find>,
        options: ReadOptions<'a>,
    ) -> Result<Self> {
        let number = finds.len();
        let ReadOptions { session, terms } = options;
        let cursors = match Self::sent(collection, finds, session, &terms).await {
            Ok(cursors) => cursors,
            Err(fault) => return Err(other_kind::explained(fault, collection, &terms).await),
        };
        Ok(Self {
            stored: Merged {
                cursors,
                terms,
                heads: BinaryHeap::new(),
                to_advance: (0..number).collect(),
            },
            ahead: Ahead::default(),
            given: None,
        })
    }

    async fn sent(
        collection: &Collection<RawDocumentBuf>,
        finds: Vec<Find>,
        session: Option<&'a mut ClientSession>,
        terms: &Terms,
    ) -> Result<Cursors<'a>> {
        Ok(if let Some(session) = session {
            let mut cursors = Vec::with_capacity(finds.len());
            for find in finds {
                let Find { filter, options } = find.on(terms)?;
                let find = collection.find(filter).with_options(options);
                cursors.push(
                    terms
                        .within(find.session(&mut *session).into_future())
                        .await?,
                );
            }
            Cursors::InSession(cursors, session)
        } else {
            let open = |find: Find| {
                let collection = collection.clone();
                async move {
                    let Find { filter, options } = find.on(terms)?;
                    let opening = async move {
                        let find = collection.find(filter);
                        find.with_options(options).await
                    };
                    terms.within(opened(opening)).await
                }
            };
            let opening = stream::iter(finds).map(open).buffered(SIDE_BY_SIDE);
            Cursors::Plain(opening.try_collect().await?)
        })
    }

    /// The only document of a plan.
    pub(crate) async fn one(
        collection: &Collection<RawDocumentBuf>,
        plan: FindPlan,
        options: ReadOptions<'a>,
    ) -> Result<Option<RawDocumentBuf>> {
        let mut rows = Self::open(collection, vec![plan], 0, options).await?;
        Ok(rows.next(&|_| 0).await?.map(RawDocument::to_owned))
    }

    /// The session and the terms, to be used for another plan.
    pub(crate) fn into_options(self) -> ReadOptions<'a> {
        let session = match self.stored.cursors {
            Cursors::Plain(_) => None,
            Cursors::InSession(_, session) => Some(session),
        };
        ReadOptions {
            session,
            terms: self.stored.terms,
        }
    }

    /// The next document. With several plans it is the one with the lowest sort position; if equal, that of
    /// the earlier plan.
    pub(crate) async fn next(&mut self, turn: &Turn<'_>) -> Result<Option<&RawDocument>> {
        let Self {
            stored,
            ahead,
            given,
        } = self;
        let terms = stored.terms.clone();
        let Some(archived) = &terms.archived else {
            return stored.next(turn).await;
        };
        let mut rows = InTurn { stored, turn };
        *given = ahead.next(archived, &terms, &mut rows).await?;
        Ok(given.as_deref())
    }
}

/// Documents in the order of their turns.
struct InTurn<'m, 'a> {
    stored: &'m mut Merged<'a>,
    turn: &'m Turn<'m>,
}

impl Stored for InTurn<'_, '_> {
    async fn next_row(&mut self) -> Result<Option<RawDocumentBuf>> {
        let next = self.stored.next(self.turn).await?;
        Ok(next.map(RawDocument::to_owned))
    }

    async fn is_at_moment(&mut self) -> bool {
        match &mut self.stored.cursors {
            Cursors::Plain(_) => false,
            Cursors::InSession(_, session) => sees_one_moment(session).await,
        }
    }
}

impl Merged<'_> {
    async fn next(&mut self, turn: &Turn<'_>) -> Result<Option<&RawDocument>> {
        while let Some(at) = self.to_advance.last().copied() {
            if let Some(head) = self.terms.within(self.cursors.advance(at)).await? {
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
    async fn advance(&mut self, at: usize) -> Result<Option<&RawDocument>, Error> {
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

//! Aggregations of one call that are sent from several places.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use bucket_core::{archive::InRow, read::AggregatePlan};
use futures_util::{Stream, stream};
use mongodb::{
    ClientSession, Collection, Cursor, SessionCursor,
    bson::RawDocumentBuf,
    options::{AggregateOptions, Hint},
};
use tokio::sync::Mutex;

use super::{
    ahead::{Ahead, Stored},
    opened::opened,
    options::ReadOptions,
    other_kind,
    terms::Terms,
};
use crate::{collection::simple_collation, error::ReadFault, writer::sees_one_moment};

/// The session and the terms of a call, for all places that send its commands.
#[derive(Debug, Clone)]
pub(crate) struct SharedOptions<'a> {
    /// Locked for a command at a time.
    session: Option<Arc<Mutex<&'a mut ClientSession>>>,
    terms: Terms,
    /// The number of commands and of reads that are parts of the call.
    sent: Arc<AtomicU32>,
}

impl<'a> SharedOptions<'a> {
    pub(crate) fn new(options: ReadOptions<'a>) -> Self {
        Self {
            session: options.session.map(|session| Arc::new(Mutex::new(session))),
            terms: options.terms,
            sent: Arc::default(),
        }
    }

    pub(crate) fn terms(&self) -> &Terms {
        &self.terms
    }

    /// Whether the call has sent more than one command.
    pub(crate) fn has_sent_several(&self) -> bool {
        self.sent.load(Ordering::Relaxed) > 1
    }

    /// How many commands may be under way at the same time: in a session one.
    ///
    /// A stream that gave an item may have another command under way, which holds the session and is not polled. Who
    /// waits for the session then waits for ever. So in a session nothing may be side by side.
    pub(crate) fn side_by_side(&self, most: usize) -> usize {
        if self.session.is_some() { 1 } else { most }
    }

    /// Runs a read of its own as a part of the call.
    pub(crate) async fn lend<R>(&self, read: impl AsyncFnOnce(ReadOptions<'_>) -> R) -> R {
        self.sent.fetch_add(1, Ordering::Relaxed);
        let terms = self.terms.clone();
        let Some(session) = &self.session else {
            return read(ReadOptions {
                session: None,
                terms,
            })
            .await;
        };
        let mut session = session.lock().await;
        let session = Some(&mut **session);
        read(ReadOptions { session, terms }).await
    }

    /// A cursor over the documents of an aggregation.
    pub(crate) async fn aggregate(
        &self,
        collection: &Collection<RawDocumentBuf>,
        plan: AggregatePlan,
    ) -> Result<Aggregated<'a>, ReadFault> {
        match self.sent(collection, plan).await {
            Ok(cursor) => Ok(cursor),
            Err(fault) => Err(other_kind::explained(fault, collection, &self.terms).await),
        }
    }

    async fn sent(
        &self,
        collection: &Collection<RawDocumentBuf>,
        plan: AggregatePlan,
    ) -> Result<Aggregated<'a>, ReadFault> {
        self.terms.is_in_time()?;
        self.sent.fetch_add(1, Ordering::Relaxed);
        let mut options = AggregateOptions::default();
        options.hint = (!plan.hint.is_empty()).then_some(Hint::Name(plan.hint));
        options.allow_disk_use = plan.spills.then_some(true);
        options.collation = Some(simple_collation());
        self.terms.set_for_aggregate(&mut options);
        let cursor = if let Some(session) = &self.session {
            let mut locked = session.lock().await;
            let aggregate = collection.aggregate(plan.pipeline).with_options(options);
            let aggregate = aggregate.with_type().session(&mut **locked);
            let cursor = self.terms.within(aggregate.into_future()).await?;
            AnyCursor::InSession(cursor, Arc::clone(session))
        } else {
            let collection = collection.clone();
            let opening = opened(async move {
                let aggregate = collection.aggregate(plan.pipeline).with_options(options);
                aggregate.with_type().await
            });
            AnyCursor::Plain(self.terms.within(opening).await?)
        };
        Ok(Aggregated {
            cursor,
            terms: self.terms.clone(),
            ahead: Ahead::of(InRow::Result),
        })
    }
}

/// A cursor over the documents of an aggregation.
pub(crate) struct Aggregated<'a> {
    cursor: AnyCursor<'a>,
    terms: Terms,
    ahead: Ahead,
}

enum AnyCursor<'a> {
    Plain(Cursor<RawDocumentBuf>),
    InSession(
        SessionCursor<RawDocumentBuf>,
        Arc<Mutex<&'a mut ClientSession>>,
    ),
}

/// The documents of a cursor on the terms of its call.
struct OnTerms<'c, 'a> {
    cursor: &'c mut AnyCursor<'a>,
    terms: &'c Terms,
}

impl Stored for OnTerms<'_, '_> {
    async fn next_row(&mut self) -> Result<Option<RawDocumentBuf>, ReadFault> {
        self.cursor.next(self.terms).await
    }

    async fn is_at_moment(&mut self) -> bool {
        match &mut self.cursor {
            AnyCursor::Plain(_) => false,
            AnyCursor::InSession(_, session) => sees_one_moment(&mut **session.lock().await).await,
        }
    }
}

impl AnyCursor<'_> {
    async fn next(&mut self, terms: &Terms) -> Result<Option<RawDocumentBuf>, ReadFault> {
        let next = async {
            Ok(match self {
                Self::Plain(cursor) => {
                    let is_there = cursor.advance().await?;
                    is_there.then(|| cursor.current().to_owned())
                }
                Self::InSession(cursor, session) => {
                    let is_there = cursor.advance(&mut **session.lock().await).await?;
                    is_there.then(|| cursor.current().to_owned())
                }
            })
        };
        terms.within(next).await
    }
}

impl<'a> Aggregated<'a> {
    /// The next document.
    pub(crate) async fn next(&mut self) -> Result<Option<RawDocumentBuf>, ReadFault> {
        let Self {
            cursor,
            terms,
            ahead,
        } = self;
        match &terms.archived {
            None => cursor.next(terms).await,
            Some(archived) => {
                let mut rows = OnTerms { cursor, terms };
                ahead.next(archived, terms, &mut rows).await
            }
        }
    }

    /// All that are left, one after the other.
    pub(crate) fn into_stream(
        self,
    ) -> impl Stream<Item = Result<RawDocumentBuf, ReadFault>> + Send + 'a {
        stream::try_unfold(self, |mut cursor| async move {
            let next = cursor.next().await?;
            Ok(next.map(|found| (found, cursor)))
        })
    }
}

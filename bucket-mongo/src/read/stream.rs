//! All records of a walk, over one cursor.

use bucket_core::{
    Record,
    read::{Placed, Tokens, Walk},
};
use mongodb::ClientSession;

use super::rows::Rows;
use crate::{Buckets, Error, ErrorKind, Result, error::Context};

/// The records of a walk in the pieces in which they come.
pub(crate) struct Chunks<'a, T: Record, R> {
    buckets: Buckets<T>,
    context: Context,
    walk: Walk<T, R>,
    batch: u32,
    session: Option<&'a mut ClientSession>,
    rows: Option<Rows<'a>>,
    /// Something was given.
    given: bool,
    ended: bool,
}

impl<'a, T: Record, R> Chunks<'a, T, R> {
    pub(super) fn new(
        buckets: Buckets<T>,
        context: Context,
        walk: Walk<T, R>,
        batch: u32,
        session: Option<&'a mut ClientSession>,
    ) -> Self {
        Self {
            buckets,
            context,
            ended: walk.is_empty(),
            walk,
            batch,
            session,
            rows: None,
            given: false,
        }
    }

    /// What makes tokens, where the walk has them.
    pub(crate) fn tokens(&self) -> Option<Tokens> {
        self.walk.has_tokens().then(|| self.walk.tokens())
    }

    /// The next records; none at the end.
    ///
    /// A damaged bucket is an error in its place, behind which it goes on; every other error is the
    /// end.
    pub(crate) async fn next(&mut self) -> Option<Result<Vec<Placed<R>>>> {
        while !self.ended {
            let next = self.step().await;
            match next {
                Ok(records) if records.is_empty() => {}
                Ok(records) => {
                    self.given = true;
                    return Some(Ok(records));
                }
                Err(error) => {
                    self.ended |= !matches!(error.kind(), ErrorKind::Damaged(_));
                    return Some(Err(error));
                }
            }
        }
        None
    }

    async fn step(&mut self) -> Result<Vec<Placed<R>>> {
        let Self { context, walk, .. } = self;
        let rows = match &mut self.rows {
            Some(rows) => rows,
            none => {
                let collection = self.buckets.readable(context).await?;
                let rows = Rows::open(&collection, walk.find(0), self.batch, self.session.take());
                none.insert(rows.await.map_err(|error| Error::read(error, context))?)
            }
        };
        let next = rows.next().await;
        let Some(stored) = next.map_err(|error| Error::read(error, context))? else {
            self.ended = true;
            return Ok(self.walk.end());
        };
        let taken = walk.take(stored);
        let Some(longest) = walk.longer() else {
            return taken.map_err(|damage| Error::new(ErrorKind::Damaged(damage), context));
        };
        self.buckets.saw_longest(longest);
        if self.given {
            let seconds = longest.div_euclid(1_000);
            return Err(Error::new(ErrorKind::LongerBucket { seconds }, context));
        }
        walk.begin_again(longest);
        self.session = self.rows.take().and_then(Rows::into_session);
        Ok(Vec::new())
    }
}

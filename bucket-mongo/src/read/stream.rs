//! All records of a walk, over one cursor, or over one cursor per group of keys.

use std::{collections::VecDeque, mem};

use super::{
    options::ReadOptions,
    rows::Rows,
    same_collection::{SameCollection, taken_away},
};
use crate::{Buckets, Error, ErrorKind, Result, error::Context};
use bucket_core::{
    DamagedBucket, Record,
    read::{FindPlan, Placed, Ready, Tokens, Walk},
};

/// The records of a walk, in the pieces in which they arrive.
pub(crate) struct Chunks<'a, T: Record, R> {
    buckets: Buckets<T>,
    context: Context,
    walk: Walk<T, R>,
    batch: u32,
    /// Where the rows do not have them.
    options: ReadOptions<'a>,
    rows: Option<Rows<'a>>,
    /// The damaged buckets after the records that were given.
    damaged: VecDeque<Placed<DamagedBucket>>,
    /// Whether something has reached the caller.
    given: bool,
    /// Whether a bucket was found.
    found: bool,
    /// Where the walk sends several commands, the collection that it met before its second one.
    began: Option<SameCollection>,
    ended: bool,
}

/// The next step.
enum Step<R> {
    Ready(Ready<R>),
    /// A bucket is longer than the walk assumes: start again from the beginning with this length.
    Again(i64),
}

impl<'a, T: Record, R> Chunks<'a, T, R> {
    pub(super) fn new(
        buckets: Buckets<T>,
        context: Context,
        walk: Walk<T, R>,
        batch: u32,
        options: ReadOptions<'a>,
    ) -> Self {
        Self {
            buckets,
            context,
            ended: walk.is_empty(),
            walk,
            batch,
            options,
            rows: None,
            damaged: VecDeque::new(),
            given: false,
            found: false,
            began: None,
        }
    }

    /// The maker of tokens, if the walk has them.
    pub(crate) fn tokens(&self) -> Option<Tokens> {
        self.walk.has_tokens().then(|| self.walk.tokens())
    }

    /// The next records; `None` at the end.
    ///
    /// A damaged bucket is an error in its place, after which the stream continues; every other error ends
    /// it.
    pub(crate) async fn next(&mut self) -> Option<Result<Vec<Placed<R>>>> {
        loop {
            if let Some(damaged) = self.damaged.pop_front() {
                self.given = true;
                return Some(Err(self.damage(damaged)));
            }
            if self.ended {
                return None;
            }
            match self.step().await {
                Ok(Step::Ready(ready)) => {
                    self.damaged.extend(ready.damaged);
                    if !ready.records.is_empty() {
                        self.given = true;
                        return Some(Ok(ready.records));
                    }
                }
                Ok(Step::Again(longest)) if self.given => {
                    self.ended = true;
                    let seconds = longest.div_euclid(1_000);
                    let kind = ErrorKind::LongerBucket { seconds };
                    return Some(Err(Error::new(kind, &self.context)));
                }
                Ok(Step::Again(longest)) => self.begin_again(longest),
                Err(error) => {
                    self.ended = true;
                    // Its cursor is not needed any more.
                    self.rows = None;
                    return Some(Err(error));
                }
            }
        }
    }

    /// All records, at most `most`.
    pub(crate) async fn all(mut self, most: usize) -> Result<Vec<R>> {
        let mut records = Vec::new();
        while !self.ended && records.len() < most {
            match self.step().await? {
                Step::Ready(ready) => {
                    let left = most.saturating_sub(records.len());
                    let taken = ready.records.into_iter().take(left);
                    records.extend(taken.map(|placed| placed.record));
                    if let Some(damaged) = ready.damaged.into_iter().next()
                        && records.len() < most
                    {
                        return Err(self.damage(damaged));
                    }
                }
                // Nothing has reached the caller.
                Step::Again(longest) => {
                    records.clear();
                    self.begin_again(longest);
                }
            }
        }
        Ok(records)
    }

    fn damage(&self, damaged: Placed<DamagedBucket>) -> Error {
        Error::damaged(damaged, self.tokens(), &self.context)
    }

    fn begin_again(&mut self, longest: i64) {
        self.walk.begin_again(longest);
        self.close();
    }

    fn close(&mut self) {
        if let Some(rows) = self.rows.take() {
            self.options = rows.into_options();
        }
    }

    /// Looks at the collection before the second command.
    async fn look(&mut self) {
        if self.began.is_none() {
            let store = self.buckets.store();
            self.began = SameCollection::begin(store, &mut self.options, true).await;
        }
    }

    /// Whether the commands did not all meet one collection, as far as the end shows.
    async fn is_taken_away(&mut self) -> bool {
        match &self.began {
            Some(began) if self.found => began.is_gone(&self.options.terms).await,
            _ => false,
        }
    }

    /// Continues with another cursor.
    async fn settle(&mut self, plan: FindPlan) -> Result<()> {
        self.close();
        self.look().await;
        let Self {
            context, options, ..
        } = self;
        let collection = self.buckets.store().readable(options, context).await?;
        let newest = Rows::one(&collection, plan, options.lend()).await;
        let newest = newest.map_err(|error| Error::read(error, context))?;
        self.walk.settle(newest.as_deref());
        Ok(())
    }

    async fn open(&mut self) -> Result<Rows<'a>> {
        let store = self.buckets.store();
        let collection = store.readable(&mut self.options, &self.context).await?;
        let finds = self.walk.finds();
        if finds.len() > 1 {
            self.look().await;
        }
        let options = mem::take(&mut self.options);
        let rows = Rows::open(&collection, finds, self.batch, options).await;
        rows.map_err(|error| Error::read(error, &self.context))
    }

    async fn step(&mut self) -> Result<Step<R>> {
        let rows = match self.rows.take() {
            Some(rows) => rows,
            None => self.open().await?,
        };
        let Self {
            context,
            walk,
            rows: place,
            ..
        } = self;
        let rows = place.insert(rows);
        let turns = walk.turns();
        let next = rows.next(&|stored| turns.of(stored)).await;
        let Some(stored) = next.map_err(|error| Error::read(error, context))? else {
            self.ended = true;
            self.close();
            if self.is_taken_away().await {
                return Err(taken_away(&self.context));
            }
            return Ok(Step::Ready(self.walk.end()));
        };
        self.found = true;
        let ready = walk.take(stored);
        if let Some(plan) = walk.to_settle() {
            self.settle(plan).await?;
            return Ok(Step::Ready(Ready::default()));
        }
        Ok(match walk.longer() {
            None => Step::Ready(ready),
            Some(longest) => {
                self.buckets.saw_longest(longest);
                Step::Again(longest)
            }
        })
    }
}

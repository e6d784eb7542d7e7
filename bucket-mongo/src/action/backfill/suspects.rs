//! Which record the server refuses, where a part of a chunk cannot be divided any more.
//!
//! The server refuses a statement, which brings many records. So a chunk that is refused is stored in halves, down to documents
//! at one place of the order, mostly one. What goes through is committed: many transactions that are aborted make the server
//! slow, because it walks over what they have left in its indexes. Of two records that are refused only together, such as two
//! with one value of a unique index, the later one is refused by itself then.

use bucket_core::{Record, backfill::Chunk};
use mongodb::bson::RawDocumentBuf;
use serde::de::DeserializeOwned;

use super::{
    storing::Storing,
    tries::again,
    verdict::{Others, Verdict},
};
use crate::{Error, Result};

impl<T: Record + DeserializeOwned> Storing<'_, T> {
    /// The first record that is refused after those before it, which go through together.
    pub(super) async fn first_refused(&mut self, records: &[T]) -> Result<Option<(usize, Error)>> {
        let (Some(mut error), _) = self.trial(records).await? else {
            return Ok(None);
        };
        let (mut go_through, mut refused) = (0, records.len());
        while refused - go_through > 1 {
            let middle = go_through + (refused - go_through) / 2;
            match self.trial(records.iter().take(middle)).await? {
                (Some(of_these), _) => (refused, error) = (middle, of_these),
                (None, _) => go_through = middle,
            }
        }
        Ok(refused.checked_sub(1).map(|at| (at, error)))
    }

    /// What the server does with other records. It may refuse all, whatever they are: no disk is left, or a quota is used up.
    pub(super) async fn others(&mut self, rest: &[Chunk]) -> Result<Others> {
        // One of each part: these are few, and far from each other.
        let of_rest = rest.iter().rev().filter_map(|part| part.documents.last());
        let witnesses: Vec<RawDocumentBuf> = of_rest.chain(&self.last_stored).cloned().collect();
        let mut others = Others::Unasked;
        for witness in witnesses {
            let Ok(record) = self.reading.record(&witness) else {
                continue;
            };
            match self.trial([&record]).await? {
                (None, 1..) => return Ok(Others::Taken),
                (Some(_), _) => others = Others::Refused,
                // A record that is known by its id is not sent, and so says nothing.
                (None, 0) => {}
            }
        }
        Ok(others)
    }

    /// Why the server refuses these records together, if it does, and how many it would store. Nothing of them is stored.
    async fn trial<'r>(
        &mut self,
        records: impl IntoIterator<Item = &'r T>,
    ) -> Result<(Option<Error>, u64)>
    where
        T: 'r,
    {
        let records: Vec<&T> = records.into_iter().collect();
        loop {
            let mut begun = self.begin().await?;
            let tried = begun.insert(records.clone()).await;
            begun.give_up().await;
            match tried {
                Ok((Verdict::Stored(_), counts)) => return Ok((None, counts.stored)),
                Ok((Verdict::Refused(error), _)) => return Ok((Some(error), 0)),
                Err(error) => again(error, self.until).await?,
            }
        }
    }
}

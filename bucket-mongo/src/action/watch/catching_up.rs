//! The records that are stored when a watch starts.

use bucket_core::{DamagedBucket, Record, WatchEvent, watch::CatchUp};
use futures_util::TryStreamExt;
use mongodb::{Cursor, bson::RawDocumentBuf, error::Result};

use crate::{
    error::ReadFault,
    read::{Ahead, Stored, Terms},
    store::Store,
};

/// A read of the stored records in progress.
pub(super) struct CatchingUp<T: Record> {
    catch_up: CatchUp<T>,
    cursor: Option<Cursor<RawDocumentBuf>>,
    ahead: Ahead,
}

impl Stored for Cursor<RawDocumentBuf> {
    async fn next_row(&mut self) -> std::result::Result<Option<RawDocumentBuf>, ReadFault> {
        Ok(self.try_next().await?)
    }

    /// The events that follow say that the bucket was removed.
    async fn is_at_moment(&mut self) -> bool {
        false
    }
}

impl<T: Record> CatchingUp<T> {
    pub(super) fn new(catch_up: CatchUp<T>) -> Self {
        Self {
            catch_up,
            cursor: None,
            ahead: Ahead::default(),
        }
    }

    /// The events of the next bucket; `None` after the last one.
    ///
    /// # Errors
    ///
    /// Those of the driver. The next call goes on after the buckets that were given.
    pub(super) async fn next(
        &mut self,
        store: &Store,
    ) -> Result<Option<Vec<std::result::Result<WatchEvent<T>, DamagedBucket>>>> {
        let cursor = match &mut self.cursor {
            Some(cursor) => cursor,
            none => {
                let cursor = store.database().run_cursor_command(self.catch_up.command());
                let cursor = cursor.await?;
                none.insert(cursor.with_type())
            }
        };
        let next = match store.archived() {
            None => cursor.try_next().await,
            Some(archived) => {
                let next = self.ahead.next(archived, &Terms::default(), cursor).await;
                next.map_err(ReadFault::into_driver)
            }
        };
        match next {
            Ok(stored) => Ok(stored.map(|stored| self.catch_up.take(&stored))),
            Err(error) => {
                self.cursor = None;
                self.ahead = Ahead::default();
                Err(error)
            }
        }
    }
}

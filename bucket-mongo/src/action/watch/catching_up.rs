//! The records that are stored when a watch starts.

use bucket_core::{DamagedBucket, Record, WatchEvent, watch::CatchUp};
use futures_util::TryStreamExt;
use mongodb::{Cursor, Database, bson::RawDocumentBuf, error::Result};

/// A read of the stored records in progress.
pub(super) struct CatchingUp<T: Record> {
    catch_up: CatchUp<T>,
    cursor: Option<Cursor<RawDocumentBuf>>,
}

impl<T: Record> CatchingUp<T> {
    pub(super) fn new(catch_up: CatchUp<T>) -> Self {
        Self {
            catch_up,
            cursor: None,
        }
    }

    /// The events of the next bucket; `None` after the last one.
    ///
    /// # Errors
    ///
    /// Those of the driver. The next call goes on after the buckets that were given.
    pub(super) async fn next(
        &mut self,
        database: &Database,
    ) -> Result<Option<Vec<std::result::Result<WatchEvent<T>, DamagedBucket>>>> {
        let cursor = match &mut self.cursor {
            Some(cursor) => cursor,
            none => {
                let cursor = database.run_cursor_command(self.catch_up.command()).await?;
                none.insert(cursor.with_type())
            }
        };
        match cursor.try_next().await {
            Ok(stored) => Ok(stored.map(|stored| self.catch_up.take(&stored))),
            Err(error) => {
                self.cursor = None;
                Err(error)
            }
        }
    }
}

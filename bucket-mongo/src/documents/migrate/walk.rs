//! The walk over a collection: pages by `_id`, and the counts before and after it.

use bucket_core::attribute::{FormBatch, Migration};
use futures_util::TryStreamExt;
use mongodb::{
    Collection, Database,
    bson::{Bson, Document, RawDocumentBuf, doc},
    options::{ReadConcern, ReadPreference, SelectionCriteria},
};

use super::{
    migration_report::{MigrationProgress, MigrationReport},
    patience::Patience,
    samples::Samples,
};
use crate::{Error, Result, error::Context, writer::faults};

/// The size at which a page of large documents ends, in bytes.
const PAGE_BYTES: usize = 16 * 1024 * 1024;
/// The most documents requested in one reply; a reply holds at most 16 MB of them.
const MOST_AT_ONCE: u32 = 100_000;

/// A collection that is being migrated.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    pub(super) database: &'a Database,
    pub(super) documents: Collection<RawDocumentBuf>,
    pub(super) migration: Migration,
    pub(super) context: &'a Context,
    pub(super) batch_size: u32,
    pub(super) dry_run: bool,
    pub(super) samples: Samples,
    /// Everything up to this `_id` is migrated.
    pub(super) last_id: Option<Bson>,
    /// Whether anything may have been changed.
    pub(super) has_begun: bool,
    pub(super) report: MigrationReport,
}

impl Walk<'_> {
    /// About how many documents there are.
    pub(super) async fn expected(&self) -> Result<u64> {
        self.patiently(|| {
            // The command knows no snapshot.
            let count = self.documents.estimated_document_count();
            let count = count.read_concern(ReadConcern::local());
            count.selection_criteria(primary()).into_future()
        })
        .await
    }

    /// The number of documents that have a field of the other form.
    pub(super) async fn left(&self) -> Result<u64> {
        self.patiently(|| {
            let count = self.documents.count_documents(self.migration.pending());
            count.selection_criteria(primary()).into_future()
        })
        .await
    }

    pub(super) fn progress(&self, expected: u64) -> MigrationProgress {
        MigrationProgress {
            expected,
            looked_at: self.report.looked_at,
            changed: self.report.changed,
            refused: self.report.refused,
            last_id: self.last_id.clone().unwrap_or(Bson::Null),
        }
    }

    /// Migrates the next page; returns false if there is none.
    pub(super) async fn step(&mut self) -> Result<bool> {
        let behind = Migration::behind(self.last_id.as_ref());
        let page = self
            .read(&behind, self.batch_size.into(), PAGE_BYTES)
            .await?;
        let Some(last) = page.last() else {
            return Ok(false);
        };
        let last_id = Migration::id(last);
        let mut batch = FormBatch::default();
        for stored in page {
            self.report.looked_at += 1;
            match self.migration.plan(&stored) {
                Ok(None) => self.report.already += 1,
                Ok(Some(_)) if self.dry_run => self.report.changed += 1,
                Ok(Some(change)) => match batch.push(change) {
                    Ok(None) => {}
                    Ok(Some(full)) => self.settle(full).await?,
                    Err(error) => self.report.refuse(Migration::id(&stored), error),
                },
                Err(error) => self.report.refuse(Migration::id(&stored), error),
            }
        }
        self.settle(batch).await?;
        self.last_id = Some(last_id);
        Ok(true)
    }

    /// Reads documents in the order of their `_id` from the primary: at most this number, 0 for all, and none
    /// after the one that reaches the size limit.
    pub(super) async fn read(
        &self,
        filter: &Document,
        most: i64,
        full: usize,
    ) -> Result<Vec<RawDocumentBuf>> {
        self.patiently(|| async move {
            let find = self.documents.find(filter.clone());
            let find = find.sort(doc! { "_id": 1 }).limit(most);
            // The most that fit into one reply.
            let find = find.batch_size(self.batch_size.min(MOST_AT_ONCE) + 1);
            let mut cursor = find.selection_criteria(primary()).await?;
            let (mut found, mut bytes) = (Vec::new(), 0);
            while let Some(next) = cursor.try_next().await? {
                bytes += next.as_bytes().len();
                found.push(next);
                if bytes >= full {
                    break;
                }
            }
            Ok(found)
        })
        .await
    }

    /// Repeats the read until the server answers.
    async fn patiently<R, F>(&self, call: impl Fn() -> F + Send + Sync) -> Result<R>
    where
        F: Future<Output = mongodb::error::Result<R>> + Send,
        R: Send,
    {
        let mut patience = Patience::new();
        loop {
            match call().await {
                Ok(read) => return Ok(read),
                Err(error) if faults::fault(&error).is_passing() && patience.is_left().await => {}
                Err(error) => return Err(self.stopped(&Error::read(error, self.context))),
            }
        }
    }

    /// The error that ends the migration.
    pub(super) fn stopped(&self, error: &Error) -> Error {
        if self.has_begun {
            error.interrupted(self.last_id.as_ref(), self.context)
        } else {
            error.clone()
        }
    }
}

fn primary() -> SelectionCriteria {
    SelectionCriteria::ReadPreference(ReadPreference::Primary)
}

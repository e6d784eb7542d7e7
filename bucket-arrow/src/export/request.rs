//! An export that is not started yet.

use std::{fmt, future::Future, path::PathBuf, pin::Pin, sync::Arc};

use bucket_mongo::Record;
use object_store::{ObjectStore, path::Path};

use super::{
    partition::PartitionBy,
    report::{ExportProgress, ExportReport},
    run::Run,
    settings::Settings,
    target::Target,
};
use crate::{ArrowQuery, Format, Result};

impl<'a, T: Record> ArrowQuery<'a, T> {
    /// Writes the records into files of a folder, which is made if it is missing. `.await` starts it and gives a report.
    ///
    /// A part is written under a temporary name, and gets its own once it is complete and on the disk. Another call with the
    /// same settings goes on where one was stopped, and after new records it writes only the parts that they are in: see
    /// [`Export`].
    ///
    /// ```no_run
    /// # use bucket_arrow::{Result, ToArrow};
    /// # use bucket_mongo::{Bucketed, Buckets};
    /// async fn export<T: Bucketed>(buckets: &Buckets<T>) -> Result<u64> {
    ///     let report = buckets.to_arrow().to_folder("export/readings").await?;
    ///     Ok(report.records)
    /// }
    /// ```
    pub fn to_folder(self, folder: impl Into<PathBuf>) -> Export<'a, T> {
        Export::new(self, Target::Folder(folder.into()))
    }

    /// Writes the records into objects of a store below this path. `.await` starts it and gives a report.
    ///
    /// An object appears once it is complete. See [`Export`] for what another call does.
    ///
    /// ```no_run
    /// # use bucket_arrow::{Result, ToArrow};
    /// # use bucket_mongo::{Bucketed, Buckets};
    /// use std::sync::Arc;
    /// use bucket_arrow::object_store::memory::InMemory;
    ///
    /// async fn export<T: Bucketed>(buckets: &Buckets<T>) -> Result<u64> {
    ///     let store = Arc::new(InMemory::new());
    ///     let report = buckets.to_arrow().to_store(store, "exports/readings").await?;
    ///     Ok(report.bytes)
    /// }
    /// ```
    pub fn to_store(self, store: Arc<dyn ObjectStore>, path: impl Into<Path>) -> Export<'a, T> {
        Export::new(self, Target::Store(store, path.into()))
    }
}

/// An export that is not started yet; see [`ArrowQuery::to_folder`] and [`ArrowQuery::to_store`].
///
/// The folders are `key_sensor_id=7/month=2024-01`, which pandas, Polars and `DataFusion` read as partitions. The files have
/// all columns, also those of the key. Another call into the same folder or store leaves a part as it is if it is complete,
/// if columns, settings and time range are the same, and if the buckets that reach into its month have the ids, counts,
/// numbers of edits and aggregates that they had then. All other parts are written anew, and those that have no records any more
/// are removed. One that has a longer time than the range of this call is [`Error::Taken`](crate::Error::Taken).
///
/// A part is read while others write. What they store after the look at the buckets of its key is in the file or not; the next
/// call writes that part anew. One call at a time may write into a folder.
///
/// ```no_run
/// use bucket_arrow::{Result, ToArrow};
/// use bucket_mongo::{Bucketed, Buckets};
///
/// async fn export<T: Bucketed>(buckets: &Buckets<T>) -> Result<()> {
///     let report = buckets.to_arrow().to_folder("export").await?;
///     println!("{} parts written, {} left as they were", report.parts, report.skipped);
///     Ok(())
/// }
/// ```
#[must_use = "nothing is written until this is awaited"]
pub struct Export<'a, T: Record>(Settings<'a, T>);

impl<T: Record> fmt::Debug for Export<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Export")
            .field("query", &self.0.query)
            .field("target", &self.0.target)
            .field("format", &self.0.format)
            .field("partition_by", &self.0.partition_by)
            .finish_non_exhaustive()
    }
}

impl<'a, T: Record> Export<'a, T> {
    fn new(query: ArrowQuery<'a, T>, target: Target) -> Self {
        Self(Settings {
            query,
            target,
            format: Format::default(),
            partition_by: PartitionBy::default(),
            on_progress: None,
        })
    }

    /// The format of the files: [`Parquet`](crate::Parquet) if not set.
    ///
    /// ```no_run
    /// # use bucket_arrow::{Result, ToArrow};
    /// # use bucket_mongo::{Bucketed, Buckets};
    /// use bucket_arrow::Format;
    ///
    /// async fn export<T: Bucketed>(buckets: &Buckets<T>) -> Result<u64> {
    ///     let report = buckets.to_arrow().to_folder("export/csv").format(Format::Csv).await?;
    ///     Ok(report.bytes)
    /// }
    /// ```
    pub fn format(mut self, format: impl Into<Format>) -> Self {
        self.0.format = format.into();
        self
    }

    /// What a part has: the records of a key in a month if not set.
    ///
    /// ```no_run
    /// # use bucket_arrow::{Result, ToArrow};
    /// # use bucket_mongo::{Bucketed, Buckets};
    /// use bucket_arrow::PartitionBy;
    ///
    /// async fn export<T: Bucketed>(buckets: &Buckets<T>) -> Result<u64> {
    ///     let export = buckets.to_arrow().to_folder("export/by_key").partition_by(PartitionBy::Key);
    ///     Ok(export.await?.parts)
    /// }
    /// ```
    pub fn partition_by(mut self, partition_by: PartitionBy) -> Self {
        self.0.partition_by = partition_by;
        self
    }

    /// Calls this after each batch and each part.
    ///
    /// ```no_run
    /// # use bucket_arrow::{Result, ToArrow};
    /// # use bucket_mongo::{Bucketed, Buckets};
    /// async fn export<T: Bucketed>(buckets: &Buckets<T>) -> Result<()> {
    ///     let export = buckets.to_arrow().to_folder("export");
    ///     export.progress(|now| eprintln!("{} records, {} parts, at {}", now.records, now.parts, now.path)).await?;
    ///     Ok(())
    /// }
    /// ```
    pub fn progress(mut self, call: impl FnMut(&ExportProgress) + Send + 'a) -> Self {
        self.0.on_progress = Some(Box::new(call));
        self
    }
}

impl<'a, T: Record> IntoFuture for Export<'a, T> {
    type Output = Result<ExportReport>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { Run::begin(self.0).await?.all().await })
    }
}

//! `sizes`: how much space the collection takes.

use bucket_core::{Record, Sizes, read, write::codes::NAMESPACE_NOT_FOUND};
use mongodb::{Collection, bson::RawDocumentBuf};
use tracing::Instrument;

use super::ActionFuture;
use crate::{
    Buckets, Error, Result,
    error::{Context, ReadFault},
    read::{ReadOptions, SharedOptions},
    read_setters::read_setters,
    trace,
    writer::faults::code,
};

impl<T: Record> Buckets<T> {
    /// How much space the collection takes: its documents, their size without compression, and what they and each
    /// index take on disk. A collection that does not exist takes none.
    ///
    /// The server reads no bucket: it answers from the statistics that it keeps (`$collStats`), those of all shards
    /// of a sharded collection. After a server was killed, its numbers of documents and of their bytes may be
    /// wrong until the collection is validated. What takes space on disk is written with each checkpoint, about once
    /// a minute. [`fill`](Buckets::fill) counts buckets and records.
    ///
    /// Settings: `session`, `deadline`, `max_time`, `read_concern`, `read_preference`. The server only has statistics
    /// of now, whatever the read concern is. It refuses the call in a transaction.
    ///
    /// # Errors
    ///
    /// Those of the server and of the connection.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// async fn print<T: Bucketed>(buckets: &Buckets<T>) -> Result<()> {
    ///     let sizes = buckets.sizes().await?;
    ///     println!("{sizes}");
    ///     println!("{} bytes of indexes", sizes.index_total());
    ///     Ok(())
    /// }
    /// ```
    pub fn sizes(&self) -> SizesQuery<'_, T> {
        SizesQuery {
            buckets: self,
            options: ReadOptions::default(),
        }
    }
}

/// A read of how much space a collection takes; see [`Buckets::sizes`].
#[must_use = "nothing is read until this is awaited"]
#[derive(Debug)]
pub struct SizesQuery<'a, T: Record> {
    buckets: &'a Buckets<T>,
    options: ReadOptions<'a>,
}

impl<'a, T: Record> SizesQuery<'a, T> {
    read_setters!(options);

    async fn run(self) -> Result<Sizes> {
        let Self {
            buckets,
            mut options,
        } = self;
        let context = Context::of_all::<T>("sizes");
        let store = buckets.store();
        let collection = store.readable(&mut options, &context).await?;
        let sizes = summed(&SharedOptions::new(options), &collection).await;
        let sizes = match sizes {
            Err(ReadFault::Driver(error)) if code(&error) == Some(NAMESPACE_NOT_FOUND) => {
                Sizes::default()
            }
            sizes => sizes.map_err(|fault| Error::read(fault, &context))?,
        };
        let (documents, bytes) = (sizes.documents, sizes.total());
        tracing::debug!(target: trace::READ, documents, bytes, "sizes");
        Ok(sizes)
    }
}

/// The statistics of all shards.
async fn summed(
    options: &SharedOptions<'_>,
    collection: &Collection<RawDocumentBuf>,
) -> Result<Sizes, ReadFault> {
    let mut sizes = Sizes::default();
    let mut found = options.aggregate(collection, read::sizes()).await?;
    while let Some(of_shard) = found.next().await? {
        sizes.add(&of_shard);
    }
    Ok(sizes)
}

impl<'a, T: Record> IntoFuture for SizesQuery<'a, T> {
    type Output = Result<Sizes>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let span =
            tracing::debug_span!(target: trace::READ, "sizes", collection = T::SPEC.collection());
        Box::pin(self.run().instrument(span))
    }
}

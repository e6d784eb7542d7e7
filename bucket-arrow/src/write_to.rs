//! `write_to`: records as one file, into any writer.

use std::{
    fmt,
    future::Future,
    pin::{Pin, pin},
};

use bucket_mongo::Record;
use futures_util::TryStreamExt;
use tokio::io::{AsyncWrite, AsyncWriteExt};

use crate::{ArrowQuery, Error, Format, Result, encode::Encoder, work};

/// What was written.
///
/// ```
/// use bucket_arrow::Written;
///
/// fn shown(written: Written) -> String {
///     format!("{} records, {} bytes", written.records, written.bytes)
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// The number of records.
    pub records: u64,
    /// The number of bytes.
    pub bytes: u64,
}

impl<'a, T: Record> ArrowQuery<'a, T> {
    /// Writes the records as one file, Parquet if [no other format](WriteTo::format) is set, into any writer. `.await` starts
    /// it.
    ///
    /// The writer is shut down after the last byte, so that writers which compress or upload complete what they write: a
    /// connection gets no further bytes. After an error it is not, and what it has written is not complete.
    ///
    /// Another call begins anew: [`to_folder`](Self::to_folder) and [`to_store`](Self::to_store) write
    /// parts that are kept.
    ///
    /// ```no_run
    /// # use bucket_arrow::{Result, ToArrow};
    /// # use bucket_mongo::{Bucketed, Buckets};
    /// use bucket_arrow::Format;
    ///
    /// /// The records of a key as the body of a response.
    /// async fn csv<T: Bucketed>(buckets: &Buckets<T>, key: T::Key) -> Result<Vec<u8>> {
    ///     let mut body = Vec::new();
    ///     buckets.to_arrow().key(key).write_to(&mut body).format(Format::Csv).await?;
    ///     Ok(body)
    /// }
    /// ```
    pub fn write_to<W: AsyncWrite + Send + 'a>(self, writer: W) -> WriteTo<'a, T, W> {
        WriteTo {
            query: self,
            writer,
            format: Format::default(),
        }
    }
}

/// A file that is not written yet; see [`ArrowQuery::write_to`].
///
/// ```no_run
/// use bucket_arrow::{Format, Result, ToArrow};
/// use bucket_mongo::{Bucketed, Buckets};
/// use tokio::io::AsyncWrite;
///
/// async fn lines<T: Bucketed>(buckets: &Buckets<T>, to: impl AsyncWrite + Send) -> Result<u64> {
///     let written = buckets.to_arrow().write_to(to).format(Format::JsonLines).await?;
///     Ok(written.records)
/// }
/// ```
#[must_use = "nothing is written until this is awaited"]
pub struct WriteTo<'a, T: Record, W> {
    query: ArrowQuery<'a, T>,
    writer: W,
    format: Format,
}

impl<T: Record, W> fmt::Debug for WriteTo<'_, T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteTo")
            .field("query", &self.query)
            .field("format", &self.format)
            .finish_non_exhaustive()
    }
}

impl<T: Record, W> WriteTo<'_, T, W> {
    /// The format of the file.
    pub fn format(mut self, format: impl Into<Format>) -> Self {
        self.format = format.into();
        self
    }
}

impl<T: Record, W: AsyncWrite + Send> WriteTo<'_, T, W> {
    async fn run(self) -> Result<Written> {
        let mut batches = self.query.stream()?;
        let mut writer = pin!(self.writer);
        let mut encoder = Encoder::new(self.format, &batches.schema())?;
        let mut written = Written {
            records: 0,
            bytes: 0,
        };
        while let Some(batch) = batches.try_next().await? {
            written.records += batch.num_rows() as u64;
            let (same, bytes) = work::encode(encoder, batch).await?;
            encoder = same;
            written.bytes += bytes.len() as u64;
            writer.write_all(&bytes).await.map_err(failed)?;
        }
        let bytes = work::finish(encoder).await?;
        written.bytes += bytes.len() as u64;
        writer.write_all(&bytes).await.map_err(failed)?;
        // Writers that hold something back until they end have it complete only after this.
        writer.shutdown().await.map_err(failed)?;
        Ok(written)
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::at("the writer")(error)
}

impl<'a, T: Record, W: AsyncWrite + Send + 'a> IntoFuture for WriteTo<'a, T, W> {
    type Output = Result<Written>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

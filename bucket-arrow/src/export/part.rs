//! A part that is being written.

use bucket_mongo::Record;

use super::{
    marker::{self, Marker, Origin},
    target::{Target, Writing},
};
use crate::{BatchBuilder, Format, Layout, Result, civil::Month, encode::Encoder, work};

/// The file of a part, and the records that it does not have yet.
pub(crate) struct Part<T> {
    pub(crate) month: Option<Month>,
    path: String,
    encoder: Encoder,
    writing: Writing,
    batch: BatchBuilder<T>,
    records: u64,
    bytes: u64,
}

/// What was written of a part.
#[derive(Debug, Default)]
pub(crate) struct Step {
    pub(crate) records: u64,
    pub(crate) bytes: u64,
}

impl<T: Record> Part<T> {
    pub(crate) async fn begin(
        target: &Target,
        path: String,
        month: Option<Month>,
        format: Format,
        layout: &Layout<T>,
    ) -> Result<Self> {
        Ok(Self {
            month,
            encoder: Encoder::new(format, &layout.schema())?,
            writing: target.begin(&path).await?,
            path,
            batch: layout.batch(),
            records: 0,
            bytes: 0,
        })
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    pub(crate) fn push(&mut self, record: &T) -> Result<()> {
        self.batch.push(record)
    }

    pub(crate) fn is_full(&self, rows: usize) -> bool {
        self.batch.is_full(rows)
    }

    /// Writes the batch.
    pub(crate) async fn write(mut self) -> Result<(Self, Step)> {
        let batch = self.batch.finish()?;
        let records = batch.num_rows() as u64;
        let (encoder, bytes) = work::encode(self.encoder, batch).await?;
        self.encoder = encoder;
        self.writing.write(&bytes).await?;
        let step = Step {
            records,
            bytes: bytes.len() as u64,
        };
        self.records += step.records;
        self.bytes += step.bytes;
        Ok((self, step))
    }

    /// Completes the file, and then says so: a marker is only there if its file is.
    pub(crate) async fn complete(
        self,
        target: &Target,
        marker: &str,
        origin: Origin,
    ) -> Result<Step> {
        let (mut part, mut step) = if self.batch.is_empty() {
            (self, Step::default())
        } else {
            self.write().await?
        };
        let last = work::finish(part.encoder).await?;
        part.writing.write(&last).await?;
        part.writing.complete().await?;
        step.bytes += last.len() as u64;
        let complete = Marker {
            version: Marker::VERSION,
            origin,
            records: part.records,
            bytes: part.bytes + last.len() as u64,
        };
        target.put(marker, marker::bytes(&complete)).await?;
        Ok(step)
    }

    /// Gives up what was written.
    pub(crate) async fn abandon(self) {
        self.writing.abandon().await;
    }
}

//! A part that is being written.

use bucket_mongo::Record;

use super::{
    marker::{self, Complete, Marker, Origin},
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

    /// Writes the batch. What was written is given up if that fails.
    pub(crate) async fn write(self) -> Result<(Self, Step)> {
        let (encoder, mut writing, mut batch) = (self.encoder, self.writing, self.batch);
        let written = async {
            let full = batch.finish()?;
            let records = full.num_rows() as u64;
            let (encoder, bytes) = work::encode(encoder, full).await?;
            writing.write(&bytes).await?;
            let bytes = bytes.len() as u64;
            Ok((encoder, Step { records, bytes }))
        };
        let (encoder, step) = match written.await {
            Ok(written) => written,
            Err(error) => {
                writing.abandon().await;
                return Err(error);
            }
        };
        let part = Self {
            month: self.month,
            path: self.path,
            encoder,
            writing,
            batch,
            records: self.records + step.records,
            bytes: self.bytes + step.bytes,
        };
        Ok((part, step))
    }

    /// Completes the file. A marker says before it that the file is about to change, and after it that it is complete: so each
    /// file has a marker, and no marker says of one file what is true of another.
    pub(crate) async fn complete(
        self,
        target: &Target,
        marker: &str,
        origin: Origin,
    ) -> Result<Step> {
        let (part, mut step) = if self.batch.is_empty() {
            (self, Step::default())
        } else {
            self.write().await?
        };
        let (encoder, mut writing) = (part.encoder, part.writing);
        let mut known = Marker {
            version: Marker::VERSION,
            origin,
            complete: None,
        };
        let prepared = async {
            let last = work::finish(encoder).await?;
            writing.write(&last).await?;
            target.put(marker, marker::bytes(&known)).await?;
            Ok(last.len() as u64)
        };
        let last = match prepared.await {
            Ok(last) => last,
            Err(error) => {
                writing.abandon().await;
                return Err(error);
            }
        };
        writing.complete().await?;
        step.bytes += last;
        known.complete = Some(Complete {
            records: part.records,
            bytes: part.bytes + last,
        });
        target.put(marker, marker::bytes(&known)).await?;
        Ok(step)
    }

    /// Gives up what was written.
    pub(crate) async fn abandon(self) {
        self.writing.abandon().await;
    }
}

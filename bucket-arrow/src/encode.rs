//! Batches as the bytes of a file, without I/O.

mod cell;
mod csv;
mod json_lines;
mod parquet;

use std::mem;

use arrow_array::RecordBatch;
use arrow_ipc::writer::FileWriter;
use arrow_schema::SchemaRef;

use crate::{Format, Result};

/// A file that is being written.
pub(crate) enum Encoder {
    Parquet(Box<parquet::Writer>),
    Ipc(Box<FileWriter<Vec<u8>>>),
    Csv(Vec<u8>),
    JsonLines(Vec<u8>),
}

impl Encoder {
    pub(crate) fn new(format: Format, schema: &SchemaRef) -> Result<Self> {
        Ok(match format {
            Format::Parquet(settings) => Self::Parquet(Box::new(parquet::new(settings, schema)?)),
            Format::Ipc => Self::Ipc(Box::new(FileWriter::try_new(Vec::new(), schema)?)),
            Format::Csv => {
                let mut bytes = Vec::new();
                csv::header(schema, &mut bytes);
                Self::Csv(bytes)
            }
            Format::JsonLines => Self::JsonLines(Vec::new()),
        })
    }

    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        match self {
            Self::Parquet(writer) => parquet::write(writer, batch)?,
            Self::Ipc(writer) => writer.write(batch)?,
            Self::Csv(bytes) => csv::write(batch, bytes)?,
            Self::JsonLines(bytes) => json_lines::write(batch, bytes)?,
        }
        Ok(())
    }

    /// The bytes that are complete.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        match self {
            Self::Parquet(writer) => mem::take(writer.inner_mut()),
            Self::Ipc(writer) => mem::take(writer.get_mut()),
            Self::Csv(bytes) | Self::JsonLines(bytes) => mem::take(bytes),
        }
    }

    /// The last bytes.
    pub(crate) fn finish(self) -> Result<Vec<u8>> {
        Ok(match self {
            Self::Parquet(writer) => parquet::finish(*writer)?,
            // It writes the end first.
            Self::Ipc(writer) => writer.into_inner()?,
            Self::Csv(bytes) | Self::JsonLines(bytes) => bytes,
        })
    }
}

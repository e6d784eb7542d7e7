//! Parquet.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use parquet::{
    arrow::ArrowWriter, basic::Compression as Codec, errors::ParquetError,
    file::properties::WriterProperties,
};

use crate::{Compression, Parquet};

pub(super) type Writer = ArrowWriter<Vec<u8>>;

pub(super) fn new(settings: Parquet, schema: &SchemaRef) -> Result<Writer, ArrowError> {
    let properties = WriterProperties::builder()
        .set_compression(codec(settings.compression))
        .set_max_row_group_row_count(Some(settings.row_group_rows))
        .build();
    ArrowWriter::try_new(Vec::new(), Arc::clone(schema), Some(properties)).map_err(error)
}

pub(super) fn write(writer: &mut Writer, batch: &RecordBatch) -> Result<(), ArrowError> {
    writer.write(batch).map_err(error)
}

pub(super) fn finish(writer: Writer) -> Result<Vec<u8>, ArrowError> {
    writer.into_inner().map_err(error)
}

fn error(error: ParquetError) -> ArrowError {
    error.into()
}

fn codec(compression: Compression) -> Codec {
    match compression {
        Compression::None => Codec::UNCOMPRESSED,
        #[cfg(feature = "snappy")]
        Compression::Snappy => Codec::SNAPPY,
        #[cfg(feature = "lz4")]
        Compression::Lz4 => Codec::LZ4_RAW,
        #[cfg(feature = "zstd")]
        Compression::Zstd => {
            let level = parquet::basic::ZstdLevel::try_new(3);
            Codec::ZSTD(level.unwrap_or_default())
        }
    }
}

//! Parquet.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, DataType, SchemaRef};
use parquet::{
    arrow::ArrowWriter,
    basic::{Compression as Codec, Encoding},
    errors::ParquetError,
    file::properties::WriterProperties,
    schema::types::ColumnPath,
};

use crate::{Compression, Parquet};

pub(super) type Writer = ArrowWriter<Vec<u8>>;

/// The encoded bytes of a row group, which is in memory until it is complete: 100,000 large records may have more.
const MOST_BYTES: usize = 256 << 20;

pub(super) fn new(settings: Parquet, schema: &SchemaRef) -> Result<Writer, ArrowError> {
    let mut properties = WriterProperties::builder()
        .set_compression(codec(settings.compression))
        .set_max_row_group_row_count(Some(settings.row_group_rows))
        .set_max_row_group_bytes(Some(MOST_BYTES));
    for field in schema.fields() {
        // Times rise, in steps that are much the same. As they are, or in a dictionary, they would be most of a file.
        if matches!(field.data_type(), DataType::Timestamp(..)) {
            let path = ColumnPath::new(vec![field.name().clone()]);
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
    }
    let properties = properties.build();
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

//! The formats of files, and their settings.

/// How files are written.
///
/// ```
/// use bucket_arrow::{Compression, Format, Parquet};
///
/// let format = Format::from(Parquet::new().compression(Compression::None).row_group_rows(1_000_000));
/// assert_eq!(format.extension(), "parquet");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Apache Parquet.
    Parquet(Parquet),
    /// Arrow IPC files, which pandas and Polars also know as Feather.
    Ipc,
    /// Comma-separated values with a line of names.
    Csv,
    /// A JSON object in each line.
    JsonLines,
}

impl Format {
    /// The end of the names of its files.
    #[must_use]
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Parquet(_) => "parquet",
            Self::Ipc => "arrow",
            Self::Csv => "csv",
            Self::JsonLines => "jsonl",
        }
    }
}

impl Default for Format {
    fn default() -> Self {
        Self::Parquet(Parquet::new())
    }
}

impl From<Parquet> for Format {
    fn from(parquet: Parquet) -> Self {
        Self::Parquet(parquet)
    }
}

/// The settings of Parquet files.
///
/// ```no_run
/// use bucket_arrow::{Compression, Parquet, Result, ToArrow};
/// use bucket_mongo::{Bucketed, Buckets};
///
/// async fn export<T: Bucketed>(buckets: &Buckets<T>) -> Result<u64> {
///     let parquet = Parquet::new().compression(Compression::None).row_group_rows(20_000);
///     let report = buckets.to_arrow().to_folder("export").format(parquet).await?;
///     Ok(report.bytes)
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct Parquet {
    pub(crate) compression: Compression,
    pub(crate) row_group_rows: usize,
}

impl Parquet {
    /// Row groups of 100,000 records, compressed with Snappy if that feature is on.
    pub const fn new() -> Self {
        Self {
            compression: Compression::STANDARD,
            row_group_rows: 100_000,
        }
    }

    /// How pages are compressed.
    pub const fn compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }

    /// The number of records of a row group; a group is in memory until it is full. 0 counts as 1.
    pub const fn row_group_rows(mut self, rows: usize) -> Self {
        self.row_group_rows = if rows == 0 { 1 } else { rows };
        self
    }
}

impl Default for Parquet {
    fn default() -> Self {
        Self::new()
    }
}

/// How the pages of Parquet files are compressed.
///
/// ```
/// use bucket_arrow::{Compression, Parquet};
///
/// let parquet = Parquet::new().compression(Compression::None);
/// # #[cfg(feature = "snappy")]
/// assert_eq!(parquet.compression(Compression::Snappy), Parquet::new());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// Not at all.
    None,
    /// Snappy, which every reader knows (feature `snappy`).
    #[cfg(feature = "snappy")]
    Snappy,
    /// LZ4 (feature `lz4`).
    #[cfg(feature = "lz4")]
    Lz4,
    /// Zstandard at the level 3, the smallest (feature `zstd`, which needs a C compiler).
    #[cfg(feature = "zstd")]
    Zstd,
}

impl Compression {
    #[cfg(feature = "snappy")]
    const STANDARD: Self = Self::Snappy;
    #[cfg(not(feature = "snappy"))]
    const STANDARD: Self = Self::None;
}

//! What an export has done.

/// What an export has done.
///
/// ```
/// use bucket_arrow::ExportReport;
///
/// /// Whether everything had been exported before.
/// fn is_same(report: &ExportReport) -> bool {
///     report.parts == 0 && report.removed == 0
/// }
/// # assert!(is_same(&ExportReport::default()));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ExportReport {
    /// The number of keys.
    pub keys: u64,
    /// The number of records that were written.
    pub records: u64,
    /// The number of parts that were written.
    pub parts: u64,
    /// The number of parts that were complete, and that nothing has changed.
    pub skipped: u64,
    /// The number of parts that had no records any more and were removed.
    pub removed: u64,
    /// The number of bytes that were written.
    pub bytes: u64,
}

/// How far an export is; see [`Export::progress`](crate::Export::progress).
///
/// ```
/// use bucket_arrow::ExportProgress;
///
/// fn shown(now: &ExportProgress) -> String {
///     format!("{} keys, {} records, {} bytes", now.keys, now.records, now.bytes)
/// }
/// # assert_eq!(shown(&ExportProgress::default()), "0 keys, 0 records, 0 bytes");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ExportProgress {
    /// The number of keys that are done.
    pub keys: u64,
    /// The number of records that are written.
    pub records: u64,
    /// The number of parts that are written.
    pub parts: u64,
    /// The number of parts that were left as they are.
    pub skipped: u64,
    /// The number of bytes that are written.
    pub bytes: u64,
    /// The path of the part that was written last.
    pub path: String,
}

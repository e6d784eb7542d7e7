//! A report that names no failures.

use std::ops::Deref;

/// A report that names no failures: what [`InsertReport::into_result`](crate::InsertReport::into_result), and that of
/// the other reports, returns. It has the methods of the report.
///
/// The compiler warns where a report that may name failures is dropped. This one can be dropped.
///
/// ```
/// # use bucket_mongo::{Bucketed, Buckets, Result};
/// async fn store<T: Bucketed>(readings: &Buckets<T>, records: Vec<T>) -> Result<usize> {
///     let report = readings.insert_many(records).await?.into_result()?;
///     Ok(report.opened_buckets())
/// }
/// ```
#[derive(Debug, Clone)]
pub struct WithoutFailures<R>(R);

impl<R> WithoutFailures<R> {
    /// The caller has made sure that there are none.
    pub(crate) fn new(report: R) -> Self {
        Self(report)
    }
}

impl<R> Deref for WithoutFailures<R> {
    type Target = R;

    fn deref(&self) -> &R {
        &self.0
    }
}

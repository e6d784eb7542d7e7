//! Records that a test stores first: all of them, or the test fails.

use std::borrow::Borrow;

use bucket_mongo::{Bucketed, Buckets, ErrorKind};

use crate::PATIENCE;

/// Stores the records that a test begins with.
pub trait Load<T> {
    /// Stores all of these records.
    ///
    /// # Panics
    ///
    /// If one is not stored.
    fn load<I>(&self, records: I) -> impl Future<Output = ()> + Send
    where
        I: IntoIterator<Item: Borrow<T>, IntoIter: Send> + Send;

    /// Stores those of these records that the model takes: it may refuse late ones, and large ones.
    ///
    /// # Panics
    ///
    /// If one is not stored for another reason.
    fn offer<I>(&self, records: I) -> impl Future<Output = ()> + Send
    where
        I: IntoIterator<Item: Borrow<T>, IntoIter: Send> + Send;
}

impl<T: Bucketed> Load<T> for Buckets<T> {
    async fn load<I>(&self, records: I)
    where
        I: IntoIterator<Item: Borrow<T>, IntoIter: Send> + Send,
    {
        let report = self.insert_many(records).deadline(PATIENCE).await;
        let report = report.expect("a report");
        report.into_result().expect("every record is stored");
    }
    async fn offer<I>(&self, records: I)
    where
        I: IntoIterator<Item: Borrow<T>, IntoIter: Send> + Send,
    {
        let report = self.insert_many(records).deadline(PATIENCE).await;
        let report = report.expect("a report");
        for failed in report.failed() {
            let is_refused = matches!(failed.error.kind(), ErrorKind::Encode(_));
            assert!(is_refused, "{:?}", failed.error);
        }
    }
}

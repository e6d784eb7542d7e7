//! Records that a test stores first. The test fails where one is not stored and should be.

use std::borrow::Borrow;

use bucket_mongo::{Bucketed, Buckets, ErrorKind, InsertReport};

use crate::PATIENCE;

/// Stores the records that a test begins with.
pub trait Load<T> {
    /// What comes of these records, which have the time that a busy machine needs.
    ///
    /// # Panics
    ///
    /// If there is no report.
    fn reported<I>(&self, records: I) -> impl Future<Output = InsertReport> + Send
    where
        I: IntoIterator<Item: Borrow<T>, IntoIter: Send> + Send;

    /// Stores all of these records.
    ///
    /// # Panics
    ///
    /// If one is not stored.
    fn load<I>(&self, records: I) -> impl Future<Output = ()> + Send
    where
        Self: Sync,
        I: IntoIterator<Item: Borrow<T>, IntoIter: Send> + Send,
    {
        async {
            let report = self.reported(records).await;
            report.into_result().expect("every record is stored");
        }
    }

    /// Stores those of these records that the model takes: it may refuse late ones, and large ones.
    ///
    /// # Panics
    ///
    /// If one is not stored for another reason.
    fn offer<I>(&self, records: I) -> impl Future<Output = ()> + Send
    where
        Self: Sync,
        I: IntoIterator<Item: Borrow<T>, IntoIter: Send> + Send,
    {
        async {
            let report = self.reported(records).await;
            for failed in report.failed() {
                let is_refused = matches!(failed.error.kind(), ErrorKind::Encode(_));
                assert!(is_refused, "{:?}", failed.error);
            }
            assert!(report.stopped_by().is_none(), "{report:?}");
        }
    }
}

impl<T: Bucketed> Load<T> for Buckets<T> {
    async fn reported<I>(&self, records: I) -> InsertReport
    where
        I: IntoIterator<Item: Borrow<T>, IntoIter: Send> + Send,
    {
        let report = self.insert_many(records).deadline(PATIENCE).await;
        report.expect("a report")
    }
}

//! Records that a test stores first: all of them, or the test fails.

use std::borrow::Borrow;

use bucket_mongo::{Bucketed, Buckets};

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
}

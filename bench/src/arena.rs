//! The place of a round: the database, the clock, and the check of what is stored.

use std::time::{Duration, Instant};

use bucket_mongo::{
    bson::{Bson, Document, doc},
    mongodb::{
        Collection, Database, IndexModel,
        options::{Acknowledgment, CollectionOptions, WriteConcern},
    },
};
use futures_util::TryStreamExt as _;

use crate::error::{Error, Result};

/// The database of a run.
#[derive(Debug)]
pub(crate) struct Arena {
    database: Database,
}

/// Every contestant waits for the majority and for the journal.
pub(crate) fn durability() -> WriteConcern {
    WriteConcern::builder()
        .w(Acknowledgment::Majority)
        .journal(true)
        .build()
}

impl Arena {
    pub(crate) fn new(database: &Database) -> Self {
        Self {
            database: database.clone(),
        }
    }

    pub(crate) fn database(&self) -> &Database {
        &self.database
    }

    /// A collection of the driver with the durability of all contestants.
    pub(crate) fn collection<T: Send + Sync>(&self, name: &str) -> Collection<T> {
        let options = CollectionOptions::builder()
            .write_concern(durability())
            .build();
        self.database.collection_with_options(name, options)
    }

    /// Makes an index on key and time.
    pub(crate) async fn index(&self, collection: &str, keys: Document) -> Result<()> {
        let index = IndexModel::builder().keys(keys).build();
        let collection = self.database.collection::<Document>(collection);
        collection.create_index(index).await?;
        Ok(())
    }

    /// Removes what an earlier round stored.
    pub(crate) async fn clear(&self, collection: &str) -> Result<()> {
        let collection = self.database.collection::<Document>(collection);
        Ok(collection.drop().await?)
    }

    /// Takes a checkpoint, so that no contestant pays for earlier writes. File sizes are those of
    /// the last checkpoint.
    pub(crate) async fn checkpoint(&self) -> Result<()> {
        let admin = self.database.client().database("admin");
        admin.run_command(doc! { "fsync": 1 }).await?;
        Ok(())
    }

    /// Measures how long something takes, started right after a checkpoint.
    pub(crate) async fn clock<T>(
        &self,
        work: impl Future<Output = Result<T>>,
    ) -> Result<(Duration, T)> {
        self.checkpoint().await?;
        let start = Instant::now();
        let result = work.await?;
        Ok((start.elapsed(), result))
    }

    /// An error unless the collection holds this number of records, one per document.
    pub(crate) async fn expect_documents(&self, collection: &str, expected: usize) -> Result<()> {
        let count = doc! { "$count": "records" };
        self.expect(collection, count, expected).await
    }

    /// An error unless the buckets of a collection hold this number of records in their arrays.
    pub(crate) async fn expect_items(
        &self,
        collection: &str,
        items: &str,
        expected: usize,
    ) -> Result<()> {
        let size = doc! { "$size": format!("${items}") };
        let sum = doc! { "$group": { "_id": null, "records": { "$sum": size } } };
        self.expect(collection, sum, expected).await
    }

    /// The same by what they say of themselves.
    pub(crate) async fn expect_counted(&self, collection: &str, expected: usize) -> Result<()> {
        let sum = doc! { "$group": { "_id": null, "records": { "$sum": "$count" } } };
        self.expect(collection, sum, expected).await
    }

    async fn expect(&self, collection: &str, stage: Document, expected: usize) -> Result<()> {
        let aggregated = self.database.collection::<Document>(collection);
        let mut found = aggregated.aggregate([stage]).await?;
        let found = match found.try_next().await? {
            Some(document) => whole(document.get("records")),
            None => 0,
        };
        let expected = u64::try_from(expected).unwrap_or(u64::MAX);
        if found == expected {
            return Ok(());
        }
        Err(Error::WrongCount {
            collection: collection.to_owned(),
            expected,
            found,
        })
    }

    /// The bytes of a collection's files, indexes included.
    pub(crate) async fn bytes(&self, collection: &str) -> Result<u64> {
        self.checkpoint().await?;
        let stats = doc! { "collStats": collection };
        let stats = self.database.run_command(stats).await?;
        Ok(whole(stats.get("storageSize")) + whole(stats.get("totalIndexSize")))
    }
}

/// A whole number, whatever type the server gives it.
fn whole(number: Option<&Bson>) -> u64 {
    let number = match number {
        Some(Bson::Int32(number)) => i64::from(*number),
        Some(Bson::Int64(number)) => *number,
        // Sizes are whole numbers.
        #[allow(clippy::cast_possible_truncation)]
        Some(Bson::Double(number)) => *number as i64,
        _ => 0,
    };
    u64::try_from(number).unwrap_or_default()
}

/// The number per second.
#[allow(clippy::cast_precision_loss, reason = "far less than 2^53")]
pub(crate) fn rate(number: usize, time: Duration) -> f64 {
    number as f64 / time.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use example_kit::testing::server;

    use super::*;

    #[tokio::test]
    async fn a_lost_or_doubled_record_is_an_error() {
        let database = server().await.database("arena").await.unwrap();
        let arena = Arena::new(&database);
        let buckets = [doc! { "items": [1, 2] }, doc! { "items": [3] }];
        arena
            .collection("buckets")
            .insert_many(buckets)
            .await
            .unwrap();
        arena.expect_documents("buckets", 2).await.unwrap();
        arena.expect_items("buckets", "items", 3).await.unwrap();
        for expected in [2, 4] {
            let wrong = arena.expect_items("buckets", "items", expected).await;
            assert!(matches!(wrong, Err(Error::WrongCount { found: 3, .. })));
        }
        assert!(arena.expect_documents("buckets", 3).await.is_err());
        assert!(arena.expect_documents("none", 1).await.is_err());
        database.drop_database().await.unwrap();
    }
}

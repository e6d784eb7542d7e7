//! Creates the collection, and checks that it is what the model needs.

use bucket_core::{index, size, write::codes::NAMESPACE_EXISTS};
use futures_util::TryStreamExt;
use mongodb::bson::{DateTime, Document, doc};

use super::set_up::SetUp;
use crate::{action::number, writer::faults::code};

/// The number of buckets sampled to estimate the size of a record.
const SAMPLE: i64 = 100;
/// The bytes of `{ a: [] }`.
const EMPTY_ARRAY: i32 = 13;

impl SetUp<'_> {
    pub(super) async fn collection_info(&self) -> mongodb::error::Result<Option<Document>> {
        let filter = doc! { "name": self.store.spec().collection() };
        let command = doc! { "listCollections": 1, "filter": filter };
        self.store
            .database()
            .run_cursor_command(command)
            .await?
            .try_next()
            .await
    }

    /// Dates the buckets from before the model had a limit; returns their number.
    pub(super) async fn date_buckets(&self) -> mongodb::error::Result<u64> {
        let Some(plan) = index::date_buckets(self.store.spec(), DateTime::now()) else {
            return Ok(0);
        };
        let collection = self.store.primary();
        let dated = collection
            .update_many(plan.filter, plan.pipeline)
            .write_concern(self.store.write_concern().clone())
            .await?;
        Ok(dated.modified_count)
    }

    /// Returns whether this call created it; another client may do so first.
    pub(super) async fn create_collection(&self) -> mongodb::error::Result<bool> {
        let mut command = doc! { "create": self.store.spec().collection() };
        if let Some(compressor) = self.store.spec().compression() {
            let options = format!("block_compressor={compressor}");
            let engine = doc! { "wiredTiger": { "configString": options } };
            // The server does not compress indexes by itself, and a bucket has entries in several.
            command.insert(
                "indexOptionDefaults",
                doc! { "storageEngine": engine.clone() },
            );
            command.insert("storageEngine", engine);
        }
        let created = self.store.database().run_command(command).await;
        match created {
            Ok(_) => Ok(true),
            // Another client created it first.
            Err(error) if code(&error) == Some(NAMESPACE_EXISTS) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The size of a record: the average of the items of a sample of stored buckets. What a bucket has besides, its
    /// key and its aggregates, does not grow with them.
    pub(super) async fn record_bytes(&self) -> mongodb::error::Result<usize> {
        let items = doc! { "$ifNull": [format!("${}", self.store.spec().items()), []] };
        let of_array = |value: Document| doc! { "$cond": [{ "$isArray": &items }, value, 0] };
        // Less what an empty array has.
        let bytes = doc! { "$subtract": [{ "$bsonSize": { "a": &items } }, EMPTY_ARRAY] };
        let group = doc! {
            "_id": null,
            "bytes": { "$sum": of_array(bytes) },
            "records": { "$sum": of_array(doc! { "$size": &items }) },
        };
        let pipeline = [doc! { "$limit": SAMPLE }, doc! { "$group": group }];
        let found = self
            .store
            .primary()
            .aggregate(pipeline)
            .await?
            .try_next()
            .await?;
        let average =
            found.and_then(|found| number(&found, "bytes").checked_div(number(&found, "records")));
        let average = average.and_then(|bytes| usize::try_from(bytes).ok());
        Ok(average.unwrap_or(size::READING_BYTES))
    }
}

//! Backfills: each document of a flat collection is one record in the buckets, or one reject, whatever happens meanwhile.

mod compared;
mod faults;
mod forms;
mod killed;
mod orders;
mod refused;
mod rejects;
mod workers;

use std::{collections::BTreeMap, fmt::Debug, time::Duration};

use bucket_core::bucket;
use bucket_mongo::{
    BackfillReport, Bucketed, Buckets, Limits, Window,
    bson::{DateTime, Document, RawDocumentBuf, doc},
    mongodb::{Collection, Database},
    testing::TestDatabase,
};
use bucket_tests::{PATIENCE, database, documents};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// A record whose number is its own.
trait Event: Bucketed + DeserializeOwned + Clone + Debug + PartialEq + Unpin {
    fn of(device: &str, number: i64) -> Self;
    fn number(&self) -> i64;
}

/// Long enough ago for no window to be the current one, in the order of the numbers.
fn date(number: i64) -> DateTime {
    DateTime::from_millis(1_700_000_000_000 + number * 1_000)
}

macro_rules! models {
    ($($name:ident [$($attributes:tt)*] [$($id:tt)*];)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "events", items = "items", $($attributes)*)]
        struct $name {
            #[bucket(key)]
            device: String,
            #[bucket(time, first, last)]
            at: DateTime,
            $($id)*
            number: i64,
            #[bucket(sum, min, max)]
            value: f64,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            note: Option<String>,
        }

        impl Event for $name {
            fn of(device: &str, number: i64) -> Self {
                Self {
                    device: device.to_owned(),
                    at: date(number),
                    number,
                    value: 0.5,
                    note: (number % 7 == 0).then(|| format!("note {number}")),
                }
            }

            fn number(&self) -> i64 {
                self.number
            }
        }
    )*};
}

models! {
    Counted [capacity = 20] [];
    Windowed [window = "1m"] [];
    WindowedObjects [window = "2m", capacity = 15, object_ids] [];
    Parts [window = "1h", parts] [];
    Merged [window = "2m", capacity = 15, seal_after = "1h", merge = "1h"] [];
    Hybrid [capacity = 20, max_duration = "3m", late = "side"] [];
    Numbered [capacity = 20, numbered] [];
    NumberedObjects [capacity = 20, numbered, object_ids] [];
    Bytes [capacity = 40, max_bytes = "1KB"] [];
    Identified [capacity = 20] [#[bucket(unique)]];
    Expiring [window = "1m", expire_after = "20y"] [];
}

/// The flat collection.
fn flat(database: &Database) -> Collection<Document> {
    database.collection("flat")
}

/// An index that reads the records of a key in the order of their times.
async fn index(database: &Database, at: i32) {
    let index = doc! { "name": "by_device", "key": { "device": 1, "at": at } };
    let command = doc! { "createIndexes": "flat", "indexes": [index] };
    database.run_command(command).await.unwrap();
}

/// Documents of these records, of some devices in turn, stored as the driver stores them.
async fn fill<T: Event>(database: &Database, devices: i64, number: i64) -> Vec<T> {
    let records: Vec<T> = (0..number)
        .map(|number| T::of(&format!("d{}", number % devices), number))
        .collect();
    if !records.is_empty() {
        let flat = database.collection::<T>("flat");
        flat.insert_many(&records).await.unwrap();
    }
    records
}

/// The records of all buckets, by their numbers.
async fn stored<T: Event>(buckets: &Buckets<T>) -> BTreeMap<i64, Vec<T>> {
    let collection = buckets.collection::<RawDocumentBuf>();
    let cursor = collection.find(doc! {}).await.unwrap();
    let found: Vec<RawDocumentBuf> = cursor.try_collect().await.unwrap();
    let mut stored = BTreeMap::<i64, Vec<T>>::new();
    for document in &found {
        let bucket = bucket::decode::<T>(document).unwrap();
        for record in bucket::assemble_records(bucket) {
            stored.entry(record.number()).or_default().push(record);
        }
    }
    stored
}

/// Whether the buckets have these records, each once, and keep all promises.
async fn assert_stored<T: Event>(buckets: &Buckets<T>, records: impl IntoIterator<Item = T>) {
    let expected: BTreeMap<i64, Vec<T>> = records
        .into_iter()
        .map(|record| (record.number(), vec![record]))
        .collect();
    let stored = stored(buckets).await;
    let differing = stored
        .iter()
        .filter(|(number, found)| expected.get(number) != Some(found));
    assert_eq!(
        differing.collect::<Vec<_>>(),
        [],
        "lost, doubled or changed"
    );
    assert_eq!(stored.len(), expected.len(), "some are lost");
    let report = buckets.verify().await.unwrap();
    assert!(report.is_clean(), "{report}");
}

/// A handle whose deadline is not what the test is about.
async fn handle<T: Event>(database: &Database) -> Buckets<T> {
    let buckets = T::buckets(database).with_deadline(PATIENCE);
    buckets.ensure().await.unwrap();
    buckets
}

/// The only job of a database.
async fn job(database: &TestDatabase) -> Document {
    let jobs = documents(database, "bucket_backfills").await;
    assert_eq!(jobs.len(), 1);
    jobs.into_iter().next().unwrap()
}

fn counts(report: &BackfillReport) -> [u64; 4] {
    [
        report.read,
        report.stored,
        report.duplicates,
        report.rejected,
    ]
}

//! Whose files a folder has: what another export must not take, and what it must not leave as it is.

use bucket_arrow::{Error, ExportReport, PartitionBy, Result, ToArrow};
use bucket_mongo::{
    Bucketed, Buckets,
    bson::{DateTime, Document},
};
use serde::{Deserialize, Serialize};

use super::{
    exports::{data, files, read},
    program::folder,
    server::{DAY, START, Sample, Windowed, database, records, store},
};

macro_rules! metered {
    ($($name:ident: $collection:literal, [$($form:tt)+], [$($value:tt)*];)+) => {$(
        #[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = $collection, items = "items", window = "6h", $($form)+)]
        struct $name {
            #[bucket(key)]
            sensor: String,
            #[bucket(time)]
            at: DateTime,
            $($value)*
            value: Option<f64>,
        }

        impl Sample for $name {
            fn sample(sensor: &str, at: i64, value: Option<f64>) -> Self {
                Self { sensor: sensor.to_owned(), at: DateTime::from_millis(at), value }
            }

            fn of(&self) -> (String, i64, Option<u64>) {
                (self.sensor.clone(), self.at.timestamp_millis(), self.value.map(f64::to_bits))
            }

            fn key_of(sensor: &str) -> Self::Key {
                sensor.to_owned().into()
            }
        }
    )+};
}

metered! {
    Summed: "summed", [capacity = 20], [#[bucket(sum)]];
    Opened: "opened", [capacity = 20, created_at], [];
}

async fn stored_again<T: Sample>(name: &str) {
    let database = database(name).await;
    let buckets = T::buckets(&database);
    let folder = folder(name);
    let records = |value| (0..5).map(move |at| T::sample("a", START + at, Some(value)));
    store(&buckets, records(1.0).collect()).await;
    buckets.to_arrow().to_folder(&folder).await.unwrap();

    buckets.delete_key(T::key_of("a")).await.unwrap();
    store(&buckets, records(2.0).collect()).await;
    let again = buckets.to_arrow().to_folder(&folder).await.unwrap();
    assert_eq!((again.parts, again.skipped), (1, 0));
    let files = files(&folder);
    let found = read(files[data(&files)[0]].clone());
    assert_eq!(found, records(2.0).map(|it| it.of()).collect::<Vec<_>>());
}

#[tokio::test]
async fn records_that_are_stored_again_after_their_key_was_removed_are_new_where_buckets_have_aggregates()
 {
    stored_again::<Summed>("whose_summed").await;
}

#[tokio::test]
async fn records_that_are_stored_again_after_their_key_was_removed_are_new_where_buckets_know_their_begin()
 {
    stored_again::<Opened>("whose_opened").await;
}

fn assert_taken(exported: Result<ExportReport>) -> (String, String) {
    let Err(Error::Taken { path, message, .. }) = exported else {
        panic!("{exported:?}");
    };
    (path, message)
}

#[tokio::test]
async fn a_collection_that_was_made_anew_is_another_export() {
    let database = database("whose_dropped").await;
    let buckets = Windowed::buckets(&database);
    let folder = folder("whose_dropped");
    // Without a collection there is nothing that could be mixed up.
    buckets.to_arrow().to_folder(&folder).await.unwrap();
    store(&buckets, records("a", 10)).await;
    let first = buckets.to_arrow().to_folder(&folder).await.unwrap();
    assert_eq!(first.parts, 2);
    let written = files(&folder);

    let collection = database.database().collection::<Document>("windowed");
    collection.drop().await.unwrap();
    let buckets = Windowed::buckets(&database);
    store(&buckets, records("a", 10)).await;
    let (path, message) = assert_taken(buckets.to_arrow().to_folder(&folder).await);
    assert_eq!(path, "_export/export.json");
    assert!(message.contains("made anew"), "{message}");
    assert_eq!(files(&folder), written);
}

#[tokio::test]
async fn a_collection_of_another_database_is_another_export() {
    let (one, other) = (database("whose_one").await, database("whose_other").await);
    let folder = folder("whose_databases");
    store(&Windowed::buckets(&one), records("a", 10)).await;
    store(&Windowed::buckets(&other), records("b", 10)).await;
    let export = |buckets: Buckets<Windowed>| {
        let folder = folder.clone();
        async move { buckets.to_arrow().to_folder(folder).await }
    };
    export(Windowed::buckets(&one)).await.unwrap();
    let written = files(&folder);
    assert_taken(export(Windowed::buckets(&other)).await);
    assert_eq!(files(&folder), written);
}

#[tokio::test]
async fn a_part_is_neither_replaced_nor_removed_by_one_of_a_shorter_time() {
    let database = database("whose_shorter").await;
    let buckets = Windowed::buckets(&database);
    store(&buckets, records("a", 60)).await;
    let at = |days: i64| DateTime::from_millis(START + days * DAY);
    // The second part has no record in these: without a look at its file it would be removed.
    let ranges = [(at(2), at(40)), (at(0), at(10)), (at(30), at(31))];
    let long_ago = DateTime::from_millis(-100 * DAY);
    for partition in [PartitionBy::KeyAndMonth, PartitionBy::Key] {
        let folder = folder(&format!("whose_shorter_{partition:?}"));
        let export = |range: std::ops::Range<DateTime>| {
            let export = buckets.to_arrow().between(range).to_folder(&folder);
            export.partition_by(partition)
        };
        export(at(0)..at(100)).await.unwrap();
        let written = files(&folder);
        for (from, to) in ranges {
            assert_taken(export(from..to).await);
            assert_eq!(files(&folder), written);
        }
        // A longer time is a new part, and the same one leaves it.
        let longer = export(long_ago..at(100)).await.unwrap();
        assert!(longer.parts > 0, "{longer:?}");
        let same = export(long_ago..at(100)).await.unwrap();
        assert_eq!(same.parts, 0);
    }
}

//! Archived items: the buckets stay, their items are elsewhere, and every call goes on as before.

mod at_work;
mod calls;
mod faults;
mod files;
mod places;
mod refused;
mod storm;

use std::{collections::BTreeMap, fmt::Debug, time::Duration};

use bucket_mongo::{
    ArchiveReport, Bucketed, Buckets, Error, ErrorKind, Which,
    bson::{Bson, DateTime, Document, doc},
    mongodb::Collection,
    testing::TestDatabase,
};
use bucket_tests::{database, documents};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

trait Event: Bucketed + Clone + Debug + PartialEq + Send + Sync + Unpin {
    fn of(device: &str, number: i64) -> Self;
    fn number(&self) -> i64;
    fn value(&mut self) -> &mut f64;
    fn key_of(device: &str) -> Self::Key;
}

macro_rules! models {
    ($($module:ident [$($attributes:tt)*];)*) => {$(
        mod $module {
            use super::*;

            #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
            #[bucket(collection = "events", items = "items", seal_after = "1h", $($attributes)*)]
            pub(super) struct Record {
                #[bucket(key)]
                device: String,
                #[bucket(time, first, last)]
                at: DateTime,
                #[bucket(sum, min, max)]
                number: i64,
                value: f64,
            }

            impl Event for Record {
                fn of(device: &str, number: i64) -> Self {
                    Self {
                        device: device.to_owned(),
                        at: date(number),
                        number,
                        value: 0.5,
                    }
                }

                fn number(&self) -> i64 {
                    self.number
                }

                fn value(&mut self) -> &mut f64 {
                    &mut self.value
                }

                fn key_of(device: &str) -> Self::Key {
                    device.to_owned().into()
                }
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn every_call_goes_on_as_before() {
                super::calls::every_call_goes_on_as_before::<Record>().await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn every_call_goes_on_with_files_of_an_object_store() {
                super::files::every_call_goes_on::<Record>().await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn a_record_that_is_delivered_again_is_still_known() {
                super::calls::a_record_that_is_delivered_again_is_still_known::<Record>().await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn readers_see_each_record_once_while_buckets_move() {
                super::at_work::readers_see_each_record_once_while_buckets_move::<Record>().await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn a_follower_sees_nothing_of_it() {
                super::at_work::a_follower_sees_nothing_of_it::<Record>().await;
            }

            /// The process that is killed; run as a test, it does nothing.
            #[tokio::test(flavor = "multi_thread")]
            async fn in_a_process_of_its_own() {
                super::at_work::in_a_process_of_its_own::<Record>().await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn killed_calls_leave_every_record_where_readers_find_it() {
                super::at_work::killed_calls_leave_every_record_where_readers_find_it::<Record>(
                    concat!(module_path!(), "::in_a_process_of_its_own"),
                )
                .await;
            }
        }
    )*};
}

models! {
    counted [capacity = 20];
    windows [window = "1m"];
    merged [window = "2m", capacity = 15, merge = "1h"];
    windows_with_object_ids [window = "2m", capacity = 15, object_ids];
    hybrid [capacity = 20, max_duration = "3m", late = "side"];
    numbered [capacity = 20, numbered];
    numbered_with_object_ids [capacity = 20, numbered, object_ids];
}

const START: i64 = 1_698_335_220_000;

fn date(number: i64) -> DateTime {
    DateTime::from_millis(START + number * 5_000)
}

/// The archive of a test: another collection of its database.
fn archive(database: &TestDatabase) -> Collection<Document> {
    database.collection("archive")
}

/// The records by their numbers.
type Ledger<T> = BTreeMap<i64, T>;

async fn stored<T: Event>(events: &Buckets<T>, device: &str) -> Ledger<T> {
    try_stored(events, device).await.unwrap()
}

async fn try_stored<T: Event>(events: &Buckets<T>, device: &str) -> Result<Ledger<T>, Error> {
    let records = events.records(T::key_of(device)).stream();
    let records: Vec<T> = records.try_collect().await?;
    let number = records.len();
    let ledger: Ledger<T> = records.into_iter().map(|it| (it.number(), it)).collect();
    assert_eq!(ledger.len(), number, "a record is there twice");
    Ok(ledger)
}

async fn is_sound<T: Event>(events: &Buckets<T>) {
    let report = events.verify().await.unwrap();
    assert!(report.is_clean(), "{report}");
}

async fn insert<T: Event>(events: &Buckets<T>, device: &str, numbers: std::ops::Range<i64>) {
    let records = numbers.map(|number| T::of(device, number));
    let report = events.insert_many(records).await.unwrap();
    report.into_result().unwrap();
}

async fn seal<T: Event>(events: &Buckets<T>) -> u64 {
    let sealed = events.seal().after(Duration::ZERO).await.unwrap().buckets;
    let (before, after) = merge(events).await.unwrap();
    // Those of another sealer, too.
    (sealed + after).saturating_sub(before)
}

/// Merges what is sealed, where the model says so: the number of buckets before and after.
async fn merge<T: Event>(events: &Buckets<T>) -> Result<(u64, u64), Error> {
    if T::SPEC.merge().is_none() {
        return Ok((0, 0));
    }
    let merged = events.merge().settled(Duration::ZERO).await?;
    Ok((merged.buckets, merged.merged))
}

/// The ids of the copies that the buckets refer to.
async fn referred(database: &TestDatabase) -> Vec<Vec<u8>> {
    let all = documents(database, "events").await;
    let of = all.iter().filter_map(|bucket| match bucket.get("items") {
        Some(Bson::Binary(packed)) if packed.bytes[0] == 0xA1 => {
            Some(packed.bytes[21..33].to_vec())
        }
        _ => None,
    });
    let mut of: Vec<Vec<u8>> = of.collect();
    of.sort_unstable();
    of
}

/// The ids of the copies that are there.
async fn copies(database: &TestDatabase) -> Vec<Vec<u8>> {
    let all = documents(database, "archive").await;
    let of = all.iter().map(|copy| copy.get_object_id("_id").unwrap());
    let mut of: Vec<Vec<u8>> = of.map(|id| id.bytes().to_vec()).collect();
    of.sort_unstable();
    of
}

async fn references<T: Event>(events: &Buckets<T>, device: &str) -> Vec<(Which, T)> {
    let found = events.range(T::key_of(device), ..).with_refs().await;
    let found = found.unwrap().into_iter();
    found
        .map(|it| (Which::from(it.reference), it.record))
        .collect()
}

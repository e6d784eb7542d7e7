//! Sealing changes how a bucket is stored and nothing else: reads, writes, edits and `verify` go on as before.

mod at_work;
mod calls;
mod stored_form;

use std::{collections::BTreeMap, fmt::Debug, time::Duration};

use bucket_core::index::Drift;
use bucket_mongo::{
    Bucketed, Buckets, ErrorKind, RecordChange as Of, SealReport, VerifyReport, Which,
    bson::{Bson, DateTime, doc, spec::BinarySubtype},
    testing::TestDatabase,
};
use bucket_tests::{database, documents};
use futures_util::{StreamExt, TryStreamExt};
use serde::{Deserialize, Serialize};

trait Event: Bucketed + Clone + Debug + PartialEq + Send + Sync + Unpin {
    fn of(device: &str, number: i64) -> Self;
    fn number(&self) -> i64;
    fn value(&mut self) -> &mut f64;
    fn key_of(device: &str) -> Self::Key;

    /// A record of the time of another one.
    fn late(device: &str, number: i64, of: i64) -> Self;
}

macro_rules! models {
    ($($module:ident [$($attributes:tt)*] $([$($average:tt)*])?;)*) => {$(
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
                #[bucket(sum = "value_sum" $(, $($average)*)?)]
                value: f64,
                note: Option<String>,
            }

            impl Event for Record {
                fn of(device: &str, number: i64) -> Self {
                    Self {
                        device: device.to_owned(),
                        at: date(number),
                        number,
                        value: f64::from(i32::try_from(number).unwrap()) * 0.5,
                        note: (number % 4 == 0).then(|| format!("note {number}")),
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

                fn late(device: &str, number: i64, of: i64) -> Self {
                    Self { at: date(of), ..Self::of(device, number) }
                }
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn every_call_goes_on_as_before() {
                super::calls::every_call_goes_on_as_before::<Record>().await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn writers_editors_and_sealers_disturb_nobody() {
                super::at_work::writers_editors_and_sealers_disturb_nobody::<Record>().await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn a_handle_that_has_not_seen_the_last_bucket_sealed_stores_its_records() {
                super::at_work::a_handle_that_has_not_seen_the_last_bucket_sealed_stores_its_records::<Record>()
                    .await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn a_follower_sees_each_change_once() {
                super::at_work::a_follower_sees_each_change_once::<Record>().await;
            }
        }
    )*};
}

models! {
    counted [capacity = 20];
    // A stored average makes each write a pipeline, which meets packed items in its own way.
    counted_with_a_stored_average [capacity = 20] [avg = "value_avg"];
    counted_of_few_bytes [capacity = 100, max_bytes = "1KB"];
    windows [window = "1m"];
    windows_of_parts [window = "2m", capacity = 9];
    windows_with_a_stored_average [window = "2m", capacity = 9] [avg = "value_avg"];
    windows_with_object_ids [window = "2m", capacity = 15, object_ids];
    hybrid_merging [capacity = 20, max_duration = "3m", late = "merge"];
    hybrid_beside [capacity = 20, max_duration = "3m", late = "side"];
    numbered [capacity = 20, numbered];
    numbered_with_object_ids [capacity = 20, numbered, object_ids];
}

const START: i64 = 1_698_335_220_000;

fn date(number: i64) -> DateTime {
    DateTime::from_millis(START + number * 5_000)
}

/// What is stored, by the numbers of the records.
type Ledger<T> = BTreeMap<i64, T>;

async fn stored<T: Event>(events: &Buckets<T>, device: &str) -> Ledger<T> {
    let records: Vec<T> = events
        .records(T::key_of(device))
        .stream()
        .try_collect()
        .await
        .unwrap();
    let number = records.len();
    let ledger: Ledger<T> = records.into_iter().map(|it| (it.number(), it)).collect();
    assert_eq!(ledger.len(), number, "a record is there twice");
    ledger
}

async fn is_sound<T: Event>(events: &Buckets<T>) -> VerifyReport {
    let report = events.verify().await.unwrap();
    assert!(report.is_clean(), "{report}");
    report
}

async fn seal<T: Event>(events: &Buckets<T>) -> SealReport {
    let report = events.seal().after(Duration::ZERO).await.unwrap();
    assert_eq!((report.damaged, report.changed), (0, 0), "{report}");
    report
}

async fn sealed(database: &TestDatabase) -> usize {
    let all = documents(database, "events").await;
    let is_packed = |items: &Bson| matches!(items, Bson::Binary(packed) if packed.subtype == BinarySubtype::UserDefined(128));
    all.iter()
        .filter(|bucket| bucket.get("items").is_some_and(is_packed))
        .count()
}

/// The numbers of records that reads of stored figures give.
async fn statistics_are_those_of<T: Event>(events: &Buckets<T>, device: &str, ledger: &Ledger<T>) {
    let number = u64::try_from(ledger.len()).unwrap();
    let stats = events.stats(T::key_of(device), ..).await.unwrap();
    assert_eq!(stats.unwrap().count(), number);
    assert_eq!(events.count(T::key_of(device)).await.unwrap(), number);
    let keys = events.keys().summaries().await.unwrap();
    let of_key = keys.iter().find(|it| it.records == number);
    assert!(of_key.is_some(), "{number} records in none of {keys:?}");
}

/// The records of the second page.
async fn page_two<T: Event>(events: &Buckets<T>) -> Vec<T> {
    let page = events.page(T::key_of("a"), 2).await.unwrap();
    page.into_records()
}

/// Each record with a reference to it.
async fn references<T: Event>(events: &Buckets<T>, device: &str) -> Vec<(Which, T)> {
    let found = events
        .range(T::key_of(device), ..)
        .with_refs()
        .await
        .unwrap();
    let found = found.into_iter();
    found
        .map(|it| (Which::from(it.reference), it.record))
        .collect()
}

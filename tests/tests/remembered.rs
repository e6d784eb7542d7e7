//! What a handle remembers of the buckets that it has written to saves reads, and nothing depends on
//! it.

use bucket_mongo::{
    Bucketed, Buckets,
    mongodb::bson::{DateTime, Document},
};
use bucket_tests::{database, documents, profiled};
use serde::{Deserialize, Serialize};

macro_rules! models {
    ($($name:ident: [$($attributes:tt)*])*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "readings", items = "items", capacity = 10, $($attributes)*)]
        struct $name {
            #[bucket(key)]
            sensor: i64,
            #[bucket(time)]
            at: DateTime,
            number: i64,
        }

        impl $name {
            fn of(number: i64) -> Self {
                let at = DateTime::from_millis(1_700_000_000_000 + number);
                Self { sensor: number % SENSORS, at, number }
            }
        }
    )*};
}

const SENSORS: i64 = 20;

models! {
    Counted: []
    Windowed: [window = "1h"]
    Numbered: [numbered]
}

/// So many records of each sensor, from this one on.
async fn store<T: Bucketed>(buckets: &Buckets<T>, of: fn(i64) -> T, from: i64, each: i64) {
    let numbers = from * SENSORS..(from + each) * SENSORS;
    let records: Vec<T> = numbers.map(of).collect();
    let report = buckets.insert_many(&records).await.unwrap();
    assert_eq!(report.stored(), records.len(), "{:?}", report.failed());
}

/// How often the server did this.
fn count(profile: &[Document], operation: &str) -> usize {
    let done = profile.iter().filter_map(|done| done.get_str("op").ok());
    done.filter(|done| *done == operation).count()
}

fn numbers(documents: &[Document]) -> Vec<i64> {
    let mut numbers = Vec::new();
    for document in documents {
        let items = document.get_array("items").unwrap();
        assert!(items.len() <= 10, "{document}");
        numbers.extend(
            items
                .iter()
                .map(|item| item.as_document().unwrap().get_i64("number").unwrap()),
        );
    }
    numbers.sort_unstable();
    numbers
}

/// Batches of whole buckets behind a full one.
async fn check_whole_buckets<T: Bucketed>(of: fn(i64) -> T) {
    let database = database().await;
    let buckets = T::buckets(&database);
    buckets.ensure().await.unwrap();
    store(&buckets, of, 0, 10).await;
    let work = async {
        store(&buckets, of, 10, 10).await;
        store(&buckets, of, 20, 30).await;
    };
    let ((), profile) = profiled(&database, "readings", work).await;
    assert_eq!(count(&profile, "query"), 0, "{profile:?}");
    assert_eq!(count(&profile, "update"), 0, "{profile:?}");
    let documents = documents(&database, "readings").await;
    assert_eq!(documents.len(), 20 * 5);
    assert_eq!(numbers(&documents), (0..20 * 50).collect::<Vec<_>>());
}

#[tokio::test]
async fn whole_buckets_of_a_window_follow_each_other_by_inserts_alone() {
    check_whole_buckets(Windowed::of).await;
}

#[tokio::test]
async fn whole_numbered_buckets_follow_each_other_by_inserts_alone() {
    check_whole_buckets(Numbered::of).await;
}

/// A handle that is far behind what others have written.
async fn check_stale<T: Bucketed>(of: fn(i64) -> T) {
    let database = database().await;
    let [one, other] = [T::buckets(&database), T::buckets(&database)];
    one.ensure().await.unwrap();
    let mut from = 0;
    // Both end with full buckets, with open ones, and with nothing of some keys.
    for each in [10, 3, 7, 10, 1, 25, 14, 20] {
        store(&one, of, from, each).await;
        store(&other, of, from + each, each).await;
        other
            .insert(&of((from + 2 * each) * SENSORS))
            .await
            .unwrap();
        one.insert(&of((from + 2 * each) * SENSORS + 1))
            .await
            .unwrap();
        from += 2 * each + 1;
    }
    let documents = documents(&database, "readings").await;
    let numbers = numbers(&documents);
    let expected = [10, 3, 7, 10, 1, 25, 14, 20].map(|each| 2 * each * SENSORS + 2);
    assert_eq!(
        numbers.len(),
        usize::try_from(expected.iter().sum::<i64>()).unwrap()
    );
    assert!(numbers.is_sorted_by(|one, next| one < next));
    for sensor in 0..SENSORS {
        let of_it = documents
            .iter()
            .filter(|it| it.get_i64("sensor").unwrap() == sensor);
        let open = of_it.filter(|it| it.get_array("items").unwrap().len() < 10);
        assert!(open.count() <= 1, "sensor {sensor}");
    }
}

#[tokio::test]
async fn a_handle_that_others_have_overtaken_keeps_pages_exact() {
    check_stale(Counted::of).await;
}

#[tokio::test]
async fn a_handle_that_others_have_overtaken_keeps_windows_exact() {
    check_stale(Windowed::of).await;
}

#[tokio::test]
async fn a_handle_that_others_have_overtaken_keeps_numbered_buckets_exact() {
    check_stale(Numbered::of).await;
}

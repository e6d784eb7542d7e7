//! A handle remembers buckets that it has written to. This saves reads, and no result depends on
//! it.

use bucket_mongo::{
    Bucketed, Buckets,
    mongodb::bson::{Bson, DateTime, Document, doc},
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
    NumberedObjects: [numbered, object_ids]
    WindowedObjects: [window = "1h", object_ids]
}

/// This many records of each sensor, from this number on.
async fn store<T: Bucketed>(buckets: &Buckets<T>, of: fn(i64) -> T, from: i64, each: i64) {
    let numbers = from * SENSORS..(from + each) * SENSORS;
    let records: Vec<T> = numbers.map(of).collect();
    let report = buckets.insert_many(&records).await.unwrap();
    assert_eq!(report.stored(), records.len(), "{:?}", report.failed());
}

/// How often the server did this.
fn count(profile: &[Document], operation: &str) -> usize {
    profile.iter().filter(|done| is(done, operation)).count()
}

fn is(done: &Document, operation: &str) -> bool {
    done.get_str("op").is_ok_and(|done| done == operation)
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

/// Batches of full buckets after a full one.
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
    // One read for each batch checks that the full buckets still exist.
    assert_eq!(count(&profile, "query"), 2, "{profile:?}");
    assert_eq!(count(&profile, "update"), 0, "{profile:?}");
    for query in profile.iter().filter(|done| is(done, "query")) {
        let examined = ["keysExamined", "docsExamined"].map(|name| query.get_i32(name).unwrap());
        assert!(examined[0] <= 60 && examined[1] == 20, "{query}");
    }
    let documents = documents(&database, "readings").await;
    assert_eq!(documents.len(), 20 * 5);
    assert_eq!(numbers(&documents), (0..20 * 50).collect::<Vec<_>>());
}

#[tokio::test]
async fn full_buckets_of_a_window_follow_each_other_with_inserts_only() {
    check_whole_buckets(Windowed::of).await;
}

#[tokio::test]
async fn full_numbered_buckets_follow_each_other_with_inserts_only() {
    check_whole_buckets(Numbered::of).await;
}

/// A handle that remembers old buckets while others have written more.
async fn check_stale<T: Bucketed>(of: fn(i64) -> T) {
    let database = database().await;
    let [one, other] = [T::buckets(&database), T::buckets(&database)];
    one.ensure().await.unwrap();
    let mut from = 0;
    // Both end with full buckets, with open ones, and without any for some keys.
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

/// Continues after full buckets that were removed, those of some keys at a time, while another
/// handle writes too.
async fn check_removed<T: Bucketed>(of: fn(i64) -> T, number: &str) {
    let database = database().await;
    let [one, other] = [T::buckets(&database), T::buckets(&database)];
    one.ensure().await.unwrap();
    let readings = database.collection::<Document>("readings");
    let mut from = 0;
    for (round, each) in [10, 30, 10, 20, 10].into_iter().enumerate() {
        store(&one, of, from, each).await;
        // As retention does, bucket by bucket.
        let removed = doc! { "sensor": { "$mod": [2, i64::try_from(round % 2).unwrap()] } };
        readings.delete_many(removed.clone()).await.unwrap();
        store(&other, of, from + each, 13).await;
        store(&one, of, from + each + 13, 27).await;
        readings.delete_many(removed).await.unwrap();
        one.insert(&of((from + each + 40) * SENSORS)).await.unwrap();
        one.insert(&of((from + each + 40) * SENSORS + 1))
            .await
            .unwrap();
        from += each + 41;
        let documents = documents(&database, "readings").await;
        for sensor in 0..SENSORS {
            let own = documents
                .iter()
                .filter(|it| it.get_i64("sensor").unwrap() == sensor);
            let mut numbers: Vec<i64> = own.map(|bucket| place(bucket, number)).collect();
            numbers.sort_unstable();
            let expected = numbers.first().map_or(0, |first| *first);
            let length = i64::try_from(numbers.len()).unwrap();
            assert!(
                numbers.iter().copied().eq(expected..expected + length),
                "sensor {sensor}: {numbers:?}"
            );
            assert!(expected <= 1, "sensor {sensor}: {numbers:?}");
        }
    }
}

/// The number of a bucket, or its part number in its window.
fn place(bucket: &Document, field: &str) -> i64 {
    match bucket.get(field) {
        Some(Bson::Int32(number)) => i64::from(*number),
        Some(Bson::Int64(number)) => *number,
        Some(Bson::String(id)) => {
            // `17_1699999200`, `17_1699999200_1`, ..
            let parts: Vec<&str> = id.split('_').collect();
            parts.get(2).map_or(0, |part| part.parse().unwrap())
        }
        None => 0,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn numbers_have_no_gap_after_buckets_were_removed() {
    check_removed(Numbered::of, "bucket_number").await;
}

#[tokio::test]
async fn numbers_of_object_ids_have_no_gap_after_buckets_were_removed() {
    check_removed(NumberedObjects::of, "bucket_number").await;
}

#[tokio::test]
async fn parts_of_a_window_have_no_gap_after_buckets_were_removed() {
    check_removed(Windowed::of, "_id").await;
}

#[tokio::test]
async fn parts_of_object_ids_have_no_gap_after_buckets_were_removed() {
    check_removed(WindowedObjects::of, "bucket_part").await;
}

#[tokio::test]
async fn the_lookup_of_remembered_object_id_buckets_uses_their_index() {
    let database = database().await;
    let buckets = NumberedObjects::buckets(&database);
    buckets.ensure().await.unwrap();
    store(&buckets, NumberedObjects::of, 0, 10).await;
    let work = store(&buckets, NumberedObjects::of, 10, 1);
    let ((), profile) = profiled(&database, "readings", work).await;
    let queries: Vec<&Document> = profile.iter().filter(|done| is(done, "query")).collect();
    assert_eq!(queries.len(), 1, "{profile:?}");
    let examined = ["keysExamined", "docsExamined"].map(|name| queries[0].get_i32(name).unwrap());
    assert!(examined[0] <= 60 && examined[1] == 20, "{}", queries[0]);
}

//! The server quotes at most 150 bytes of a key where a unique index refuses a statement, also if that cuts a character:
//! such a refusal is read as any other.

use bucket_mongo::{Bucketed, ErrorKind, RecordOutcome, bson::DateTime};
use bucket_tests::database;
use serde::{Deserialize, Serialize};

/// A record of one of the models.
trait Event: Bucketed<Key: for<'a> From<&'a str>> + Clone {
    const HAS_IDS: bool;
    fn of(device: &str, number: i64, value: i64) -> Self;
}

macro_rules! models {
    ($($test:ident $name:ident $has_ids:literal: [$($unique:tt)*] [$($attributes:tt)*];)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "events", items = "items", capacity = 3, $($attributes)*)]
        struct $name {
            #[bucket(key)]
            device: String,
            #[bucket(time)]
            at: DateTime,
            $($unique)*
            id: String,
            value: i64,
        }

        impl Event for $name {
            const HAS_IDS: bool = $has_ids;

            fn of(device: &str, number: i64, value: i64) -> Self {
                let at = DateTime::from_millis(1_700_000_000_000 + number);
                Self { device: device.to_owned(), at, id: format!("{device} {number}"), value }
            }
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn $test() {
            refusals_are_read::<$name>().await;
        }
    )*};
}

models! {
    of_counted_buckets Counted false: [] [];
    of_counted_buckets_with_record_ids CountedIds true: [#[bucket(unique)]] [];
    of_windows Windowed false: [] [window = "1h"];
    of_windows_with_record_ids WindowedIds true: [#[bucket(unique)]] [window = "1h"];
    of_hybrid_buckets_with_record_ids HybridIds true: [#[bucket(unique)]] [max_duration = "1h"];
    of_numbered_buckets_with_record_ids NumberedIds true: [#[bucket(unique)]] [numbered];
}

async fn refusals_are_read<T: Event>() {
    let database = database().await;
    T::buckets(&database).ensure().await.unwrap();
    // The 150th byte is the first or the second one of a letter.
    for key in ["\u{434}".repeat(100), format!("x{}", "\u{434}".repeat(100))] {
        for number in 0..9 {
            // A handle that has not met the key.
            let events = T::buckets(&database);
            events.insert(&T::of(&key, number, 1)).await.unwrap();
        }
        let fresh = T::buckets(&database);
        let stored = fresh.records(key.as_str()).collect().await.unwrap();
        assert_eq!(stored.len(), 9);
        if !T::HAS_IDS {
            continue;
        }
        let again = fresh.insert(&T::of(&key, 0, 1)).await.unwrap();
        assert_eq!(again.outcome, RecordOutcome::Duplicate);
        let fresh = T::buckets(&database);
        let other = fresh.insert(&T::of(&key, 1, 2)).await.unwrap_err();
        assert!(
            matches!(other.kind(), ErrorKind::Conflict { .. }),
            "{other}"
        );
        let fresh = T::buckets(&database);
        let batch: Vec<T> = (5..14).map(|number| T::of(&key, number, 1)).collect();
        let report = fresh.insert_many(&batch).await.unwrap();
        assert_eq!((report.stored(), report.duplicates().len()), (5, 4));
    }
    assert!(T::buckets(&database).verify().await.unwrap().is_clean());
}

//! `forget_ids`: the id of a removed record can be stored again.

use bucket_mongo::{Bucketed, Buckets, RecordOutcome, Which, bson::DateTime};
use bucket_tests::{Load, database};
use serde::{Deserialize, Serialize};

trait Event: Bucketed<Key: From<&'static str>> + Send + Sync {
    fn of(id: i64) -> Self;
}

const START: i64 = 1_698_335_220_000;

macro_rules! every_form {
    ($($test:ident $name:ident [$($attributes:tt)*];)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "events", items = "items", $($attributes)*)]
        struct $name {
            #[bucket(key)]
            device: String,
            #[bucket(time)]
            at: DateTime,
            #[bucket(unique)]
            id: i64,
            #[bucket(sum = "total")]
            level: i64,
        }

        impl Event for $name {
            fn of(id: i64) -> Self {
                let at = DateTime::from_millis(START + id * 1_000);
                Self { device: "a".to_owned(), at, id, level: 1 }
            }
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn $test() {
            forgotten_ids_are_stored_again_and_others_are_not::<$name>().await;
        }
    )*};
}

every_form! {
    in_counted_buckets Counted [capacity = 3];
    in_windows Windowed [window = "5s", capacity = 3];
    in_windows_with_object_ids WindowedObjects [window = "5s", capacity = 3, object_ids];
    in_hybrid_buckets Hybrid [capacity = 3, max_duration = "5s"];
    in_numbered_buckets Numbered [capacity = 3, numbered];
    in_buckets_closed_by_bytes ByBytes [capacity = 30, max_bytes = "1KiB"];
}

async fn outcome<T: Event>(events: &Buckets<T>, id: i64) -> RecordOutcome {
    events.insert(&T::of(id)).await.unwrap().outcome
}

async fn forgotten_ids_are_stored_again_and_others_are_not<T: Event>() {
    use RecordOutcome::{Duplicate, Stored};
    let database = database().await;
    let events = T::buckets(&database);
    events.ensure().await.unwrap();
    let stored = (0..8).map(T::of).collect::<Vec<_>>();
    events.load(&stored).await;

    // Removed with its id, and the id of one that was removed before.
    let delete = |id: i64| events.delete("a", Which::id(&id));
    assert!(delete(1).forget_ids().await.unwrap().is_some());
    assert!(delete(2).await.unwrap().is_some());
    assert!(delete(3).await.unwrap().is_some());
    assert_eq!(outcome(&events, 3).await, Duplicate);
    assert!(delete(3).forget_ids().await.unwrap().is_none());
    assert!(delete(3).forget_ids().await.unwrap().is_none());
    // Only looks.
    assert!(delete(2).forget_ids().dry_run().await.unwrap().is_none());
    // Several marks without an id in one bucket and in several.
    let later = DateTime::from_millis(START + 5_500);
    let removed = events.delete_range("a", later..).forget_ids().await;
    assert_eq!(removed.unwrap().records, 2);

    for (id, expected) in [
        (1, Stored),
        (2, Duplicate),
        (3, Stored),
        (6, Stored),
        (7, Stored),
    ] {
        assert_eq!(outcome(&events, id).await, expected, "{id}");
        assert_eq!(outcome(&events, id).await, Duplicate, "{id}");
    }
    assert_eq!(events.count("a").await.unwrap(), 7);
    let report = events.verify().await.unwrap();
    assert!(report.findings.is_empty(), "{report}");

    // And once more: their marks are next to each other now.
    let again = events.delete_range("a", later..).forget_ids().await;
    assert_eq!(again.unwrap().records, 2);
    assert_eq!(outcome(&events, 7).await, Stored);
    let report = events.verify().await.unwrap();
    assert!(report.findings.is_empty(), "{report}");
}

//! Every read hides all of a bucket whose own date has expired (`expire_from`), even with a record
//! dated in the future, because the server removes it.

use bucket_mongo::{
    Bucketed, Fill, Interval, RollupRow,
    bson::{DateTime, Document, doc},
};
use bucket_tests::database;
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

const DAY: i64 = 86_400_000;

macro_rules! hides {
    ($test:ident $name:ident: [$($attributes:tt)*]) => {
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "events", items = "items", expire_after = "1d", $($attributes)*)]
        struct $name {
            #[bucket(key)]
            device: i64,
            #[bucket(time, first, last)]
            at: DateTime,
            #[bucket(sum)]
            number: i64,
        }

        #[tokio::test]
        async fn $test() {
            let database = database().await;
            let events = $name::buckets(&database);
            events.ensure().await.unwrap();
            let now = DateTime::now().timestamp_millis();
            let date = |days: i64| DateTime::from_millis(now + days * DAY);
            let event = |device, days, number| $name { device, at: date(days), number };
            // A full bucket, and one with a record that is dated in the future.
            let records = [
                event(1, 0, 0),
                event(1, 0, 1),
                event(1, 30, 2),
                event(2, 0, 3),
            ];
            let report = events.insert_many(records.clone()).await.unwrap();
            report.into_result().unwrap();
            // As they are three days later, except for the bucket of another key.
            let collection = database.collection::<Document>("events");
            let future = doc! { "device": 1, "count": 1 };
            let aged = doc! { "$set": { "expire_from": date(-3) } };
            let aged = collection.update_one(future, aged).await.unwrap();
            assert_eq!(aged.modified_count, 1);
            let shown = &records[..2];

            assert_eq!(events.records(1).collect().await.unwrap(), shown);
            assert_eq!(events.records(1).limit(9).await.unwrap().records(), shown);
            assert_eq!(events.range(1, ..).await.unwrap(), shown);
            assert_eq!(events.range_many([1, 7], ..).await.unwrap(), shown);
            assert_eq!(events.latest(1).await.unwrap().as_ref(), shown.last());
            assert_eq!(events.latest_n(1, 9).await.unwrap().len(), 2);
            assert_eq!(events.count(1).await.unwrap(), 2);
            assert_eq!(events.page_count(1).await.unwrap(), 1);
            assert!(events.page(1, 2).await.unwrap().bucket().is_none());
            let pages = events.pages(1).stream();
            let pages: Vec<_> = pages.try_collect().await.unwrap();
            assert_eq!(pages.len(), 1);
            assert_eq!(events.stats(1, ..).await.unwrap().unwrap().count(), 2);
            for fill in [Fill::Skip, Fill::Previous] {
                let rollup = events.rollup(1, date(-1)..date(40), Interval::day()).fill(fill);
                let rollup = rollup.await.unwrap();
                let counted: u64 = rollup.rows().iter().map(RollupRow::count).sum();
                assert_eq!(counted, 2);
            }
            for pipeline in [
                events.range(1, ..).pipeline().unwrap(),
                events.stats(1, ..).pipeline().unwrap(),
            ] {
                let found = collection.aggregate(pipeline).await.unwrap();
                let found: Vec<Document> = found.try_collect().await.unwrap();
                assert_eq!(found.len(), 1, "{found:?}");
            }
            let newest = events.latest_per_key().stream();
            let mut newest: Vec<$name> = newest.try_collect().await.unwrap();
            newest.sort_by_key(|event| event.number);
            assert_eq!(newest, [records[1].clone(), records[3].clone()]);
        }
    };
}

hides! { of_counted_buckets Counted: [capacity = 2] }
hides! { of_numbered_buckets Numbered: [capacity = 2, numbered] }
hides! { of_buckets_closed_by_bytes CountedBytes: [capacity = 2, max_bytes = "1KB"] }

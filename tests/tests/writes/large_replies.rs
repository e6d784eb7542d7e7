//! Replies that are too large for the server: it closes the connection instead of replying.

use bucket_mongo::{
    Bucketed, ErrorKind,
    bson::{DateTime, doc},
};
use bucket_tests::{PATIENCE, database};
use serde::{Deserialize, Serialize};

const SENSORS: i32 = 300;

#[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "readings", items = "readings", window = "1h")]
struct Reading {
    #[bucket(key)]
    sensor: i32,
    #[bucket(time)]
    at: DateTime,
    text: String,
}

fn readings(text: impl Fn(i32) -> String) -> impl Iterator<Item = Reading> {
    (0..SENSORS).map(move |sensor| Reading {
        sensor,
        at: DateTime::from_millis(sensor.into()),
        text: text(sensor),
    })
}

#[tokio::test]
async fn buckets_whose_refusals_are_too_large_for_a_reply_are_separated_from_the_others() {
    let database = database().await;
    let buckets = Reading::buckets(&database).with_deadline(PATIENCE);
    buckets.ensure().await.unwrap();
    // Every third bucket is small.
    let bytes = |sensor: i32| if sensor % 3 == 0 { 1 } else { 200_000 };
    let load = buckets.insert_many(readings(|sensor| "x".repeat(bytes(sensor))));
    load.await.unwrap().into_result().unwrap();
    // An error repeats the entire bucket, once for each rule.
    let rules = ["^xx", "xx$", "xxx"].map(|rule| doc! { "readings.text": { "$regex": rule } });
    let validator = doc! { "$nor": rules.to_vec() };
    let change = doc! { "collMod": "readings", "validator": validator };
    database.run_command(change).await.unwrap();

    let another = Reading::buckets(&database).with_deadline(PATIENCE);
    let report = another.insert_many(readings(|_| "y".to_owned()));
    let report = report.await.unwrap();
    for sensor in 0..SENSORS {
        let index = usize::try_from(sensor).unwrap();
        assert_eq!(report.is_stored(index), sensor % 3 == 0, "{sensor}");
        let expected = if sensor % 3 == 0 { 2 } else { 1 };
        assert_eq!(buckets.count(sensor).await.unwrap(), expected, "{sensor}");
    }
    for failed in report.failed() {
        let kind = failed.error.kind();
        assert!(
            matches!(kind, ErrorKind::Server { code: 121, .. }),
            "{kind:?}"
        );
    }
    assert!(report.stopped_by().is_none());
}

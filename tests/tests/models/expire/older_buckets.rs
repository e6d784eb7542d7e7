//! Buckets from before there was a limit.

use bucket_mongo::bson::DateTime;

use super::{
    models::Event,
    shown::shown,
    stored::{ago, database, documents, numbers, removed},
};

pub(crate) async fn buckets_from_before_the_limit_are_dated_on_purpose<
    L: Event,
    S: Event,
    W: Event,
>() {
    let database = database().await;
    let without = W::buckets(&database);
    without.ensure().await.unwrap();
    let now = DateTime::now();
    let old = (0..50).map(|n| W::of(1, ago(now, 7_200 - n), n));
    let new = (50..60).map(|n| W::of(1, ago(now, 100 - n), n));
    let report = without.insert_many(old.chain(new)).await.unwrap();
    report.into_result().unwrap();
    let before = documents(&database).await;

    let short = S::buckets(&database);
    let visible: Vec<i64> = (50..60).collect();
    let shows_what_is_left = async || {
        let shown = shown(&short, 1).await;
        assert_eq!(shown.records, visible);
        assert_eq!(shown.count, 10);
    };
    shows_what_is_left().await;
    let report = short.ensure().change_expiry().await.unwrap();
    let undated = before
        .iter()
        .filter(|bucket| !bucket.contains_key("bucket_end"));
    assert_eq!(
        report.dated_buckets,
        u64::try_from(undated.count()).unwrap()
    );
    let left = removed::<S>(&database).await;
    assert!(left.len() < before.len());
    let kept: Vec<i64> = numbers(&left).into_iter().filter(|n| *n >= 50).collect();
    assert_eq!(kept, visible);
    shows_what_is_left().await;
    assert_eq!(
        short.ensure().change_expiry().await.unwrap().dated_buckets,
        0
    );
}

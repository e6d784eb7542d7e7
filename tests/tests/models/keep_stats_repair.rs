//! What is damaged, or newer than the records, of buckets whose records have expired and of which the statistics are kept: the
//! statistics never go.

use bucket_core::Damage;
use bucket_mongo::{
    Bucketed, Buckets, ErrorKind, Fill, Interval, Problem, ProblemKind,
    bson::{Bson, DateTime, Document, doc},
    testing::TestDatabase,
};
use bucket_tests::{database, documents};
use serde::{Deserialize, Serialize};

macro_rules! models {
    ($($name:ident [$($attributes:tt)*] $number:tt;)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "events", items = "items", $($attributes)*)]
        struct $name {
            #[bucket(key)]
            device: String,
            #[bucket(time, first, last)]
            at: DateTime,
            #[bucket $number]
            number: i64,
        }

        #[allow(dead_code, reason = "some only read")]
        impl $name {
            fn of(minutes_ago: i64, number: i64) -> Self {
                let now = DateTime::now().timestamp_millis();
                let at = DateTime::from_millis(now - minutes_ago * MINUTE);
                Self { device: "a".to_owned(), at, number }
            }
        }
    )*};
}

models! {
    Long [capacity = 3, expire_after = "30d"] (sum = "total");
    Short [capacity = 3, expire_after = "1h", keep_stats = "1y"] (sum = "total");
    Larger [capacity = 6, expire_after = "1h", keep_stats = "1y"] (sum = "total");
    LongNumbered [capacity = 3, numbered, expire_after = "30d"] (sum = "total");
    Numbered [capacity = 3, numbered, expire_after = "1h", keep_stats = "1y"] (sum = "total");
    More [capacity = 3, expire_after = "1h", keep_stats = "1y"] (sum = "total", max = "most");
    LongWindowed [window = "10m", expire_after = "30d"] (sum = "total");
    Windowed [window = "10m", expire_after = "1h", keep_stats = "1y"] (sum = "total");
    RaisedWindowed [window = "10m", expire_after = "1d", keep_stats = "1y"] (sum = "total");
}

const MINUTE: i64 = 60_000;

/// Three buckets whose records have expired, as headers.
async fn headers<L, S>(database: &TestDatabase, of: fn(i64, i64) -> L) -> Buckets<S>
where
    L: Bucketed,
    S: Bucketed,
{
    let long = L::buckets(database);
    long.ensure().await.unwrap();
    let records = (0..9).map(|number| of(300 - number, number));
    let report = long.insert_many(records.collect::<Vec<_>>()).await.unwrap();
    report.into_result().unwrap();
    let short = S::buckets(database);
    short.ensure().change_expiry().await.unwrap();
    assert_eq!(short.expire_records().await.unwrap().buckets, 3);
    short
}

async fn count_and_total<S: Bucketed>(
    events: &Buckets<S>,
    total: impl Fn(&bucket_mongo::RangeStats<S>) -> Option<i64>,
) -> (u64, Option<i64>)
where
    S::Key: From<String>,
{
    let stats = events.stats("a".to_owned(), ..).await.unwrap().unwrap();
    (stats.count(), total(&stats))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_header_that_counts_as_open_is_closed_and_stays() {
    let database = database().await;
    headers::<_, Short>(&database, Long::of).await;
    let events = Larger::buckets(&database);
    // As it says: with `verify` and `repair`.
    events.ensure().replace_indexes().await.unwrap_err();
    let found = events.verify().await.unwrap();
    let open = found.findings.iter();
    let open = open.filter(|finding| finding.problem == Problem::OpenSealed);
    assert_eq!(open.count(), 3, "{found}");
    let report = events.repair(&found).await.unwrap();
    assert_eq!(report.quarantined, 0, "{report}");
    let found = events.verify().await.unwrap();
    assert!(found.findings.is_empty(), "{found}");
    events.ensure().replace_indexes().await.unwrap();
    let figures = || count_and_total(&events, |stats| stats.number().sum());
    assert_eq!(figures().await, (9, Some(36)));
    let next = Larger::of(0, 100);
    events.insert(&next).await.unwrap();
    assert_eq!(figures().await, (10, Some(136)));
    assert_eq!(events.records("a").collect().await.unwrap(), [next]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_needs_no_records_is_mended_and_the_rest_stays() {
    let database = database().await;
    let events: Buckets<Numbered> = headers(&database, LongNumbered::of).await;
    let collection = database.collection::<Document>("events");
    let second = doc! { "bucket_number": 2 };
    let damage = |change: Document| collection.update_one(second.clone(), change);
    damage(doc! { "$unset": { "is_full": "" } }).await.unwrap();
    let found = events.verify().await.unwrap();
    let report = events.repair(&found).await.unwrap();
    assert_eq!((report.mended, report.quarantined), (1, 0), "{report}");
    assert!(events.verify().await.unwrap().findings.is_empty());
    let figures = || count_and_total(&events, |stats| stats.number().sum());
    assert_eq!(figures().await, (9, Some(36)));
    let empty = Bson::Array(Vec::new());
    let values = [i64::MAX.into(), (-1).into(), empty];
    for (name, value) in ["bucket_size", "count", "items"].into_iter().zip(values) {
        let before = documents(&database, "events").await;
        damage(doc! { "$set": { name: value } }).await.unwrap();
        let damaged = documents(&database, "events").await;
        let found = events.verify().await.unwrap();
        assert!(found.harmful() > 0, "{name}: {found}");
        let report = events.repair(&found).await.unwrap();
        assert_eq!((report.mended, report.quarantined), (0, 0), "{report}");
        assert_eq!(documents(&database, "events").await, damaged);
        let old = before
            .iter()
            .find(|bucket| {
                bucket
                    .get_i64("bucket_number")
                    .is_ok_and(|number| number == 2)
            })
            .or_else(|| {
                before.iter().find(|bucket| {
                    bucket
                        .get_i32("bucket_number")
                        .is_ok_and(|number| number == 2)
                })
            });
        damage(doc! { "$set": { name: old.unwrap()[name].clone() } })
            .await
            .unwrap();
    }
    assert_eq!(figures().await, (9, Some(36)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_aggregate_that_headers_never_had_is_named() {
    let database = database().await;
    let old: Buckets<Short> = headers(&database, Long::of).await;
    let events = More::buckets(&database);
    let error = events.stats("a".to_owned(), ..).await.unwrap_err();
    assert!(error.is_partial(), "{error}");
    let ErrorKind::Damaged(bucket) = error.kind() else {
        panic!("{error}");
    };
    let Damage::NeverStored { path, .. } = bucket.damage() else {
        panic!("{error}");
    };
    assert_eq!(path, "stats.most");
    let found = events.verify().await.unwrap();
    let missing = found.findings.iter().map(|finding| finding.problem.kind());
    let missing: Vec<ProblemKind> = missing.collect();
    assert_eq!(missing, [ProblemKind::MissingAggregate; 3], "{found}");
    let report = events.repair(&found).await.unwrap();
    assert_eq!((report.mended, report.quarantined), (0, 0), "{report}");
    // A struct without it reads what is kept.
    assert_eq!(
        count_and_total(&old, |stats| stats.number().sum()).await,
        (9, Some(36))
    );
    assert!(old.verify().await.unwrap().findings.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_that_do_not_say_what_reads_need_are_found() {
    let database = database().await;
    let events: Buckets<Short> = headers(&database, Long::of).await;
    let collection = database.collection::<Document>("events");
    let changes = [
        doc! { "$unset": { "_sealed": "" } },
        doc! { "$unset": { "_sealed.expired": "" } },
        doc! { "$unset": { "stats.total": "" } },
        doc! { "$set": { "stats.total": "many" } },
        doc! { "$set": { "_edits": 1 } },
    ];
    for change in changes {
        let before = documents(&database, "events").await;
        collection
            .update_one(doc! {}, change.clone())
            .await
            .unwrap();
        let damaged = documents(&database, "events").await;
        let found = events.verify().await.unwrap();
        assert_eq!(found.findings.len(), 1, "{change}: {found}");
        events.repair(&found).await.unwrap();
        assert_eq!(documents(&database, "events").await, damaged, "{change}");
        for bucket in before {
            let id = doc! { "_id": bucket["_id"].clone() };
            collection.replace_one(id, bucket).await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gap_is_filled_from_a_header_that_is_newer_than_records() {
    let database = database().await;
    let hour = 60 * MINUTE;
    let start = (DateTime::now().timestamp_millis() / hour - 5) * hour;
    let at = |minutes: i64| DateTime::from_millis(start + minutes * MINUTE);
    let long = LongWindowed::buckets(&database);
    long.ensure().await.unwrap();
    for number in 0..60 {
        let record = LongWindowed {
            at: at(number),
            ..LongWindowed::of(0, number)
        };
        long.insert(&record).await.unwrap();
    }
    let short = Windowed::buckets(&database);
    short.ensure().change_expiry().await.unwrap();
    assert_eq!(short.expire_records().await.unwrap().buckets, 6);
    let events = RaisedWindowed::buckets(&database);
    events.ensure().change_expiry().await.unwrap();
    let late = RaisedWindowed {
        at: at(-60),
        ..RaisedWindowed::of(0, 7)
    };
    events.insert(&late).await.unwrap();
    let rollup = events
        .rollup("a".to_owned(), at(60)..at(120), Interval::hours(1))
        .fill(Fill::Previous)
        .await
        .unwrap();
    #[expect(clippy::cast_precision_loss, reason = "the sum is small")]
    let series = rollup.series(|stats| stats.number().sum().map(|sum| sum as f64));
    let sums: Vec<Option<f64>> = series.iter().map(|point| point.value).collect();
    assert_eq!(sums, [Some(1_770.0)]);
}

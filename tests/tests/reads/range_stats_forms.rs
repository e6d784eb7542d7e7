//! Statistics of spans of time over every form, against the records.

use bucket_mongo::{
    Bucketed, Buckets, IntoTimeRange, TimeRange,
    bson::{Bson, DateTime, Document},
};
use bucket_tests::{database, date};
use futures_util::TryStreamExt;

use crate::common::{
    as_bucket::as_bucket,
    drawn_records::{key, record},
    naive,
    sample::{self, Sample},
};

/// Around midnight, month ends, the change to daylight-saving time, 1970 and the far future.
const DATES: [&str; 7] = [
    "2026-01-30T23:59:57Z",
    "2026-02-28T23:59:57Z",
    "2024-02-29T23:59:57Z",
    "2026-03-29T00:59:57Z",
    "1969-12-31T23:59:57Z",
    "1901-06-01T12:00:00Z",
    "9999-12-31T23:59:57Z",
];

/// Six seconds around each date, 40 records each, not in time order.
fn records<const F: usize>() -> Vec<Sample<F>> {
    let starts = DATES.iter().map(|text| date(text).timestamp_millis());
    let all = starts.enumerate().flat_map(|(part, start)| {
        (0..40_i64).map(move |n| {
            let unique = i64::try_from(part).unwrap() * 40 + n;
            record("1", start + n * 1_327 % 6_000, unique)
        })
    });
    all.collect()
}

fn ranges() -> Vec<TimeRange> {
    let mut ranges = vec![TimeRange::ALL];
    let mut moments = Vec::new();
    for text in DATES {
        let start = date(text).timestamp_millis();
        for millis in [-1, 0, 1, 1_327, 2_000, 2_999, 3_000, 3_001, 4_500, 6_000] {
            moments.push(DateTime::from_millis(start + millis));
        }
    }
    for (index, from) in moments.iter().enumerate() {
        ranges.push((*from..).into_time_range());
        ranges.push((..*from).into_time_range());
        for step in [1, 2, 3, 9, 17] {
            if let Some(to) = moments.get(index + step).filter(|to| from <= to) {
                ranges.push((*from..*to).into_time_range());
            }
        }
    }
    ranges
}

/// The pipeline returns the same on the server.
async fn check_pipeline<const F: usize>(
    buckets: &Buckets<Sample<F>>,
    all: &[Sample<F>],
    range: TimeRange,
) {
    let pipeline = buckets.stats(key("1"), range).pipeline().unwrap();
    let collection = buckets.collection::<Document>();
    let found = collection.aggregate(pipeline).await.unwrap();
    let mut found: Vec<Document> = found.try_collect().await.unwrap();
    let inside: Vec<&Sample<F>> = all
        .iter()
        .filter(|record| range.contains(record.at))
        .collect();
    let Some(found) = found.pop() else {
        assert!(inside.is_empty(), "{range:?}");
        return;
    };
    let whole = |value: &Bson| match value {
        Bson::Int32(value) => i64::from(*value),
        Bson::Int64(value) => *value,
        other => panic!("{other:?}"),
    };
    let count = found.get("count").map(whole);
    assert_eq!(
        count,
        Some(i64::try_from(inside.len()).unwrap()),
        "{range:?}"
    );
    let stats = found.get_document("stats").unwrap();
    let values = || inside.iter().map(|record| record.value);
    assert_eq!(stats.get("min").map(whole), values().min());
    assert_eq!(stats.get("max").map(whole), values().max());
    assert_eq!(stats.get("sum").map(whole), Some(values().sum()));
    let finite = || {
        inside
            .iter()
            .filter_map(|record| record.level)
            .filter(|level| level.is_finite())
    };
    let counted = stats.get("level_count").map(whole);
    assert_eq!(counted, Some(i64::try_from(finite().count()).unwrap()));
    let sum = stats.get("level_sum").and_then(Bson::as_f64).unwrap_or(0.0);
    assert!((sum - finite().sum::<f64>()).abs() < 1e-6, "{sum}");
}

async fn check<const F: usize>() {
    let database = database().await;
    let buckets = Sample::<F>::buckets(&database);
    buckets.ensure().await.unwrap();
    let all = records::<F>();
    for some in all.chunks(90) {
        let report = buckets.insert_many(some).await.unwrap();
        report.into_result().unwrap();
    }
    buckets.insert(&record("12", 0, 1)).await.unwrap();
    for (number, range) in ranges().into_iter().enumerate() {
        if number % 9 == 0 {
            check_pipeline(&buckets, &all, range).await;
        }
        let inside = all.iter().filter(|record| range.contains(record.at));
        let inside: Vec<&Sample<F>> = inside.collect();
        let Some(found) = buckets.stats(key("1"), range).await.unwrap() else {
            assert!(inside.is_empty(), "{range:?}");
            continue;
        };
        assert_eq!(
            found.count(),
            u64::try_from(inside.len()).unwrap(),
            "{range:?}"
        );
        assert!(found.scanned_buckets() <= found.buckets());
        naive::check(&as_bucket(key("1"), &inside, found.into_stats()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn statistics_of_windows_are_those_of_the_records() {
    check::<{ sample::WINDOW }>().await;
    check::<{ sample::WINDOW_BYTES }>().await;
    check::<{ sample::WINDOW_AVG }>().await;
    check::<{ sample::WINDOW_OBJECT }>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn statistics_of_hybrid_buckets_are_those_of_the_records() {
    check::<{ sample::HYBRID_MERGE }>().await;
    check::<{ sample::HYBRID_SIDE }>().await;
    check::<{ sample::HYBRID_AVG }>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn statistics_of_counted_buckets_are_those_of_the_records() {
    check::<{ sample::COUNT }>().await;
    check::<{ sample::COUNT_AVG }>().await;
    check::<{ sample::COUNT_IDS }>().await;
    check::<{ sample::NUMBERED }>().await;
    check::<{ sample::NUMBERED_OBJECT }>().await;
}

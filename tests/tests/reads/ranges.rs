//! Spans of time and newest records of every form, compared with all stored documents: several keys
//! in one order, buckets of other lengths, concurrent writers, and what the server examines.

use std::{collections::BTreeSet, time::Duration};

use bucket_core::Form;
use bucket_mongo::{
    Bucketed, ErrorKind, IntoTimeRange, Limits, Record, TimeRange, Window,
    bson::{DateTime, Document},
    testing::TestDatabase,
};
use bucket_tests::{Load, database, profiled};
use futures_util::TryStreamExt;

use crate::common::{
    draw::Draw,
    drawn_buckets::filled,
    expected::{in_order, in_time, numbers},
    sample::{self, CAPACITY, Sample},
};

async fn every_span_is_exact<const F: usize>(seed: u8) {
    let mut draw = Draw::new(seed);
    let (_database, buckets) = filled::<F>(&mut draw).await;
    for round in 0..25 {
        let range = if round == 0 {
            TimeRange::ALL
        } else {
            draw.range()
        };
        let mut expected = in_time(&buckets, "1", range).await;
        let found = buckets.range("1", range).await.unwrap();
        assert_eq!(numbers(&found), numbers(&expected), "{range:?}");
        let streamed: Vec<Sample<F>> = buckets
            .range("1", range)
            .stream()
            .try_collect()
            .await
            .unwrap();
        assert_eq!(numbers(&streamed), numbers(&expected));
        expected.reverse();
        let found = buckets.range("1", range).newest_first().await.unwrap();
        assert_eq!(numbers(&found), numbers(&expected), "{range:?}");

        let of_both = buckets.range_many(["1", "0", "1"], range).await.unwrap();
        assert!(of_both.is_sorted_by_key(|record| record.at));
        expected.extend(in_time(&buckets, "0", range).await);
        let set = |records: &[Sample<F>]| numbers(records).into_iter().collect::<BTreeSet<_>>();
        assert_eq!(of_both.len(), expected.len());
        assert_eq!(set(&of_both), set(&expected));
    }
    let none: [&str; 0] = [];
    assert!(buckets.range_many(none, ..).await.unwrap().is_empty());
    assert!(buckets.range("nobody", ..).await.unwrap().is_empty());
    let moment = DateTime::from_millis(1_500);
    assert!(buckets.range("1", moment..moment).await.unwrap().is_empty());
}

async fn the_newest_are_the_newest<const F: usize>(seed: u8) {
    let mut draw = Draw::new(seed);
    let (_database, buckets) = filled::<F>(&mut draw).await;
    let mut expected = match Sample::<F>::SPEC.form() {
        Form::Count { .. } | Form::Numbered { .. } => in_order(&buckets, "1").await,
        _ => in_time(&buckets, "1", TimeRange::ALL).await,
    };
    expected.reverse();
    let expected = numbers(&expected);
    let latest = buckets.latest("1").await.unwrap().unwrap();
    assert_eq!(latest.unique, expected[0]);
    for number in [1, 2, 7, 40, 10_000] {
        let found = buckets.latest_n("1", number).await.unwrap();
        assert_eq!(numbers(&found), expected[..number.min(expected.len())]);
    }
    assert!(buckets.latest("nobody").await.unwrap().is_none());
    for number in [0, 10_001] {
        let error = buckets.latest_n("1", number).await.unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::InvalidArgument { .. }),
            "{error}"
        );
    }
}

macro_rules! forms {
    ($($name:ident: $form:ident, $seed:literal;)+) => {$(
        mod $name {
            use super::*;

            #[tokio::test(flavor = "multi_thread")]
            async fn every_span_is_exact() {
                super::every_span_is_exact::<{ sample::$form }>($seed).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn the_newest_are_the_newest() {
                super::the_newest_are_the_newest::<{ sample::$form }>($seed).await;
            }
        }
    )+};
}

forms! {
    count: COUNT, 1;
    count_bytes: COUNT_BYTES, 2;
    window: WINDOW, 3;
    window_capacity: WINDOW_CAPACITY, 4;
    window_bytes: WINDOW_BYTES, 5;
    window_object_ids: WINDOW_OBJECT, 6;
    parts: PARTS, 13;
    hybrid_merge: HYBRID_MERGE, 7;
    hybrid_side: HYBRID_SIDE, 8;
    hybrid_reject: HYBRID_REJECT, 9;
    hybrid_bytes: HYBRID_BYTES, 10;
    numbered: NUMBERED, 11;
    numbered_object_ids: NUMBERED_OBJECT, 12;
}

fn at<const F: usize>(millis: i64) -> Sample<F> {
    Sample {
        device: "1".to_owned(),
        at: DateTime::from_millis(millis),
        unique: millis,
        value: millis,
        level: None,
        code: String::new(),
    }
}

fn span(start: i64, end: i64) -> TimeRange {
    (DateTime::from_millis(start)..DateTime::from_millis(end)).into_time_range()
}

/// The windows of a key were a minute long, then a second.
#[tokio::test]
async fn buckets_of_another_length_are_learnt_or_set_in_advance() {
    const F: usize = sample::WINDOW_CAPACITY;
    let database = database().await;
    let short = Sample::<F>::buckets(&database);
    short.ensure().await.unwrap();
    let long = short
        .clone()
        .with_limits(|_| Limits::new().window(Window::minutes(1)).capacity(100));
    let of_long: Vec<Sample<F>> = (0..60).map(|second| at(second * 1_000)).collect();
    long.insert_many(of_long)
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let of_short: Vec<Sample<F>> = (30..60).map(|second| at(second * 1_000 + 500)).collect();
    short
        .insert_many(of_short)
        .await
        .unwrap()
        .into_result()
        .unwrap();

    // The limits of writers include the length.
    let expected: Vec<i64> = (80..90).map(|half| half * 500).collect();
    let found = long.range("1", span(40_000, 45_000)).await.unwrap();
    assert_eq!(numbers(&found), expected);
    // A handle whose caller sets the length.
    let told = Sample::<F>::buckets(&database).with_longest_span(Duration::from_secs(60));
    let found = told.range("1", span(40_000, 45_000)).await.unwrap();
    assert_eq!(numbers(&found), expected);
    // A handle that finds one: it restarts before it has returned anything.
    let all = short.range("1", span(0, 60_000)).await.unwrap();
    assert_eq!(all.len(), 90);
    assert!(all.is_sorted_by_key(|record| record.at));
    let found = short.range("1", span(40_000, 45_000)).await.unwrap();
    assert_eq!(numbers(&found), expected);
    // Cursors without bounds do not need the length.
    let fresh = Sample::<F>::buckets(&database);
    let page = fresh.records("1").limit(1_000).await.unwrap();
    assert_eq!(page.len(), 90);
}

/// Late records go into old buckets, new ones fill and close the newest.
async fn what_was_there_is_given_once_while_others_write<const F: usize>() {
    let database = database().await;
    let buckets = Sample::<F>::buckets(&database);
    buckets.ensure().await.unwrap();
    // Enough for several batches of the server. The last bucket is open.
    let number = 3_002;
    let there: Vec<Sample<F>> = (0..number).map(|n| at(n * 250)).collect();
    buckets
        .insert_many(there)
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let writer = tokio::spawn({
        let buckets = buckets.clone();
        async move {
            for n in 0..400 {
                let late = (0..5).map(|k| at((n * 37 + k * 400) % number * 250 + 1));
                let new = (0..3).map(|k| at((number + n * 3 + k) * 250 + 1));
                let records: Vec<Sample<F>> = late.chain(new).collect();
                buckets.offer(records).await;
            }
        }
    });
    for _ in 0..6 {
        for newest_first in [false, true] {
            let query = buckets.records("1");
            let query = if newest_first {
                query.newest_first()
            } else {
                query
            };
            let seen = numbers(&query.collect().await.unwrap());
            let query = buckets.range("1", ..);
            let query = if newest_first {
                query.newest_first()
            } else {
                query
            };
            let in_time = numbers(&query.await.unwrap());
            let of_both = numbers(&buckets.range_many(["1", "2"], ..).await.unwrap());
            let counted = buckets.stats("1", ..).await.unwrap().unwrap().count();
            assert!(counted >= u64::try_from(of_both.len()).unwrap());
            for seen in [seen, in_time, of_both] {
                let mut old: Vec<i64> = seen.into_iter().filter(|n| n % 250 == 0).collect();
                old.sort_unstable();
                let expected: Vec<i64> = (0..number).map(|n| n * 250).collect();
                assert_eq!(old, expected);
            }
        }
    }
    writer.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn existing_records_of_windows_come_once_with_concurrent_writers() {
    what_was_there_is_given_once_while_others_write::<{ sample::WINDOW_CAPACITY }>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn existing_records_of_hybrid_buckets_come_once_with_concurrent_writers() {
    what_was_there_is_given_once_while_others_write::<{ sample::HYBRID_MERGE }>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn existing_records_of_numbered_buckets_come_once_with_concurrent_writers() {
    what_was_there_is_given_once_while_others_write::<{ sample::NUMBERED }>().await;
}

async fn the_pipeline_gives_the_same<const F: usize>() {
    let mut draw = Draw::new(40);
    let (_database, buckets) = filled::<F>(&mut draw).await;
    for round in 0..10 {
        let range = if round == 0 {
            TimeRange::ALL
        } else {
            draw.range()
        };
        let pipeline = buckets.range("1", range).pipeline().unwrap();
        let found = buckets
            .collection::<Document>()
            .aggregate(pipeline)
            .await
            .unwrap();
        let found: Vec<Document> = found.try_collect().await.unwrap();
        let mut seen = Vec::new();
        for bucket in found {
            assert_eq!(bucket.get_str("device").unwrap(), "1");
            for item in bucket.get_array("items").unwrap() {
                seen.push(item.as_document().unwrap().get_i64("unique").unwrap());
            }
        }
        seen.sort_unstable();
        let mut expected = numbers(&in_time(&buckets, "1", range).await);
        expected.sort_unstable();
        assert_eq!(seen, expected);
    }
}

#[tokio::test]
async fn the_pipeline_of_a_range_returns_the_same_records() {
    the_pipeline_gives_the_same::<{ sample::COUNT }>().await;
    the_pipeline_gives_the_same::<{ sample::WINDOW_CAPACITY }>().await;
    the_pipeline_gives_the_same::<{ sample::HYBRID_SIDE }>().await;
    the_pipeline_gives_the_same::<{ sample::NUMBERED_OBJECT }>().await;
}

fn number(profile: &Document, name: &str) -> i64 {
    profile
        .get_i32(name)
        .map(i64::from)
        .or_else(|_| profile.get_i64(name))
        .unwrap_or(0)
}

fn operation(profile: &Document) -> &str {
    profile.get_str("op").unwrap_or_default()
}

/// The index entries at the edges of the buckets of a key, where the server looks for damaged ones.
const EDGES: i64 = 3;

/// Runs a read with a long history and checks that the server examined only what it returned, plus
/// `beyond` keys.
async fn examined<T>(database: &TestDatabase, beyond: i64, read: impl Future<Output = T>) -> T {
    let (result, seen) = profiled(database, "samples", read).await;
    assert!(!seen.is_empty());
    for seen in seen.iter().filter(|seen| seen.contains_key("keysExamined")) {
        let keys = number(seen, "keysExamined");
        let documents = number(seen, "docsExamined");
        let returned = number(seen, "nreturned");
        assert!(
            keys <= returned + beyond,
            "{keys} keys for {returned}: {seen}"
        );
        assert!(
            documents <= returned + beyond,
            "{documents} documents for {returned}: {seen}"
        );
        let plan = seen.get_str("planSummary").unwrap_or_default();
        assert!(
            plan.starts_with("IXSCAN") || operation(seen) == "getmore",
            "{seen}"
        );
        assert!(!seen.get_bool("hasSortStage").unwrap_or(false), "{seen}");
    }
    result
}

async fn reads_examine_what_they_return<const F: usize>() {
    let database = database().await;
    let buckets = Sample::<F>::buckets(&database);
    buckets.ensure().await.unwrap();
    let mut records: Vec<Sample<F>> = Vec::new();
    for device in ["0", "1", "2"] {
        records.extend((0..8_000).map(|n| Sample {
            device: device.to_owned(),
            ..at(n * 250)
        }));
    }
    buckets
        .insert_many(records)
        .await
        .unwrap()
        .into_result()
        .unwrap();
    // Full buckets of four records, one per second.
    assert_eq!(CAPACITY, 4);
    let (start, end) = (1_200_250, 1_210_250);

    let page = examined(&database, 2, buckets.records("1").limit(25).into_future())
        .await
        .unwrap();
    let next = page.next_token().unwrap();
    examined(
        &database,
        2,
        buckets.records("1").limit(25).after(next).into_future(),
    )
    .await
    .unwrap();
    let far = buckets.records("1").limit(6_000).await.unwrap();
    let far = far.end_token().unwrap();
    for page in [
        buckets.records("1").limit(25).after(far),
        buckets.records("1").limit(25).before(far),
        buckets.records("1").limit(25).newest_first(),
    ] {
        assert_eq!(
            examined(&database, 2, page.into_future())
                .await
                .unwrap()
                .len(),
            25
        );
    }
    let latest = examined(&database, 2, buckets.latest("1").into_future())
        .await
        .unwrap();
    assert_eq!(latest.unwrap().unique, 7_999 * 250);
    examined(&database, EDGES, buckets.latest_n("1", 25).into_future())
        .await
        .unwrap();
    if let Form::Window { .. } | Form::Hybrid { .. } = Sample::<F>::SPEC.form() {
        let range = || buckets.range("1", span(start, end));
        let found = examined(&database, EDGES, range().into_future())
            .await
            .unwrap();
        assert_eq!(found.len(), 40);
        examined(&database, EDGES, range().newest_first().into_future())
            .await
            .unwrap();
        let several = buckets.range_many(["0", "2"], span(start, end));
        let found = examined(&database, 2 * EDGES, several.into_future())
            .await
            .unwrap();
        assert_eq!(found.len(), 80);
        let between = buckets.records("1").between(span(start, end));
        let found = examined(&database, 4, between.into_future()).await.unwrap();
        assert_eq!(found.len(), 40);
    }
}

#[tokio::test]
async fn reads_of_counted_buckets_examine_what_they_return() {
    reads_examine_what_they_return::<{ sample::COUNT }>().await;
}

#[tokio::test]
async fn reads_of_windows_examine_what_they_return() {
    reads_examine_what_they_return::<{ sample::WINDOW_CAPACITY }>().await;
}

#[tokio::test]
async fn reads_of_windows_with_object_ids_examine_what_they_return() {
    reads_examine_what_they_return::<{ sample::WINDOW_OBJECT }>().await;
}

#[tokio::test]
async fn reads_of_hybrid_buckets_examine_what_they_return() {
    reads_examine_what_they_return::<{ sample::HYBRID_MERGE }>().await;
}

#[tokio::test]
async fn reads_of_numbered_buckets_examine_what_they_return() {
    reads_examine_what_they_return::<{ sample::NUMBERED }>().await;
}

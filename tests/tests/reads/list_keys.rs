//! The keys of a collection, and how much is stored of each: every form against a naive model, and the cost.

use std::collections::{BTreeMap, BTreeSet};

use bucket_core::Record;
use bucket_mongo::{
    Bucketed, Buckets, Error, ErrorKind, KeySummary,
    bson::{Bson, DateTime, Document, doc},
    testing::TestDatabase,
};
use bucket_tests::{Load, documents, profiled};
use futures_util::{StreamExt, TryStreamExt};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use crate::common::{
    draw::Draw,
    drawn::drawn,
    filled::{filled, store},
    sample::{self, Sample, SampleKey},
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "readings",
    items = "readings",
    window = "1h",
    capacity = 3
)]
struct Reading {
    #[bucket(key)]
    device: String,
    #[bucket(key)]
    sensor: String,
    #[bucket(time)]
    at: DateTime,
    value: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "calls", items = "calls", capacity = 3, numbered)]
struct Call {
    #[bucket(key)]
    region: i32,
    #[bucket(key)]
    service: String,
    #[bucket(key)]
    is_internal: bool,
    #[bucket(time)]
    at: DateTime,
}

/// Both reads, as streams and in a session.
async fn listed<T: Bucketed>(buckets: &Buckets<T>) -> Vec<KeySummary<T::Key>> {
    let mut session = buckets.database().client().start_session().await.unwrap();
    let in_session = buckets.keys().session(&mut session).await.unwrap();
    let keys: Vec<T::Key> = buckets.keys().stream().try_collect().await.unwrap();
    assert_eq!(keys.len(), in_session.len());
    let summaries = buckets.keys().summaries();
    let in_session = summaries.session(&mut session).await.unwrap();
    let summaries = buckets.keys().summaries().stream();
    let summaries: Vec<KeySummary<T::Key>> = summaries.try_collect().await.unwrap();
    assert_eq!(summaries.len(), in_session.len());
    for summary in &summaries {
        assert!(keys.contains(&summary.key));
        assert!(in_session.contains(summary));
    }
    assert_eq!(keys.len(), summaries.len());
    summaries
}

/// What the records and the pages of each key say.
async fn naive<const F: usize>(
    database: &TestDatabase,
    buckets: &Buckets<Sample<F>>,
) -> Vec<(String, u64, u64, DateTime, DateTime)> {
    let stored = documents(database, "samples").await;
    let keys = stored.iter().map(|found| found.get_str("device").unwrap());
    let mut all = Vec::new();
    for key in keys.collect::<BTreeSet<_>>() {
        let of = SampleKey(key.to_owned());
        let records: Vec<Sample<F>> = buckets.records(of.clone()).collect().await.unwrap();
        let times = records.iter().map(|record| record.at);
        let pages = buckets.pages(of).await.unwrap().len() as u64;
        let (first, last) = (times.clone().min().unwrap(), times.max().unwrap());
        all.push((key.to_owned(), pages, records.len() as u64, first, last));
    }
    all
}

async fn is_as_in_the_model<const F: usize>(seed: u8) {
    let mut draw = Draw::new(seed);
    let (database, buckets) = filled::<Sample<F>>(&[]).await;
    assert_eq!(listed(&buckets).await, []);
    for round in 0..3 {
        let drawn = draw.draw(prop::collection::vec(drawn(), 60));
        let samples = drawn.iter().enumerate();
        let samples: Vec<Sample<F>> = samples.map(|(n, one)| one.sample(round * 60 + n)).collect();
        buckets.offer(&samples).await;
        let found = listed(&buckets).await.into_iter();
        let found = found.map(|of| (of.key.0, of.buckets, of.records, of.first, of.last));
        let mut found: Vec<_> = found.collect();
        found.sort();
        assert_eq!(found, naive(&database, &buckets).await, "form {F}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_summaries_say_what_reads_of_the_key_find_in_every_form() {
    is_as_in_the_model::<{ sample::COUNT }>(1).await;
    is_as_in_the_model::<{ sample::COUNT_BYTES }>(2).await;
    is_as_in_the_model::<{ sample::NUMBERED }>(3).await;
    is_as_in_the_model::<{ sample::NUMBERED_OBJECT }>(4).await;
    is_as_in_the_model::<{ sample::WINDOW }>(5).await;
    is_as_in_the_model::<{ sample::WINDOW_CAPACITY }>(6).await;
    is_as_in_the_model::<{ sample::WINDOW_BYTES }>(7).await;
    is_as_in_the_model::<{ sample::WINDOW_OBJECT }>(8).await;
    is_as_in_the_model::<{ sample::PARTS }>(13).await;
    is_as_in_the_model::<{ sample::HYBRID_MERGE }>(9).await;
    is_as_in_the_model::<{ sample::HYBRID_SIDE }>(10).await;
    is_as_in_the_model::<{ sample::HYBRID_BYTES }>(12).await;
}

const ODD: [&str; 14] = [
    "",
    "_",
    ".",
    "$",
    "^",
    "a",
    "a_b",
    "A",
    "$eq",
    "a.b|c",
    "%5F",
    "\u{e9}",
    "\u{d7ff}x",
    "\u{10ffff}",
];

fn reading(device: &str, sensor: &str, minute: i64) -> Reading {
    Reading {
        device: device.to_owned(),
        sensor: sensor.to_owned(),
        at: DateTime::from_millis(minute * 60_000),
        value: minute,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prefix_finds_the_keys_that_start_with_it_whatever_their_characters() {
    let mut readings = Vec::new();
    for (n, device) in ODD.iter().enumerate() {
        for sensor in &ODD[..=n] {
            readings.extend([0, 100].map(|minute| reading(device, sensor, minute)));
        }
    }
    let (_database, buckets) = filled(&readings).await;
    let mut all = Vec::new();
    for prefix in ODD
        .iter()
        .chain(&["\u{d7ff}", "\u{10ffff}\u{10ffff}", "a.", "b"])
    {
        let found = buckets.keys().starting_with(prefix).await.unwrap();
        let summed = buckets.keys().starting_with(prefix).summaries().await;
        let summed: BTreeSet<_> = summed
            .unwrap()
            .into_iter()
            .map(|of| (of.key.device, of.key.sensor))
            .collect();
        let found: Vec<_> = found
            .into_iter()
            .map(|key| (key.device, key.sensor))
            .collect();
        let expected: BTreeSet<_> = readings
            .iter()
            .filter(|one| one.device.starts_with(prefix))
            .map(|one| (one.device.clone(), one.sensor.clone()))
            .collect();
        assert_eq!(found.len(), expected.len(), "{prefix:?}");
        assert_eq!(
            found.iter().cloned().collect::<BTreeSet<_>>(),
            expected,
            "{prefix:?}"
        );
        assert_eq!(summed, expected, "{prefix:?}");
        all.extend(found);
    }
    // The empty prefix is one of them.
    assert!(all.len() > 105);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_three_fields_come_once_each_with_their_own_sums() {
    let mut calls = Vec::new();
    for region in 0..300 {
        let services: &[&str] = if region % 9 == 0 { &ODD } else { &ODD[..1] };
        for service in services {
            for number in 0..=i64::from(region % 5) {
                calls.push(Call {
                    region: region - 150,
                    service: (*service).to_owned(),
                    is_internal: region % 2 == 0,
                    at: DateTime::from_millis(number),
                });
            }
        }
    }
    let (_database, buckets) = filled(&calls).await;
    let mut expected: BTreeMap<_, u64> = BTreeMap::new();
    for call in calls {
        *expected
            .entry((call.region, call.service, call.is_internal))
            .or_default() += 1;
    }
    let found = listed(&buckets).await;
    assert_eq!(found.len(), expected.len());
    for of in found {
        let key = (of.key.region, of.key.service.clone(), of.key.is_internal);
        assert_eq!(Some(of.records), expected.remove(&key), "{key:?}");
        assert_eq!(of.buckets, of.records.div_ceil(3));
        assert_eq!(of.first, DateTime::from_millis(0));
        let last = i64::try_from(of.records).unwrap() - 1;
        assert_eq!(of.last, DateTime::from_millis(last));
    }
    // No number starts with a text.
    assert_eq!(buckets.keys().starting_with("1").await.unwrap(), []);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "visits",
    items = "visits",
    capacity = 2,
    expire_after = "1h"
)]
struct Visit {
    #[bucket(key)]
    page: String,
    #[bucket(time)]
    at: DateTime,
}

/// The model of [`Visit`] before its limit was made shorter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "visits",
    items = "visits",
    capacity = 2,
    expire_after = "10h"
)]
struct OlderVisit {
    #[bucket(key)]
    page: String,
    #[bucket(time)]
    at: DateTime,
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_past_the_limit_does_not_count() {
    let now = DateTime::now().timestamp_millis();
    let minutes_ago = |page: &str, minutes: i64| OlderVisit {
        page: page.to_owned(),
        at: DateTime::from_millis(now - minutes * 60_000),
    };
    let visits = [
        minutes_ago("gone", 300),
        minutes_ago("in part", 240),
        minutes_ago("in part", 10),
        minutes_ago("in part", 5),
        minutes_ago("new", 1),
    ];
    let (database, _older) = filled(&visits).await;
    let buckets = Visit::buckets(&database);
    let mut found = buckets.keys().summaries().await.unwrap();
    found.sort_by_key(|of| of.first);
    let found: Vec<_> = found
        .into_iter()
        .map(|of| (of.key.page, of.buckets, of.records, of.first, of.last))
        .collect();
    let expected = [
        ("in part".to_owned(), 2, 2, visits[2].at, visits[3].at),
        ("new".to_owned(), 1, 1, visits[4].at, visits[4].at),
    ];
    assert_eq!(found, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_bucket_is_an_error_in_the_place_of_its_key() {
    let mut readings: Vec<Reading> = Vec::new();
    for device in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        readings.extend((0..5).map(|hour| reading(device, "s", hour * 60)));
    }
    let (database, buckets) = filled(&readings).await;
    let collection = database.collection::<Document>("readings");
    for (device, broken) in [
        ("a", doc! { "readings": "none" }),
        ("b", doc! { "count": 7 }),
        ("c", doc! { "readings.0": 5 }),
        ("d", doc! { "readings.0.at": "noon" }),
        ("e", doc! { "count": "1" }),
        ("f", doc! { "sensor": 5 }),
        ("h", doc! { "readings.0.at": null }),
    ] {
        let of_device = doc! { "device": device, "bucket_start": DateTime::from_millis(7_200_000) };
        let changed = collection
            .update_one(of_device, doc! { "$set": broken })
            .await;
        assert_eq!(changed.unwrap().modified_count, 1);
    }
    let found: Vec<Result<_, Error>> = buckets.keys().summaries().stream().collect().await;
    let mut right = Vec::new();
    let mut damaged = 0;
    for one in found {
        match one {
            Ok(of) => right.push((of.key.device, of.records)),
            Err(error) => {
                assert!(matches!(error.kind(), ErrorKind::Damaged(_)), "{error}");
                assert!(!error.to_string().contains("without"), "{error}");
                damaged += 1;
            }
        }
    }
    right.sort();
    // The other buckets of `f` are a key of their own.
    assert_eq!(right, [("f".to_owned(), 4), ("g".to_owned(), 5)]);
    assert_eq!(damaged, 7);
    let found: Vec<Result<_, Error>> = buckets.keys().stream().collect().await;
    let damaged = found.iter().filter(|one| one.is_err()).count();
    assert_eq!((found.len(), damaged), (9, 1));
}

fn sum(profile: &[Document], name: &str) -> i64 {
    let number = |found: &Document| match found.get(name) {
        Some(Bson::Int32(number)) => i64::from(*number),
        Some(Bson::Int64(number)) => *number,
        _ => 0,
    };
    profile.iter().map(number).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_costs_an_index_entry_and_no_document_and_its_summary_each_bucket_once() {
    let samples: Vec<Sample<{ sample::WINDOW_CAPACITY }>> = (0..200 * 50)
        .map(|n| Sample {
            device: format!("{:03}", n % 200),
            at: DateTime::from_millis(n / 200 * 1_000),
            unique: n,
            value: n,
            level: None,
            code: String::new(),
        })
        .collect();
    let (database, buckets) = filled(&samples).await;
    let stored = i64::try_from(documents(&database, "samples").await.len()).unwrap();
    let (found, profile) = profiled(&database, "samples", buckets.keys().into_future()).await;
    assert_eq!(found.unwrap().len(), 200);
    assert!(sum(&profile, "keysExamined") <= 202, "{profile:?}");
    assert_eq!(sum(&profile, "docsExamined"), 0);

    let some = buckets.keys().starting_with("01").into_future();
    let (found, profile) = profiled(&database, "samples", some).await;
    assert_eq!(found.unwrap().len(), 10);
    assert!(sum(&profile, "keysExamined") <= 12, "{profile:?}");

    let summaries = buckets.keys().summaries().into_future();
    let (found, profile) = profiled(&database, "samples", summaries).await;
    assert_eq!(found.unwrap().len(), 200);
    assert_eq!(sum(&profile, "docsExamined"), stored);
    assert!(
        sum(&profile, "keysExamined") <= stored + 2 * 202,
        "{profile:?}"
    );
    // Further batches are no further reads.
    let is_read = |one: &&Document| one.get_str("op").is_ok_and(|op| op != "getmore");
    assert_eq!(profile.iter().filter(is_read).count(), 1 + 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_counts_once_its_first_record_is_stored() {
    let (database, buckets) = filled::<Sample<{ sample::COUNT }>>(&[]).await;
    let drawn = Draw::new(3).draw(prop::collection::vec(drawn(), 40));
    let samples: Vec<_> = drawn
        .iter()
        .enumerate()
        .map(|(n, one)| one.sample(n))
        .collect();
    store(&buckets, &samples).await;
    let before = listed(&buckets).await.len();
    // As a writer leaves it that opened a bucket and stopped.
    let collection = database.collection::<Document>("samples");
    let mut empty = collection.find_one(doc! {}).await.unwrap().unwrap();
    empty.insert("device", "another");
    empty.insert("_id", "another_99");
    empty.insert("count", 0);
    let items = <Sample<{ sample::COUNT }> as Record>::SPEC.items();
    empty.insert(items, Vec::<Bson>::new());
    collection.insert_one(empty).await.unwrap();
    assert_eq!(buckets.keys().await.unwrap().len(), before + 1);
    assert_eq!(buckets.keys().summaries().await.unwrap().len(), before);
}

//! The newest record of every key: every form against a naive model, and what it costs.

#[path = "../../bucket-core/tests/common/drawn.rs"]
mod drawn;
#[path = "../../bucket-core/tests/common/sample.rs"]
mod sample;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use bucket_mongo::{
    Bucketed, Buckets, Error, ErrorKind, Limits, Window,
    bson::{Bson, DateTime, Document, doc},
    core::{Form, Record},
    testing::TestDatabase,
};
use bucket_tests::{database, documents, profiled};
use futures_util::{StreamExt, TryStreamExt};
use proptest::{
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use serde::{Deserialize, Serialize};

use self::{drawn::drawn, sample::Sample};

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

/// The model of [`Reading`] before its windows were made shorter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "readings",
    items = "readings",
    window = "day",
    capacity = 3
)]
struct DailyReading {
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
    number: i64,
}

fn reading(device: &str, sensor: &str, minute: i64) -> Reading {
    Reading {
        device: device.to_owned(),
        sensor: sensor.to_owned(),
        at: DateTime::from_millis(minute * 60_000),
        value: minute,
    }
}

async fn set_up<T: Bucketed + Clone>(records: &[T]) -> (TestDatabase, Buckets<T>) {
    let database = database().await;
    let buckets = T::buckets(&database);
    buckets.ensure().await.unwrap();
    store(&buckets, records).await;
    (database, buckets)
}

async fn store<T: Bucketed + Clone>(buckets: &Buckets<T>, records: &[T]) {
    let report = buckets.insert_many(records).await.unwrap();
    report.into_result().unwrap();
}

async fn latest<T: Bucketed>(buckets: &Buckets<T>) -> Vec<T> {
    let found = buckets.latest_for_all().await.unwrap();
    found.try_collect().await.unwrap()
}

/// The newest record of a key, from all that are stored.
async fn naive<const F: usize>(buckets: &Buckets<Sample<F>>, key: &str) -> Sample<F> {
    let records = buckets.records(sample::SampleKey(key.to_owned()));
    let records: Vec<Sample<F>> = records.collect().await.unwrap();
    let by_time = matches!(
        <Sample<F> as Record>::SPEC.form(),
        Form::Window { .. } | Form::Hybrid { .. }
    );
    let newer = |best: Sample<F>, next: Sample<F>| {
        if by_time && next.at < best.at {
            best
        } else {
            next
        }
    };
    records.into_iter().reduce(newer).unwrap()
}

/// Of one key the times are as drawn, of the other they are close together.
async fn is_as_in_the_model<const F: usize>(seed: u8) {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let plan = prop::collection::vec(drawn(), 60);
    let database = database().await;
    let buckets = Sample::<F>::buckets(&database);
    buckets.ensure().await.unwrap();
    for round in 0..4 {
        let mut drawn = plan.new_tree(&mut runner).unwrap().current();
        for one in &mut drawn {
            one.at = match one.device {
                0 => one.at,
                _ => one.at.rem_euclid(6_000) - 3_000,
            };
        }
        let samples = drawn.iter().enumerate();
        let samples: Vec<Sample<F>> = samples.map(|(n, one)| one.sample(round * 60 + n)).collect();
        for (part, some) in samples.chunks(20).enumerate() {
            if part == 0 {
                for sample in some {
                    let _late = buckets.insert(sample).await;
                }
            } else {
                buckets.insert_many(some).await.unwrap();
            }
            let mut found = latest(&buckets).await;
            found.sort_by(|a, b| a.device.cmp(&b.device));
            let mut expected = Vec::new();
            for key in buckets_of(&database).await {
                expected.push(naive(&buckets, &key).await);
            }
            // Not `==`: some levels are not equal to themselves.
            assert_eq!(format!("{found:?}"), format!("{expected:?}"), "form {F}");
        }
    }
}

async fn buckets_of(database: &TestDatabase) -> BTreeSet<String> {
    let found = documents(database, "samples").await;
    let key = |found: &Document| found.get_str("device").unwrap().to_owned();
    found.iter().map(key).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_the_last_one_to_arrive_in_the_manuals_form_and_in_numbered_buckets() {
    is_as_in_the_model::<{ sample::COUNT }>(1).await;
    is_as_in_the_model::<{ sample::COUNT_BYTES }>(2).await;
    is_as_in_the_model::<{ sample::NUMBERED }>(3).await;
    is_as_in_the_model::<{ sample::NUMBERED_OBJECT }>(4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_the_newest_of_all_buckets_of_a_window() {
    is_as_in_the_model::<{ sample::WINDOW }>(5).await;
    is_as_in_the_model::<{ sample::WINDOW_CAPACITY }>(6).await;
    is_as_in_the_model::<{ sample::WINDOW_BYTES }>(7).await;
    is_as_in_the_model::<{ sample::WINDOW_OBJECT }>(8).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_the_newest_of_hybrid_buckets_that_overlap() {
    is_as_in_the_model::<{ sample::HYBRID_MERGE }>(9).await;
    is_as_in_the_model::<{ sample::HYBRID_SIDE }>(10).await;
    is_as_in_the_model::<{ sample::HYBRID_REJECT }>(11).await;
    is_as_in_the_model::<{ sample::HYBRID_BYTES }>(12).await;
}

/// A bucket that is full lets the next one begin before its own end.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_hybrid_bucket_may_reach_further_than_the_one_behind_it() {
    let database = database().await;
    let buckets = Sample::<{ sample::HYBRID_MERGE }>::buckets(&database);
    buckets.ensure().await.unwrap();
    for (n, at) in [0, 100, 300, 900, 200].into_iter().enumerate() {
        let drawn = drawn::Drawn {
            device: 0,
            at,
            value: 0,
            level: None,
            code: String::new(),
        };
        buckets.insert(&drawn.sample(n)).await.unwrap();
    }
    assert_eq!(documents(&database, "samples").await.len(), 2);
    let found = latest(&buckets).await;
    let times: Vec<i64> = found.iter().map(|one| one.at.timestamp_millis()).collect();
    assert_eq!(times, [900]);
}

const ODD: [&str; 10] = [
    "", "_", ".", "$", "^", "a_b", "$eq", "a.b|c", "%5F", "\u{e9}",
];

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_two_fields_are_told_apart_whatever_is_in_them() {
    let mut readings = Vec::new();
    for (n, device) in ODD.iter().enumerate() {
        // One, two, .. sensors of a device; before 1970 too.
        for sensor in &ODD[..=n] {
            let minutes = (-130..-100).step_by(10);
            readings.extend(minutes.map(|minute| reading(device, sensor, minute)));
            readings.push(reading(device, sensor, -150));
        }
    }
    let (_database, buckets) = set_up(&readings).await;
    let found: BTreeMap<(String, String), i64> = latest(&buckets)
        .await
        .into_iter()
        .map(|one| ((one.device, one.sensor), one.value))
        .collect();
    let expected: BTreeMap<(String, String), i64> = readings
        .into_iter()
        .map(|one| ((one.device, one.sensor), -110))
        .collect();
    assert_eq!(found.len(), 55);
    assert_eq!(found, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_three_fields_come_once_each_in_parts_of_a_thousand_values() {
    let mut calls = Vec::new();
    // More values than are looked at together; every ninth has several keys below it.
    for region in 0..1_200 {
        let services: &[&str] = if region % 9 == 0 { &ODD } else { &ODD[..1] };
        for service in services {
            for is_internal in [true, false] {
                if is_internal && region % 18 != 0 {
                    continue;
                }
                calls.push(Call {
                    region: region - 1_000,
                    service: (*service).to_owned(),
                    is_internal,
                    at: DateTime::from_millis(0),
                    number: i64::from(region),
                });
            }
        }
    }
    let (_database, buckets) = set_up(&calls).await;
    let mut found = latest(&buckets).await;
    let key = |call: &Call| (call.region, call.service.clone(), call.is_internal);
    found.sort_by_key(key);
    calls.sort_by_key(key);
    assert_eq!(found.len(), calls.len());
    assert!(found == calls);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_key_is_left_out_or_comes_twice_while_writers_are_at_work() {
    let key = |n: i64| (format!("d{}", n % 40), format!("s{}", n % 3));
    let of = |n: i64, minute: i64| reading(&key(n).0, &key(n).1, minute);
    let first: Vec<Reading> = (0..120).map(|n| of(n, 0)).collect();
    let (database, buckets) = set_up(&first).await;
    let writers = (0..3).map(|writer| {
        let buckets = Reading::buckets(&database);
        tokio::spawn(async move {
            for round in 1..40 {
                let records: Vec<Reading> = (0..120)
                    .map(|n| {
                        let key = format!("d{}", (n + writer) % 40);
                        reading(&key, &format!("s{}", n % 3), round * 7)
                    })
                    .collect();
                store(&buckets, &records).await;
            }
        })
    });
    let writers: Vec<_> = writers.collect();
    let mut seen: BTreeMap<(String, String), i64> = BTreeMap::new();
    loop {
        let done = writers.iter().all(tokio::task::JoinHandle::is_finished);
        let found = latest(&buckets).await;
        assert_eq!(found.len(), 120);
        let mut keys = BTreeSet::new();
        for one in found {
            let key = (one.device, one.sensor);
            let before = seen.insert(key.clone(), one.value).unwrap_or(0);
            assert!(before <= one.value, "{key:?}");
            assert!(keys.insert(key));
        }
        if done {
            break;
        }
    }
    for writer in writers {
        writer.await.unwrap();
    }
    assert!(seen.values().all(|minute| *minute == 39 * 7));
}

/// What the reads of a call examined: keys, documents, commands.
fn examined(profile: &[Document]) -> (i64, i64, i64) {
    let number = |found: &Document, name: &str| match found.get(name) {
        Some(Bson::Int32(number)) => i64::from(*number),
        Some(Bson::Int64(number)) => *number,
        _ => 0,
    };
    let mut all = (0, 0, 0);
    for one in profile {
        let plan = one.get_str("planSummary").unwrap_or_default();
        if number(one, "keysExamined") > 0 {
            assert!(plan.contains("_SCAN") || plan.contains("IXSCAN"), "{plan}");
        }
        assert!(!plan.contains("COLLSCAN"), "{one}");
        all.0 += number(one, "keysExamined");
        all.1 += number(one, "docsExamined");
        // Further batches are no further reads.
        all.2 += i64::from(one.get_str("op").is_ok_and(|op| op != "getmore"));
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_one_field_costs_one_index_key_and_one_document() {
    let database = database().await;
    let buckets = Sample::<{ sample::WINDOW_CAPACITY }>::buckets(&database);
    buckets.ensure().await.unwrap();
    let samples: Vec<_> = (0..200 * 50)
        .map(|n| Sample {
            device: format!("{:03}", n % 200),
            at: DateTime::from_millis(n / 200 * 1_000),
            unique: n,
            value: n,
            level: None,
            code: String::new(),
        })
        .collect();
    store(&buckets, &samples).await;
    let (found, profile) = profiled(&database, "samples", latest(&buckets)).await;
    assert_eq!(found.len(), 200);
    let (keys, documents, _) = examined(&profile);
    assert!(keys <= 202, "{keys} keys");
    assert_eq!(documents, 200);
}

/// Whatever the history of 40 buckets of each key.
#[tokio::test(flavor = "multi_thread")]
async fn keys_of_two_fields_cost_what_they_are_and_few_commands() {
    for (devices, sensors, commands) in [(3, 60, 5), (6, 10, 8), (40, 6, 10), (150, 1, 2)] {
        let mut readings = Vec::new();
        for n in 0..devices * sensors {
            let (device, sensor) = (format!("{:03}", n / sensors), (n % sensors).to_string());
            readings.extend((0..40).map(|hour| reading(&device, &sensor, hour * 60)));
        }
        let (database, buckets) = set_up(&readings).await;
        let (found, profile) = profiled(&database, "readings", latest(&buckets)).await;
        let keys = devices * sensors;
        assert_eq!(i64::try_from(found.len()).unwrap(), keys);
        let (examined, documents, sent) = examined(&profile);
        // Each key, each value of the first field from both ends, and what lies beside what is
        // known of the second field.
        let bound = 2 * keys + devices * (sensors + 5) + 2;
        assert!(examined <= bound, "{examined} keys, not {bound}");
        assert!(documents <= keys + devices, "{documents} documents");
        assert!(sent <= commands, "{sent} commands");
    }
}

/// Most devices have the same sensors, some have others as well, or instead.
#[tokio::test(flavor = "multi_thread")]
async fn second_fields_that_only_some_first_fields_have_are_found() {
    let mut readings = Vec::new();
    for n in 0..120 {
        let device = format!("{n:03}");
        let mut sensors = vec!["b", "d"];
        match n % 10 {
            0 => sensors.extend(["a", "c", "e"]),
            1 => sensors = vec!["c", "e"],
            2 => sensors = vec!["b"],
            3 => sensors = vec!["$eq", "f"],
            4 => sensors.push(""),
            _ => {}
        }
        for sensor in sensors {
            readings.extend([0, 100].map(|minute| reading(&device, sensor, minute)));
        }
    }
    let (_database, buckets) = set_up(&readings).await;
    let key = |one: Reading| (one.device, one.sensor, one.value);
    let mut found: Vec<_> = latest(&buckets).await.into_iter().map(key).collect();
    found.sort();
    readings.retain(|one| one.value == 100);
    let mut expected: Vec<_> = readings.into_iter().map(key).collect();
    expected.sort();
    assert_eq!(found, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hybrid_key_costs_the_entries_of_its_last_buckets() {
    let database = database().await;
    let buckets = Sample::<{ sample::HYBRID_MERGE }>::buckets(&database);
    buckets.ensure().await.unwrap();
    let samples: Vec<_> = (0..100 * 50)
        .map(|n| Sample {
            device: format!("{:03}", n % 100),
            at: DateTime::from_millis(n / 100 * 2_000),
            unique: n,
            value: n,
            level: None,
            code: String::new(),
        })
        .collect();
    store(&buckets, &samples).await;
    let (found, profile) = profiled(&database, "samples", latest(&buckets)).await;
    assert_eq!(found.len(), 100);
    let (keys, documents, _) = examined(&profile);
    // One for the jump, and for the look one of each mark and one behind it.
    assert!(keys <= 100 * 4 + 2, "{keys} keys");
    assert_eq!(documents, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_bucket_is_an_error_in_the_place_of_its_key() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let mut readings: Vec<Reading> = Vec::new();
    for name in names {
        readings.extend([reading(name, "s", 0), reading(name, "s", 1)]);
    }
    let (database, buckets) = set_up(&readings).await;
    let collection = database.collection::<Document>("readings");
    for (device, broken) in [
        ("a", doc! { "readings": "none" }),
        ("b", doc! { "count": 7 }),
        ("c", doc! { "readings.1": 5 }),
        ("d", doc! { "readings.1.value": "much" }),
        ("e", doc! { "bucket_start": 1 }),
        ("f", doc! { "sensor": { "$gt": "" } }),
        ("g", doc! { "readings": [], "count": 0 }),
    ] {
        let broken = vec![
            doc! { "$replaceWith": { "$mergeObjects": ["$$ROOT", { "$literal": broken.clone() }] } },
        ];
        let is_path = device == "c" || device == "d";
        let filter = doc! { "device": device };
        if is_path {
            let set = if device == "c" {
                doc! { "$set": { "readings.1": 5 } }
            } else {
                doc! { "$set": { "readings.1.value": "much" } }
            };
            collection.update_one(filter, set).await.unwrap();
        } else {
            collection.update_one(filter, broken).await.unwrap();
        }
    }
    // Below a field that several keys share.
    store(&buckets, &[reading("f", "t", 5), reading("f", "u", 6)]).await;
    let found: Vec<Result<Reading, Error>> =
        buckets.latest_for_all().await.unwrap().collect().await;
    let mut damaged = 0;
    let mut right = Vec::new();
    for one in found {
        match one {
            Ok(reading) => right.push((reading.device, reading.sensor, reading.value)),
            Err(error) => {
                assert!(matches!(error.kind(), ErrorKind::Damaged(_)), "{error}");
                damaged += 1;
            }
        }
    }
    right.sort();
    let right: Vec<_> = right
        .iter()
        .map(|(d, s, v)| (d.as_str(), s.as_str(), *v))
        .collect();
    assert_eq!(right, [("f", "t", 5), ("f", "u", 6), ("h", "s", 1)]);
    assert_eq!(damaged, 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_longer_window_is_looked_into_where_the_call_says_so() {
    let daily = DailyReading {
        device: "d".to_owned(),
        sensor: "s".to_owned(),
        at: DateTime::from_millis(20 * 3_600_000),
        value: 20,
    };
    let (database, _) = set_up(&[daily]).await;
    let buckets = Reading::buckets(&database);
    // Late, and in a bucket behind the one of the day.
    buckets.insert(&reading("d", "s", 600)).await.unwrap();
    let day = Duration::from_secs(86_400);
    let found = buckets
        .with_longest_span(day)
        .latest_for_all()
        .await
        .unwrap();
    let found: Vec<Reading> = found.try_collect().await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].value, 20);
}

/// Nothing is said to the call: that they are parts of one window the bucket itself tells.
#[tokio::test(flavor = "multi_thread")]
async fn all_parts_of_an_older_longer_window_are_looked_into() {
    let hours = [23, 1, 2, 3, 4].map(|hour| DailyReading {
        device: "d".to_owned(),
        sensor: "s".to_owned(),
        at: DateTime::from_millis(hour * 3_600_000),
        value: hour,
    });
    let (database, daily) = set_up::<DailyReading>(&[]).await;
    for reading in &hours {
        daily.insert(reading).await.unwrap();
    }
    assert_eq!(documents(&database, "readings").await.len(), 2);
    let found = latest(&Reading::buckets(&database)).await;
    let found: Vec<i64> = found.iter().map(|one| one.value).collect();
    assert_eq!(found, [23]);
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_by_key_bound_the_look_of_each_key() {
    let database = database().await;
    let buckets = Reading::buckets(&database).with_limits(|key| match key.device.as_str() {
        "day" => Limits::new().window(Window::Day),
        _ => Limits::new(),
    });
    buckets.ensure().await.unwrap();
    for device in ["day", "hour"] {
        for minute in [0, 700, 1_000, 10, 20, 30, 999, 998, 997] {
            buckets.insert(&reading(device, "s", minute)).await.unwrap();
        }
    }
    let found: Vec<i64> = latest(&buckets).await.iter().map(|one| one.value).collect();
    assert_eq!(found, [1_000, 1_000]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_collection_has_none_and_a_missing_index_is_a_typed_error() {
    let (database, buckets) = set_up::<Reading>(&[]).await;
    assert!(latest(&buckets).await.is_empty());
    let collection = database.collection::<Document>("readings");
    buckets.insert(&reading("d", "s", 0)).await.unwrap();
    collection.drop_index("bucket_pages").await.unwrap();
    let error = buckets.latest_for_all().await.unwrap_err();
    let is_missing =
        matches!(error.kind(), ErrorKind::MissingIndex { name } if name == "bucket_pages");
    assert!(is_missing, "{error}");
}

//! Every key comes once, whatever its value, with concurrent writers too.

use std::collections::{BTreeMap, BTreeSet};

use bucket_mongo::{Bucketed, bson::DateTime};

use super::models::{Call, Reading, latest, reading};
use crate::common::filled::{filled, store};

const ODD: [&str; 10] = [
    "", "_", ".", "$", "^", "a_b", "$eq", "a.b|c", "%5F", "\u{e9}",
];

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_two_fields_stay_separate_whatever_their_values() {
    let mut readings = Vec::new();
    for (n, device) in ODD.iter().enumerate() {
        // One, two, .. sensors of a device; before 1970 too.
        for sensor in &ODD[..=n] {
            let minutes = (-130..-100).step_by(10);
            readings.extend(minutes.map(|minute| reading(device, sensor, minute)));
            readings.push(reading(device, sensor, -150));
        }
    }
    let (_database, buckets) = filled(&readings).await;
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
async fn keys_of_three_fields_come_once_each_with_thousands_of_values() {
    let mut calls = Vec::new();
    // More values than one command looks up; every ninth has several keys.
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
    let (_database, buckets) = filled(&calls).await;
    let mut found = latest(&buckets).await;
    let key = |call: &Call| (call.region, call.service.clone(), call.is_internal);
    found.sort_by_key(key);
    calls.sort_by_key(key);
    assert_eq!(found.len(), calls.len());
    assert!(found == calls);
}

/// Most devices have the same sensors; some have others as well, or instead.
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
    let (_database, buckets) = filled(&readings).await;
    let key = |one: Reading| (one.device, one.sensor, one.value);
    let mut found: Vec<_> = latest(&buckets).await.into_iter().map(key).collect();
    found.sort();
    readings.retain(|one| one.value == 100);
    let mut expected: Vec<_> = readings.into_iter().map(key).collect();
    expected.sort();
    assert_eq!(found, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_key_is_missing_or_comes_twice_with_concurrent_writers() {
    let key = |n: i64| (format!("d{}", n % 40), format!("s{}", n % 3));
    let of = |n: i64, minute: i64| reading(&key(n).0, &key(n).1, minute);
    let first: Vec<Reading> = (0..120).map(|n| of(n, 0)).collect();
    let (database, buckets) = filled(&first).await;
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

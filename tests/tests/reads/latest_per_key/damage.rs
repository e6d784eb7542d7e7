//! Damaged buckets, missing indexes and empty collections.

use bucket_mongo::{
    Error, ErrorKind,
    bson::{Document, doc},
};
use futures_util::StreamExt;

use super::models::{Reading, latest, reading};
use crate::common::filled::{filled, store};

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_bucket_is_an_error_in_place_of_its_key() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let mut readings: Vec<Reading> = Vec::new();
    for name in names {
        readings.extend([reading(name, "s", 0), reading(name, "s", 1)]);
    }
    let (database, buckets) = filled(&readings).await;
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
    // The same for keys that share their first field.
    store(&buckets, &[reading("f", "t", 5), reading("f", "u", 6)]).await;
    let found: Vec<Result<Reading, Error>> = buckets.latest_per_key().stream().collect().await;
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
async fn an_empty_collection_has_no_records_and_a_missing_index_is_a_typed_error() {
    let (database, buckets) = filled::<Reading>(&[]).await;
    assert!(latest(&buckets).await.is_empty());
    let collection = database.collection::<Document>("readings");
    buckets.insert(&reading("d", "s", 0)).await.unwrap();
    collection.drop_index("bucket_pages").await.unwrap();
    let error = buckets.latest_per_key().await.unwrap_err();
    let is_missing =
        matches!(error.kind(), ErrorKind::MissingIndex { name, .. } if name == "bucket_pages");
    assert!(is_missing, "{error}");
}

//! What the server examines for it.

use bucket_mongo::bson::{Bson, DateTime, Document};
use bucket_tests::profiled;

use super::models::reading;
use crate::common::{
    filled::filled,
    sample::{self, Sample},
};

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
async fn a_key_with_one_field_costs_one_index_key_and_one_document() {
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
    let latest = buckets.latest_per_key().into_future();
    let (found, profile) = profiled(&database, "samples", latest).await;
    let found = found.unwrap();
    assert_eq!(found.len(), 200);
    let (keys, documents, _) = examined(&profile);
    assert!(keys <= 202, "{keys} keys");
    assert_eq!(documents, 200);
}

/// Whatever the history of 40 buckets of each key.
#[tokio::test(flavor = "multi_thread")]
async fn keys_with_two_fields_cost_a_few_entries_each_and_few_commands() {
    for (devices, sensors, commands) in [(3, 60, 5), (6, 10, 8), (40, 6, 10), (150, 1, 2)] {
        let mut readings = Vec::new();
        for n in 0..devices * sensors {
            let (device, sensor) = (format!("{:03}", n / sensors), (n % sensors).to_string());
            readings.extend((0..40).map(|hour| reading(&device, &sensor, hour * 60)));
        }
        let (database, buckets) = filled(&readings).await;
        let latest = buckets.latest_per_key().into_future();
        let (found, profile) = profiled(&database, "readings", latest).await;
        let found = found.unwrap();
        let keys = devices * sensors;
        assert_eq!(i64::try_from(found.len()).unwrap(), keys);
        let (examined, documents, sent) = examined(&profile);
        // Each key, each value of the first field from both ends, and the entries next to the known
        // values of the second field.
        let bound = 2 * keys + devices * (sensors + 5) + 2;
        assert!(examined <= bound, "{examined} keys, not {bound}");
        assert!(documents <= keys + devices, "{documents} documents");
        assert!(sent <= commands, "{sent} commands");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hybrid_key_costs_the_entries_of_its_last_buckets() {
    let samples: Vec<Sample<{ sample::HYBRID_MERGE }>> = (0..100 * 50)
        .map(|n| Sample {
            device: format!("{:03}", n % 100),
            at: DateTime::from_millis(n / 100 * 2_000),
            unique: n,
            value: n,
            level: None,
            code: String::new(),
        })
        .collect();
    let (database, buckets) = filled(&samples).await;
    let latest = buckets.latest_per_key().into_future();
    let (found, profile) = profiled(&database, "samples", latest).await;
    let found = found.unwrap();
    assert_eq!(found.len(), 100);
    let (keys, documents, _) = examined(&profile);
    // One for the jump; for the lookup, that of the bucket, one after it, and two at the edges of the
    // key, where the server looks for damaged buckets.
    assert!(keys <= 100 * 5 + 2, "{keys} keys");
    assert_eq!(documents, 200);
}

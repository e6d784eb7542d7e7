//! Writes never build on data that a failover may roll back.
#![allow(clippy::unwrap_used)]

#[path = "common/sample.rs"]
mod sample;

use bson::DateTime;
use bucket_core::{read::ReadLevel, write::Batch};

use self::sample::{HYBRID_SIDE, Sample, WINDOW_BYTES, WINDOW_CAPACITY};

fn batch<const F: usize>(times: &[i64]) -> Batch {
    let mut batch = Batch::of::<Sample<F>>();
    for (index, at) in times.iter().enumerate() {
        let sample = Sample::<F> {
            device: "0".to_owned(),
            at: DateTime::from_millis(*at),
            unique: 0,
            value: 1,
            level: None,
            code: String::new(),
        };
        batch.push(index, &sample).unwrap();
    }
    batch
}

/// The earlier records of a part count: when appends have filled it, the next part follows. If its
/// records were rolled back, that part would stay half-empty.
#[test]
fn the_part_of_a_window_that_the_next_one_follows_is_read_from_a_majority() {
    let level = |batch: &Batch| batch.chains()[0].open_bucket().level;
    assert_eq!(level(&batch::<WINDOW_CAPACITY>(&[0])), ReadLevel::Majority);
    let batch = batch::<WINDOW_BYTES>(&[0]);
    assert_eq!(batch.chains()[0].open_bucket().level, ReadLevel::Majority);
}

#[test]
fn a_side_bucket_that_another_one_follows_is_read_from_a_majority() {
    let mut batch = batch::<HYBRID_SIDE>(&[0, 10_000]);
    let newest = bson::rawdoc! {
        "_id": "0_0000000010000",
        "device": "0",
        "count": 1,
        "bucket_start": DateTime::from_millis(10_000),
        "bucket_end": DateTime::from_millis(10_000),
        "is_closed": false,
        "items": [],
    };
    batch.chains_mut()[0].saw(&newest).unwrap();
    assert_eq!(batch.sort_out_late().moved, 1);
    let late = batch.chains().last().unwrap();
    assert_eq!(late.open_bucket().level, ReadLevel::Majority);
}

//! A bucket with only these records, for checks of statistics.
#![allow(unreachable_pub, missing_docs)]

use bucket_core::{BucketId, bucket::BucketFields, stats::StoredStats};
use bucket_mongo::bson::DateTime;

use super::sample::{Sample, SampleBucket, SampleItem, SampleKey};

pub fn as_bucket<const F: usize>(
    key: SampleKey,
    records: &[&Sample<F>],
    stats: StoredStats,
) -> SampleBucket<F> {
    SampleBucket {
        id: BucketId::first(&key, DateTime::from_millis(0)),
        key,
        count: u32::try_from(records.len()).unwrap(),
        fields: BucketFields::default(),
        stats,
        items: records.iter().map(|record| item(record)).collect(),
    }
}

fn item<const F: usize>(record: &Sample<F>) -> SampleItem {
    SampleItem {
        at: record.at,
        unique: record.unique,
        value: record.value,
        level: record.level,
        code: record.code.clone(),
    }
}

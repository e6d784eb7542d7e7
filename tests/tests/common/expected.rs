//! What reads must return, computed from all stored documents in the simplest way.
#![allow(unreachable_pub, missing_docs, dead_code)]

use bucket_core::{Form, Record, bucket};
use bucket_mongo::{
    Buckets, TimeRange,
    bson::{DateTime, RawDocumentBuf, doc},
};
use futures_util::TryStreamExt;

use super::sample::{Sample, SampleBucket};

/// The buckets of a key, in the order in which they were opened.
pub async fn stored<const F: usize>(
    buckets: &Buckets<Sample<F>>,
    device: &str,
) -> Vec<SampleBucket<F>> {
    let collection = buckets.collection::<RawDocumentBuf>();
    let cursor = collection.find(doc! { "device": device }).await.unwrap();
    let found: Vec<RawDocumentBuf> = cursor.try_collect().await.unwrap();
    let decode = |stored: &RawDocumentBuf| bucket::decode::<Sample<F>>(stored).unwrap();
    let mut stored: Vec<SampleBucket<F>> = found.iter().map(decode).collect();
    stored.sort_by_key(|bucket| match Sample::<F>::SPEC.form() {
        Form::Numbered { .. } => (DateTime::MIN, bucket.fields.number, String::new()),
        Form::Window { .. } if Sample::<F>::SPEC.object_ids() => {
            (bucket.fields.start, bucket.id.sequence(), String::new())
        }
        _ => (DateTime::MIN, 0, bucket.id.to_string()),
    });
    stored
}

fn sample<const F: usize>(bucket: &SampleBucket<F>, index: usize) -> Sample<F> {
    Sample::assemble(bucket.key.clone(), bucket.items[index].clone())
}

/// The records of a key in cursor order, the oldest first.
pub async fn in_order<const F: usize>(
    buckets: &Buckets<Sample<F>>,
    device: &str,
) -> Vec<Sample<F>> {
    let stored = stored(buckets, device).await;
    let mut placed = Vec::new();
    for (at, bucket) in stored.iter().enumerate() {
        for index in 0..bucket.items.len() {
            let record = sample(bucket, index);
            let place = match Sample::<F>::SPEC.form() {
                Form::Window { .. } => {
                    (bucket.fields.start.timestamp_millis(), record.at, at, index)
                }
                Form::Hybrid { .. } => (i64::try_from(at).unwrap(), record.at, at, index),
                _ => (i64::try_from(at).unwrap(), DateTime::MIN, at, index),
            };
            placed.push((place, record));
        }
    }
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, record)| record).collect()
}

/// The records of a key in a span of time, in time order.
pub async fn in_time<const F: usize>(
    buckets: &Buckets<Sample<F>>,
    device: &str,
    range: TimeRange,
) -> Vec<Sample<F>> {
    let stored = stored(buckets, device).await;
    let mut placed = Vec::new();
    for (at, bucket) in stored.iter().enumerate() {
        for index in 0..bucket.items.len() {
            let record = sample(bucket, index);
            placed.push(((record.at, at, index), record));
        }
    }
    placed.retain(|(_, record)| range.contains(record.at));
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, record)| record).collect()
}

/// The numbers that identify records.
pub fn numbers<const F: usize>(records: &[Sample<F>]) -> Vec<i64> {
    records.iter().map(|record| record.unique).collect()
}

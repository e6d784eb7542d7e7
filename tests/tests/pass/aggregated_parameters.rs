//! Aggregates of fields whose types are parameters.

use std::fmt::Debug;

use bucket_core::Measure;
use bucket_mongo::{
    BucketKey, Bucketed, Record,
    bson::{self, DateTime, doc},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "readings",
    items = "readings",
    window = "day",
    max_bytes = "64KB"
)]
struct Reading<K, V = f64, const N: usize = 1>
where
    V: PartialOrd,
{
    #[bucket(key)]
    device: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(min, max, sum, avg, std_dev, first, last)]
    value: V,
    #[bucket(tally, count_if("known", |_| N > 0))]
    kind: K,
}

fn has_traits<T: Debug + Clone + PartialEq>() {}
fn can_be_copied<T: Copy + Debug>(_: T) {}

/// Has none of the traits.
#[derive(Serialize, Deserialize, PartialEq, PartialOrd)]
struct Celsius(f64);

impl Measure for Celsius {
    type Value = f64;
    type Sum = f64;

    fn to_number(&self) -> Option<bucket_mongo::Number> {
        self.0.to_number()
    }

    fn from_number(number: bucket_mongo::Number) -> Option<f64> {
        f64::from_number(number)
    }

    fn sum_from(number: bucket_mongo::Number) -> Option<f64> {
        f64::sum_from(number)
    }
}

fn in_generic_code<K, V>(bucket: &ReadingBucket<K, V, 2>) -> Option<V::Sum>
where
    K: BucketKey + Serialize + DeserializeOwned,
    V: Measure + PartialOrd,
    Reading<K, V, 2>: Record,
{
    bucket.stats().value().sum()
}

#[test]
fn compiles_and_keeps_its_promises() {
    has_traits::<ReadingStats<bool, Celsius>>();
    let at = DateTime::from_millis(1_698_335_223_434);
    let start = DateTime::from_millis(1_698_278_400_000);
    let bucket: ReadingBucket<bool, Celsius, 2> = bson::deserialize_from_document(doc! {
        "_id": "a_1698278400",
        "device": "a",
        "bucket_start": start,
        "bucket_end": DateTime::from_millis(1_698_364_800_000),
        "bytes": 90_i64,
        "count": 1,
        "stats": {
            "min": 4.0, "max": 4.0, "sum": 4.0, "sum_of_squares": 16.0, "count": 1,
            "first": { "t": at, "v": 4.0 }, "last": { "t": at, "v": 4.0 },
            "known": 1, "kind": { "true": 1 },
        },
        "readings": [{ "at": at, "value": 4.0, "kind": true }],
    })
    .unwrap();
    assert_eq!((bucket.bytes, bucket.bucket_start), (90, start));
    assert_eq!(in_generic_code(&bucket), Some(4.0));
    let value = bucket.stats().value();
    can_be_copied(value);
    assert_eq!(
        (value.first(), value.avg(), value.std_dev()),
        (Some(4.0), Some(4.0), Some(0.0))
    );
    assert_eq!(bucket.stats().kind().kind(), [(true, 1)]);
    assert_eq!(bucket.stats().kind().known(), 1);
    assert_eq!(
        ReadingStats::<bool>::FIELDS.value_count.as_str(),
        "stats.count"
    );
}

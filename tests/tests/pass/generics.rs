//! Type and const parameters with bounds and defaults; each generated type has those it uses.

use std::fmt::Debug;

use bucket_mongo::{BucketKey, BucketTime, Bucketed, Record, bson::DateTime};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "readings", items = "readings", capacity = 60)]
struct Reading<K, V = f64, D = DateTime, const N: usize = 2>
where
    V: PartialOrd,
{
    #[bucket(key)]
    device: K,
    #[bucket(time)]
    at: D,
    values: Vec<V>,
    #[serde(skip)]
    pads: std::marker::PhantomData<[u8; N]>,
}

/// A wrapper of a parameter as the key.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, BucketKey)]
struct Id<T>(T);

#[derive(Serialize, Deserialize, Bucketed)]
#[serde(bound(
    serialize = "K: Serialize, V: Serialize",
    deserialize = "K: DeserializeOwned, V: DeserializeOwned"
))]
#[bucket(collection = "events", items = "events", capacity = 60)]
struct Event<K, V> {
    #[bucket(key)]
    source: Id<K>,
    #[bucket(time)]
    at: DateTime,
    payload: V,
}

fn stored<T: Record>() -> &'static str {
    T::SPEC.collection()
}

fn has_traits<T: Debug + Clone + PartialEq>() {}

fn in_generic_code<K, D>() -> &'static str
where
    K: BucketKey + Serialize,
    D: BucketTime + Serialize + Send + Sync + 'static,
    Reading<K, i32, D, 4>: Record,
{
    stored::<Reading<K, i32, D, 4>>()
}

#[test]
fn compiles_and_keeps_its_promises() {
    assert_eq!(stored::<Reading<i64>>(), "readings");
    assert_eq!(stored::<Event<String, i32>>(), "events");
    assert_eq!(in_generic_code::<String, DateTime>(), "readings");
    has_traits::<ReadingBucket<i64>>();
    has_traits::<ReadingItem<f64, DateTime, 2>>();
    has_traits::<EventItem<i32>>();
    let key = ReadingKey::from(7_i64);
    assert_eq!(key.device, 7);
    assert_eq!(EventItem::<i32>::FIELDS.payload.as_str(), "events.payload");
    let id: ReadingBucketId<i64> = "7_1698335223".parse().unwrap();
    assert_eq!(id.to_string(), "7_1698335223");
}

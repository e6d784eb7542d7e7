//! Generated types have the record's predicates that mention only their own parameters.

use bucket_mongo::{Bucketed, Record, bson::DateTime};
use serde::{Deserialize, Serialize};

trait Unit {
    type Value;
}

#[derive(Serialize, Deserialize)]
struct Celsius;

impl Unit for Celsius {
    type Value = i32;
}

#[derive(Serialize, Deserialize, Bucketed)]
#[serde(
    bound = "K: Serialize + for<'a> Deserialize<'a>, U::Value: Serialize + for<'a> Deserialize<'a>"
)]
#[bucket(collection = "readings", items = "readings", capacity = 60)]
struct Reading<K, U>
where
    K: Into<String>,
    U: Unit,
    U::Value: Copy,
    String: From<K>,
{
    #[bucket(key)]
    device: K,
    #[bucket(time)]
    at: DateTime,
    value: U::Value,
}

fn stored<T: Record>() {}

#[test]
fn compiles_and_keeps_its_promises() {
    stored::<Reading<String, Celsius>>();
    let item = ReadingItem::<Celsius> {
        at: DateTime::MIN,
        value: 3,
    };
    let copy = item.clone();
    assert_eq!(copy.value, 3);
}

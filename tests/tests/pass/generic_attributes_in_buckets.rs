//! Attributes of generic records: parameters of the key, of an attribute, and of the item only.

use std::{collections::BTreeMap, fmt::Debug};

use bucket_mongo::{
    AttributeValue, Bucketed, Record,
    bson::{DateTime, Document, doc},
};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "scans", items = "scans", window = "1h")]
#[bucket(attributes(array = "origin", store = "bucket"))]
struct Scan<K, V, T = String, const N: usize = 2>
where
    T: Debug,
{
    #[bucket(key)]
    machine: K,
    #[bucket(time)]
    at: DateTime,
    #[bucket(attribute(array = "specs", k = "volume", u = "ml"))]
    volume: V,
    #[bucket(attribute(array = "specs", rest))]
    others: BTreeMap<String, V>,
    #[bucket(attribute(array = "origin", k = "site"))]
    site: Option<V>,
    note: T,
    #[serde(skip)]
    pads: std::marker::PhantomData<[u8; N]>,
}

/// All attributes have types without parameters.
#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "plain", items = "scans", capacity = 10)]
struct Plain<K, T> {
    #[bucket(key)]
    machine: K,
    #[bucket(time)]
    at: DateTime,
    #[bucket(sum, attribute(array = "specs", k = "weight"))]
    weight: Option<i32>,
    note: T,
}

fn is_plain<T: Debug + Copy>(_: &T) {}

fn in_generic_code<V>(least: V::Value) -> Document
where
    V: AttributeValue,
    Scan<i64, V>: Record,
{
    Scan::<i64, V>::specs().volume().ml().gte(least).into()
}

#[test]
fn compiles_and_keeps_its_promises() {
    let expected = doc! {
        "scans.specs": { "$elemMatch": { "k": "volume", "u": "ml", "v": { "$gte": 500 } } },
    };
    assert_eq!(in_generic_code::<i32>(500), expected);
    let specs = Scan::<String, f64, bool, 7>::specs();
    is_plain(&specs);
    is_plain(&specs.volume());
    let filter = Document::from(Scan::<String, f64>::origin().site().eq(0.5));
    assert!(filter.to_string().contains("\"$eq\": 0.5"), "{filter}");
    let _ = Plain::<u32, Vec<u8>>::specs().weight().eq(3);
    assert_eq!(<Plain<u32, bool> as Record>::SPEC.arrays().len(), 1);
    let item: ScanItem<i32, String, 2> = ScanItem {
        at: DateTime::from_millis(0),
        volume: 1,
        others: BTreeMap::new(),
        site: None,
        note: String::new(),
        pads: std::marker::PhantomData,
    };
    assert_eq!(item.clone(), item);
    let _ = format!("{item:?}");
}

//! Attributes of generic structs: each instantiation is stored, found and read back with its own
//! types.

use std::{collections::BTreeMap, fmt::Debug};

use bucket_mongo::{
    AttributeValue, Attributed, Bucketed, Documents,
    bson::{Bson, DateTime, Document, doc},
};
use bucket_tests::{Load, database, documents};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Attributed)]
#[bucket(collection = "bottles")]
struct Bottle<V, L> {
    #[serde(rename = "_id")]
    id: i32,
    label: L,
    #[bucket(attribute(array = "specs", k = "volume", u = "ml"))]
    volume_ml: Option<V>,
    #[bucket(attribute(array = "specs", k = "price"))]
    price: V,
    #[bucket(attribute(array = "specs", rest))]
    others: BTreeMap<String, V>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "scans", items = "scans", capacity = 3)]
#[bucket(attributes(array = "origin", store = "bucket"))]
struct Scan<K, V> {
    #[bucket(key)]
    machine: K,
    #[bucket(time)]
    at: DateTime,
    #[bucket(attribute(array = "specs", k = "volume", u = "ml"))]
    volume: Option<V>,
    #[bucket(attribute(array = "origin", k = "site"))]
    site: V,
}

/// A value of both instantiations.
trait Value:
    AttributeValue<Value = Self>
    + Debug
    + Clone
    + PartialEq
    + Serialize
    + DeserializeOwned
    + Send
    + Sync
    + 'static
{
    fn of(number: i32) -> Self;
}

impl Value for i32 {
    fn of(number: i32) -> Self {
        number
    }
}

impl Value for String {
    fn of(number: i32) -> Self {
        format!("no. {number:03}")
    }
}

fn bottle<V: Value, L>(id: i32, label: L) -> Bottle<V, L> {
    Bottle {
        id,
        label,
        volume_ml: (id % 3 != 0).then(|| V::of(id * 10)),
        price: V::of(id),
        others: BTreeMap::from([("colour".to_owned(), V::of(-id))]),
    }
}

/// The first document's stored attributes, by `k`.
fn entries(document: &Document) -> BTreeMap<String, Bson> {
    let entries = document.get_array("specs").unwrap().iter();
    let entries = entries.map(|entry| entry.as_document().unwrap());
    let entry = |entry: &Document| (entry.get_str("k").unwrap().to_owned(), entry["v"].clone());
    entries.map(entry).collect()
}

async fn documents_round_trip<V: Value, L: Value>() {
    let database = database().await;
    let bottles: Documents<Bottle<V, L>> = Bottle::documents(&database);
    bottles.ensure().await.unwrap();
    let all: Vec<Bottle<V, L>> = (1..=9).map(|id| bottle(id, L::of(id))).collect();
    bottles
        .insert_many(&all)
        .await
        .unwrap()
        .into_result()
        .unwrap();

    let stored = documents(&database, "bottles").await;
    assert_eq!(stored.len(), all.len());
    let expected = [("colour", -1), ("price", 1), ("volume", 10)];
    let expected = expected.map(|(k, number)| (k.to_owned(), V::of(number).to_bson()));
    assert_eq!(entries(&stored[0]), BTreeMap::from(expected));

    let by_id = doc! { "_id": 1 };
    let read = bottles.find(doc! {}).sort(by_id.clone()).await.unwrap();
    assert_eq!(read, all);
    let specs = Bottle::<V, L>::specs();
    let found = bottles.find(specs.volume().ml().gte(V::of(50)));
    let found = found.sort(by_id).await.unwrap();
    assert_eq!(found, [all[4].clone(), all[6].clone(), all[7].clone()]);
    let found = bottles.find(specs.price().eq(V::of(3))).await.unwrap();
    assert_eq!(found, all[2..3]);
    let found = bottles.find(specs.k("colour").eq(V::of(-4))).await.unwrap();
    assert_eq!(found, all[3..4]);
}

#[tokio::test]
async fn documents_with_numbers_round_trip() {
    documents_round_trip::<i32, String>().await;
}

#[tokio::test]
async fn documents_with_text_round_trip() {
    documents_round_trip::<String, i32>().await;
}

macro_rules! records_round_trip {
    ($($test:ident: $key:expr, $value:ty;)*) => {$(
        #[tokio::test]
        async fn $test() {
            let database = database().await;
            let scans = Scan::<_, $value>::buckets(&database);
            scans.ensure().await.unwrap();
            let all: Vec<Scan<_, $value>> = (0..8)
                .map(|number| Scan {
                    machine: $key,
                    at: DateTime::from_millis(1_700_000_000_000 + i64::from(number)),
                    volume: (number % 3 != 0).then(|| Value::of(number)),
                    site: Value::of(7),
                })
                .collect();
            scans.load(&all).await;

            let stored = documents(&database, "scans").await;
            assert_eq!(stored.len(), 3);
            let site = stored[0].get_array("origin").unwrap()[0].as_document().unwrap();
            assert_eq!(site["v"], <$value>::of(7).to_bson());
            let read: Vec<Scan<_, $value>> = scans.range($key, ..).await.unwrap();
            assert_eq!(read, all);

            let buckets = database.collection::<Document>("scans");
            let at_least = |number| {
                let volume = Scan::<i64, $value>::specs().volume().ml();
                buckets.count_documents(Document::from(volume.gte(<$value>::of(number))))
            };
            assert_eq!(at_least(4).await.unwrap(), 2);
            assert_eq!(at_least(8).await.unwrap(), 0);
        }
    )*};
}

records_round_trip! {
    records_with_numbers_round_trip: 5_i64, i32;
    records_with_text_round_trip: "press".to_owned(), String;
}

//! What the derive generates from a struct: the spec, keys and their conversions, assembled
//! records.

use bucket_core::spec::{IdSegment, KeyField, TimeField, TimeUnit};
use bucket_mongo::{
    BucketDocument, BucketKey, Bucketed, Record,
    bson::{self, DateTime, doc},
};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[serde(rename_all = "camelCase")]
#[bucket(collection = "trades", items = "history", capacity = 10)]
struct Trade {
    ticker: String,
    #[bucket(time)]
    traded_at: DateTime,
    #[bucket(key)]
    customer_id: i64,
    qty: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, BucketKey)]
#[serde(rename_all = "kebab-case")]
enum SensorType {
    AirPressure,
    #[serde(rename = "temp", alias = "temperature", alias = "t")]
    Temperature,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "readings", items = "readings", capacity = 0x3c)]
#[bucket(id = "v1 {{x}} {sensor}/of:{device}={at:ms}")]
struct Reading {
    #[bucket(key)]
    device: String,
    #[bucket(key)]
    #[serde(rename = "type")]
    sensor: SensorType,
    #[bucket(time)]
    at: DateTime,
    value: f64,
}

fn trade() -> Trade {
    let traded_at = DateTime::from_millis(1_698_335_223_434);
    Trade {
        ticker: "MDB".to_owned(),
        traded_at,
        customer_id: 123,
        qty: 419,
    }
}

#[test]
fn the_spec_contains_what_the_attributes_say() {
    let spec = Trade::SPEC;
    assert_eq!(<Trade as Record>::SPEC, &spec);
    assert_eq!(
        (spec.record(), spec.collection(), spec.items()),
        ("Trade", "trades", "history")
    );
    assert_eq!(
        (Trade::COLLECTION, Trade::CAPACITY, spec.capacity()),
        ("trades", 10, Some(10))
    );
    assert_eq!(
        spec.keys(),
        [KeyField {
            field: "customer_id",
            path: "customerId"
        }]
    );
    assert_eq!(
        spec.time(),
        TimeField {
            field: "traded_at",
            name: "tradedAt"
        }
    );
}

#[test]
fn the_default_id_names_the_keys_and_then_the_seconds() {
    let expected = [
        IdSegment::Key(0),
        IdSegment::Literal("_"),
        IdSegment::Time(TimeUnit::Seconds),
    ];
    assert_eq!(Trade::SPEC.id(), expected);
}

#[test]
fn a_custom_id_template_is_split_into_its_parts() {
    let expected = [
        IdSegment::Literal("v1 {x} "),
        IdSegment::Key(1),
        IdSegment::Literal("/of:"),
        IdSegment::Key(0),
        IdSegment::Literal("="),
        IdSegment::Time(TimeUnit::Millis),
    ];
    assert_eq!(Reading::SPEC.id(), expected);
    assert_eq!(Reading::CAPACITY, 60);
}

#[test]
fn a_key_is_built_from_its_value_or_a_tuple_of_values() {
    fn one(key: impl Into<TradeKey>) -> TradeKey {
        key.into()
    }
    fn two(key: impl Into<ReadingKey>) -> ReadingKey {
        key.into()
    }
    assert_eq!(one(123), TradeKey { customer_id: 123 });
    assert_eq!(one(trade().key()), one(123));
    let key = ReadingKey {
        device: "a".to_owned(),
        sensor: SensorType::Temperature,
    };
    assert_eq!(two(("a", SensorType::Temperature)), key);
    assert_eq!(two(("a".to_owned(), SensorType::Temperature)), key);
}

#[test]
fn an_enum_key_is_its_serde_string() {
    for sensor in [SensorType::AirPressure, SensorType::Temperature] {
        let serde = bson::serialize_to_bson(&sensor).unwrap();
        let name = serde.as_str().unwrap();
        assert_eq!(sensor.to_key(), bucket_core::KeyValue::String(name));
        assert_eq!(SensorType::from_key(sensor.to_key()), Ok(sensor));
    }
    for alias in ["temp", "temperature", "t"] {
        let read = SensorType::from_key(bucket_core::KeyValue::String(alias));
        assert_eq!(read, Ok(SensorType::Temperature));
    }
    let error = SensorType::from_key(bucket_core::KeyValue::String("Temperature")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`Temperature` is no variant of `SensorType`"
    );
    let error = SensorType::from_key(bucket_core::KeyValue::Int32(1)).unwrap_err();
    assert!(error.to_string().contains("a string"), "{error}");
}

#[test]
fn a_record_is_assembled_from_key_and_item() {
    let item = TradeItem {
        ticker: "MDB".to_owned(),
        traded_at: DateTime::from_millis(1_698_335_223_434),
        qty: 419,
    };
    assert_eq!(
        Trade::assemble(TradeKey { customer_id: 123 }, item),
        trade()
    );
    assert_eq!(trade().time(), DateTime::from_millis(1_698_335_223_434));
}

#[test]
fn a_typed_bucket_survives_serde_and_its_parts() {
    let stored = doc! {
        "_id": "123_1698335223",
        "customerId": 123_i64,
        "count": 2,
        "history": [
            { "ticker": "MDB", "tradedAt": DateTime::from_millis(1_698_335_223_434), "qty": 419_i64 },
            { "ticker": "MSFT", "tradedAt": DateTime::from_millis(1_698_335_223_999), "qty": 1_i64 },
        ],
    };
    let bucket: TradeBucket = bson::deserialize_from_document(stored.clone()).unwrap();
    let id: TradeBucketId = "123_1698335223".parse().unwrap();
    assert_eq!(
        (&bucket.id, bucket.customer_id, bucket.count),
        (&id, 123, 2)
    );
    let written = bson::serialize_to_document(&bucket).unwrap();
    assert_eq!(written.get("history"), stored.get("history"));
    assert_eq!(
        bson::deserialize_from_document::<TradeBucket>(written).unwrap(),
        bucket
    );

    let parts = bucket.clone().into_parts();
    assert_eq!((parts.key, parts.items.len()), (bucket.key(), 2));
    let parts = bucket.clone().into_parts();
    assert_eq!(TradeBucket::from_parts(parts), bucket);
    assert_eq!(bucket.as_ref().key, bucket.key());
    assert_eq!(bucket.into_records()[0], trade());
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[serde(default)]
#[bucket(collection = "orders", items = "orders", capacity = 10)]
struct Order {
    #[bucket(key)]
    customer: i64,
    #[bucket(time)]
    at: DateTime,
    qty: u32,
    #[serde(default)]
    note: String,
}

impl Default for Order {
    fn default() -> Self {
        Self {
            customer: 1,
            at: DateTime::MAX,
            qty: 7,
            note: "none".to_owned(),
        }
    }
}

#[test]
fn missing_fields_get_the_default_of_the_record() {
    let stored = doc! { "customer": 5_i64, "at": DateTime::MIN };
    let by_serde: Order = bson::deserialize_from_document(stored.clone()).unwrap();
    let item: OrderItem = bson::deserialize_from_document(stored).unwrap();
    assert_eq!(Order::assemble(OrderKey { customer: 5 }, item), by_serde);
    assert_eq!((by_serde.qty, by_serde.note.as_str()), (7, ""));
}

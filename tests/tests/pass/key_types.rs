//! Every type that can be a key, as the only key and with others.

use bucket_mongo::{
    BucketKey, Bucketed,
    bson::{self, DateTime, oid::ObjectId},
};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, BucketKey)]
#[serde(rename_all = "snake_case")]
enum SensorType {
    AirPressure,
    #[serde(rename = "temp", alias = "temperature")]
    Temperature,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, BucketKey)]
struct Device(String);

type Alias = Device;

macro_rules! one_key {
    ($($name:ident: $ty:ty),* $(,)?) => {$(
        #[derive(Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "one", items = "list", capacity = 10)]
        struct $name {
            #[bucket(key)]
            key: $ty,
            #[bucket(time)]
            at: DateTime,
        }
    )*};
}

one_key! {
    I8: i8, I16: i16, I32: i32, I64: i64, U8: u8, U16: u16, U32: u32, Bool: bool,
    Text: std::string::String, Object: ObjectId, BsonUuid: bson::Uuid, Uuid: uuid::Uuid,
    Enum: SensorType, Newtype: Device, Aliased: Alias,
}

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "all",
    items = "list",
    capacity = 10,
    id = "all:{e}/{d}|{c}#{b}~{a}={at:ms}"
)]
struct All {
    #[bucket(key)]
    a: i64,
    #[bucket(key)]
    b: String,
    #[bucket(key)]
    c: SensorType,
    #[bucket(key)]
    d: Device,
    #[bucket(key)]
    e: ObjectId,
    #[bucket(time)]
    at: DateTime,
}

fn into<K>(key: impl Into<K>) -> K {
    key.into()
}

#[test]
fn compiles_and_keeps_its_promises() {
    assert_eq!(into::<I64Key>(123).key, 123);
    assert_eq!(into::<TextKey>("a").key, "a");
    assert_eq!(
        into::<EnumKey>(SensorType::Temperature).key,
        SensorType::Temperature
    );
    let key: AllKey = into((
        1,
        "b",
        SensorType::AirPressure,
        Device("d".into()),
        ObjectId::new(),
    ));
    assert_eq!((key.a, key.b.as_str()), (1, "b"));
    let stored = BucketKey::to_key(&SensorType::Temperature);
    assert_eq!(stored, bucket_core::KeyValue::String("temp"));
    let alias = bucket_core::KeyValue::String("temperature");
    assert_eq!(SensorType::from_key(alias), Ok(SensorType::Temperature));
    let error = SensorType::from_key(bucket_core::KeyValue::String("x")).unwrap_err();
    assert_eq!(error.to_string(), "`x` is no variant of `SensorType`");
}

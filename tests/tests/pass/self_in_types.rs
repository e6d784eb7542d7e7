//! `Self` in a field's type is the record, in the item too.

use std::marker::PhantomData;

use bucket_mongo::{Bucketed, Record, bson::DateTime};
use serde::{Deserialize, Serialize};

trait Unit {
    type Value;
}

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "readings", items = "readings", capacity = 10)]
struct Reading {
    #[bucket(key)]
    device: String,
    #[bucket(time)]
    at: DateTime,
    value: <Self as Unit>::Value,
    #[serde(skip)]
    unit: PhantomData<Self>,
}

impl Unit for Reading {
    type Value = i32;
}

#[test]
fn compiles_and_keeps_its_promises() {
    let item = ReadingItem {
        at: DateTime::MIN,
        value: 7,
        unit: PhantomData,
    };
    let reading = Reading::assemble(ReadingKey::from("a"), item);
    assert_eq!(reading.value, 7);
}

//! From records to items: serde's form without the key fields, the time as a date.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests are meant to panic"
)]

use std::collections::BTreeMap;

use bson::{Bson, DateTime, Document, doc};
use bucket_core::{EncodeError, Record, bucket, write::Batch};
use bucket_derive::Bucketed;
use serde::{Deserialize, Serialize, Serializer, ser::SerializeStruct};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "events", items = "events", capacity = 3, crate = ::bucket_core)]
struct Open {
    #[bucket(key)]
    source: i32,
    #[bucket(time)]
    at: DateTime,
    #[serde(flatten)]
    rest: BTreeMap<String, Bson>,
}

fn open(name: &str, value: i32) -> Open {
    let rest = BTreeMap::from([(name.to_owned(), Bson::Int32(value))]);
    Open {
        source: 1,
        at: DateTime::from_millis(5),
        rest,
    }
}

/// The item as sent.
fn item<T: Record>(record: &T) -> Result<Document, EncodeError> {
    let mut batch = Batch::of::<T>();
    batch.push(0, record)?;
    batch.chains_mut()[0].saw_none_open();
    let round = batch.rounds(None).remove(0);
    let command = Document::try_from(round.command().body().to_owned()).unwrap();
    let update = command.get_array("updates").unwrap()[0]
        .as_document()
        .unwrap();
    let push = update
        .get_document("u")
        .unwrap()
        .get_document("$push")
        .unwrap();
    Ok(push.get_document(T::SPEC.items()).unwrap().clone())
}

#[test]
fn a_flattened_map_travels_in_the_item_and_back() {
    let record = open("colour", 7);
    let item = item(&record).unwrap();
    assert_eq!(item, doc! { "at": DateTime::from_millis(5), "colour": 7 });
    let stored = doc! { "_id": "1_0000000000", "source": 1, "count": 1, "events": [item] };
    let stored = bson::RawDocumentBuf::try_from(&stored).unwrap();
    let bucket = bucket::decode::<Open>(&stored).unwrap();
    assert_eq!(bucket::assemble_records(bucket), [record]);
}

#[test]
fn a_flattened_value_named_like_a_key_or_the_time_is_refused_and_not_lost() {
    for name in ["source", "at"] {
        let error = item(&open(name, 7)).unwrap_err();
        let expected = name;
        assert!(
            matches!(&error, EncodeError::RepeatedName { name } if name == expected),
            "{error:?}"
        );
    }
}

#[test]
fn a_flattened_name_that_is_a_place_in_the_array_is_refused_before_it_blocks_the_bucket() {
    for name in ["0", "3", "100"] {
        let error = item(&open(name, 7)).unwrap_err();
        assert!(
            error.to_string().contains("an index of the items array"),
            "{error}"
        );
    }
    for name in ["3a", "", "-3", "+1"] {
        assert!(item(&open(name, 7)).is_ok(), "{name}");
    }
}

#[test]
fn a_flattened_name_that_marks_removed_records_is_refused() {
    let error = item(&open("_removed", 7)).unwrap_err().to_string();
    assert!(
        error.contains("`_removed`, which marks removed records"),
        "{error}"
    );
    for name in ["removed", "__removed", "_removed_at"] {
        assert!(item(&open(name, 7)).is_ok(), "{name}");
    }
}

#[derive(Debug, Clone, Deserialize, Bucketed)]
#[bucket(collection = "odd", items = "items", capacity = 3, crate = ::bucket_core)]
struct Odd {
    #[bucket(key)]
    source: i32,
    #[bucket(time)]
    at: DateTime,
    form: u8,
}

/// Implemented by hand, and not as a struct.
impl Serialize for Odd {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.form {
            0 => to.serialize_str("odd"),
            1 => to.serialize_none(),
            2 => to.serialize_some(&self.source),
            3 => [self.source].serialize(to),
            4 => (self.source, 1).serialize(to),
            // A struct, but without its time.
            5 => {
                let mut fields = to.serialize_struct("Odd", 1)?;
                fields.serialize_field("source", &self.source)?;
                fields.end()
            }
            _ => Err(serde::ser::Error::custom("no form")),
        }
    }
}

#[test]
fn a_record_that_is_not_a_serde_struct_is_a_typed_error_and_leaves_the_batch_unchanged() {
    let at = DateTime::from_millis(0);
    let mut batch = Batch::of::<Odd>();
    for form in 0..7 {
        let error = batch
            .push(
                0,
                &Odd {
                    source: 1,
                    at,
                    form,
                },
            )
            .unwrap_err();
        assert!(matches!(error, EncodeError::Serialize(_)), "{error:?}");
    }
    assert_eq!(
        (batch.records(), batch.bytes(), batch.chains().len()),
        (0, 0, 0)
    );
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "big", items = "items", capacity = 3, crate = ::bucket_core)]
struct Big {
    #[bucket(key)]
    source: i32,
    #[bucket(time)]
    at: DateTime,
    total: u64,
}

#[test]
fn a_number_that_bson_cannot_hold_is_a_typed_error() {
    let at = DateTime::from_millis(0);
    assert!(
        item(&Big {
            source: 1,
            at,
            total: i64::MAX.unsigned_abs()
        })
        .is_ok()
    );
    let error = item(&Big {
        source: 1,
        at,
        total: u64::MAX,
    })
    .unwrap_err();
    assert!(matches!(error, EncodeError::Serialize(_)), "{error:?}");
}

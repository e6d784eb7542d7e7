//! The columns of types: what their `Deserialize` says, what samples say, and what cannot be.

use std::collections::BTreeMap;

use bucket_arrow::{Error, Layout, arrow_schema::DataType};
use bucket_mongo::{
    Bucketed,
    bson::{Bson, DateTime, oid::ObjectId},
};
use serde::{Deserialize, Deserializer, Serialize};

use super::everything::Everything;

fn types<T: Bucketed>(layout: &Layout<T>) -> Vec<(String, String, bool)> {
    let schema = layout.schema();
    let fields = schema.fields().iter();
    fields
        .map(|field| {
            (
                field.name().clone(),
                field.data_type().to_string(),
                field.is_nullable(),
            )
        })
        .collect()
}

#[test]
fn columns_do_not_depend_on_records() {
    let one = Layout::<Everything>::new().unwrap();
    let schema = one.schema();
    let nullable = |name: &str| schema.field_with_name(name).unwrap().is_nullable();
    for name in ["maybe", "left_out", "renamed", "date", "boxed", "open"] {
        assert!(nullable(name), "{name}");
    }
    for name in ["name", "at", "f64", "text", "nested", "map", "rich", "tree"] {
        assert!(!nullable(name), "{name}");
    }
    let of = |name: &str| {
        schema
            .field_with_name(name)
            .unwrap()
            .metadata()
            .get("bson")
            .cloned()
    };
    assert_eq!(of("decimal").as_deref(), Some("decimal"));
    assert_eq!(of("open").as_deref(), Some("json"));
}

/// A text that must be one of few.
#[derive(Debug, Clone, Serialize)]
struct Isin(String);

impl<'de> Deserialize<'de> for Isin {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        if text.len() == 12 && text.starts_with("US") {
            return Ok(Self(text));
        }
        Err(serde::de::Error::custom("it is no ISIN"))
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "quotes", items = "quotes", window = "1h")]
struct Quote {
    #[bucket(key)]
    isin: ObjectId,
    #[bucket(key)]
    venue: String,
    #[bucket(time)]
    at: DateTime,
    of: Isin,
    price: f64,
}

fn quote() -> Quote {
    Quote {
        isin: ObjectId::from_bytes([0; 12]),
        venue: "XNYS".into(),
        at: DateTime::from_millis(0),
        of: Isin("US0378331005".into()),
        price: 1.5,
    }
}

#[test]
fn a_type_that_takes_no_sample_names_the_field_and_takes_one_of_yours() {
    let error = Layout::<Quote>::new().unwrap_err();
    let Error::Schema { field, .. } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(field, "of");
    assert_eq!(
        error.to_string(),
        "the field `of` of `Quote` has no column: no sample of its type can be made (it is no ISIN): pass a record to `sample`"
    );
    let layout = Layout::<Quote>::builder().sample(&quote()).build().unwrap();
    let names: Vec<_> = types(&layout).into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names, ["isin", "venue", "at", "of", "price"]);
    let mut batch = layout.batch();
    batch.push(&quote()).unwrap();
    assert_eq!(batch.finish().unwrap().num_rows(), 1);
}

/// An enum without a tag outside of its variants.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "kind")]
enum Tagged {
    One { a: i32 },
    Two { b: String },
}

#[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "events", items = "events", window = "1h")]
struct Event {
    #[bucket(key)]
    source: i32,
    #[bucket(time)]
    at: DateTime,
    tagged: Tagged,
    #[serde(default, skip_serializing_if = "is_seven")]
    unlike_seven: i32,
    #[serde(flatten)]
    flat: Flat,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Flat {
    left: f32,
    right: BTreeMap<String, i8>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
fn is_seven(number: &i32) -> bool {
    *number == 7
}

fn event(tagged: Tagged) -> Event {
    Event {
        source: 1,
        at: DateTime::from_millis(5),
        tagged,
        unlike_seven: 8,
        flat: Flat {
            left: 0.5,
            right: BTreeMap::from([("x".into(), 1)]),
        },
    }
}

#[test]
fn samples_of_yours_give_tagged_and_flattened_values_their_columns() {
    let (one, two) = (Tagged::One { a: 1 }, Tagged::Two { b: "x".into() });
    let layout = Layout::builder()
        .sample(&event(one.clone()))
        .sample(&event(two.clone()));
    let layout = layout.build().unwrap();
    assert_eq!(
        layout.schema().field_with_name("left").unwrap().data_type(),
        &DataType::Float32
    );
    let mut batch = layout.batch();
    batch.push(&event(one)).unwrap();
    batch.push(&event(two)).unwrap();
    let batch = batch.finish().unwrap();
    let super::cell::Cell::Struct(row) = &super::cell::rows(&[batch])[1] else {
        panic!();
    };
    assert_eq!(
        row[2].1,
        super::cell::Cell::fields([
            ("kind", super::cell::Cell::text("Two")),
            ("a", super::cell::Cell::Null),
            ("b", super::cell::Cell::text("x")),
        ])
    );
}

#[test]
fn a_record_that_does_not_fit_names_its_key_its_time_and_its_field() {
    let layout = Layout::builder()
        .sample(&event(Tagged::One { a: 1 }))
        .build()
        .unwrap();
    let mut batch = layout.batch();
    batch.push(&event(Tagged::One { a: 2 })).unwrap();

    let error = batch
        .push(&event(Tagged::Two { b: "x".into() }))
        .unwrap_err();
    let Error::Record {
        key, time, field, ..
    } = &error
    else {
        panic!("{error:?}");
    };
    assert_eq!(
        (key.as_str(), *time, field.as_str()),
        (r#"{ "source": 1 }"#, DateTime::from_millis(5), "tagged.b")
    );
    // It is never a null, and no batch has a part of it.
    assert!(matches!(batch.finish(), Err(Error::InvalidArgument { .. })));

    let mut batch = layout.batch();
    let mut missing = event(Tagged::One { a: 2 });
    missing.unlike_seven = 7;
    let error = batch.push(&missing).unwrap_err();
    assert!(
        matches!(&error, Error::Record { field, .. } if field == "unlike_seven"),
        "{error}"
    );
    assert_eq!(
        error.to_string(),
        "the record of { \"source\": 1 } at 1970-01-01T00:00:00.005Z does not fit its columns: `unlike_seven` is null, or \
         missing, which no sample of its type was: pass a record like this one to `sample`"
    );
}

#[test]
fn a_field_can_be_a_column_of_json() {
    let layout = Layout::builder()
        .sample(&event(Tagged::One { a: 1 }))
        .json("tagged")
        .build()
        .unwrap();
    let mut batch = layout.batch();
    batch.push(&event(Tagged::Two { b: "x".into() })).unwrap();
    let rows = super::cell::rows(&[batch.finish().unwrap()]);
    let super::cell::Cell::Struct(row) = &rows[0] else {
        panic!();
    };
    assert_eq!(
        row[2].1,
        super::cell::Cell::text(r#"{"kind":"Two","b":"x"}"#)
    );

    let error = Layout::<Everything>::builder()
        .json("nested.b")
        .build()
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "`Everything` has no field `nested.b` to be a column of JSON"
    );
    let error = Layout::<Everything>::builder()
        .json("at")
        .build()
        .unwrap_err();
    assert_eq!(error.to_string(), "the time cannot be a column of JSON");
    assert!(
        Layout::<Everything>::builder()
            .json("nested.more")
            .build()
            .is_ok()
    );
}

/// Types of other crates whose serde forms read texts or bytes.
#[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "others", items = "others", window = "1h")]
struct Others {
    #[bucket(key)]
    key: bool,
    #[bucket(time)]
    at: DateTime,
    address: std::net::IpAddr,
    path: std::path::PathBuf,
    took: std::time::Duration,
    positive: std::num::NonZeroU32,
    unit: (),
    any: Option<Bson>,
    nothing: Vec<()>,
}

#[test]
fn types_of_the_standard_library_have_columns() {
    let layout = Layout::<Others>::new().unwrap();
    let types = types(&layout);
    let of = |name: &str| {
        types
            .iter()
            .find(|(field, ..)| field == name)
            .unwrap()
            .1
            .clone()
    };
    assert_eq!(of("path"), "Utf8");
    assert_eq!(of("positive"), "UInt32");
    assert_eq!(of("any"), "Utf8");
    assert_eq!(of("unit"), "Utf8");
}

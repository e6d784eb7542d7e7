//! Attributes of generic structs: parameters that an attribute uses, that only other fields use, and
//! consts.

use std::{collections::BTreeMap, fmt::Debug, marker::PhantomData};

use bucket_mongo::{
    AttributeValue, Attributed,
    bson::{Document, doc},
};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Attributed)]
#[bucket(collection = "bottles")]
struct Bottle<V> {
    #[bucket(attribute(array = "specs", k = "volume", u = "ml", factor = 1))]
    volume_ml: Option<V>,
    #[bucket(attribute(array = "specs", k = "volume", u = "l", factor = 1000))]
    volume_l: Option<V>,
    #[bucket(attribute(array = "specs", k = "rank"))]
    rank: V,
    #[bucket(attribute(array = "specs", rest))]
    others: BTreeMap<String, V>,
}

/// No attribute uses `L` or `N`; `L` has a bound in the `where` clause.
#[derive(Debug, PartialEq, Serialize, Deserialize, Attributed)]
#[bucket(collection = "boxes")]
struct Labelled<V: Clone = i32, L = String, const N: usize = 2>
where
    L: Debug,
{
    label: L,
    #[serde(skip)]
    shelf: PhantomData<[u8; N]>,
    #[bucket(attribute(array = "specs", k = "weight"))]
    weight: Sealed<V>,
    #[bucket(attribute(array = "origin", k = "site"))]
    site: Option<String>,
}

/// All attributes have types without parameters.
#[derive(Serialize, Deserialize, Attributed)]
#[bucket(collection = "plain")]
struct Plain<L> {
    label: L,
    #[bucket(attribute(array = "specs", k = "weight"))]
    weight: i32,
}

/// `Self` is the struct, in the filters too.
#[derive(Serialize, Deserialize, Attributed)]
#[bucket(collection = "own")]
struct Own {
    #[bucket(attribute(array = "specs", k = "weight"))]
    weight: <Self as HasValue>::Value,
}

trait HasValue {
    type Value;
}

impl HasValue for Own {
    type Value = i64;
}

/// A wrapper that is an attribute value if its parameter is one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
struct Sealed<V>(V);

impl<V: AttributeValue> AttributeValue for Sealed<V> {
    const KIND: bucket_mongo::attribute::ValueKind = V::KIND;
    type Value = V::Value;

    fn to_bson(&self) -> bucket_mongo::bson::Bson {
        self.0.to_bson()
    }
}

/// Neither `Debug` nor `Clone`: the filters have both.
#[derive(Serialize, Deserialize)]
struct Bare;

fn is_plain<T: Debug + Copy>(_: &T) {}

fn in_generic_code<V>(least: V::Value) -> Document
where
    V: AttributeValue,
    Bottle<V>: Attributed,
{
    assert_eq!(Bottle::<V>::SPEC.collection(), "bottles");
    Bottle::<V>::specs().rank().gte(least).into()
}

#[test]
fn compiles_and_keeps_its_promises() {
    let filter = Bottle::<i32>::specs().volume().ml().gte(500);
    let expected =
        doc! { "specs": { "$elemMatch": { "k": "volume", "u": "ml", "v": { "$gte": 500 } } } };
    assert_eq!(Document::from(filter), expected);
    is_plain(&Bottle::<String>::specs().volume());
    let filter = Bottle::<String>::specs().k("colour").eq("red");
    let expected = doc! { "specs": { "$elemMatch": { "k": "colour", "v": { "$eq": "red" } } } };
    assert_eq!(Document::from(filter), expected);
    let filter = Document::from(Bottle::<f64>::specs().volume().in_ml().gte(500.0));
    assert!(filter.to_string().contains("0.5"), "{filter}");
    let bottle = Bottle {
        volume_ml: None,
        volume_l: Some(2),
        rank: 1,
        others: BTreeMap::new(),
    };
    assert_eq!(bottle.volume_in_ml(), Some(2_000.0));
    assert_eq!(in_generic_code::<i64>(3), in_generic_code::<i64>(3));

    let specs = Labelled::<i32, bool, 3>::specs();
    is_plain(&specs);
    assert_eq!(
        Document::from(Labelled::<i32>::specs().weight().eq(3)),
        Document::from(specs.weight().eq(3))
    );
    assert_eq!(Labelled::<f64>::COLLECTION, "boxes");
    let _ = Labelled::<f64>::origin().site().eq("Ulm");

    is_plain(&Plain::<Bare>::specs());
    let _ = Plain::<Bare>::specs().weight().gte(3);
    let _ = Own::specs().weight().gte(3_i64);
}

//! Generated code in scopes full of names: constants that patterns would match, and types, traits
//! and macros with the names of the prelude.

macro_rules! constants {
    ($($name:ident)*) => {
        $(
            #[allow(non_upper_case_globals, dead_code)]
            const $name: () = ();
        )*
    };
}

/// Names that generated code might give to its own values.
macro_rules! hostile_constants {
    () => {
        constants! {
            a b c d e f g i k n o q s t u v x y z
            source sink key item items name names value values serializer deserializer fields record
            records other parts stats count of id at from to of_key method path spec specs unit entry
            entries map seq state visitor formatter index kind text data result error output input
            that ok err some none left right lhs rhs hash hasher bucket time keys start end
            __f __fields __from __item __name __other __parts __q __record __sink __source __state
            __time __to __values
        }
    };
}

/// Further names of generated code. Serde's derives use them too, and fail among these constants.
macro_rules! constants_hostile_to_serde {
    () => {
        constants! { __value __key __serializer __deserializer }
    };
}

/// Types, traits and modules with the names of the prelude and of crates.
mod hostile {
    #![allow(dead_code, unused_macros, non_camel_case_types, non_snake_case)]

    #[derive(Debug)]
    pub(super) struct Option;
    #[derive(Debug)]
    pub(super) struct Result;
    #[derive(Debug)]
    pub(super) struct Vec;
    #[derive(Debug)]
    pub(super) struct Box;
    pub(super) struct Some;
    pub(super) struct None;
    pub(super) struct Ok;
    pub(super) struct Err;
    pub(super) trait Default {}
    pub(super) trait Clone {}
    pub(super) trait Copy {}
    pub(super) trait Debug {}
    pub(super) trait PartialEq {}
    pub(super) trait Eq {}
    pub(super) trait Hash {}
    pub(super) trait From {}
    pub(super) trait Into {}
    pub(super) trait Send {}
    pub(super) trait Sync {}
    pub(super) trait Sized {}
    pub(super) trait Serialize {}
    pub(super) trait Deserialize {}
    pub(super) trait Iterator {}
    pub(super) trait IntoIterator {}
    pub(super) trait ToString {}
    pub(super) trait ToOwned {}
    pub(super) trait AsRef {}
    pub(super) trait Fn {}
    pub(super) trait FnOnce {}
    pub(super) trait Drop {}
    pub(super) mod std {}
    pub(super) mod core {}
    pub(super) mod alloc {}
    pub(super) mod serde {}
    pub(super) mod bson {}
    pub(super) mod bucket_mongo {}
}

#[allow(unused_macros)]
macro_rules! format {
    ($($t:tt)*) => {
        compile_error!("not of the standard library")
    };
}
#[allow(unused_macros)]
macro_rules! vec {
    ($($t:tt)*) => {
        compile_error!("not of the standard library")
    };
}
#[allow(unused_macros)]
macro_rules! matches {
    ($($t:tt)*) => {
        compile_error!("not of the standard library")
    };
}

mod in_constants {
    use std::collections::BTreeMap;

    use bucket_mongo::{
        AttributeValue, Attributed, BucketKey, Bucketed, attribute::OtherEntries, bson::DateTime,
    };
    use serde::{Deserialize, Serialize};

    hostile_constants! {}

    #[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, BucketKey)]
    #[serde(rename_all = "lowercase")]
    pub(crate) enum Kind {
        Air,
        #[serde(alias = "h2o")]
        Water,
    }

    #[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, BucketKey)]
    #[serde(transparent)]
    pub(crate) struct Device(String);

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, AttributeValue)]
    #[serde(untagged)]
    pub(crate) enum Either {
        Number(f64),
        Text(String),
    }

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, AttributeValue)]
    #[serde(transparent)]
    pub(crate) struct Degrees(f64);

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, AttributeValue)]
    pub(crate) enum Colour {
        Red,
    }

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
    #[serde(default)]
    #[bucket(
        collection = "readings",
        items = "readings",
        window = "1h",
        capacity = 60,
        stats = "stats",
        expire_after = "30d"
    )]
    pub(crate) struct Reading {
        #[bucket(key)]
        device: Device,
        #[bucket(key)]
        kind: Kind,
        #[bucket(time, first = "first_at", last = "last_at")]
        at: DateTime,
        #[bucket(unique)]
        id: i64,
        #[bucket(
            min,
            max,
            sum,
            avg,
            std_dev,
            first,
            last,
            percentiles(error = 0.01),
            non_finite = "skip"
        )]
        value: f64,
        #[bucket(tally, count_if("errors", |code| *code >= 500), tally("classes", |code| code / 100))]
        code: i32,
        #[bucket(attribute(array = "specs", k = "volume", u = "ml", factor = 1))]
        volume: Option<f64>,
        #[bucket(attribute(array = "specs", k = "volume", u = "l", factor = 1000))]
        litres: Option<f64>,
        #[bucket(attribute(array = "specs", k = "colour"))]
        colour: Option<Colour>,
        #[bucket(attribute(array = "specs", rest))]
        rest: BTreeMap<String, Either>,
    }

    impl Default for Reading {
        fn default() -> Self {
            Self {
                device: Device("d".to_owned()),
                kind: Kind::Water,
                at: DateTime::from_millis(0),
                id: 1,
                value: 0.5,
                code: 200,
                volume: Some(1.0),
                litres: None,
                colour: Some(Colour::Red),
                rest: BTreeMap::new(),
            }
        }
    }

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
    #[bucket(collection = "numbered", items = "items", capacity = 10, numbered)]
    pub(crate) struct Generic<T> {
        #[bucket(key)]
        key: T,
        #[bucket(time)]
        time: DateTime,
        item: i32,
        #[bucket(sum)]
        of: i64,
    }

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
    #[bucket(
        collection = "hybrid",
        items = "items",
        capacity = 10,
        max_duration = "1h"
    )]
    pub(crate) struct Hybrid {
        #[bucket(key)]
        key: String,
        #[bucket(time)]
        time: DateTime,
    }

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Attributed)]
    #[bucket(collection = "bottles")]
    pub(crate) struct Bottle {
        #[serde(rename = "_id")]
        id: i32,
        #[bucket(attribute(array = "specs", k = "volume", u = "ml", factor = 1))]
        volume: Option<f64>,
        #[bucket(attribute(array = "specs", k = "volume", u = "l", factor = 1000))]
        litres: Option<f64>,
        #[bucket(attribute(array = "specs", k = "angle"))]
        angle: Option<Degrees>,
        #[bucket(attribute(array = "specs", rest))]
        other: OtherEntries,
    }

    pub(crate) fn generic() -> Generic<String> {
        Generic {
            key: "k".to_owned(),
            time: DateTime::from_millis(7),
            item: 1,
            of: 2,
        }
    }

    pub(crate) fn bottle() -> Bottle {
        Bottle {
            id: 1,
            volume: None,
            litres: Some(0.5),
            angle: None,
            other: OtherEntries::default(),
        }
    }
}

mod in_constants_hostile_to_serde {
    use bucket_mongo::{AttributeValue, Attributed, BucketKey, attribute::OtherEntries};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    hostile_constants! {}
    constants_hostile_to_serde! {}

    macro_rules! serde_by_hand {
        ($($of:ident)*) => {
            $(
                impl Serialize for $of {
                    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
                        unimplemented!()
                    }
                }
                impl<'de> Deserialize<'de> for $of {
                    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
                        unimplemented!()
                    }
                }
            )*
        };
    }

    serde_by_hand! { Kind Device Degrees Bottle }

    #[derive(Debug, Clone, PartialEq, Eq, Hash, BucketKey)]
    pub(crate) enum Kind {
        Air,
        Water,
    }

    #[derive(Debug, Clone, PartialEq, Eq, Hash, BucketKey)]
    pub(crate) struct Device(pub(crate) String);

    #[derive(Debug, Clone, PartialEq, AttributeValue)]
    pub(crate) struct Degrees(f64);

    #[derive(Debug, Clone, PartialEq, Attributed)]
    #[bucket(collection = "bottles")]
    pub(crate) struct Bottle {
        #[bucket(attribute(array = "specs", k = "volume", u = "ml", factor = 1))]
        volume: Option<f64>,
        #[bucket(attribute(array = "specs", k = "volume", u = "l", factor = 1000))]
        litres: Option<f64>,
        #[bucket(attribute(array = "specs", k = "angle"))]
        angle: Option<Degrees>,
        #[bucket(attribute(array = "specs", rest))]
        other: OtherEntries,
    }
}

mod among_types {
    #[allow(unused_imports)]
    use super::hostile::*;

    hostile_constants! {}

    #[derive(
        ::std::fmt::Debug,
        ::std::clone::Clone,
        ::std::cmp::PartialEq,
        ::std::cmp::Eq,
        ::std::hash::Hash,
        ::serde::Serialize,
        ::serde::Deserialize,
        ::bucket_mongo::BucketKey,
    )]
    #[serde(transparent)]
    pub(crate) struct String(pub(crate) i32);

    #[derive(
        ::std::fmt::Debug,
        ::std::clone::Clone,
        ::std::cmp::PartialEq,
        ::serde::Serialize,
        ::serde::Deserialize,
        ::bucket_mongo::Bucketed,
    )]
    #[bucket(collection = "strings", items = "items", capacity = 3, stats = "stats")]
    pub(crate) struct Named {
        #[bucket(key)]
        pub(crate) name: String,
        #[bucket(time)]
        pub(crate) at: ::bucket_mongo::bson::DateTime,
        #[bucket(min, sum, avg)]
        pub(crate) value: f64,
    }

    #[derive(
        ::std::fmt::Debug, ::serde::Serialize, ::serde::Deserialize, ::bucket_mongo::Attributed,
    )]
    #[bucket(collection = "documents")]
    pub(crate) struct Document {
        #[serde(rename = "_id")]
        pub(crate) id: i32,
        #[bucket(attribute(array = "specs", k = "volume", u = "ml"))]
        pub(crate) volume: ::std::option::Option<f64>,
        #[bucket(attribute(array = "specs", rest))]
        pub(crate) rest: ::std::collections::BTreeMap<::std::string::String, f64>,
    }
}

use bucket_core::{bucket, write::Batch};
use bucket_mongo::{BucketKey, Bucketed, Record, attribute, bson::DateTime};

fn is_a_key<T: BucketKey + PartialEq + std::fmt::Debug>(key: &T) {
    assert_eq!(T::from_key(key.to_key()).as_ref(), Ok(key));
}

fn is_encoded<T: Record>(record: &T) {
    let mut batch = Batch::of::<T>();
    batch.push(0, record).unwrap();
    assert_eq!(batch.records(), 1);
}

fn is_bucketed<T: Bucketed>() {}

#[test]
fn constants_in_scope_do_not_replace_the_names_of_generated_code() {
    is_bucketed::<in_constants::Reading>();
    is_encoded(&in_constants::Reading::default());
    is_encoded(&in_constants::generic());
    let key = in_constants::HybridKey::from("text");
    assert!(std::format!("{key:?}").contains("text"));
    let bottle = in_constants::bottle();
    assert_eq!(bottle.volume_in_ml(), Some(500.0));
    let stored = attribute::encode(&bottle).unwrap();
    assert_eq!(
        attribute::decode::<in_constants::Bottle>(&stored).unwrap(),
        bottle
    );
}

#[test]
fn constants_that_serde_cannot_take_do_not_replace_the_names_of_generated_code() {
    use in_constants_hostile_to_serde::{Bottle, Device, Kind};

    is_a_key(&Kind::Air);
    is_a_key(&Kind::Water);
    is_a_key(&Device("d".to_owned()));
    let _ = Bottle::specs().k("depth").gte(1);
    let _ = Bottle::specs().angle().exists();
}

#[test]
fn types_with_names_of_the_prelude_belong_to_the_user() {
    is_encoded(&among_types::Named {
        name: among_types::String(7),
        at: DateTime::from_millis(5),
        value: 1.5,
    });
    let key = among_types::NamedKey::from(among_types::String(7));
    assert_eq!(key.name.0, 7);
    let _ = bucket::decode::<among_types::Named>;
    let document = among_types::Document {
        id: 1,
        volume: None,
        rest: std::collections::BTreeMap::new(),
    };
    attribute::encode(&document).unwrap();
}

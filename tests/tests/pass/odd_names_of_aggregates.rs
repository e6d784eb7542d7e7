//! Names that generated code uses itself, as aggregated fields; types and conditions from macros.
#![allow(dead_code)]

use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

trait Everywhere {
    fn value(&self) -> u8 {
        0
    }
    fn sum(&self) -> u8 {
        0
    }
    fn to_number(&self) -> u8 {
        0
    }
    fn to_key(&self) -> u8 {
        0
    }
}

impl<T> Everywhere for T {}

/// May hide an option, so that its values are counted.
type Celsius = f64;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "odd", items = "the items", window = "day", stats = "r")]
struct Odd {
    #[bucket(key)]
    key: String,
    #[bucket(time, first = "firstSeen", last = "5 last")]
    time: DateTime,
    #[bucket(min = "a.min")]
    parts: f64,
    #[bucket(min = "b.min", count_if("type", |_| true), count_if("self", |_| true))]
    stats: f64,
    #[bucket(min = "c.min", tally = "5xx")]
    r#type: i32,
    #[bucket(count = "d.count", min = "d.min")]
    count: i32,
    #[bucket(sum = "e")]
    value_1: i32,
    #[bucket(sum = "f")]
    value1: i32,
    #[bucket(avg, count_if("An odd name!", |_| true))]
    __: Celsius,
    #[bucket(first = "g")]
    of: u8,
}

macro_rules! model {
    ($field:ident: $ty:ty, $name:literal if $condition:expr, $mapping:expr) => {
        #[derive(Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "m", items = "m", capacity = 9, numbered)]
        struct FromMacro {
            #[bucket(key)]
            key: String,
            #[bucket(time)]
            time: DateTime,
            #[bucket(sum, tally($name, $mapping), count_if("many", $condition))]
            $field: $ty,
        }
    };
}

model!(price: i64, "tens" if |price| *price > 9, |price: &i64| price / 10);

/// A field with the name of a method of its own view.
#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "own", items = "own", capacity = 9)]
struct Own {
    #[bucket(key)]
    key: String,
    #[bucket(time)]
    time: DateTime,
    #[bucket(min, max)]
    min: f64,
}

fn reads(stats: &OddStats) -> Option<f64> {
    let _: [Option<DateTime>; 2] = [stats.first_seen(), stats._5_last()];
    let _: [u64; 3] = [
        stats.stats().r#type(),
        stats.stats().self_(),
        stats.__().an_odd_name(),
    ];
    let _: Vec<(i32, u64)> = stats.r#type()._5xx();
    let _: u64 = stats.count().count();
    let _: [Option<i64>; 2] = [stats.value_1().sum(), stats.value1().sum()];
    let _: Option<u8> = stats.of().first();
    stats.parts().min().or(stats.__().avg())
}

fn reads_of_a_macro(stats: &FromMacroStats) -> Vec<(i64, u64)> {
    let _: (Option<i64>, u64) = (stats.sum(), stats.many());
    stats.price().tens::<i64>()
}

fn reads_of_its_own(stats: &OwnStats) -> Option<f64> {
    stats.min().min().or(stats.max())
}

#[test]
fn compiles_and_keeps_its_promises() {
    let paths: Vec<&str> = Odd::SPEC
        .aggregates()
        .iter()
        .map(|kept| kept.path)
        .collect();
    assert!(paths.contains(&"r.a.min") && paths.contains(&"firstSeen"));
    assert!(paths.contains(&"r.count") && paths.contains(&"r.sum"));
    assert_eq!(OddStats::FIELDS.type_5xx.as_str(), "r.5xx");
    assert_eq!(OddStats::FIELDS._5_last.as_str(), "5 last");
    assert_eq!(OwnStats::FIELDS.min_min.as_str(), "stats.min");
}

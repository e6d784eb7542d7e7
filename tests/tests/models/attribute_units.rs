//! A filter in a unit compares exactly what is read in that unit, whatever type and unit are
//! stored.
#![allow(clippy::float_cmp, reason = "numbers agree to the bit, or not at all")]

use bucket_mongo::{
    Attributed, Documents,
    attribute::AttributeFilter,
    bson::{Bson, Decimal128, Document, doc},
    testing::TestDatabase,
};
use bucket_tests::database;
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

use crate::common::explained::explain;

#[derive(Debug, Clone, Default, Serialize, Deserialize, Attributed)]
#[bucket(collection = "flasks")]
struct Flask {
    #[serde(rename = "_id")]
    id: i32,
    #[bucket(attribute(array = "specs", k = "volume", u = "ml", factor = 1))]
    volume_ml: Option<f64>,
    #[bucket(attribute(array = "specs", k = "volume", u = "oz", factor = 29.5735))]
    volume_oz: Option<i64>,
    #[bucket(attribute(array = "specs", k = "volume", u = "cl", factor = 10))]
    volume_cl: Option<Decimal128>,
    #[bucket(attribute(array = "specs", k = "volume", u = "drops", factor = 0.05))]
    volume_drops: Option<Bson>,
}

/// Numbers of every type, at every edge.
fn flasks() -> Vec<Flask> {
    let decimal = |text: &str| -> Decimal128 { text.parse().unwrap() };
    let mut all = Vec::new();
    let ml = [
        29.5735,
        59.147,
        29.573_500_000_000_003,
        1.0,
        0.1,
        -29.5735,
        0.0,
        5e-324,
        f64::MAX,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    all.extend(ml.map(|ml| Flask {
        volume_ml: Some(ml),
        ..Flask::default()
    }));
    let big = 1_i64 << 53;
    let oz = [1, 2, -1, 0, big, big + 1, big + 2, i64::MAX, i64::MIN];
    all.extend(oz.map(|oz| Flask {
        volume_oz: Some(oz),
        ..Flask::default()
    }));
    let cl = [
        "2.95735",
        "0.1",
        "0.1000000000000000055511151231257827",
        // Half-way between two floating point numbers, and next to that.
        "1.000000000000000111022302462515653",
        "1.000000000000000111022302462515654",
        "1.000000000000000111022302462515655",
        "1E+400",
        "-1E+400",
        "1E-400",
        "NaN",
        "Infinity",
    ];
    all.extend(cl.map(|cl| Flask {
        volume_cl: Some(decimal(cl)),
        ..Flask::default()
    }));
    let drops = [
        Bson::Int32(591),
        Bson::Int64(big + 1),
        Bson::Double(591.47),
        Bson::Decimal128(decimal("591.47")),
        Bson::String("591.47".to_owned()),
    ];
    all.extend(drops.map(|drops| Flask {
        volume_drops: Some(drops),
        ..Flask::default()
    }));
    // In several units: the value of the requested unit counts, or else the first one.
    all.extend([
        Flask {
            volume_ml: Some(29.5735),
            volume_oz: Some(2),
            ..Flask::default()
        },
        Flask {
            volume_oz: Some(3),
            volume_cl: Some(decimal("2.95735")),
            ..Flask::default()
        },
        Flask {
            volume_cl: Some(decimal("7")),
            volume_drops: Some(Bson::String("text".to_owned())),
            ..Flask::default()
        },
        Flask::default(),
    ]);
    for (id, flask) in (0..).zip(&mut all) {
        flask.id = id;
    }
    all
}

async fn stored() -> (TestDatabase, Documents<Flask>, Vec<Flask>) {
    let database = database().await;
    let flasks = Flask::documents(&database);
    flasks.ensure().await.unwrap();
    // As they are read: the conversion first has more digits than a decimal number.
    let report = flasks.insert_many(&self::flasks()).await.unwrap();
    report.into_result().unwrap();
    let all = flasks.find(doc! {}).sort(doc! { "_id": 1 }).await.unwrap();
    (database, flasks, all)
}

type Read = fn(&Flask) -> Option<f64>;
type Ask = fn(&str, f64, f64) -> AttributeFilter;

macro_rules! unit {
    ($ask:ident, $read:ident) => {{
        let ask: Ask = |operator, number, other| {
            let asked = Flask::specs().volume().$ask();
            match operator {
                "eq" => asked.eq(number),
                "gt" => asked.gt(number),
                "gte" => asked.gte(number),
                "lt" => asked.lt(number),
                "lte" => asked.lte(number),
                "is_in" => asked.is_in([number, other]),
                _ => asked.between(number..other),
            }
        };
        let read: Read = Flask::$read;
        (stringify!($ask), ask, read)
    }};
}

/// Each unit: how a filter asks in it, and what is read in it.
fn units() -> [(&'static str, Ask, Read); 4] {
    [
        unit!(in_ml, volume_in_ml),
        unit!(in_oz, volume_in_oz),
        unit!(in_cl, volume_in_cl),
        unit!(in_drops, volume_in_drops),
    ]
}

/// On the server `NaN` equals itself, and nothing else is comparable with it.
fn holds(operator: &str, read: f64, number: f64, other: f64) -> bool {
    let same = |one: f64, other: f64| one == other || (one.is_nan() && other.is_nan());
    match operator {
        "eq" => same(read, number),
        "gt" => read > number,
        "gte" => read > number || same(read, number),
        "lt" => read < number,
        "lte" => read < number || same(read, number),
        "is_in" => same(read, number) || same(read, other),
        _ => (read > number || same(read, number)) && read < other,
    }
}

async fn found(flasks: &Documents<Flask>, filter: &Document, hint: Document) -> Vec<i32> {
    let collection = flasks.collection::<Document>();
    let cursor = collection
        .find(filter.clone())
        .hint(bucket_mongo::mongodb::options::Hint::Keys(hint))
        .await
        .unwrap();
    let found: Vec<Document> = cursor.try_collect().await.unwrap();
    let mut ids: Vec<i32> = found.iter().map(|d| d.get_i32("_id").unwrap()).collect();
    ids.sort_unstable();
    ids
}

#[tokio::test]
async fn a_filter_in_a_unit_finds_exactly_what_is_read_in_it() {
    let (database, flasks, all) = stored().await;
    let index = doc! { "specs.k": 1, "specs.u": 1, "specs.v": 1 };
    for (unit, ask, read) in units() {
        let mut numbers: Vec<f64> = all.iter().filter_map(read).collect();
        let beside = numbers.iter().flat_map(|n| [n.next_up(), n.next_down()]);
        numbers.extend(beside.collect::<Vec<_>>());
        numbers.sort_unstable_by(f64::total_cmp);
        numbers.dedup_by_key(|number| number.to_bits());
        for (at, number) in numbers.iter().enumerate() {
            let other = numbers[(at + 7) % numbers.len()];
            for operator in ["eq", "gt", "gte", "lt", "lte", "is_in", "between"] {
                let is = |flask: &&Flask| {
                    read(flask).is_some_and(|read| holds(operator, read, *number, other))
                };
                let expected: Vec<i32> = all.iter().filter(is).map(|flask| flask.id).collect();
                let filter = Document::from(ask(operator, *number, other));
                let by_index = found(&flasks, &filter, index.clone()).await;
                assert_eq!(by_index, expected, "{unit} {operator} {number:e}: {filter}");
                if at % 8 == 0 {
                    let by_scan = found(&flasks, &filter, doc! { "$natural": 1 }).await;
                    assert_eq!(by_scan, expected, "{unit} {operator} {number:e}: {filter}");
                }
            }
        }
    }
    // One ounce is found as exactly one ounce, and through the index.
    let one = &all[0];
    assert_eq!(
        (one.volume_ml, one.volume_in_oz()),
        (Some(29.5735), Some(1.0))
    );
    let filter = Document::from(Flask::specs().volume().in_oz().eq(1.0));
    let explained = explain(&database, doc! { "find": "flasks", "filter": filter }).await;
    assert!(!explained.plan.contains("COLLSCAN"), "{}", explained.plan);
    assert!(
        explained.documents <= 12,
        "{} documents",
        explained.documents
    );
    assert!(explained.keys <= 20, "{} keys", explained.keys);
}

#[tokio::test]
async fn sorting_in_a_unit_follows_the_values_that_are_read_in_it() {
    let (_database, flasks, all) = stored().await;
    let collection = flasks.collection::<Document>();
    // Written by hand: another order of entries, a number as text, and an array that is not one.
    let entry = |u: &str, v: Bson| doc! { "k": "volume", "u": u, "v": v };
    for (id, specs) in [
        (
            1_000,
            Bson::from(vec![entry("oz", 2.into()), entry("ml", 29.5735.into())]),
        ),
        (
            1_001,
            Bson::from(vec![entry("ml", "59".into()), entry("oz", 2.into())]),
        ),
        (
            1_002,
            Bson::from(vec![entry("drops", Bson::Null), entry("ml", "59".into())]),
        ),
        (1_003, Bson::from("none")),
    ] {
        collection
            .insert_one(doc! { "_id": id, "specs": specs })
            .await
            .unwrap();
    }
    for (unit, stages, read, by_hand) in [
        (
            "ml",
            Flask::specs().volume().in_ml().sort_stages("by", false),
            Flask::volume_in_ml as Read,
            [Some(29.5735), Some(59.147)],
        ),
        (
            "oz",
            Flask::specs().volume().in_oz().sort_stages("by", false),
            Flask::volume_in_oz as Read,
            [Some(2.0), Some(2.0)],
        ),
    ] {
        let cursor = collection.aggregate(stages).await.unwrap();
        let sorted: Vec<Document> = cursor.try_collect().await.unwrap();
        let read = |document: &Document| match document.get_i32("_id").unwrap() {
            1_000 => by_hand[0],
            1_001 => by_hand[1],
            1_002.. => None,
            id => read(&all[usize::try_from(id).unwrap()]),
        };
        let sorted: Vec<Option<f64>> = sorted.iter().map(read).collect();
        assert_eq!(sorted.len(), all.len() + 4);
        // First missing values, then `NaN`, then numbers.
        let place = |read: &Option<f64>| match read {
            None => (0, 0.0),
            Some(read) if read.is_nan() => (1, 0.0),
            Some(read) => (2, *read),
        };
        let is_sorted = sorted.is_sorted_by(|one, other| place(one) <= place(other));
        assert!(is_sorted, "{unit}: {sorted:?}");
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Attributed)]
#[bucket(collection = "jars")]
struct Jar {
    #[serde(rename = "_id")]
    id: i32,
    #[bucket(attribute(array = "specs", k = "volume", u = "ml", text))]
    volume_ml: Option<i32>,
    #[bucket(attribute(array = "specs", k = "volume", u = "oz"))]
    volume_oz: Option<i32>,
    #[bucket(attribute(array = "specs", k = "volume", u = "cups"))]
    volume_cups: Option<i64>,
}

#[tokio::test]
async fn any_unit_finds_numbers_and_numbers_stored_as_text() {
    let database = database().await;
    let jars = Jar::documents(&database);
    let jar = |id, ml, oz, cups| Jar {
        id,
        volume_ml: ml,
        volume_oz: oz,
        volume_cups: cups,
    };
    let all = [
        jar(1, Some(5), None, None),
        jar(2, None, Some(5), None),
        jar(3, None, None, Some(5)),
        jar(4, Some(6), Some(7), Some(8)),
        jar(5, None, None, None),
    ];
    jars.insert_many(&all).await.unwrap().into_result().unwrap();
    let any = Jar::specs().volume().any_unit();
    for (filter, expected) in [
        (any.eq(5), vec![1, 2, 3]),
        (any.eq(6), vec![4]),
        (any.is_in([5, 6]), vec![1, 2, 3, 4]),
        (any.is_in([8, 9]), vec![4]),
        (any.gte(6), vec![4]),
        (any.lt(6), vec![2, 3]),
        (any.exists(), vec![1, 2, 3, 4]),
    ] {
        let found = jars
            .find(filter.clone())
            .sort(doc! { "_id": 1 })
            .await
            .unwrap();
        let ids: Vec<i32> = found.iter().map(|jar| jar.id).collect();
        assert_eq!(ids, expected, "{filter:?}");
    }
}

//! Edge cases of the attributes of records: nulls, text, names, and writers that do not know them.

use std::collections::BTreeMap;

use bucket_core::EncodeError;
use bucket_mongo::{
    AttributeValue, Attributed, Bucketed, ErrorKind,
    attribute::{decode, encode},
    bson::{Bson, DateTime, Decimal128, Document, doc},
    mongodb::Collection,
};
use bucket_tests::{Load, database};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

const START: i64 = 1_699_999_800_000;

fn at(minute: i64) -> DateTime {
    DateTime::from_millis(START + minute * 60_000)
}

#[allow(clippy::unnecessary_wraps, reason = "serde's signature")]
fn five() -> Option<i32> {
    Some(5)
}

/// A common way to write it: an option as its value, or null.
mod by_hand {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[allow(clippy::ref_option, reason = "serde's signature")]
    pub(super) fn serialize<S: Serializer>(value: &Option<i64>, to: S) -> Result<S::Ok, S::Error> {
        value.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
        Option::deserialize(from)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, AttributeValue)]
struct Size(Option<i32>);

macro_rules! with_nulls {
    ($name:ident: $derive:ident, [$($container:tt)*], { $($fields:tt)* }) => {
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, $derive)]
        #[bucket($($container)*)]
        struct $name {
            $($fields)*
            #[serde(default = "five")]
            #[bucket(attribute(array = "specs", k = "default"))]
            default: Option<i32>,
            #[serde(with = "by_hand")]
            #[bucket(attribute(array = "specs", k = "with"))]
            with: Option<i64>,
            #[bucket(attribute(array = "specs", k = "any"))]
            any: Bson,
            #[bucket(attribute(array = "specs", k = "size"))]
            size: Size,
            #[bucket(attribute(array = "specs", k = "plain"))]
            plain: Option<i32>,
            #[bucket(attribute(array = "specs", rest))]
            rest: BTreeMap<String, Option<i32>>,
        }
    };
}

with_nulls! { Held: Bucketed, [collection = "held", items = "items", window = "1h", attributes(array = "specs", store = "bucket")], {
    #[bucket(key)]
    machine: String,
    #[bucket(time)]
    at: DateTime,
} }
with_nulls! { Own: Bucketed, [collection = "own", items = "items", window = "1h"], {
    #[bucket(key)]
    machine: String,
    #[bucket(time)]
    at: DateTime,
} }
with_nulls! { Bottle: Attributed, [collection = "bottles"], {} }

macro_rules! nothing_or_something {
    ($name:ident { $($field:ident: $value:expr),* }, $is_nothing:expr) => {
        $name {
            $($field: $value,)*
            default: (!$is_nothing).then_some(1),
            with: (!$is_nothing).then_some(2),
            any: if $is_nothing { Bson::Null } else { Bson::from("x") },
            size: Size((!$is_nothing).then_some(3)),
            plain: (!$is_nothing).then_some(4),
            rest: [("a.$b".to_owned(), (!$is_nothing).then_some(5))].into(),
        }
    };
}

#[tokio::test]
async fn null_is_read_as_null_whatever_serde_does_with_a_missing_field() {
    for is_nothing in [true, false] {
        let bottle = nothing_or_something!(Bottle {}, is_nothing);
        let stored = encode(&bottle).unwrap();
        assert_eq!(decode::<Bottle>(&stored).unwrap(), bottle);
        let entries = stored.get_array("specs").unwrap().into_iter().count();
        // A plain option without a value has no entry.
        assert_eq!(entries, if is_nothing { 5 } else { 6 });
    }
    let database = database().await;
    macro_rules! stored_and_read {
        ($($name:ident),*) => {$({
            let buckets = $name::buckets(&database);
            buckets.ensure().await.unwrap();
            let machine = || "press".to_owned();
            let all: Vec<$name> = (0..4)
                .map(|n| nothing_or_something!($name { machine: machine(), at: at(n) }, n % 2 == 0))
                .collect();
            buckets.load(&all).await;
            assert_eq!(buckets.range(machine(), ..).await.unwrap(), all);
        })*};
    }
    stored_and_read!(Held, Own);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "named", items = "items", window = "1h")]
#[bucket(attributes(array = "sources", store = "bucket"))]
struct Named {
    #[bucket(key)]
    machine: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(attribute(array = "sources", k = "site"))]
    site: String,
    #[bucket(attribute(array = "sources_own", k = "any", text))]
    any: Bson,
}

#[tokio::test]
async fn what_would_be_read_back_differently_is_refused_before_it_is_written() {
    let database = database().await;
    let named = Named::buckets(&database);
    named.ensure().await.unwrap();
    let record = |any: Bson| Named {
        machine: "press".to_owned(),
        at: at(0),
        site: "Ulm".to_owned(),
        any,
    };
    // The positions of sources are stored in a field of that name.
    let insert = named.insert_many(vec![record("a".into())]);
    let error = insert.from_source("orders", 0).await.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::InvalidArgument { .. }),
        "{error:?}"
    );
    // Stored text does not show whether it was a number.
    let error = named.insert(&record(5.into())).await.unwrap_err();
    assert!(
        error.to_string().contains("`any` of `sources_own`"),
        "{error}"
    );
    named.insert(&record("5".into())).await.unwrap();
    assert_eq!(
        named.range("press".to_owned(), ..).await.unwrap(),
        [record("5".into())]
    );
}

/// The model before its fields became attributes.
mod before {
    use super::*;

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
    #[bucket(collection = "counts", items = "counts", window = "1h")]
    pub(super) struct Count {
        #[bucket(key)]
        pub machine: String,
        #[bucket(time)]
        pub at: DateTime,
        #[bucket(unique)]
        pub number: i64,
        #[bucket(sum, max)]
        pub volume_ml: Option<i32>,
        pub site: String,
        #[bucket(sum = "levels")]
        pub level: i64,
        pub others: BTreeMap<String, i32>,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "counts", items = "counts", window = "1h")]
#[bucket(attributes(array = "origin", store = "bucket"))]
struct Count {
    #[bucket(key)]
    machine: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(unique)]
    number: i64,
    #[bucket(sum, max, attribute(array = "specs", k = "volume", u = "ml"))]
    volume_ml: Option<i32>,
    #[bucket(attribute(array = "origin", k = "site"))]
    site: String,
    #[bucket(sum = "levels", attribute(array = "origin", k = "level"))]
    level: i64,
    #[bucket(attribute(array = "specs", rest))]
    others: BTreeMap<String, i32>,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Point {
    volume_ml: Option<i32>,
    site: String,
}

fn count(number: i64) -> Count {
    let others = (0..number % 2).map(|other| (format!("$a.{other}"), 1));
    Count {
        machine: "press".to_owned(),
        at: at(number),
        number,
        volume_ml: (number % 3 != 0).then_some(5),
        site: if number % 5 == 0 { "Jena" } else { "Ulm" }.to_owned(),
        level: number % 5 + 1,
        others: others.collect(),
    }
}

fn before(record: Count) -> before::Count {
    let Count {
        machine,
        at,
        number,
        volume_ml,
        site,
        level,
        others,
    } = record;
    before::Count {
        machine,
        at,
        number,
        volume_ml,
        site,
        level,
        others,
    }
}

/// The statistics that the server returns for these stages.
async fn stats_of(collection: &Collection<Document>, stages: Vec<Document>) -> Document {
    let found = collection.aggregate(stages).await.unwrap();
    let found: Vec<Document> = found.try_collect().await.unwrap();
    found[0].get_document("stats").unwrap().clone()
}

fn whole(value: &Bson) -> i64 {
    let short = value.as_i32().map(i64::from);
    short
        .or(value.as_i64())
        .unwrap_or_else(|| panic!("{value}"))
}

/// Buckets that either writer opened, to which both have appended.
#[tokio::test]
async fn writers_from_before_and_after_share_buckets_and_every_read_distinguishes_them() {
    for old_first in [true, false] {
        let database = database().await;
        let (old, new) = (before::Count::buckets(&database), Count::buckets(&database));
        new.ensure().await.unwrap();
        let all: Vec<Count> = (0..12).map(count).collect();
        for record in &all {
            if (record.number % 4 < 2) == old_first {
                old.insert(&before(record.clone())).await.unwrap();
            } else {
                new.insert(record).await.unwrap();
            }
        }
        let key = || "press".to_owned();
        assert_eq!(new.range(key(), ..).await.unwrap(), all);
        let newest = new.latest_per_key().await.unwrap();
        assert_eq!(newest, all[11..]);

        let fields = [CountItem::FIELDS.volume_ml, CountItem::FIELDS.site];
        let points: Vec<Point> = new.range(key(), ..).select(fields).await.unwrap();
        let expected = all.iter().map(|it| Point {
            volume_ml: it.volume_ml,
            site: it.site.clone(),
        });
        assert_eq!(points, expected.collect::<Vec<_>>());

        // In a bucket that the range cuts, the server adds up the values of either form.
        let some = at(1)..at(9);
        let stats = new.stats(key(), some.clone()).await.unwrap().unwrap();
        let stages = new.stats(key(), some).pipeline().unwrap();
        let collection = new.collection::<Document>();
        let of_server = stats_of(&collection, stages).await;
        let stats = stats.into_stats();
        for (name, own, expected) in [
            ("sum", stats.volume_ml().sum(), 30),
            ("levels", stats.level().sum(), 24),
        ] {
            assert_eq!(own, Some(expected), "{name}");
            assert_eq!(of_server.get(name).map(whole), Some(expected), "{name}");
        }

        // After the `$unwind`, a filter sees the values that the bucket holds only for items
        // without their own.
        let mut stages = new.range(key(), ..).pipeline().unwrap();
        stages.push(doc! { "$unwind": "$counts" });
        stages.push(doc! { "$match": Document::from(Count::origin().site().eq("Jena")) });
        let found = collection.aggregate(stages).await.unwrap();
        let found: Vec<Document> = found.try_collect().await.unwrap();
        let numbers = found.iter().map(|it| {
            it.get_document("counts")
                .unwrap()
                .get_i64("number")
                .unwrap()
        });
        let expected = all
            .iter()
            .filter(|it| it.site == "Jena" && (it.number % 4 < 2) != old_first);
        assert_eq!(
            numbers.collect::<Vec<_>>(),
            expected.map(|it| it.number).collect::<Vec<_>>()
        );

        let report = Count::buckets(&database).insert_many(&all).await.unwrap();
        assert_eq!(
            (report.duplicates().len(), report.failed().len()),
            (12, 0),
            "{report:?}"
        );
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "texts", items = "items", window = "1h")]
struct Text {
    #[bucket(key)]
    machine: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(sum = "whole", attribute(array = "specs", k = "whole", text))]
    whole: Option<i64>,
    #[bucket(sum = "part", attribute(array = "specs", k = "part", text))]
    part: Option<f64>,
}

#[tokio::test]
async fn the_server_also_adds_up_numbers_that_are_stored_as_text() {
    let database = database().await;
    let texts = Text::buckets(&database);
    texts.ensure().await.unwrap();
    let all: Vec<Text> = (0..10)
        .map(|n| Text {
            machine: "press".to_owned(),
            at: at(n),
            whole: (n % 3 != 0).then_some(n),
            part: (n % 2 != 0).then_some(0.5),
        })
        .collect();
    texts.load(&all).await;
    let stages = texts
        .stats("press".to_owned(), at(2)..at(8))
        .pipeline()
        .unwrap();
    let stats = stats_of(&texts.collection(), stages).await;
    assert_eq!(stats.get_i64("whole").unwrap(), 2 + 4 + 5 + 7);
    assert_eq!(stats.get_f64("part").unwrap().to_string(), "1.5");
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, AttributeValue)]
#[serde(untagged)]
enum Mixed {
    Whole(i32),
    Part(f64),
    Text(String),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "equals", items = "items", capacity = 100)]
#[bucket(attributes(array = "origin", store = "bucket"))]
struct Equal {
    #[bucket(key)]
    machine: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(unique)]
    number: i64,
    #[bucket(attribute(array = "origin", k = "any"))]
    any: Bson,
    #[bucket(attribute(array = "origin", k = "mixed"))]
    mixed: Mixed,
    #[bucket(attribute(array = "zeros", k = "zero"))]
    zero: f64,
}

#[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "zeros", items = "items", capacity = 100)]
#[bucket(attributes(array = "origin", store = "bucket"))]
struct Zero {
    #[bucket(key)]
    machine: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(unique)]
    number: i64,
    #[bucket(attribute(array = "origin", k = "offset"))]
    offset: f64,
    #[bucket(attribute(array = "origin", k = "price"))]
    price: Decimal128,
}

#[tokio::test]
async fn values_that_the_server_takes_for_equal_are_read_back_unchanged() {
    let database = database().await;
    let equals = Equal::buckets(&database);
    equals.ensure().await.unwrap();
    let values: [Bson; 5] = [5.into(), 5.0.into(), 5_i64.into(), "5".into(), Bson::Null];
    let all: Vec<Equal> = (0..10)
        .map(|number: i64| Equal {
            machine: "press".to_owned(),
            at: at(number),
            number,
            any: values[usize::try_from(number % 5).unwrap()].clone(),
            mixed: match number / 2 % 3 {
                0 => Mixed::Whole(7),
                1 => Mixed::Part(7.5),
                _ => Mixed::Text("7".to_owned()),
            },
            zero: 0.0,
        })
        .collect();
    for record in &all {
        equals.insert(record).await.unwrap();
    }
    assert_eq!(equals.range("press".to_owned(), ..).await.unwrap(), all);

    let zeros = Zero::buckets(&database);
    zeros.ensure().await.unwrap();
    let all: Vec<Zero> = (0..8)
        .map(|number| Zero {
            machine: "press".to_owned(),
            at: at(number),
            number,
            offset: if number % 2 == 0 { 0.0 } else { -0.0 },
            price: if number < 4 { "1.0" } else { "1.00" }.parse().unwrap(),
        })
        .collect();
    for record in &all {
        zeros.insert(record).await.unwrap();
    }
    let read = zeros.range("press".to_owned(), ..).await.unwrap();
    let bits = |of: &[Zero]| -> Vec<(u64, String)> {
        let each = of
            .iter()
            .map(|it| (it.offset.to_bits(), it.price.to_string()));
        each.collect()
    };
    assert_eq!(bits(&read), bits(&all));
    let report = Zero::buckets(&database).insert_many(&all).await.unwrap();
    assert_eq!((report.duplicates().len(), report.failed().len()), (8, 0));
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "large", items = "items", capacity = 2)]
#[bucket(attributes(array = "origin", store = "bucket"))]
struct Large {
    #[bucket(key)]
    machine: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(attribute(array = "origin", k = "text"))]
    text: String,
}

#[tokio::test]
async fn a_record_of_the_largest_size_is_stored_next_to_another_one() {
    let database = database().await;
    let large = Large::buckets(&database);
    large.ensure().await.unwrap();
    let record = |minute, letter: &str, size| Large {
        machine: "press".to_owned(),
        at: at(minute),
        text: letter.repeat(size),
    };
    let size = 8 * 1024 * 1024;
    let error = large.insert(&record(0, "a", size)).await.unwrap_err();
    let ErrorKind::Encode(EncodeError::TooLarge { bytes, limit }) = error.kind() else {
        panic!("{error:?}")
    };
    let size = size - (bytes - limit);
    assert!(large.insert(&record(0, "a", size + 1)).await.is_err());
    // Nothing is shared: the bucket holds the first item's array, and the second item its own.
    let all = [record(0, "a", size), record(1, "b", size)];
    for record in &all {
        large.insert(record).await.unwrap();
    }
    assert!(large.range("press".to_owned(), ..).await.unwrap() == all);
    assert_eq!(large.page_count("press".to_owned()).await.unwrap(), 1);
}

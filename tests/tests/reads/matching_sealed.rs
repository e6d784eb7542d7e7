//! Reads of sealed buckets with a filter: the server leaves a bucket out only if its smallest and largest values show that
//! none of its records can meet the filter.

use std::{collections::BTreeSet, fmt::Debug, time::Duration};

use bucket_mongo::{
    AttributeFilter, Bucketed, Buckets, FieldPath,
    bson::{Bson, DateTime, doc},
    testing::TestDatabase,
};
use bucket_tests::{database, documents, profiled};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use crate::common::draw::Draw;

/// The fields of the models: whole numbers, optional ones, with only one aggregate, without any, and with values that
/// the aggregates leave out.
const FIELDS: [&str; 5] = ["count", "level", "most", "plain", "wild"];

trait Part: Bucketed + Clone + Debug {
    fn of(machine: &str, number: i64, values: [f64; 5]) -> Self;
    fn key_of(machine: &str) -> Self::Key;
    fn number(&self) -> i64;
    /// The value of a field as the server compares it.
    fn value(&self, field: usize) -> Option<f64>;
    fn set(&mut self, value: f64);
    fn path(field: usize) -> FieldPath;
}

macro_rules! models {
    ($($test:ident $name:ident $item:ident: [$($attributes:tt)*];)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "parts", items = "items", stats = "stats", seal_after = "1h", $($attributes)*)]
        struct $name {
            #[bucket(key)]
            machine: String,
            #[bucket(time)]
            at: DateTime,
            number: i64,
            #[bucket(min, max, sum)]
            count: i64,
            #[serde(rename = "l")]
            #[bucket(min = "l_min", max = "l_max")]
            level: Option<f64>,
            #[bucket(max = "most")]
            most: f64,
            plain: f64,
            #[bucket(min = "wild_min", max = "wild_max", non_finite = "skip")]
            wild: f64,
            /// So that columns are smaller than rows.
            note: String,
        }

        impl Part for $name {
            #[allow(clippy::cast_possible_truncation, reason = "small numbers")]
            fn of(machine: &str, number: i64, values: [f64; 5]) -> Self {
                let [count, level, most, plain, wild] = values;
                Self {
                    machine: machine.to_owned(),
                    at: DateTime::from_millis(1_698_335_220_000 + number * 7_000),
                    number,
                    count: count as i64,
                    level: (number % 5 > 0).then_some(level),
                    most,
                    plain,
                    wild: match number % 11 {
                        3 => f64::NAN,
                        5 => f64::INFINITY,
                        7 => f64::NEG_INFINITY,
                        _ => wild,
                    },
                    note: "the same text in each record".to_owned(),
                }
            }

            fn key_of(machine: &str) -> Self::Key {
                machine.to_owned().into()
            }

            fn number(&self) -> i64 {
                self.number
            }

            #[allow(clippy::cast_precision_loss, reason = "small numbers")]
            fn value(&self, field: usize) -> Option<f64> {
                match field {
                    0 => Some(self.count as f64),
                    1 => self.level,
                    2 => Some(self.most),
                    3 => Some(self.plain),
                    _ => Some(self.wild),
                }
            }

            #[allow(clippy::cast_possible_truncation, reason = "small numbers")]
            fn set(&mut self, value: f64) {
                self.count = value as i64;
                self.level = Some(value);
                self.most = value;
            }

            fn path(field: usize) -> FieldPath {
                let of = $item::FIELDS;
                [of.count, of.level, of.most, of.plain, of.wild][field].clone()
            }
        }

        mod $test {
            use super::*;

            #[tokio::test(flavor = "multi_thread")]
            async fn no_match_is_left_out() {
                super::no_match_is_left_out::<$name>().await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn what_cannot_match_is_not_sent() {
                super::what_cannot_match_is_not_sent::<$name>().await;
            }
        }
    )*};
}

models! {
    counted Counted CountedItem: [capacity = 8];
    windowed Windowed WindowedItem: [window = "1m", capacity = 8];
    windowed_objects WindowedObjects WindowedObjectsItem: [window = "1m", object_ids];
    hybrid_side HybridSide HybridSideItem: [capacity = 8, max_duration = "1m", late = "side"];
    numbered Numbered NumberedItem: [capacity = 8, numbered];
}

/// A condition, and what it means.
#[derive(Debug, Clone)]
enum Condition {
    Compares(usize, &'static str, Bson, f64),
    Between(usize, f64, f64),
    IsIn(usize, Vec<f64>),
    Both(Box<Self>, Box<Self>),
    Either(Box<Self>, Box<Self>),
}

fn compares(operator: &str, value: f64, operand: f64) -> bool {
    if value.is_nan() || operand.is_nan() {
        return value.is_nan() && operand.is_nan() && !matches!(operator, "$gt" | "$lt");
    }
    match operator {
        #[allow(clippy::float_cmp, reason = "as the server compares")]
        "$eq" => value == operand,
        "$gt" => value > operand,
        "$gte" => value >= operand,
        "$lt" => value < operand,
        _ => value <= operand,
    }
}

impl Condition {
    fn is_met<T: Part>(&self, record: &T) -> bool {
        let meets = |field: usize, is: &dyn Fn(f64) -> bool| record.value(field).is_some_and(is);
        match self {
            Self::Compares(field, operator, _, operand) => {
                meets(*field, &|value| compares(operator, value, *operand))
            }
            Self::Between(field, from, to) => meets(*field, &|value| {
                compares("$gte", value, *from) && compares("$lt", value, *to)
            }),
            Self::IsIn(field, values) => meets(*field, &|value| {
                values.iter().any(|one| compares("$eq", value, *one))
            }),
            Self::Both(one, other) => one.is_met(record) && other.is_met(record),
            Self::Either(one, other) => one.is_met(record) || other.is_met(record),
        }
    }

    fn filter<T: Part>(&self) -> AttributeFilter {
        match self {
            Self::Compares(field, operator, operand, _) => {
                let (path, operand) = (T::path(*field), operand.clone());
                match *operator {
                    "$eq" => path.eq(operand),
                    "$gt" => path.gt(operand),
                    "$gte" => path.gte(operand),
                    "$lt" => path.lt(operand),
                    _ => path.lte(operand),
                }
            }
            Self::Between(field, from, to) => T::path(*field).between(*from..*to),
            Self::IsIn(field, values) => T::path(*field).is_in(values.clone()),
            Self::Both(one, other) => one.filter::<T>().and(other.filter::<T>()),
            Self::Either(one, other) => one.filter::<T>().or(other.filter::<T>()),
        }
    }
}

fn operand() -> impl Strategy<Value = f64> {
    prop_oneof![
        8 => (-30..130_i32).prop_map(|half| f64::from(half) / 2.0),
        1 => prop::sample::select(vec![-0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300]),
    ]
}

#[allow(clippy::cast_possible_truncation, reason = "whole numbers")]
fn one() -> impl Strategy<Value = Condition> {
    let operators = prop::sample::select(vec!["$eq", "$gt", "$gte", "$lt", "$lte"]);
    let field = || 0..FIELDS.len();
    let compares =
        (field(), operators, operand(), 0..4).prop_map(|(field, operator, value, kind)| {
            let is_whole = value.fract() == 0.0 && value.abs() < 1e6;
            let operand = match kind {
                0 if is_whole => Bson::Int32(value as i32),
                1 if is_whole => Bson::Int64(value as i64),
                2 if value.abs() < 1e6 => Bson::Decimal128(value.to_string().parse().unwrap()),
                2 if value.is_nan() => Bson::Decimal128("NaN".parse().unwrap()),
                _ => Bson::Double(value),
            };
            Condition::Compares(field, operator, operand, value)
        });
    prop_oneof![
        4 => compares,
        1 => (field(), operand(), operand()).prop_map(|(field, from, to)| Condition::Between(field, from, to)),
        1 => (field(), prop::collection::vec(operand(), 0..4)).prop_map(|(field, values)| Condition::IsIn(field, values)),
    ]
}

fn condition() -> impl Strategy<Value = Condition> {
    one().prop_recursive(2, 4, 2, |inner| {
        let pair = (inner.clone(), inner).prop_map(|(one, other)| (Box::new(one), Box::new(other)));
        (pair, any::<bool>()).prop_map(|((one, other), both)| {
            if both {
                Condition::Both(one, other)
            } else {
                Condition::Either(one, other)
            }
        })
    })
}

fn numbers<T: Part>(records: &[T]) -> BTreeSet<i64> {
    records.iter().map(T::number).collect()
}

/// Values that grow with the records, so that buckets differ.
fn values(draw: &mut Draw, number: i64) -> [f64; 5] {
    let near = i32::try_from(number / 4).unwrap();
    let drawn = draw.draw(prop::array::uniform5(near * 2 - 3..near * 2 + 4));
    let value = |half: i32| match half {
        0 => -0.0,
        half => f64::from(half) / 2.0,
    };
    drawn.map(value)
}

/// Sealed buckets of two keys, and the newest records of each as rows.
async fn filled<T: Part>(draw: &mut Draw) -> (TestDatabase, Buckets<T>) {
    let database = database().await;
    let parts = T::buckets(&database);
    parts.ensure().await.unwrap();
    for machine in ["a", "b"] {
        let records: Vec<T> = (0..160)
            .map(|number| T::of(machine, number, values(draw, number)))
            .collect();
        for chunk in records.chunks(23) {
            let stored = parts.insert_many(chunk).await.unwrap();
            stored.into_result().unwrap();
        }
        let report = parts.seal().after(Duration::ZERO).await.unwrap();
        assert!(report.buckets >= 15, "{report:?}");
    }
    (database, parts)
}

async fn no_match_is_left_out<T: Part>() {
    let mut draw = Draw::new(21);
    let (_database, parts) = filled::<T>(&mut draw).await;
    // Records past all that their bucket has, and records that are gone.
    let key = || T::key_of("a");
    let stored = parts.records(key()).with_refs().limit(1_000).await.unwrap();
    for (at, one) in stored.records().iter().enumerate().step_by(7) {
        let value = [-12.0, 63.5, 0.0][at % 3];
        let updated = parts.update(key(), &one.reference, |part| part.set(value));
        updated.await.unwrap().unwrap();
    }
    for one in stored.records().iter().skip(2).step_by(7) {
        parts.delete(key(), &one.reference).await.unwrap().unwrap();
    }
    let all: Vec<T> = parts.range(key(), ..).await.unwrap();
    // The values themselves are where a comparison ends.
    for field in 0..FIELDS.len() {
        let mut values: Vec<f64> = all.iter().filter_map(|part| part.value(field)).collect();
        values.sort_by(f64::total_cmp);
        values.dedup_by(|one, other| one.total_cmp(other).is_eq());
        for value in values.iter().step_by(3) {
            for operator in ["$eq", "$gt", "$gte", "$lt", "$lte"] {
                let condition = Condition::Compares(field, operator, Bson::Double(*value), *value);
                let met: Vec<T> = all
                    .iter()
                    .filter(|part| condition.is_met(*part))
                    .cloned()
                    .collect();
                let read = parts.range(key(), ..).matching(condition.filter::<T>());
                assert_eq!(
                    numbers(&read.await.unwrap()),
                    numbers(&met),
                    "{condition:?}"
                );
            }
        }
    }
    for _ in 0..150 {
        let condition = draw.draw(condition());
        let met: Vec<T> = all
            .iter()
            .filter(|part| condition.is_met(*part))
            .cloned()
            .collect();
        let met = numbers(&met);
        let filter = || condition.filter::<T>();
        let found = parts.range(key(), ..).matching(filter()).await.unwrap();
        assert_eq!(numbers(&found), met, "{condition:?}");
        let read = parts.records(key()).matching(filter()).newest_first();
        let found: Vec<T> = read.collect().await.unwrap();
        assert_eq!(numbers(&found), met, "{condition:?}");
        let read = parts.range_many([key(), T::key_of("c")], ..);
        let found: Vec<T> = read.matching(filter()).await.unwrap();
        assert_eq!(numbers(&found), met, "{condition:?}");
    }
}

async fn what_cannot_match_is_not_sent<T: Part>() {
    let mut draw = Draw::new(22);
    let (database, parts) = filled::<T>(&mut draw).await;
    let key = || T::key_of("a");
    let of = |field: &str| T::path(FIELDS.iter().position(|name| *name == field).unwrap());
    // The filter, and whether the buckets tell. The values of 160 records go up to 41.
    let filters = [
        (of("count").gte(37), true),
        (of("count").lt(-0.5), true),
        (of("level").gt(36.5), true),
        (of("level").between(36.5..), true),
        (
            of("level").eq(Bson::Decimal128("36.5".parse().unwrap())),
            true,
        ),
        (of("level").is_in([36.5, 37.0]), true),
        (of("most").gte(36.5), true),
        (of("most").lt(0.0), false),
        (of("plain").gte(36.5), false),
        (of("wild").gte(36.5), false),
        (of("count").gte(37).and(of("plain").gt(0)), true),
        (of("count").gte(37).or(of("most").gt(1_000)), true),
        (of("count").gte(37).or(of("plain").gt(1_000)), false),
        (of("level").gte(f64::NAN), false),
    ];
    let buckets = documents(&database, "parts").await;
    let is_of_key =
        |bucket: &&bucket_mongo::bson::Document| bucket.get_str("machine").unwrap() == "a";
    let is_sealed = |bucket: &&bucket_mongo::bson::Document| bucket.contains_key("_sealed");
    let sealed = buckets.iter().filter(is_of_key).filter(is_sealed).count();
    let sealed = i64::try_from(sealed).unwrap();
    for (filter, tells) in filters {
        let shown = format!("{filter:?}");
        let newest = parts.records(key()).matching(filter.clone()).newest_first();
        let (found, profile) = profiled(&database, "parts", Box::pin(newest.collect())).await;
        found.unwrap();
        let sent: i64 = profile
            .iter()
            .map(|of| i64::from(of.get_i32("nreturned").unwrap_or(0)))
            .sum();
        if tells {
            assert!(sent < sealed / 2, "{sent} of {sealed}: {shown}");
        } else {
            assert!(sent >= sealed, "{sent} of {sealed}: {shown}");
        }
        let range = parts.range(key(), ..).matching(filter);
        let (found, profile) = profiled(&database, "parts", range.into_future()).await;
        found.unwrap();
        let sent: i64 = profile
            .iter()
            .map(|of| i64::from(of.get_i32("nreturned").unwrap_or(0)))
            .sum();
        assert_eq!(sent < sealed / 2, tells, "{sent} of {sealed}: {shown}");
    }
}

/// A bucket without the aggregate is sent; one whose aggregate is that of some records only is not sealed.
#[tokio::test]
async fn aggregates_that_some_records_lack_hide_no_record() {
    let database = database().await;
    let parts = Numbered::buckets(&database);
    parts.ensure().await.unwrap();
    let records = (0..25).map(|number| Numbered::of("a", number, [20.0; 5]));
    let stored = parts.insert_many(records).await.unwrap();
    stored.into_result().unwrap();
    // As from before the model had it, and as if only later records had counted.
    let raw = database.collection::<bucket_mongo::bson::Document>("parts");
    let first = doc! { "$unset": { "stats.max": "", "stats.min": "" } };
    raw.update_one(doc! { "bucket_number": 1 }, first)
        .await
        .unwrap();
    let second = doc! { "$set": { "stats.max": 3_i64 } };
    raw.update_one(doc! { "bucket_number": 2 }, second)
        .await
        .unwrap();
    let report = parts.seal().after(Duration::ZERO).await.unwrap();
    assert_eq!((report.buckets, report.stay), (2, 1), "{report:?}");
    for filter in [
        NumberedItem::FIELDS.count.gt(10),
        NumberedItem::FIELDS.count.lt(30),
    ] {
        let found = parts.range("a", ..).matching(filter).await.unwrap();
        assert_eq!(found.len(), 25);
    }
    // Once it is right, the bucket is sealed.
    let damage = parts.verify().await.unwrap();
    parts.repair(&damage).await.unwrap();
    let report = parts.seal().after(Duration::ZERO).await.unwrap();
    assert_eq!((report.buckets, report.stay), (1, 0), "{report:?}");
    let found = parts
        .range("a", ..)
        .matching(NumberedItem::FIELDS.count.gt(10))
        .await
        .unwrap();
    assert_eq!(found.len(), 25);
}

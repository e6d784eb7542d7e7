//! Reads of the records that meet a filter, against a naive filter over all records: every form, every read,
//! removed and corrected records, pages of every size, followers while others write, and what the server sends.

use std::{collections::BTreeSet, fmt::Debug};

use bucket_mongo::{
    AttributeFilter, Bucketed, Buckets, CursorToken, ErrorKind, IntoTimeRange, Limits, TimeRange,
    Which, Window,
    bson::{Bson, DateTime, Document, Uuid, doc},
    testing::TestDatabase,
};
use bucket_tests::{Load, database, profiled};
use futures_util::TryStreamExt;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use crate::common::draw::Draw;

/// A record of any of the models.
trait Part: Bucketed + Clone + Debug + PartialEq {
    fn of(machine: &str, number: i64, second: i64, seed: i64) -> Self;
    fn key_of(machine: &str) -> Self::Key;
    fn number(&self) -> i64;
    fn at(&self) -> DateTime;
    fn set(&mut self, value: i32);
    fn cases() -> Vec<Case<Self>>;
    fn numbers() -> bucket_mongo::FieldPath;
}

/// A filter, and what it means.
struct Case<T> {
    name: &'static str,
    filter: AttributeFilter,
    is_met: fn(&T) -> bool,
}

fn case<T>(name: &'static str, filter: AttributeFilter, is_met: fn(&T) -> bool) -> Case<T> {
    Case {
        name,
        filter,
        is_met,
    }
}

#[derive(Debug, Deserialize, PartialEq)]
struct Selected {
    at: DateTime,
    number: i64,
}

macro_rules! models {
    ($($test:ident $name:ident $item:ident: [$($attributes:tt)*];)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "parts", items = "items", stats = "stats", $($attributes)*)]
        #[bucket(attributes(array = "origin", k = "what", v = "is", store = "bucket"))]
        struct $name {
            #[bucket(key)]
            machine: String,
            #[bucket(time)]
            at: DateTime,
            #[bucket(unique)]
            number: i64,
            #[bucket(min, max)]
            value: i32,
            level: Option<f64>,
            colour: String,
            tags: Vec<String>,
            #[bucket(attribute(array = "specs", k = "weight", u = "g", factor = 1))]
            grams: Option<i32>,
            #[bucket(attribute(array = "specs", k = "weight", u = "oz", factor = 28))]
            ounces: Option<i32>,
            #[bucket(attribute(array = "origin", k = "site"))]
            site: String,
            #[bucket(attribute(array = "origin", k = "line"))]
            line: Option<i32>,
        }

        impl Part for $name {
            fn of(machine: &str, number: i64, second: i64, seed: i64) -> Self {
                let seed = i32::try_from(seed).unwrap();
                Self {
                    machine: machine.to_owned(),
                    at: date(second),
                    number,
                    value: seed.rem_euclid(40),
                    level: (seed % 4 != 0).then_some(f64::from(seed % 16) / 2.0),
                    colour: ["red", "green", "blue"][usize::try_from(seed % 3).unwrap()].to_owned(),
                    tags: (0..seed % 3).map(|tag| format!("t{tag}")).collect(),
                    grams: (seed % 5 < 3).then_some(seed % 100),
                    ounces: (seed % 7 < 3).then_some(seed % 5),
                    site: if seed % 6 == 1 { "Ulm" } else { "Bonn" }.to_owned(),
                    line: (seed % 9 != 2).then_some(seed / 30),
                }
            }

            fn key_of(machine: &str) -> Self::Key {
                machine.to_owned().into()
            }

            fn number(&self) -> i64 {
                self.number
            }

            fn at(&self) -> DateTime {
                self.at
            }

            fn set(&mut self, value: i32) {
                self.value = value;
            }

            fn numbers() -> bucket_mongo::FieldPath {
                $item::FIELDS.number
            }

            fn cases() -> Vec<Case<Self>> {
                let of = $item::FIELDS;
                let (weight, site, line) =
                    (|| $name::specs().weight(), || $name::origin().site(), || $name::origin().line());
                vec![
                    case("few", of.value.gte(38), |record| record.value >= 38),
                    case("none", of.value.gt(1_000), |_| false),
                    case("a double", of.value.lt(2.5), |record| record.value <= 2),
                    case("between", of.level.between(2.0..3.5), |record| {
                        record.level.is_some_and(|level| (2.0..3.5).contains(&level))
                    }),
                    case("null", of.level.is_missing(), |record| record.level.is_none()),
                    case("no null", of.level.exists(), |record| record.level.is_some()),
                    case("text", of.colour.is_in(["red", "pink"]), |record| record.colour == "red"),
                    case("an element", of.tags.eq("t1"), |record| record.tags.contains(&"t1".to_owned())),
                    case("the time", of.at.gte(date(200)), |record| record.at >= date(200)),
                    case("the id", of.number.eq(17), |record| record.number == 17),
                    case("another type", of.colour.gte(1), |_| false),
                    case("both of one record", of.value.gte(20).and(of.colour.eq("blue")), |record| {
                        record.value >= 20 && record.colour == "blue"
                    }),
                    case("either", of.value.eq(3).or(of.level.gt(7)), |record| {
                        record.value == 3 || record.level.is_some_and(|level| level > 7.0)
                    }),
                    case("an attribute", weight().g().gte(60), |record| {
                        record.grams.is_some_and(|grams| grams >= 60)
                    }),
                    case("no attribute", weight().g().is_missing(), |record| record.grams.is_none()),
                    case("the first unit", weight().in_g().lt(50.0), |record| {
                        record.weight_in_g().is_some_and(|grams| grams < 50.0)
                    }),
                    case("the other unit", weight().in_oz().between(1.5..=3.0), |record| {
                        record.weight_in_oz().is_some_and(|ounces| (1.5..=3.0).contains(&ounces))
                    }),
                    case("any unit", weight().any_unit().eq(2), |record| {
                        record.grams == Some(2) || record.ounces == Some(2)
                    }),
                    case("held by the bucket", site().eq("Ulm"), |record| record.site == "Ulm"),
                    case("not held by the bucket", line().is_missing(), |record| record.line.is_none()),
                    case("held, and its own", site().eq("Ulm").and(of.value.lt(20)), |record| {
                        record.site == "Ulm" && record.value < 20
                    }),
                    case("two that are held", site().eq("Bonn").and(line().gte(3)), |record| {
                        record.site == "Bonn" && record.line.is_some_and(|line| line >= 3)
                    }),
                    case("held, or its own", line().gt(5).or(of.colour.eq("red")), |record| {
                        record.line.is_some_and(|line| line > 5) || record.colour == "red"
                    }),
                ]
            }
        }

        mod $test {
            use super::*;

            #[tokio::test(flavor = "multi_thread")]
            async fn every_read_gives_the_records_that_meet_the_filter() {
                super::every_read_gives_the_records_that_meet_the_filter::<$name>().await;
            }
        }
    )*};
}

models! {
    counted Counted CountedItem: [capacity = 4];
    counted_bytes CountedBytes CountedBytesItem: [capacity = 100, max_bytes = "1KB", expire_after = "20000d"];
    windowed Windowed WindowedItem: [window = "1m", capacity = 4];
    windowed_objects WindowedObjects WindowedObjectsItem: [window = "1m", capacity = 4, object_ids, expire_after = "20000d"];
    hybrid Hybrid HybridItem: [capacity = 4, max_duration = "1m"];
    hybrid_side HybridSide HybridSideItem: [capacity = 4, max_duration = "1m", late = "side"];
    numbered Numbered NumberedItem: [capacity = 4, numbered];
    numbered_objects NumberedObjects NumberedObjectsItem: [capacity = 4, numbered, object_ids, max_bytes = "2KB"];
}

macro_rules! writes {
    ($($test:ident $name:ident;)*) => {$(
        mod $test {
            use super::*;

            #[tokio::test(flavor = "multi_thread")]
            async fn a_removal_takes_the_records_that_meet_the_filter_and_no_other() {
                super::a_removal_takes_the_records_that_meet_the_filter_and_no_other::<$name>().await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn a_follower_misses_no_record_while_others_write() {
                super::a_follower_misses_no_record_while_others_write::<$name>().await;
            }
        }
    )*};
}

// One of each form: `follow_model` in `bucket-core` has the others.
writes! {
    writes_to_counted CountedBytes;
    writes_to_windowed WindowedObjects;
    writes_to_hybrid HybridSide;
    writes_to_numbered Numbered;
}

const START: i64 = 1_698_335_220_000;

fn date(second: i64) -> DateTime {
    DateTime::from_millis(START + second * 1_000)
}

fn drawn<T: Part>(draw: &mut Draw, machine: &str, from: i64, number: i64) -> Vec<T> {
    let drawn = draw.draw(prop::collection::vec(
        (0..400_i64, 0..300_i64),
        usize::try_from(number).unwrap(),
    ));
    let numbered = (from..).zip(drawn);
    numbered
        .map(|(number, (second, seed))| T::of(machine, number, second, seed))
        .collect()
}

/// Records of two keys, some of them corrected or removed.
async fn filled<T: Part>(draw: &mut Draw) -> (TestDatabase, Buckets<T>) {
    let database = database().await;
    let parts = T::buckets(&database);
    parts.ensure().await.unwrap();
    for (machine, from) in [("a", 0), ("b", 1_000)] {
        for chunk in drawn::<T>(draw, machine, from, 80).chunks(17) {
            // Late ones may be refused.
            parts.offer(chunk).await;
        }
    }
    let all: Vec<T> = parts.records(T::key_of("a")).collect().await.unwrap();
    for record in all.iter().step_by(9) {
        let which = Which::id(&record.number());
        parts.delete(T::key_of("a"), which).await.unwrap().unwrap();
    }
    for record in all.iter().skip(1).step_by(11) {
        let which = Which::id(&record.number());
        let changed = parts.update(T::key_of("a"), which, |record| record.set(39));
        changed.await.unwrap();
    }
    (database, parts)
}

fn met<T: Part>(records: &[T], case: &Case<T>) -> Vec<i64> {
    let met = records.iter().filter(|record| (case.is_met)(record));
    met.map(Part::number).collect()
}

fn numbers<T: Part>(records: &[T]) -> Vec<i64> {
    records.iter().map(Part::number).collect()
}

async fn every_read_gives_the_records_that_meet_the_filter<T: Part>() {
    let mut draw = Draw::new(3);
    let (database, parts) = filled::<T>(&mut draw).await;
    let key = || T::key_of("a");
    let all: Vec<T> = parts.records(key()).collect().await.unwrap();
    let by_time = parts.range(key(), ..).await.unwrap();
    let of_both = parts.range_many([key(), T::key_of("b")], ..).await.unwrap();
    let middle = (date(100)..date(260)).into_time_range();
    let in_middle = parts.range(key(), middle).await.unwrap();
    let mut session = database.client().start_session().await.unwrap();
    let mut some = BTreeSet::new();
    for case in &T::cases() {
        let (name, filter) = (case.name, || case.filter.clone());
        let mut expected = met(&all, case);
        if !expected.is_empty() && expected.len() < all.len() {
            some.insert(name);
        }
        let found: Vec<T> = parts
            .records(key())
            .matching(filter())
            .collect()
            .await
            .unwrap();
        assert_eq!(numbers(&found), expected, "{name}");
        let found = parts.records(key()).matching(filter()).with_refs();
        for read in found.collect().await.unwrap() {
            assert!((case.is_met)(&read.record), "{name}");
        }
        let found = parts.records(key()).matching(filter());
        let found = found
            .select::<Selected>([T::numbers()])
            .session(&mut session);
        let found = found.collect().await.unwrap();
        let found: Vec<i64> = found.iter().map(|of| of.number).collect();
        assert_eq!(found, expected, "{name}");
        check_pages(&parts, case, &expected).await;

        let found = parts.range(key(), ..).matching(filter()).await.unwrap();
        assert_eq!(numbers(&found), met(&by_time, case), "{name}");
        let found: Vec<T> = parts
            .range_many([key(), T::key_of("b")], ..)
            .matching(filter())
            .stream()
            .try_collect()
            .await
            .unwrap();
        assert_eq!(numbers(&found), met(&of_both, case), "{name}");
        let found = parts.range(key(), middle).matching(filter()).newest_first();
        let mut found = numbers(&found.await.unwrap());
        found.reverse();
        assert_eq!(found, met(&in_middle, case), "{name}");

        let found = parts.records(key()).matching(filter()).newest_first();
        let found: Vec<T> = found.stream().try_collect().await.unwrap();
        expected.reverse();
        assert_eq!(numbers(&found), expected, "{name}");
        let found = parts.records(key()).between(middle).matching(filter());
        let within: Vec<T> = all
            .iter()
            .filter(|one| middle.contains(one.at()))
            .cloned()
            .collect();
        assert_eq!(
            numbers(&found.collect().await.unwrap()),
            met(&within, case),
            "{name}"
        );
    }
    // The cases are such that something can be wrong.
    assert!(some.len() > 14, "{some:?}");
    let mut cases = T::cases().into_iter();
    let (one, other) = (cases.next().unwrap(), cases.nth(3).unwrap());
    let both = parts
        .range(key(), ..)
        .matching(one.filter)
        .matching(other.filter);
    let expected = by_time
        .iter()
        .filter(|of| (one.is_met)(of) && (other.is_met)(of));
    let expected: Vec<T> = expected.cloned().collect();
    assert_eq!(numbers(&both.await.unwrap()), numbers(&expected));
}

/// Pages in both directions, of several sizes.
async fn check_pages<T: Part>(parts: &Buckets<T>, case: &Case<T>, expected: &[i64]) {
    // Several sizes, in few round trips.
    for limit in [expected.len() / 7 + 1, expected.len().max(1)] {
        let page = || {
            let page = parts.records(T::key_of("a")).limit(limit);
            page.matching(case.filter.clone())
        };
        let (mut found, mut token) = (Vec::new(), None::<CursorToken>);
        let mut last = None;
        loop {
            let page = page().after(token).await.unwrap();
            token = page.next_token().cloned();
            last = page.end_token().cloned().or(last);
            assert!(token.is_none() || page.len() == limit, "{}", case.name);
            found.extend(numbers(page.records()));
            if token.is_none() {
                break;
            }
        }
        assert_eq!(found, expected, "{}", case.name);
        let Some(last) = last else {
            assert!(expected.is_empty());
            continue;
        };
        assert!(page().after(last.clone()).await.unwrap().is_empty());
        let mut found = vec![*expected.last().unwrap()];
        let mut token = Some(last);
        while let Some(before) = token {
            let page = page().before(before).await.unwrap();
            token = page.previous_token().cloned();
            let mut numbers = numbers(page.records());
            numbers.reverse();
            found.extend(numbers);
        }
        found.reverse();
        assert_eq!(found, expected, "{}", case.name);
    }
}

/// In the order of arrival, each matching record comes exactly once. In the other orders the records are
/// stored by time, so that none sorts before the follower.
async fn a_follower_misses_no_record_while_others_write<T: Part>() {
    let database = database().await;
    let parts = T::buckets(&database);
    parts.ensure().await.unwrap();
    let is_by_arrival = !T::SPEC.form().has_span();
    let writers = if is_by_arrival { 3 } else { 1 };
    let mut tasks = Vec::new();
    for writer in 0..writers {
        let parts = parts.clone();
        tasks.push(tokio::spawn(async move {
            for at in 0..25 {
                let number = writer * 1_000 + at;
                let records: Vec<T> = (0..2)
                    .map(|of| T::of("a", 2 * number + of, 2 * at + of, (7 * at + of) % 300))
                    .collect();
                parts
                    .insert_many(records)
                    .await
                    .unwrap()
                    .into_result()
                    .unwrap();
            }
        }));
    }
    let case = T::cases().swap_remove(2);
    let (mut found, mut token) = (Vec::new(), None::<CursorToken>);
    let mut is_over = false;
    loop {
        let page = parts
            .records(T::key_of("a"))
            .matching(case.filter.clone())
            .limit(3);
        let page = page.after(token.clone()).await.unwrap();
        token = page.end_token().cloned().or(token);
        found.extend(numbers(page.records()));
        if page.is_empty() {
            if is_over {
                break;
            }
            is_over = tasks.iter().all(tokio::task::JoinHandle::is_finished);
            tokio::task::yield_now().await;
        }
    }
    let all: Vec<T> = parts.records(T::key_of("a")).collect().await.unwrap();
    let expected = met(&all, &case);
    assert!(!expected.is_empty());
    assert_eq!(found, expected);
}

async fn a_removal_takes_the_records_that_meet_the_filter_and_no_other<T: Part>() {
    let mut draw = Draw::new(5);
    let (_database, parts) = filled::<T>(&mut draw).await;
    let key = || T::key_of("a");
    let of_other: Vec<T> = parts.records(T::key_of("b")).collect().await.unwrap();
    for (turn, case) in T::cases().iter().enumerate().skip(3).step_by(5) {
        let (name, filter) = (case.name, || case.filter.clone());
        let before: Vec<T> = parts.records(key()).collect().await.unwrap();
        let (left, gone): (Vec<T>, Vec<T>) = before
            .into_iter()
            .partition(|record| !(case.is_met)(record));
        let would = parts.delete_where(key(), filter()).dry_run().await.unwrap();
        assert_eq!(would.records, gone.len() as u64, "{name}");
        // Another writer appends meanwhile, at the newest time so that none is too late.
        let more: Vec<T> = (0..10)
            .map(|at| {
                T::of(
                    "a",
                    2_000 + 10 * i64::try_from(turn).unwrap() + at,
                    500,
                    31 * at % 300,
                )
            })
            .collect();
        let (removed, stored) = tokio::join!(
            parts.delete_where(key(), filter()).into_future(),
            parts.insert_many(&more).into_future(),
        );
        stored.unwrap().into_result().unwrap();
        assert!(removed.unwrap().records >= gone.len() as u64, "{name}");
        let after: Vec<T> = parts.records(key()).collect().await.unwrap();
        let after: BTreeSet<i64> = numbers(&after).into_iter().collect();
        let gone: BTreeSet<i64> = numbers(&gone).into_iter().collect();
        assert!(after.is_disjoint(&gone), "{name}");
        let mut kept = left;
        kept.extend(more.into_iter().filter(|record| !(case.is_met)(record)));
        let kept = numbers(&kept).into_iter().collect();
        assert!(after.is_superset(&kept), "{name}");
        let again = parts.delete_where(key(), filter()).await.unwrap();
        assert!(again.records <= 10, "{name}");
        assert_eq!(
            parts.delete_where(key(), filter()).await.unwrap().records,
            0,
            "{name}"
        );
        let report = parts.verify().await.unwrap();
        assert!(report.is_clean(), "{name}: {:?}", report.findings);
    }
    let found: Vec<T> = parts.records(T::key_of("b")).collect().await.unwrap();
    assert_eq!(found, of_other);
    let late = parts
        .delete_where(key(), T::numbers().gte(0))
        .between(date(200)..);
    late.await.unwrap();
    let left: Vec<T> = parts.records(key()).collect().await.unwrap();
    assert!(!left.is_empty() && left.iter().all(|record| record.at() < date(200)));
}

/// A bucket that is longer than the handle knows has no match in it. The handle must learn from it all the same,
/// because one before the range has.
#[tokio::test]
async fn the_length_of_a_bucket_without_a_match_is_learnt() {
    let database = database().await;
    let parts = Windowed::buckets(&database);
    parts.ensure().await.unwrap();
    let long = parts
        .clone()
        .with_limits(|_| Limits::new().window(Window::minutes(10)));
    let records: Vec<Windowed> = [(1, 100, 39), (2, 790, 1)]
        .map(|(number, second, seed)| Part::of("a", number, second, seed))
        .to_vec();
    long.insert_many(records)
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let filter = WindowedItem::FIELDS.value.eq(39);
    let other = Windowed::buckets(&database);
    let found = other
        .range("a", date(100)..date(1_000))
        .matching(filter)
        .await
        .unwrap();
    assert_eq!(numbers(&found), [1]);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "any", items = "items", window = "1h")]
struct Any {
    #[bucket(key)]
    device: i32,
    #[bucket(time)]
    at: DateTime,
    number: i32,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    value: Option<Bson>,
}

/// Values of many types, in documents and arrays too.
fn values() -> Vec<Bson> {
    let decimal = |text: &str| Bson::Decimal128(text.parse().unwrap());
    vec![
        Bson::Null,
        Bson::Int32(0),
        Bson::Int32(20),
        Bson::Int64(20),
        Bson::Int64((1 << 53) + 1),
        Bson::Double(20.0),
        Bson::Double(-0.0),
        Bson::Double(0.1),
        Bson::Double(9_007_199_254_740_992.0),
        Bson::Double(f64::NAN),
        Bson::Double(f64::INFINITY),
        decimal("20.00"),
        decimal("0.1"),
        decimal("9007199254740993"),
        decimal("NaN"),
        decimal("1E+400"),
        Bson::String("20".to_owned()),
        Bson::String("é".to_owned()),
        Bson::String(String::new()),
        Bson::Boolean(true),
        Bson::Boolean(false),
        Bson::DateTime(date(0)),
        Bson::ObjectId("65393434aabbccddeeff0011".parse().unwrap()),
        Bson::from(Uuid::from_bytes([7; 16])),
        doc! { "of": 20 }.into(),
        doc! { "of": [1, 20] }.into(),
        vec![Bson::Int32(1), Bson::Int32(20)].into(),
        vec![doc! { "of": 20 }, doc! { "of": 30 }].into(),
        Vec::<Bson>::new().into(),
    ]
}

#[tokio::test]
async fn the_client_decides_as_the_server_does_for_values_of_every_type() {
    let database = database().await;
    let any = Any::buckets(&database);
    any.ensure().await.unwrap();
    let values = values();
    let stored = values.iter().cloned().map(Some).chain([None]);
    // A bucket for each, so that those that the server leaves out count.
    let stored = (0..).zip(stored).map(|(number, value)| Any {
        device: 1,
        at: date(i64::from(number) * 3_600),
        number,
        value,
    });
    let stored: Vec<Any> = stored.collect();
    any.insert_many(&stored)
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let field = AnyItem::FIELDS.value;
    let inner = bucket_mongo::FieldPath::new("items.value.of");
    let mut filters = vec![
        field.is_missing(),
        field.exists(),
        inner.eq(20),
        inner.between(10..=25),
        inner.is_missing(),
        field.is_in([20, 0]),
        AttributeFilter::from(doc! { "$nor": [{ "items.value": { "$gt": 5 } }] }),
        AttributeFilter::from(
            doc! { "items.value": { "$not": { "$lte": 20 }, "$type": "number" } },
        ),
    ];
    let operands = values
        .iter()
        .filter(|value| !matches!(value, Bson::Null | Bson::Document(_) | Bson::Array(_)));
    for value in operands {
        let value = || value.clone();
        filters.extend([
            field.eq(value()),
            field.gt(value()),
            field.gte(value()),
            field.lt(value()),
            field.lte(value()),
        ]);
    }
    for filter in filters {
        let found = any.range(1, ..).matching(filter.clone()).await.unwrap();
        let found: Vec<i32> = found.iter().map(|of| of.number).collect();
        let by_server = [
            doc! { "$match": { "device": 1 } },
            doc! { "$unwind": "$items" },
            doc! { "$match": Document::from(filter.clone()) },
            doc! { "$sort": { "items.number": 1 } },
        ];
        let by_server = any
            .collection::<Document>()
            .aggregate(by_server)
            .await
            .unwrap();
        let by_server: Vec<Document> = by_server.try_collect().await.unwrap();
        let number = |of: &Document| of.get_document("items").unwrap().get_i32("number").unwrap();
        let by_server: Vec<i32> = by_server.iter().map(number).collect();
        assert_eq!(found, by_server, "{filter:?}");
    }
}

#[tokio::test]
async fn one_element_of_an_array_is_between_two_bounds() {
    let database = database().await;
    let any = Any::buckets(&database);
    any.ensure().await.unwrap();
    let list = |number: i32, list: [i32; 2]| Any {
        device: 1,
        at: date(i64::from(number)),
        number,
        value: Some(list.map(Bson::Int32).to_vec().into()),
    };
    let stored = [list(0, [1, 9]), list(1, [1, 3])];
    let report = any.insert_many(stored).await.unwrap();
    report.into_result().unwrap();
    let between = || AnyItem::FIELDS.value.between(2..4);
    let found = any.range(1, ..).matching(between()).await.unwrap();
    assert_eq!(found, [list(1, [1, 3])]);
    let removed = any.delete_where(1, between()).await.unwrap();
    assert_eq!(removed.records, 1);
    let left = any.range(1, ..).await.unwrap();
    assert_eq!(left, [list(0, [1, 9])]);
}

#[tokio::test(flavor = "multi_thread")]
async fn buckets_without_a_match_are_not_sent() {
    only_the_bucket_with_the_match_is_sent::<Windowed>().await;
    only_the_bucket_with_the_match_is_sent::<WindowedObjects>().await;
    only_the_bucket_with_the_match_is_sent::<Hybrid>().await;
}

async fn only_the_bucket_with_the_match_is_sent<T: Part>() {
    let database = database().await;
    let parts = T::buckets(&database);
    parts.ensure().await.unwrap();
    let records: Vec<T> = (0..400)
        .map(|number| T::of("a", number, number * 15, if number == 333 { 39 } else { 1 }))
        .collect();
    parts
        .insert_many(records)
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let key = || T::key_of("a");
    let filter = || T::cases().swap_remove(0).filter;
    let within = date(0)..date(400 * 15);
    let read = parts.range(key(), within).matching(filter()).into_future();
    let (found, profile) = profiled(&database, "parts", read).await;
    assert_eq!(numbers(&found.unwrap()), [333]);
    assert_eq!(sent(&profile), (1, true), "{profile:?}");
    let read = parts.records(key()).matching(filter()).newest_first();
    let (found, profile) = profiled(&database, "parts", read.limit(2).into_future()).await;
    assert_eq!(numbers(found.unwrap().records()), [333]);
    assert_eq!(sent(&profile), (1, true), "{profile:?}");
    // Only the buckets of the range are examined, and those around it that may reach into it.
    let within = date(3_000)..date(3_600);
    let read = parts.range(key(), within).matching(filter()).into_future();
    let (found, profile) = profiled(&database, "parts", read).await;
    assert!(found.unwrap().is_empty());
    assert_eq!(sent(&profile), (0, true), "{profile:?}");
    for examined in ["keysExamined", "docsExamined"] {
        let examined: i64 = profile.iter().map(|of| number(of, examined)).sum();
        assert!(examined <= 18, "{profile:?}");
    }
}

fn number(of: &Document, name: &str) -> i64 {
    let int32 = of.get_i32(name).map(i64::from);
    int32.or_else(|_| of.get_i64(name)).unwrap_or_default()
}

/// How many buckets the server sent, and whether it found them all by an index.
fn sent(profile: &[Document]) -> (i64, bool) {
    let sent = profile.iter().map(|of| number(of, "nreturned")).sum();
    let is_indexed = |of: &Document| {
        of.get_str("planSummary")
            .is_ok_and(|plan| !plan.contains("COLLSCAN"))
    };
    (sent, profile.iter().all(is_indexed))
}

#[tokio::test]
async fn expired_records_meet_no_filter() {
    let database = database().await;
    let parts = CountedBytes::buckets(&database);
    parts.ensure().await.unwrap();
    let records: Vec<CountedBytes> = (0..30)
        .map(|number| Part::of("a", number, number, 1))
        .collect();
    parts
        .insert_many(records)
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let past = doc! { "$set": { "items.1.at": DateTime::from_millis(0) } };
    let all = parts.collection::<Document>();
    all.update_many(doc! {}, past).await.unwrap();
    let shown = parts.range("a", ..).await.unwrap();
    assert!(shown.len() < 30);
    let filter = CountedBytesItem::FIELDS.value.eq(1);
    assert_eq!(
        parts.range("a", ..).matching(filter.clone()).await.unwrap(),
        shown
    );
    let found = parts.records("a").matching(filter).collect().await.unwrap();
    assert_eq!(found, shown);
}

#[tokio::test]
async fn a_bucket_whose_items_cannot_be_looked_at_is_reported() {
    let database = database().await;
    let parts = Windowed::buckets(&database);
    parts.ensure().await.unwrap();
    let records: Vec<Windowed> = (0..9)
        .map(|number| Part::of("a", number, number * 60, 1))
        .collect();
    parts
        .insert_many(records)
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let all = parts.collection::<Document>();
    let one = || doc! { "items.number": 4 };
    let (none, all_nine) = (
        WindowedItem::FIELDS.value.eq(7),
        WindowedItem::FIELDS.value.eq(1),
    );
    for damage in [
        doc! { "$set": { "items.0.at": "noon" } },
        doc! { "$push": { "items": 7 } },
        doc! { "$set": { "items": [] } },
        doc! { "$set": { "items": "none" } },
    ] {
        let whole = all.find_one(one()).await.unwrap().unwrap();
        all.update_one(one(), damage.clone()).await.unwrap();
        for filter in [&none, &all_nine] {
            let error = parts
                .range("a", ..)
                .matching(filter.clone())
                .await
                .unwrap_err();
            assert!(
                matches!(error.kind(), ErrorKind::Damaged(_)),
                "{damage}: {error}"
            );
            let mut stream = parts.records("a").matching(filter.clone()).stream();
            let (mut damaged, mut found) = (0, 0);
            loop {
                match stream.try_next().await {
                    Ok(None) => break,
                    Ok(Some(_)) => found += 1,
                    Err(error) => {
                        assert!(matches!(error.kind(), ErrorKind::Damaged(_)), "{error}");
                        damaged += 1;
                    }
                }
            }
            assert_eq!(
                (damaged, found),
                (1, if *filter == all_nine { 8 } else { 0 }),
                "{damage}"
            );
        }
        let id = doc! { "_id": whole.get("_id").unwrap() };
        all.replace_one(id, whole).await.unwrap();
    }
}

#[tokio::test]
async fn a_filter_that_is_none_of_records_is_refused_before_anything_is_sent() {
    let database = database().await;
    let parts = Windowed::buckets(&database);
    let refused: [(AttributeFilter, &str); 6] = [
        (
            AnyItem::FIELDS.number.eq(1).and(doc! { "value": 1 }),
            "`value`",
        ),
        (WindowedBucket::FIELDS.machine.eq("a"), "`machine`"),
        (doc! { "items.value": { "$regex": "a" } }.into(), "`$regex`"),
        (doc! { "$where": "true" }.into(), "`$where`"),
        (WindowedItem::FIELDS.value.gt(Bson::Null), "`$gt`"),
        (WindowedItem::FIELDS.tags.eq(vec!["a"]), "`$eq`"),
    ];
    for (filter, names) in refused {
        let errors = [
            parts
                .range("a", TimeRange::ALL)
                .matching(filter.clone())
                .await
                .unwrap_err(),
            parts
                .records("a")
                .matching(filter.clone())
                .await
                .unwrap_err(),
        ];
        for error in errors {
            assert!(
                matches!(error.kind(), ErrorKind::InvalidArgument { .. }),
                "{error}"
            );
            assert!(error.to_string().contains(names), "{error}");
        }
    }
    let filter = WindowedItem::FIELDS.value.gt(1);
    let error = parts
        .range("a", ..)
        .matching(filter)
        .pipeline()
        .unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::InvalidArgument { .. }),
        "{error}"
    );
}

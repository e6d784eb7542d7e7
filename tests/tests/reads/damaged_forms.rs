//! Damaged buckets of every form, in every read: the right records, or an error that names the
//! bucket. What reads pass over is in [`says`], as the book has it. The server never
//! refuses a read, no read returns a record that is not stored, and none leaves out another bucket.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
};

use bucket_core::Form;
use bucket_mongo::{
    Bucketed, Buckets, ErrorKind, FieldPath, Fill, Interval, RangeStats, Result, RollupRow,
    TimeRange,
    bson::{Bson, DateTime, Decimal128, Document, doc, oid::ObjectId},
};
use bucket_tests::database;
use futures_util::{StreamExt, TryStreamExt};
use serde::{Deserialize, Serialize};

trait Event: Bucketed + Clone + Debug {
    /// Which half of the damages of the content the form is tried with. Each damage is tried with half of the forms.
    const HALF: usize;

    fn of(device: &str, sensor: i32, at: DateTime, number: i64) -> Self;
    fn number(&self) -> i64;
    fn device(&self) -> &str;
    fn key_of(device: &str) -> Self::Key;
}

macro_rules! models {
    ($($test:ident $name:ident $half:literal: [$($attributes:tt)*];)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "events", items = "items", stats = "stats", $($attributes)*)]
        struct $name {
            #[bucket(key)]
            device: String,
            #[bucket(key)]
            sensor: i32,
            #[bucket(time, first, last)]
            at: DateTime,
            #[bucket(sum, min)]
            number: i64,
        }

        impl Event for $name {
            const HALF: usize = $half;

            fn of(device: &str, sensor: i32, at: DateTime, number: i64) -> Self {
                Self { device: device.to_owned(), sensor, at, number }
            }

            fn number(&self) -> i64 {
                self.number
            }

            fn device(&self) -> &str {
                &self.device
            }

            fn key_of(device: &str) -> Self::Key {
                (device.to_owned(), 1).into()
            }
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn $test() {
            no_damage_is_silent::<$name>().await;
        }
    )*};
}

models! {
    of_counted_buckets Counted 0: [capacity = 3];
    of_counted_buckets_with_a_limit Aging 1: [capacity = 3, expire_after = "20000d", max_bytes = "4KB"];
    of_windows Windowed 1: [window = "1m", capacity = 3];
    of_windows_with_a_limit AgingWindows 0: [window = "1m", capacity = 3, expire_after = "20000d"];
    of_windows_with_object_ids WindowedObjects 0: [window = "1m", capacity = 3, object_ids];
    of_hybrid_buckets Hybrid 1: [capacity = 3, max_duration = "1m"];
    of_numbered_buckets Numbered 0: [capacity = 3, numbered];
    of_numbered_buckets_with_a_limit AgingNumbers 1: [capacity = 3, numbered, object_ids, expire_after = "20000d"];
}

const START: i64 = 1_698_335_220_000;
/// The number of records of each key, ten seconds apart, in buckets of three.
const RECORDS: i64 = 12;

fn date(number: i64) -> DateTime {
    DateTime::from_millis(START + number * 10_000)
}

/// Where the server sorts the damaged value of the field that orders the buckets of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sorts {
    First,
    Last,
    /// A text that begins like the ids of the key, and is none of them.
    Among,
}

/// What is done to a bucket.
#[derive(Debug, Clone)]
struct Damage {
    field: &'static str,
    /// What is set; `None` if the field is removed.
    value: Option<Bson>,
    sorts: Sorts,
}

/// The damages of the content and of the dates and numbers of a bucket.
fn damages_of_fields() -> Vec<Damage> {
    let odd: [Bson; 8] = [
        Bson::Null,
        Bson::Double(f64::NAN),
        Bson::String("$$ROOT".into()),
        Bson::Document(doc! { "$gt": "" }),
        Bson::Array(vec![]),
        Bson::Array(vec![Bson::Array(vec![Bson::Null]), Bson::Int32(1)]),
        Bson::Decimal128("NaN".parse::<Decimal128>().unwrap()),
        Bson::MaxKey,
    ];
    let fields = [
        "count",
        "items",
        "items.0",
        "items.1.at",
        "items.1.number",
        "bucket_start",
        "bucket_end",
        "bucket_part",
        "bucket_number",
        "bucket_size",
        "is_full",
        "is_closed",
        "bytes",
        "expire_from",
        "stats",
        "stats.sum",
        "stats.min",
        "first_timestamp",
        "last_timestamp",
        "sensor",
    ];
    let values = || odd.iter().cloned().map(Some).chain([None]);
    let of_field = |field: &'static str| {
        values().map(move |value| Damage {
            sorts: match (field, &value) {
                ("bucket_start", Some(Bson::MaxKey)) => Sorts::Last,
                ("bucket_number", Some(Bson::String(_) | Bson::Document(_) | Bson::MaxKey)) => {
                    Sorts::Last
                }
                _ => Sorts::First,
            },
            field,
            value,
        })
    };
    fields.into_iter().flat_map(of_field).collect()
}

/// The damages of the id of a bucket of the key `bad`, 1.
fn damages_of_ids(id: &Bson) -> Vec<Damage> {
    let mut ids = vec![
        (Bson::Null, Sorts::First),
        (Bson::Int32(7), Sorts::First),
        (Bson::ObjectId(ObjectId::new()), Sorts::Last),
        (DateTime::from_millis(START).into(), Sorts::Last),
        ("?".into(), Sorts::First),
        ("zoo".into(), Sorts::Last),
    ];
    // Ids of other keys, and what begins like those of this one.
    let place = id.as_str().and_then(|id| id.strip_prefix("bad_1_"));
    if let Some(place) = place {
        ids.extend([
            (format!("able_1_{place}").into(), Sorts::First),
            (format!("bad_12_{place}").into(), Sorts::First),
            (format!("cold_1_{place}").into(), Sorts::Last),
            (format!("bad_1_?{place}").into(), Sorts::Among),
            (format!("bad_1_3_{place}").into(), Sorts::Among),
        ]);
    }
    let damage = |(value, sorts)| Damage {
        field: "_id",
        value: Some(value),
        sorts,
    };
    ids.into_iter().map(damage).collect()
}

/// What a read made of a damaged bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// Everything was returned.
    Right,
    /// An error named the bucket.
    Error,
    /// Everything was returned but what is in the bucket.
    PassedOver,
}

/// The field by which the buckets of a key are ordered.
fn ordered_by<T: Event>() -> &'static str {
    match T::SPEC.form() {
        Form::Numbered { .. } => "bucket_number",
        Form::Window { .. } if T::SPEC.object_ids() => "bucket_start",
        _ => "_id",
    }
}

/// What the book says about a read of a damaged bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    /// The read is right, or names the bucket.
    Named,
    PassedOver,
    /// One of them: it depends on how far the read goes.
    Either,
}

impl Says {
    fn allows(self, outcome: Outcome) -> bool {
        match self {
            Self::Named => outcome != Outcome::PassedOver,
            Self::PassedOver => outcome == Outcome::PassedOver,
            Self::Either => true,
        }
    }
}

/// What the book says. `is_newest` says whether the bucket is the newest of its key.
fn says<T: Event>(damage: &Damage, read: &str, is_newest: bool) -> Says {
    let form = T::SPEC.form();
    let is_hybrid = matches!(form, Form::Hybrid { .. });
    if damage.field == "sensor" {
        // To the server, an array equals each of its elements.
        let has_the_key = |value: &Bson| {
            let values = value.as_array();
            values.is_some_and(|values| values.contains(&Bson::Int32(1)))
        };
        // The bucket has another key, or none. Reads of all keys name it.
        return match read {
            "latest_per_key" | "range_all_keys" => Says::Named,
            _ if damage.value.as_ref().is_some_and(has_the_key) => Says::Named,
            _ => Says::PassedOver,
        };
    }
    if damage.field == "bucket_part" && is_newest && read == "latest_per_key" {
        // The server sorts an empty array before the first part of the window, which has none.
        return match &damage.value {
            Some(Bson::Array(elements)) if elements.is_empty() => Says::PassedOver,
            _ => Says::Named,
        };
    }
    if damage.field != ordered_by::<T>() {
        return Says::Named;
    }
    match (read, damage.sorts) {
        ("page", _) if matches!(form, Form::Numbered { .. }) => Says::PassedOver,
        // They begin with the newest bucket. Where buckets overlap, they may go further.
        ("latest" | "latest_n", Sorts::First) if is_newest => {
            if is_hybrid {
                Says::Either
            } else {
                Says::PassedOver
            }
        }
        // Hybrid buckets take a further look.
        ("latest_per_key", Sorts::First) if is_newest && !is_hybrid => Says::PassedOver,
        // It is not among the ids of the span, and not outside those of the key.
        ("span: range" | "span: between" | "span: stats" | "span: rollup", Sorts::Among)
            if form.has_span() =>
        {
            Says::PassedOver
        }
        ("span: range_many", Sorts::Among) if is_hybrid => Says::PassedOver,
        _ => Says::Named,
    }
}

async fn no_damage_is_silent<T: Event>() {
    let database = database().await;
    let events = T::buckets(&database);
    events.ensure().await.unwrap();
    let records: Vec<T> = (0..RECORDS)
        .flat_map(|n| ["bad", "good"].map(|device| T::of(device, 1, date(n), n)))
        .collect();
    let report = events.insert_many(records).await.unwrap();
    report.into_result().unwrap();
    let collection = database.collection::<Document>("events");
    let bad = collection.find(doc! { "device": "bad" }).await.unwrap();
    let mut bad: Vec<Document> = bad.try_collect().await.unwrap();
    bad.sort_by_key(|bucket| numbers_of(bucket)[0]);
    assert_eq!(bad.len(), 4);
    let read = |damage: Damage, stored: Document, bucket: Document, is_newest: bool| {
        let (events, collection) = (&events, &collection);
        async move {
            let mut wrong = Vec::new();
            let id = bucket.get("_id").unwrap().clone();
            let damaged = damage.value.clone().filter(|_| damage.field == "_id");
            let damaged = damaged.unwrap_or_else(|| id.clone());
            collection.delete_one(doc! { "_id": id }).await.unwrap();
            let inserted = collection.insert_one(stored).await;
            if let Err(error) = &inserted {
                // Another bucket has the number.
                assert!(error.to_string().contains("E11000"), "{damage:?}: {error}");
            } else {
                let own = numbers_of(&bucket);
                let outcomes = outcomes(events, &own, &damaged.to_string(), &damage).await;
                for (read, outcome) in outcomes {
                    if !says::<T>(&damage, read, is_newest).allows(outcome) {
                        wrong.push(format!("{read}: {damage:?}, {is_newest}: {outcome:?}"));
                    }
                }
                collection
                    .delete_one(doc! { "_id": damaged })
                    .await
                    .unwrap();
            }
            collection.insert_one(bucket).await.unwrap();
            wrong
        }
    };
    let mut wrong = Vec::new();
    for (index, bucket) in bad.iter().enumerate().skip(1).step_by(2) {
        let is_newest = index == 3;
        let of_place = |damage: &Damage| [ordered_by::<T>(), "bucket_part"].contains(&damage.field);
        for (number, damage) in damages_of_fields().into_iter().enumerate() {
            let stored = damaged(bucket, &damage);
            let is_tried = of_place(&damage) || is_newest && number % 2 == T::HALF;
            if let Some(stored) = stored.filter(|_| is_tried) {
                wrong.extend(read(damage, stored, bucket.clone(), is_newest).await);
            }
        }
        for damage in damages_of_ids(bucket.get("_id").unwrap()) {
            let stored = damaged(bucket, &damage).unwrap();
            wrong.extend(read(damage, stored, bucket.clone(), is_newest).await);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn numbers_of(bucket: &Document) -> Vec<i64> {
    let items = bucket.get_array("items").unwrap().iter();
    let number = |item: &Bson| item.as_document().unwrap().get_i64("number").unwrap();
    items.map(number).collect()
}

/// The bucket with this damage; `None` if it has no such field.
fn damaged(bucket: &Document, damage: &Damage) -> Option<Document> {
    let mut stored = bucket.clone();
    let mut path = damage.field.split('.').peekable();
    let first = path.next()?;
    if path.peek().is_none() {
        stored.get(first)?;
        match &damage.value {
            Some(value) => drop(stored.insert(first, value.clone())),
            None => drop(stored.remove(first)),
        }
        return Some(stored);
    }
    let field = stored.get_mut(first)?;
    let (inner, name) = match (field, path.next()?, path.next()) {
        (Bson::Array(items), index, name) => {
            (items.get_mut(index.parse::<usize>().unwrap())?, name)
        }
        (fields, name, _) => (fields, Some(name)),
    };
    let fields = match name {
        None => {
            // A whole item.
            *inner = damage.value.clone().unwrap_or(Bson::Null);
            return Some(stored);
        }
        Some(_) => inner.as_document_mut()?,
    };
    let name = name?;
    fields.get(name)?;
    match &damage.value {
        Some(value) => drop(fields.insert(name, value.clone())),
        None => drop(fields.remove(name)),
    }
    Some(stored)
}

#[derive(Debug, Deserialize)]
struct Point {
    number: i64,
}

/// What reads return and say.
#[derive(Default)]
struct Found {
    numbers: Vec<i64>,
    /// The ids that errors name.
    named: BTreeSet<String>,
}

impl Found {
    fn add(&mut self, found: Result<Vec<i64>>, of: &str) {
        match found {
            Ok(numbers) => self.numbers.extend(numbers),
            Err(error) => match error.kind() {
                ErrorKind::Damaged(bucket) => drop(self.named.insert(bucket.id().to_owned())),
                other => panic!("{of}: {other:?}"),
            },
        }
    }
}

/// What every read makes of the key with the damaged bucket, which holds these records.
#[allow(clippy::too_many_lines, reason = "a list")]
async fn outcomes<T: Event>(
    events: &Buckets<T>,
    own: &[i64],
    id: &str,
    damage: &Damage,
) -> BTreeMap<&'static str, Outcome> {
    let mut outcomes: BTreeMap<&'static str, Outcome> = BTreeMap::new();
    let mut note = |read: &'static str, outcome: Outcome| {
        // The worst of the calls of a read.
        let noted = outcomes.entry(read).or_insert(outcome);
        *noted = outcome.max(*noted);
    };
    let of_bad: Vec<i64> = (0..RECORDS).collect();
    // All that is expected, or all but the bucket.
    let judge = |found: &Found, expected: &[i64], read: &str, hides_others: bool| {
        let mut numbers = found.numbers.clone();
        numbers.sort_unstable();
        let mut others = expected.to_vec();
        others.retain(|number| !own.contains(number));
        assert!(
            found.named.iter().all(|named| named == id),
            "{read}: {damage:?}"
        );
        if !found.named.is_empty() {
            assert!(
                hides_others || numbers == others,
                "{read}: {damage:?}: {numbers:?}"
            );
            return Outcome::Error;
        }
        if numbers == expected {
            return Outcome::Right;
        }
        assert_eq!(numbers, others, "{read}: {damage:?}");
        Outcome::PassedOver
    };
    let key = || T::key_of("bad");
    let all_numbers = |records: Vec<T>| records.iter().map(T::number).collect::<Vec<i64>>();
    let both = [key(), T::key_of("good")];
    let narrow = TimeRange::new(Some(date(4)), Some(date(11)));
    let mut spans = vec![TimeRange::ALL, narrow];
    let mut limits = vec![2];
    if [ordered_by::<T>(), "bucket_part"].contains(&damage.field) {
        spans.push(TimeRange::new(Some(date(0)), None));
        spans.push(TimeRange::new(None, Some(date(RECORDS))));
        limits.push(5);
    }
    let once = |found: Result<Vec<i64>>, read: &str| {
        let mut once = Found::default();
        once.add(found, read);
        once
    };
    // Reads that return all or nothing.
    for span in spans {
        let expected: Vec<i64> = of_bad
            .iter()
            .copied()
            .filter(|number| span.contains(date(*number)))
            .collect();
        // The first of these reads has no bounds.
        let name = |whole: &'static str, of_span: &'static str| {
            if span == TimeRange::ALL {
                whole
            } else {
                of_span
            }
        };
        let (read, found) = (
            name("range", "span: range"),
            events.range(key(), span).await.map(all_numbers),
        );
        note(read, judge(&once(found, read), &expected, read, true));
        let found = events.range(key(), span).newest_first().await;
        note(
            read,
            judge(&once(found.map(all_numbers), read), &expected, read, true),
        );
        let points = events.range(key(), span);
        let points = points
            .select::<Point>([FieldPath::new("items.number")])
            .await;
        let points = points.map(|points| points.iter().map(|point| point.number).collect());
        note(read, judge(&once(points, read), &expected, read, true));

        let read = name("range_many", "span: range_many");
        let found = events.range_many(both.clone(), span).await;
        let found = found.map(|records| {
            let (good, bad): (Vec<T>, Vec<T>) = records
                .into_iter()
                .partition(|record| record.device() == "good");
            assert_eq!(all_numbers(good), expected, "{read}: {damage:?}");
            all_numbers(bad)
        });
        note(read, judge(&once(found, read), &expected, read, true));

        let read = name("between", "span: between");
        for newest_first in [false, true] {
            let query = || {
                let query = events.records(key()).between(span);
                if newest_first {
                    query.newest_first()
                } else {
                    query
                }
            };
            let found = query().collect().await.map(all_numbers);
            note(read, judge(&once(found, read), &expected, read, true));
            // A stream and pages give all other records.
            let mut streamed = Found::default();
            let mut stream = query().stream();
            while let Some(record) = stream.next().await {
                streamed.add(record.map(|record| vec![record.number()]), read);
            }
            note(read, judge(&streamed, &expected, read, false));
            for limit in &limits {
                let mut paged = Found::default();
                let mut token = None;
                for turn in 0.. {
                    assert!(turn < 50, "{read}: {damage:?}: the pages do not end");
                    token = match query().limit(*limit).after(token).await {
                        Ok(page) => {
                            let token = page.next_token().cloned();
                            paged.add(Ok(all_numbers(page.into_records())), read);
                            token
                        }
                        Err(error) => {
                            let token = error.continue_after().cloned();
                            assert!(token.is_some(), "{read}: {damage:?}");
                            paged.add(Err(error), read);
                            token
                        }
                    };
                    if token.is_none() {
                        break;
                    }
                }
                note(read, judge(&paged, &expected, read, false));
            }
        }
        let mut streamed = Found::default();
        let mut stream = events.range(key(), span).stream();
        while let Some(record) = stream.next().await {
            streamed.add(record.map(|record| vec![record.number()]), read);
        }
        let read = name("range", "span: range");
        note(read, judge(&streamed, &expected, read, false));

        // Reads that add up.
        let all = i64::try_from(expected.len()).unwrap();
        let missing = expected.iter().filter(|number| own.contains(number));
        let others = all - i64::try_from(missing.count()).unwrap();
        let counted = |read: &str, counted: Result<u64>| match counted.map(i64::try_from) {
            Ok(count) if count == Ok(all) => Outcome::Right,
            Ok(count) => {
                assert_eq!(count, Ok(others), "{read}: {damage:?}");
                Outcome::PassedOver
            }
            Err(error) => judge(&once(Err(error), read), &[], read, true),
        };
        let read = name("stats", "span: stats");
        let stats = events.stats(key(), span).await;
        let stats = stats.map(|stats| stats.as_ref().map_or(0, RangeStats::count));
        note(read, counted(read, stats));
        if span.start().is_some() && span.end().is_some() {
            for every in [Interval::seconds(15), Interval::hours(1)] {
                let read = "span: rollup";
                let rollup = events.rollup(key(), span, every).fill(Fill::Previous).await;
                let rollup = rollup.map(|rollup| rollup.rows().iter().map(RollupRow::count).sum());
                note(read, counted(read, rollup));
            }
        }
        if let Form::Window { .. } = T::SPEC.form() {
            let mut found = Found::default();
            let mut stream = events.range_all_keys(span).stream();
            let mut good = Vec::new();
            while let Some(record) = stream.next().await {
                match record {
                    Ok(record) if record.device() == "good" => good.push(record.number()),
                    record => {
                        let record = record.map(|record| vec![record.number()]);
                        found.add(record, "range_all_keys");
                    }
                }
            }
            assert_eq!(good, expected, "{damage:?}");
            let outcome = judge(&found, &expected, "range_all_keys", false);
            note("range_all_keys", outcome);
        }
    }
    // Reads of buckets.
    let buckets = events.page_count(key()).await.unwrap();
    assert!((3..=4).contains(&buckets), "{damage:?}");
    note(
        "page_count",
        if buckets == 4 {
            Outcome::Right
        } else {
            Outcome::PassedOver
        },
    );
    let mut paged = Found::default();
    for number in 1..6 {
        let page = events.page(key(), number).await;
        paged.add(page.map(|page| all_numbers(page.into_records())), "page");
    }
    note("page", judge(&paged, &of_bad, "page", false));
    let mut streamed = Found::default();
    let mut stream = events.pages(key()).stream();
    while let Some(bucket) = stream.next().await {
        let records = bucket.map(bucket_core::bucket::assemble_records::<T::Bucket>);
        streamed.add(records.map(all_numbers), "pages");
    }
    note("pages", judge(&streamed, &of_bad, "pages", false));
    let count = events.count(key()).await;
    note(
        "count",
        match count {
            Ok(12) => Outcome::Right,
            Ok(9) => Outcome::PassedOver,
            Ok(count) => panic!("{damage:?}: {count}"),
            Err(error) => judge(&once(Err(error), "count"), &[], "count", true),
        },
    );
    // Reads of the newest records.
    let newest_of = |most: usize, passed_over: bool| {
        let mut newest: Vec<i64> = of_bad.clone();
        newest.retain(|number| !(passed_over && own.contains(number)));
        newest.reverse();
        newest.truncate(most);
        newest
    };
    let newest = |read: &str, found: Result<Vec<i64>>, most: usize| match found {
        Ok(found) if found == newest_of(most, false) => Outcome::Right,
        Ok(found) => {
            assert_eq!(found, newest_of(most, true), "{read}: {damage:?}");
            Outcome::PassedOver
        }
        Err(error) => judge(&once(Err(error), read), &[], read, true),
    };
    let latest = events.latest(key()).await;
    let latest = latest.map(|latest| latest.iter().map(T::number).collect());
    note("latest", newest("latest", latest, 1));
    let few = events.latest_n(key(), 2).await.map(all_numbers);
    note("latest_n", newest("latest_n", few, 2));
    let all = events.latest_n(key(), 100).await.map(all_numbers);
    note("latest_n of all", newest("latest_n of all", all, 100));
    let (mut of_bad, mut named, mut good) = (None, None, 0);
    for found in events.latest_per_key().stream().collect::<Vec<_>>().await {
        match found {
            Ok(record) if record.device() == "good" => good += 1,
            Ok(record) => {
                let outcome = newest("latest_per_key", Ok(vec![record.number()]), 1);
                assert!(of_bad.replace(outcome).is_none(), "{damage:?}");
            }
            Err(error) => named = Some(newest("latest_per_key", Err(error), 1)),
        }
    }
    assert_eq!(good, 1, "{damage:?}");
    let outcome = named.or(of_bad).unwrap_or(Outcome::PassedOver);
    note("latest_per_key", outcome);
    outcomes
}

#[tokio::test]
async fn pages_of_records_name_the_first_of_several_buckets_without_a_place() {
    let database = database().await;
    let events = Counted::buckets(&database);
    events.ensure().await.unwrap();
    let records = (0..RECORDS).map(|n| Counted::of("bad", 1, date(n), n));
    let report = events.insert_many(records).await.unwrap();
    report.into_result().unwrap();
    let collection = database.collection::<Document>("events");
    let found = collection.find(doc! {}).sort(doc! { "_id": 1 });
    let buckets: Vec<Document> = found.await.unwrap().try_collect().await.unwrap();
    for (id, bucket) in (7..).zip(&buckets[1..3]) {
        let filter = doc! { "_id": bucket.get("_id").unwrap() };
        collection.delete_one(filter).await.unwrap();
        let mut stored = bucket.clone();
        stored.insert("_id", id);
        collection.insert_one(stored).await.unwrap();
    }
    let key = || Counted::key_of("bad");
    let streamed: Vec<_> = events.records(key()).stream().collect().await;
    assert_eq!(streamed.iter().filter(|found| found.is_err()).count(), 2);
    assert_eq!(streamed.iter().flatten().count(), 6);
    let error = events.records(key()).limit(2).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Damaged(bucket) if bucket.id() == "7"));
    let mut token = error.continue_after().cloned();
    let mut seen = Vec::new();
    while token.is_some() {
        let page = events.records(key()).limit(2).after(token).await.unwrap();
        token = page.next_token().cloned();
        seen.extend(page.into_records().iter().map(Counted::number));
    }
    assert_eq!(seen, [0, 1, 2, 9, 10, 11]);
}

#[tokio::test]
async fn a_reader_of_later_records_misses_none_after_a_bucket_without_a_place() {
    let database = database().await;
    let events = Counted::buckets(&database);
    events.ensure().await.unwrap();
    let insert = async |numbers: std::ops::Range<i64>| {
        let records = numbers.map(|n| Counted::of("bad", 1, date(n), n));
        let report = events.insert_many(records).await.unwrap();
        report.into_result().unwrap();
    };
    insert(0..4).await;
    let collection = database.collection::<Document>("events");
    let mut stored = collection
        .find_one(doc! { "count": 3 })
        .await
        .unwrap()
        .unwrap();
    let id = ObjectId::new();
    stored.insert("_id", id);
    collection.delete_one(doc! { "count": 3 }).await.unwrap();
    collection.insert_one(stored).await.unwrap();
    let key = || Counted::key_of("bad");
    let (mut seen, mut named) = (Vec::new(), 0);
    let mut token = None;
    for round in 0..3 {
        let mut is_at_the_end = false;
        while !is_at_the_end {
            match events.records(key()).limit(1).after(token.clone()).await {
                Ok(page) => {
                    is_at_the_end = page.next_token().is_none();
                    token = page.end_token().cloned();
                    seen.extend(page.into_records().iter().map(Counted::number));
                }
                Err(error) => {
                    named += 1;
                    token = error.continue_after().cloned();
                }
            }
            assert!(named < 20, "the pages do not end");
        }
        // The bucket with room takes them.
        if round < 2 {
            insert(4 + round..5 + round).await;
        }
    }
    assert_eq!(seen, [3, 4, 5]);
    // The bucket is after what comes later, too.
    assert_eq!(named, 3);
}

/// Rounded to a second, it would have the place of another bucket.
#[tokio::test(flavor = "multi_thread")]
async fn a_start_inside_a_second_hides_no_record_of_another_bucket() {
    let database = database().await;
    let events = WindowedObjects::buckets(&database);
    events.ensure().await.unwrap();
    let of = |n| WindowedObjects::of("bad", 1, date(n), n);
    let records: Vec<WindowedObjects> = (0..RECORDS).map(of).collect();
    events
        .insert_many(records)
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let collection = database.collection::<Document>("events");
    let first = doc! { "items.number": 0 };
    let start = DateTime::from_millis(START.div_euclid(60_000) * 60_000 + 500);
    let update = doc! { "$set": { "bucket_start": start } };
    collection.update_one(first, update).await.unwrap();
    for newest_first in [false, true] {
        let query = events.records(WindowedObjects::key_of("bad"));
        let query = if newest_first {
            query.newest_first()
        } else {
            query
        };
        let found: Vec<Result<WindowedObjects>> = query.stream().collect().await;
        let errors = found.iter().filter(|found| found.is_err()).count();
        let numbers = found.iter().flatten().map(Event::number);
        let numbers: BTreeSet<i64> = numbers.collect();
        assert_eq!(errors, 1, "{found:?}");
        assert_eq!(numbers, (3..RECORDS).collect(), "{newest_first}");
    }
}

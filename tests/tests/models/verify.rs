//! `verify` finds what is wrong with stored buckets, and nothing else.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
    time::Duration,
};

use bucket_core::Form;
use bucket_mongo::{
    Bucketed, Buckets, CheckPosition, ErrorKind, Finding, ProblemKind,
    bson::{Bson, DateTime, Document, doc},
    testing::TestDatabase,
};
use bucket_tests::{PATIENCE, database, documents, profiled};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};
use tokio::{spawn, task::JoinHandle};

pub(crate) trait Event: Bucketed + Clone + Debug {
    fn of(device: &str, at: DateTime, number: i64) -> Self;
    fn key_of(device: &str) -> Self::Key;
}

macro_rules! models {
    ($($test:ident $name:ident: [$($attributes:tt)*];)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "events", items = "items", stats = "stats", $($attributes)*)]
        pub(crate) struct $name {
            #[bucket(key)]
            device: String,
            #[bucket(key)]
            sensor: i32,
            #[bucket(time, first, last)]
            at: DateTime,
            #[bucket(sum, min)]
            number: i64,
            #[bucket(unique)]
            name: String,
            #[bucket(sum = "level_sum", avg = "level_avg", percentiles(error = 0.01), last = "level_last")]
            level: f64,
        }

        impl Event for $name {
            fn of(device: &str, at: DateTime, number: i64) -> Self {
                let level = f64::from(i32::try_from(number).unwrap()) * 0.1;
                let name = format!("{device} {number}");
                Self { device: device.to_owned(), sensor: 1, at, number, name, level }
            }

            fn key_of(device: &str) -> Self::Key {
                (device.to_owned(), 1).into()
            }
        }

        mod $test {
            #[tokio::test(flavor = "multi_thread")]
            async fn damages_by_hand_are_found_and_nothing_else() {
                super::damages_by_hand::<super::$name>().await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn random_damages_are_found() {
                super::random_damages::<super::$name>().await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn writers_at_work_are_not_reported() {
                super::storm::<super::$name>().await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn a_walk_goes_on_where_another_one_ended() {
                super::resumed::<super::$name>().await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn what_waits_for_a_second_look_comes_after_the_position() {
                super::interrupted::<super::$name>().await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn a_span_is_checked_in_the_buckets_that_reach_into_it() {
                super::in_spans::<super::$name>().await;
            }
        }
    )*};
}

models! {
    counted Counted: [capacity = 3];
    aging Aging: [capacity = 3, expire_after = "20000d", max_bytes = "4KB", created_at];
    windows Windowed: [window = "1m", capacity = 3];
    aging_windows AgingWindows: [window = "1m", capacity = 3, expire_after = "20000d"];
    object_windows WindowedObjects: [window = "1m", capacity = 3, object_ids];
    hybrid Hybrid: [capacity = 3, max_duration = "1m"];
    numbered Numbered: [capacity = 3, numbered];
    aging_numbers AgingNumbers: [capacity = 3, numbered, object_ids, expire_after = "20000d"];
}

const START: i64 = 1_698_335_220_000;

pub(crate) fn date(number: i64) -> DateTime {
    DateTime::from_millis(START + number * 10_000)
}

/// Keys with ten records, which leave a bucket open, and one with nine, which leave none.
pub(crate) async fn stored<T: Event>(database: &TestDatabase) -> Buckets<T> {
    let events = T::buckets(database);
    events.ensure().await.unwrap();
    for (device, records) in [("a", 10), ("b", 10), ("full", 9)] {
        let records: Vec<T> = (0..records).map(|n| T::of(device, date(n), n)).collect();
        let report = events.insert_many(records).await.unwrap();
        report.into_result().unwrap();
    }
    let report = events.verify().await.unwrap();
    assert!(report.is_clean(), "{report}");
    assert_eq!((report.records, report.keys), (29, 3));
    events
}

/// The buckets of a key, in their order.
pub(crate) async fn buckets_of(database: &TestDatabase, device: &str) -> Vec<Document> {
    let mut buckets = documents(database, "events").await;
    buckets.retain(|bucket| bucket.get_str("device").unwrap_or_default() == device);
    buckets.sort_by_key(|bucket| number_at(bucket, 0));
    buckets
}

fn number_at(bucket: &Document, index: usize) -> i64 {
    let items = bucket.get_array("items").unwrap();
    items[index]
        .as_document()
        .unwrap()
        .get_i64("number")
        .unwrap()
}

/// Replaces a bucket; false if an index forbids it.
pub(crate) async fn replaced(database: &TestDatabase, id: &Bson, by: &Document) -> bool {
    let collection = database.collection::<Document>("events");
    collection.delete_one(doc! { "_id": id }).await.unwrap();
    match collection.insert_one(by).await {
        Ok(_) => true,
        Err(error) => {
            // So does an index on two fields of which both are arrays.
            let text = error.to_string();
            assert!(
                text.contains("E11000") || text.contains("parallel arrays"),
                "{error}"
            );
            false
        }
    }
}

pub(crate) fn kinds(findings: &[Finding]) -> BTreeSet<ProblemKind> {
    findings.iter().map(|it| it.problem.kind()).collect()
}

pub(crate) fn at<'a>(value: &'a mut Bson, path: &str) -> Option<&'a mut Bson> {
    path.split('.').try_fold(value, |value, name| match value {
        Bson::Document(fields) => fields.get_mut(name),
        Bson::Array(items) => items.get_mut(name.parse::<usize>().ok()?),
        _ => None,
    })
}

/// Sets a field; `None` if there is none of this path.
pub(crate) fn set(bucket: &Document, path: &str, value: Bson) -> Option<Document> {
    let mut bucket = Bson::Document(bucket.clone());
    *at(&mut bucket, path)? = value;
    let Bson::Document(bucket) = bucket else {
        return None;
    };
    Some(bucket)
}

pub(crate) fn without(bucket: &Document, path: &str) -> Option<Document> {
    let mut bucket = Bson::Document(bucket.clone());
    let (parent, name) = path.rsplit_once('.').unwrap_or(("", path));
    let fields = match parent {
        "" => &mut bucket,
        parent => at(&mut bucket, parent)?,
    };
    fields.as_document_mut()?.remove(name)?;
    bucket.as_document().cloned()
}

/// A date of the bucket, moved.
fn moved(bucket: &Document, path: &str, millis: i64) -> Option<Document> {
    let mut copy = Bson::Document(bucket.clone());
    let date = at(&mut copy, path)?.as_datetime()?.timestamp_millis();
    set(bucket, path, DateTime::from_millis(date + millis).into())
}

/// The second bucket of a key with this damage, and what must be found.
#[allow(clippy::too_many_lines, reason = "a line for each damage")]
pub(crate) fn by_hand<T: Event>(bucket: &Document) -> Vec<(String, Document, Vec<ProblemKind>)> {
    use ProblemKind as Kind;
    const DAY: i64 = 86_400_000;
    let form = T::SPEC.form();
    let is_numbered = matches!(form, Form::Numbered { .. });
    let is_hybrid = matches!(form, Form::Hybrid { .. });
    let is_counted = matches!(form, Form::Count { .. });
    let spans = matches!(form, Form::Window { .. } | Form::Hybrid { .. });
    let mut list: Vec<(String, Option<Document>, Vec<Kind>)> = Vec::new();
    let mut add = |name: &str, damaged, kinds: &[Kind]| {
        list.push((name.to_owned(), damaged, kinds.to_vec()));
    };
    let set = |path: &str, value: Bson| set(bucket, path, value);
    let bytes = |of: &[Kind], bytes: Kind| {
        let mut kinds = of.to_vec();
        if T::SPEC.max_bytes().is_some() {
            kinds.push(bytes);
        }
        kinds
    };
    add("count", set("count", 5.into()), &[Kind::Count]);
    add("no count", without(bucket, "count"), &[Kind::Field]);
    add("count is text", set("count", "3".into()), &[Kind::Field]);
    let edits = doc! { "number": 1_i64, "removed": 1_i64 };
    add("removed", set("_edits", edits.into()), &[Kind::Removed]);
    add("edits are text", set("_edits", "1".into()), &[Kind::Field]);
    add("no items", without(bucket, "items"), &[Kind::Field]);
    let empty: &[Kind] = if is_counted {
        &[Kind::Count, Kind::Aggregate]
    } else {
        &[Kind::Count, Kind::Aggregate, Kind::Empty]
    };
    add("empty items", set("items", Bson::Array(Vec::new())), empty);
    add(
        "an item is no document",
        set("items.1", 7.into()),
        &[Kind::Field],
    );
    add(
        "an item has no time",
        without(bucket, "items.1.at"),
        &[Kind::Field],
    );
    add(
        "an item cannot be read",
        set("items.1.number", "x".into()),
        &[Kind::Item],
    );
    add(
        "an item has another value",
        set("items.1.number", Bson::Int64(999)),
        &[Kind::Aggregate],
    );
    let late = DateTime::from_millis(START + 400 * DAY);
    let mut outside = vec![Kind::Aggregate];
    if spans {
        outside.push(Kind::Outside);
    } else if T::SPEC.names().created_at.is_some() {
        // The record was not in the future when the bucket was opened.
        outside.push(Kind::RemovedEarly);
    }
    add(
        "an item has another time",
        set("items.1.at", late.into()),
        &outside,
    );
    let mut twice = bucket.clone();
    if let Ok(items) = twice.get_array_mut("items") {
        let name = items[0]
            .as_document()
            .unwrap()
            .get("name")
            .cloned()
            .unwrap();
        items[2].as_document_mut().unwrap().insert("name", name);
    }
    add("a record id twice", Some(twice), &[Kind::RepeatedId]);
    let mut longer = bucket.clone();
    if let Ok(items) = longer.get_array_mut("items") {
        let name = items[1].as_document_mut().unwrap();
        name.insert("name", "a longer name than before");
    }
    add("a longer item", Some(longer), &bytes(&[], Kind::Bytes));
    add("sum", set("stats.sum", 999.into()), &[Kind::Aggregate]);
    for (path, _) in bucket.get_document("stats").unwrap() {
        let path = format!("stats.{path}");
        add(
            "an aggregate is missing",
            without(bucket, &path),
            &[Kind::MissingAggregate],
        );
        add(
            "an aggregate is text",
            set(&path, "x".into()),
            &[Kind::Field],
        );
    }
    add(
        "no key",
        without(bucket, "sensor"),
        if is_numbered {
            &[Kind::Key, Kind::Gap]
        } else {
            &[Kind::Key]
        },
    );
    if T::SPEC.object_ids() {
        add("id is text", set("_id", "a_1_x".into()), &[Kind::Field]);
    } else {
        add("id is another text", set("_id", "zoo".into()), &[Kind::Id]);
        add("id is a number", set("_id", 7.into()), &[Kind::Field]);
    }
    for mark in ["is_full", "is_closed"] {
        add("no mark", without(bucket, mark), &[Kind::Field]);
        add("the mark is text", set(mark, "x".into()), &[Kind::Field]);
    }
    add(
        "bucket size",
        set("bucket_size", 2.into()),
        &[Kind::OverCapacity],
    );
    add(
        "more room",
        set("bucket_size", 9.into()),
        &[Kind::MarkedWithRoom],
    );
    add(
        "size is text",
        set("bucket_size", "9".into()),
        &[Kind::Field],
    );
    let other: &[Kind] = if T::SPEC.object_ids() {
        &[Kind::Gap]
    } else {
        &[Kind::Id]
    };
    add("number", set("bucket_number", 9.into()), other);
    add(
        "number is text",
        set("bucket_number", "2".into()),
        &[Kind::Field],
    );
    add("no end", without(bucket, "bucket_end"), &[Kind::Field]);
    add("no start", without(bucket, "bucket_start"), &[Kind::Field]);
    let (start, end): (&[Kind], &[Kind]) = if is_hybrid {
        (&[Kind::Id, Kind::Outside], &[Kind::LongSpan])
    } else if T::SPEC.object_ids() && matches!(T::SPEC.form(), Form::Window { .. }) {
        // Their start is their place.
        (&[Kind::Field, Kind::Window], &[Kind::Window])
    } else {
        (&[Kind::Window], &[Kind::Window])
    };
    add("a later start", moved(bucket, "bucket_start", 1), start);
    add("a later end", moved(bucket, "bucket_end", 1), end);
    let earlier: &[Kind] = if is_hybrid {
        &[Kind::Outside]
    } else {
        &[Kind::Window]
    };
    add("an earlier end", moved(bucket, "bucket_end", -1), earlier);
    add("bytes", set("bytes", Bson::Int64(1)), &[Kind::Bytes]);
    add("bytes are text", set("bytes", "x".into()), &[Kind::Field]);
    add(
        "age is text",
        set("expire_from", "x".into()),
        &[Kind::Field],
    );
    add(
        "too old",
        moved(bucket, "expire_from", -3 * DAY),
        &[Kind::RemovedEarly],
    );
    add(
        "too young",
        moved(bucket, "expire_from", 1),
        &[Kind::RemovedLate],
    );
    add(
        "opening is text",
        set("created_at", "x".into()),
        &[Kind::OtherType],
    );
    if is_hybrid {
        let mut late = bucket.clone();
        late.insert("is_late", "yes");
        add("late is text", Some(late), &[Kind::Field]);
    }
    if T::SPEC.open_index_name().is_none() || is_hybrid || is_numbered {
        let mut none = bucket.clone();
        none.insert("sources", doc! { "queue": "x" });
        if !is_hybrid {
            add("position is text", Some(none), &[Kind::Field]);
        }
    }
    let list = list.into_iter();
    list.filter_map(|(name, damaged, kinds)| Some((name, damaged?, kinds)))
        .collect()
}

async fn damages_by_hand<T: Event>() {
    let database = database().await;
    let events = stored::<T>(&database).await;
    let bucket = buckets_of(&database, "full").await[1].clone();
    let id = bucket.get("_id").unwrap().clone();
    let mut damages = by_hand::<T>(&bucket);
    for mark in ["is_full", "is_closed"] {
        let expected: &[ProblemKind] = match T::SPEC.form() {
            Form::Numbered { .. } => &[ProblemKind::NotMarked, ProblemKind::OpenBefore],
            _ => &[ProblemKind::NotMarked],
        };
        let open = set(&bucket, mark, false.into());
        damages.extend(open.map(|open| (mark.to_owned(), open, expected.to_vec())));
    }
    assert!(damages.len() > 25);
    let mut wrong = Vec::new();
    for (name, damaged, expected) in damages {
        assert!(replaced(&database, &id, &damaged).await, "{name}");
        let report = events.verify().await.unwrap();
        let damaged_id = damaged.get("_id").unwrap();
        let mut expected: BTreeSet<ProblemKind> = expected.into_iter().collect();
        if T::SPEC.expire_after().is_some() && !matches!(T::SPEC.form(), Form::Window { .. }) {
            // The retention may have removed the missing one.
            expected.remove(&ProblemKind::Gap);
        }
        let is_named = |finding: &Finding| {
            finding.id == *damaged_id || finding.problem.kind() == ProblemKind::Gap
        };
        let found = kinds(&report.findings);
        if found != expected || !report.findings.iter().all(is_named) {
            wrong.push(format!("{name}: {report}\nexpected {expected:?}"));
        }
        assert_eq!(
            report.buckets,
            u64::try_from(documents(&database, "events").await.len()).unwrap()
        );
        // It serialises, and prints.
        let text = bucket_mongo::bson::serialize_to_document(&report)
            .unwrap()
            .to_string();
        assert!(
            report.findings.is_empty() || text.contains("problem"),
            "{text}"
        );
        assert!(replaced(&database, damaged_id, &bucket).await);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    let report = events.verify().await.unwrap();
    assert!(report.is_clean(), "{report}");

    // The first bucket is removed.
    let first = buckets_of(&database, "full").await[0].clone();
    let collection = database.collection::<Document>("events");
    collection
        .delete_one(doc! { "_id": first.get("_id") })
        .await
        .unwrap();
    let report = events.verify().await.unwrap();
    let is_gap = match T::SPEC.form() {
        Form::Window { .. } => true,
        Form::Numbered { .. } => T::SPEC.expire_after().is_none(),
        _ => false,
    };
    let expected = if is_gap {
        vec![ProblemKind::Gap]
    } else {
        vec![]
    };
    assert_eq!(
        kinds(&report.findings),
        expected.into_iter().collect(),
        "{report}"
    );
    collection.insert_one(first).await.unwrap();

    // Without the index, a second bucket can be open.
    let Some(index) = T::SPEC.open_index_name() else {
        return;
    };
    collection.drop_index(index.clone()).await.unwrap();
    let second = buckets_of(&database, "a").await[1].clone();
    let mut open = second.clone();
    match T::SPEC.form() {
        Form::Hybrid { .. } => drop(open.insert("is_closed", false)),
        Form::Numbered { .. } => drop(open.insert("is_full", false)),
        _ => {
            open.get_array_mut("items").unwrap().pop();
            open.insert("count", 2);
        }
    }
    let id = second.get("_id").unwrap();
    assert!(replaced(&database, id, &open).await);
    let report = events.verify().await.unwrap();
    assert!(
        report.indexes.iter().any(|it| it.contains(&index)),
        "{report}"
    );
    let found = kinds(&report.findings);
    let two = [ProblemKind::TwoOpen, ProblemKind::OpenBefore];
    assert!(two.iter().any(|kind| found.contains(kind)), "{report}");
    assert!(
        report.findings.iter().all(|finding| finding.id == *id),
        "{report}"
    );
}

/// Numbers that look random.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

/// The paths of all fields without fields of their own.
pub(crate) fn leaves(value: &Bson, path: &str, to: &mut Vec<String>) {
    let inner = |name: &str| {
        if path.is_empty() {
            name.to_owned()
        } else {
            format!("{path}.{name}")
        }
    };
    match value {
        Bson::Document(fields) => fields
            .iter()
            .for_each(|(name, value)| leaves(value, &inner(name), to)),
        Bson::Array(items) => {
            let items = items.iter().enumerate();
            items.for_each(|(index, value)| leaves(value, &inner(&index.to_string()), to));
        }
        _ => to.push(path.to_owned()),
    }
}

/// Another value, of the same type or of another one.
pub(crate) fn other(value: &Bson, random: &mut Random) -> Bson {
    let by = i64::try_from(random.below(1_000_000) + 1).unwrap();
    match (value, random.below(3)) {
        (_, 0) => [
            Bson::Null,
            "x".into(),
            Bson::MaxKey,
            doc! { "a": 1 }.into(),
            Bson::Array(vec![1.into()]),
        ][random.below(5)]
        .clone(),
        (Bson::Int32(number), _) => Bson::Int64(i64::from(*number) + by),
        (Bson::Int64(number), _) => Bson::Int64(number - by),
        #[allow(clippy::cast_precision_loss, reason = "a small number")]
        (Bson::Double(number), _) => Bson::Double(number + by as f64),
        (Bson::DateTime(date), 1) => {
            DateTime::from_millis(date.timestamp_millis() + by * 86_400_000).into()
        }
        (Bson::DateTime(date), _) => {
            DateTime::from_millis(date.timestamp_millis() - by * 86_400_000).into()
        }
        (Bson::Boolean(value), _) => Bson::Boolean(!value),
        (Bson::String(text), _) => Bson::String(format!("{text}?")),
        _ => Bson::Null,
    }
}

/// Whether the library promises nothing of the value that a field got.
fn promises_nothing(path: &str, value: &Bson) -> bool {
    let field = path.rsplit('.').next().unwrap_or_default();
    let is_text = matches!(value, Bson::String(_));
    // A record may have any id, a bucket any key, and any moment of its opening.
    (path.starts_with("items.") && field == "name" && is_text)
        || path == "device"
        || (path == "sensor" && matches!(value, Bson::Int64(number) if i32::try_from(*number).is_ok()))
        || (path == "created_at" && matches!(value, Bson::DateTime(_)))
        // A time between the others of the bucket is as good as theirs; it is moved by days here.
        || (path == "is_closed" && matches!(value, Bson::Boolean(_)))
        || (path == "bucket_number" && matches!(value, Bson::Int64(_)))
}

async fn random_damages<T: Event>() {
    let database = database().await;
    let events = stored::<T>(&database).await;
    let mut random = Random(7);
    let (mut tried, mut silent) = (0, Vec::new());
    while tried < 130 {
        let buckets = buckets_of(&database, "a").await;
        let bucket = &buckets[random.below(buckets.len())];
        let mut paths = Vec::new();
        leaves(&Bson::Document(bucket.clone()), "", &mut paths);
        let path = paths.swap_remove(random.below(paths.len()));
        let value = {
            let mut bucket = Bson::Document(bucket.clone());
            other(at(&mut bucket, &path).unwrap(), &mut random)
        };
        if promises_nothing(&path, &value)
            || (path == "_id" && value == Bson::Array(vec![1.into()]))
        {
            continue;
        }
        let removes = random.below(5) == 0 && path != "_id" && path.parse::<usize>().is_err();
        let damaged = if removes {
            without(bucket, &path)
        } else {
            set(bucket, &path, value.clone())
        };
        let Some(damaged) = damaged else { continue };
        let is_optional = ["bytes", "created_at", "expire_from", "bucket_part"].contains(&&*path);
        if removes && is_optional {
            continue;
        }
        let id = bucket.get("_id").unwrap();
        let damaged_id = damaged.get("_id").unwrap().clone();
        if replaced(&database, id, &damaged).await {
            tried += 1;
            let report = events.verify().await.unwrap();
            let is_named = |finding: &Finding| finding.id == damaged_id;
            let is_other = |finding: &Finding| {
                !is_named(finding) && finding.problem.kind() != ProblemKind::Gap
            };
            if !report.findings.iter().any(is_named) || report.findings.iter().any(is_other) {
                silent.push(format!(
                    "{path} = {value:?}, removed: {removes}: {report}\n{damaged}"
                ));
            }
        }
        assert!(replaced(&database, &damaged_id, bucket).await);
    }
    assert!(
        silent.is_empty(),
        "{} of {tried}: {}",
        silent.len(),
        silent.join("\n")
    );
    let report = events.verify().await.unwrap();
    assert!(report.is_clean(), "{report}");
}

async fn write<T: Event>(events: Buckets<T>, writer: i64) {
    let mut random = Random(u64::try_from(writer).unwrap());
    for round in 0..60 {
        let first = writer * 1_000_000 + round * 100;
        let length = i64::from([1, 2, 7, 40][random.below(4)]);
        let records = (first..first + length).map(|n| {
            let device = ["a", "b"][usize::try_from(n % 2).unwrap()];
            T::of(device, date(round + n % 3), n)
        });
        let report = events.insert_many(records.collect::<Vec<T>>());
        let report = report.deadline(PATIENCE).await.unwrap();
        report.into_result().unwrap();
    }
}

async fn storm<T: Event>() {
    let database = database().await;
    let events = T::buckets(&database);
    events.ensure().await.unwrap();
    // In tasks of their own: a check is busy for longer than they wait for their server.
    let writers = (1..=4).map(|writer| spawn(write(T::buckets(&database), writer)));
    let writers: Vec<_> = writers.collect();
    let mut walks = 0;
    while walks < 3 || !writers.iter().any(JoinHandle::is_finished) {
        let report = events.verify().await.unwrap();
        assert!(report.is_clean(), "{report}");
        walks += 1;
    }
    for writer in writers {
        writer.await.unwrap();
    }
    let report = events.verify().await.unwrap();
    assert!(report.is_clean(), "{report}");
}

/// Whether the bucket can hold records of the span.
fn reaches_into<T: Event>(bucket: &Document, from: DateTime, to: DateTime) -> bool {
    if T::SPEC.form().has_span() {
        let names = T::SPEC.names();
        let date = |name: &str| *bucket.get_datetime(name).unwrap();
        let is_window = matches!(T::SPEC.form(), Form::Window { .. });
        let (start, end) = (date(names.start), date(names.end));
        return start < to && (from < end || !is_window && from == end);
    }
    let items = bucket.get_array("items").unwrap();
    let mut times = items.iter().map(|item| item.as_document().unwrap());
    times.any(|item| {
        let at = *item.get_datetime("at").unwrap();
        from <= at && at < to
    })
}

async fn in_spans<T: Event>() {
    let database = database().await;
    let events = stored::<T>(&database).await;
    // What lies outside of a span is not missing in it.
    for (from, to) in [(3, 5), (0, 1), (9, 20), (2, 7), (100, 200)] {
        let report = events.verify().between(date(from)..date(to)).await.unwrap();
        assert!(report.is_clean(), "{report}");
        let stored = documents(&database, "events").await;
        let inside = stored.iter();
        let inside = inside.filter(|bucket| reaches_into::<T>(bucket, date(from), date(to)));
        assert_eq!(report.buckets, u64::try_from(inside.count()).unwrap());
    }
    // All are damaged: each span shows its own.
    let collection = database.collection::<Document>("events");
    let stored = documents(&database, "events").await;
    let damage = doc! { "$set": { "stats.sum": 999_i64 } };
    collection.update_many(doc! {}, damage).await.unwrap();
    for (from, to) in [(3, 5), (5, 5), (2, 7)] {
        let report = events.verify().between(date(from)..date(to)).await.unwrap();
        let found = report.findings.iter().map(|finding| finding.id.to_string());
        let inside = stored
            .iter()
            .filter(|bucket| from < to && reaches_into::<T>(bucket, date(from), date(to)));
        let inside = inside.map(|bucket| bucket.get("_id").unwrap().to_string());
        assert_eq!(
            found.collect::<BTreeSet<_>>(),
            inside.collect::<BTreeSet<_>>()
        );
        let of_key = events
            .verify()
            .key(T::key_of("a"))
            .between(date(from)..date(to))
            .await
            .unwrap();
        let findings = report.findings.iter();
        let findings =
            findings.filter(|finding| finding.key.get_str("device").is_ok_and(|it| it == "a"));
        assert_eq!(of_key.findings, findings.cloned().collect::<Vec<_>>());
    }
    let reversed = events.verify().between(date(5)..date(3)).await.unwrap_err();
    assert!(
        matches!(reversed.kind(), ErrorKind::InvalidArgument { .. }),
        "{reversed}"
    );
    // One whose times cannot be read is in every span.
    let id = stored[0].get("_id").unwrap();
    let damage = if T::SPEC.form().has_span() {
        let names = T::SPEC.names();
        doc! { "$set": { names.start: "damaged", names.end: "damaged" } }
    } else {
        doc! { "$set": { "items": "damaged" } }
    };
    collection
        .update_one(doc! { "_id": id }, damage)
        .await
        .unwrap();
    let report = events.verify().between(date(1_000)..).await.unwrap();
    assert_eq!(report.buckets, 1, "{report}");
    assert_eq!(report.findings[0].id, *id);
}

async fn resumed<T: Event>() {
    let database = database().await;
    let events = stored::<T>(&database).await;
    let all = documents(&database, "events").await.len();
    let bucket = buckets_of(&database, "b").await[1].clone();
    let damaged = set(&bucket, "stats.sum", 999.into()).unwrap();
    let id = bucket.get("_id").unwrap();
    assert!(replaced(&database, id, &damaged).await);
    // From each document on: the rest, and its findings.
    let mut positions: Vec<CheckPosition> = Vec::new();
    let (mut found, mut buckets) = (0, 0);
    for device in ["a", "b", "full"] {
        let report = events.verify().key(T::key_of(device)).await.unwrap();
        buckets += report.buckets;
        found += report.total();
        positions.extend(report.position.clone());
        let rest = events
            .verify()
            .after(report.position.unwrap())
            .await
            .unwrap();
        assert_eq!(rest.buckets, u64::try_from(all).unwrap() - buckets);
        assert_eq!(rest.total() + found, 1, "{rest}");
        let text = positions.last().unwrap().to_string();
        assert_eq!(
            text.parse::<CheckPosition>().as_ref(),
            Ok(positions.last().unwrap())
        );
    }
    assert_eq!(buckets, u64::try_from(all).unwrap());

    // A stream, in a session; progress; a pause.
    let mut session = database.client().start_session().await.unwrap();
    let findings: Vec<Finding> = events
        .verify()
        .session(&mut session)
        .stream()
        .try_collect()
        .await
        .unwrap();
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].id, *id);
    let mut told = Vec::new();
    let report = events
        .verify()
        .pause(Duration::from_millis(1))
        .keep(0)
        .on_progress(|progress| told.push(progress.clone()))
        .await
        .unwrap();
    assert_eq!(
        (report.findings.len(), report.total(), report.harmful()),
        (0, 1, 1)
    );
    assert_eq!(told.last().unwrap().buckets, report.buckets);
    assert_eq!(told.last().unwrap().position, report.position);

    // The server reads the index in its order, and sorts nothing.
    let (_, commands) = profiled(&database, "events", async {
        events.verify().after(positions[0].clone()).await.unwrap()
    })
    .await;
    let mut finds = commands
        .iter()
        .filter(|it| it.get_str("op").unwrap_or_default() == "query");
    let find = finds
        .find(|it| it.to_string().contains("allowDiskUse"))
        .unwrap();
    let summary = find.get_str("planSummary").unwrap();
    assert!(summary.starts_with("IXSCAN"), "{find}");
    assert!(!find.get_bool("hasSortStage").unwrap_or(false), "{find}");
    assert_eq!(
        find.get_i32("docsExamined").unwrap(),
        find.get_i32("nreturned").unwrap()
    );
}

async fn interrupted<T: Event>() {
    let database = database().await;
    let events = stored::<T>(&database).await;
    let records: Vec<T> = (0..900).map(|n| T::of("many", date(n), n)).collect();
    let report = events.insert_many(records).await.unwrap();
    report.into_result().unwrap();
    let missing = buckets_of(&database, "many").await[40]
        .get("_id")
        .unwrap()
        .clone();
    let collection = database.collection::<Document>("events");
    collection
        .delete_one(doc! { "_id": missing })
        .await
        .unwrap();
    let mut told = Vec::new();
    let whole = events
        .verify()
        .on_progress(|progress| told.push(progress.clone()))
        .await
        .unwrap();
    assert!(told.len() > 2, "{whole}");
    for progress in told {
        let report = match progress.position {
            None => events.verify().await.unwrap(),
            Some(position) => events.verify().after(position).await.unwrap(),
        };
        let (first, rest, all) = (progress.findings, report.total(), whole.total());
        assert_eq!(first + rest, all, "{report}");
    }
}

#[tokio::test]
async fn a_position_of_another_model_is_refused() {
    let database = database().await;
    let events = stored::<Counted>(&database).await;
    let position = events.verify().await.unwrap().position.unwrap();
    let numbered = Numbered::buckets(&database);
    let other = numbered.verify().after(position).stream();
    let error = other.try_collect::<Vec<_>>().await.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::InvalidArgument { .. }),
        "{error}"
    );
}

#[tokio::test]
async fn positions_of_a_source_that_do_not_rise_are_found() {
    let database = database().await;
    let events = Counted::buckets(&database);
    events.ensure().await.unwrap();
    let records: Vec<Counted> = (0..10).map(|n| Counted::of("a", date(n), n)).collect();
    let report = events
        .insert_many(records)
        .from_source("queue", 100)
        .await
        .unwrap();
    report.into_result().unwrap();
    let report = events.verify().await.unwrap();
    assert!(report.is_clean(), "{report}");
    let bucket = buckets_of(&database, "a").await[1].clone();
    let damaged = set(&bucket, "sources.queue", Bson::Int64(5)).unwrap();
    assert!(replaced(&database, bucket.get("_id").unwrap(), &damaged).await);
    let report = events.verify().await.unwrap();
    assert_eq!(
        kinds(&report.findings),
        BTreeSet::from([ProblemKind::Position]),
        "{report}"
    );
    assert_eq!(report.findings[0].id, *bucket.get("_id").unwrap());
}

#[tokio::test]
async fn a_collection_that_does_not_exist_is_clean() {
    let database = database().await;
    let report = Counted::buckets(&database).verify().await.unwrap();
    assert_eq!((report.buckets, report.found), (0, BTreeMap::new()));
}

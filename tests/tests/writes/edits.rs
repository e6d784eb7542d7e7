//! Corrections and removals in every form: every read and every aggregate against a naive model.
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the numbers are small"
)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
};

use bucket_mongo::{
    Bucketed, Buckets, CursorToken, Interval, IntoTimeRange, RangeStats, RecordRef, TimeRange,
    Which,
    bson::{DateTime, Document, doc},
    testing::TestDatabase,
};
use bucket_tests::{database, documents, profiled};
use futures_util::TryStreamExt;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use crate::common::draw::Draw;

/// A record of any of the models.
trait Event: Bucketed + Clone + Debug + PartialEq {
    const HAS_IDS: bool;
    fn of(id: i64, at: DateTime, value: i64) -> Self;
    fn id(&self) -> i64;
    fn at(&self) -> DateTime;
    fn value(&self) -> i64;
    fn set(&mut self, value: i64);
    fn set_at(&mut self, at: DateTime);
    fn set_id(&mut self, id: i64);
    fn key_of() -> Self::Key;
    fn stats_of(stats: &Self::Stats) -> Stats;
}

/// What the statistics of some records say.
#[derive(Debug, Clone, PartialEq)]
struct Stats {
    sum: i64,
    least: Option<i64>,
    greatest: Option<i64>,
    average: Option<f64>,
    variance: Option<f64>,
    positive: u64,
    kinds: BTreeMap<String, u64>,
    measured: u64,
    first: Option<i64>,
    last: Option<i64>,
}

macro_rules! models {
    ($($test:ident $racing:ident $name:ident $has_ids:literal [$($unique:tt)*] [$($attributes:tt)*];)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "events", items = "items", stats = "stats", $($attributes)*)]
        struct $name {
            #[bucket(key)]
            device: String,
            #[bucket(time)]
            at: DateTime,
            $($unique)*
            id: i64,
            #[bucket(sum, min, max, avg = "avg", std_dev, first, last, percentiles(error = 0.01))]
            #[bucket(count_if("positive", |value| *value > 0))]
            value: i64,
            #[bucket(tally = "kinds")]
            kind: String,
        }

        impl Event for $name {
            const HAS_IDS: bool = $has_ids;

            fn of(id: i64, at: DateTime, value: i64) -> Self {
                let kind = kind(value);
                Self { device: "a".to_owned(), at, id, value, kind }
            }

            fn id(&self) -> i64 {
                self.id
            }

            fn at(&self) -> DateTime {
                self.at
            }

            fn value(&self) -> i64 {
                self.value
            }

            fn set(&mut self, value: i64) {
                self.value = value;
                self.kind = kind(value);
            }

            fn set_at(&mut self, at: DateTime) {
                self.at = at;
            }

            fn set_id(&mut self, id: i64) {
                self.id = id;
            }

            fn key_of() -> Self::Key {
                "a".into()
            }

            fn stats_of(stats: &Self::Stats) -> Stats {
                let (of, kinds) = (stats.value(), stats.kind().kinds());
                Stats {
                    sum: of.sum().unwrap_or_default(),
                    least: of.min(),
                    greatest: of.max(),
                    average: of.avg(),
                    variance: of.variance(),
                    positive: of.positive(),
                    kinds: kinds.into_iter().collect(),
                    measured: of.sketch().count(),
                    first: of.first(),
                    last: of.last(),
                }
            }
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn $test() {
            is_as_in_the_model::<$name>().await;
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn $racing() {
            no_race_loses_anything::<$name>().await;
        }
    )*};
}

models! {
    edits_of_counted_buckets races_of_counted_buckets Counted true [#[bucket(unique)]] [capacity = 3];
    edits_of_counted_buckets_by_reference races_of_counted_buckets_by_reference Plain false [] [capacity = 4, max_bytes = "4KB", expire_after = "20000d"];
    edits_of_windows races_of_windows Windowed true [#[bucket(unique)]] [window = "1m", capacity = 3];
    edits_of_windows_by_reference races_of_windows_by_reference WindowedPlain false [] [window = "1m"];
    edits_of_windows_with_object_ids races_of_windows_with_object_ids WindowedObjects false [] [window = "1m", capacity = 3, object_ids, expire_after = "20000d"];
    edits_of_hybrid_buckets races_of_hybrid_buckets Hybrid true [#[bucket(unique)]] [capacity = 3, max_duration = "1m"];
    edits_of_hybrid_buckets_by_reference races_of_hybrid_buckets_by_reference HybridSide false [] [capacity = 3, max_duration = "1m", late = "side"];
    edits_of_numbered_buckets races_of_numbered_buckets Numbered true [#[bucket(unique)]] [capacity = 3, numbered];
    edits_of_numbered_buckets_by_reference races_of_numbered_buckets_by_reference NumberedObjects false [] [capacity = 3, numbered, object_ids, max_bytes = "2KB"];
}

fn kind(value: i64) -> String {
    // Names with what paths cannot have.
    format!("a.{}$", value.rem_euclid(3))
}

const START: i64 = 1_698_335_220_000;

fn date(second: i64) -> DateTime {
    DateTime::from_millis(START + second * 1_000)
}

/// What the records give.
fn naive<T: Event>(records: &[T]) -> Stats {
    let values = || records.iter().map(Event::value);
    let count = records.len() as f64;
    let average = (!records.is_empty()).then(|| values().sum::<i64>() as f64 / count);
    let squares = values().map(|value| (value * value) as f64).sum::<f64>();
    let mut kinds = BTreeMap::new();
    for value in values() {
        *kinds.entry(kind(value)).or_default() += 1;
    }
    Stats {
        sum: values().sum(),
        least: values().min(),
        greatest: values().max(),
        average,
        variance: average.map(|average| (squares / count - average * average).max(0.0)),
        positive: values().filter(|value| *value > 0).count() as u64,
        kinds,
        measured: records.len() as u64,
        first: records
            .iter()
            .map(|one| (one.at(), one.value()))
            .min()
            .map(|(_, value)| value),
        last: records
            .iter()
            .map(|one| (one.at(), one.value()))
            .max()
            .map(|(_, value)| value),
    }
}

/// In the order of time, and then of ids.
fn sorted<T: Event>(records: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut records: Vec<T> = records.into_iter().collect();
    records.sort_by_key(|record| (record.at(), record.id()));
    records
}

fn assert_same<T: Event>(found: impl IntoIterator<Item = T>, expected: &[T], read: &str) {
    assert_eq!(sorted(found), sorted(expected.iter().cloned()), "{read}");
}

fn check_stats<T: Event>(found: Option<RangeStats<T>>, expected: &[T], read: &str) {
    let found = found.map(|stats| (stats.count(), T::stats_of(stats.stats())));
    let count = expected.len() as u64;
    let expected = (count > 0).then(|| (count, naive(expected)));
    assert_eq!(found, expected, "{read}");
}

/// Every read gives these records, and every bucket has their aggregates.
async fn check<T: Event>(events: &Buckets<T>, expected: &[T], draw: &mut Draw) {
    let key = T::key_of;
    let all: Vec<T> = events.records(key()).collect().await.unwrap();
    assert_same(all.clone(), expected, "records");
    let mut backwards: Vec<T> = events
        .records(key())
        .newest_first()
        .collect()
        .await
        .unwrap();
    backwards.reverse();
    assert_eq!(backwards, all, "newest first");
    let (mut paged, mut token) = (Vec::new(), None::<CursorToken>);
    loop {
        let page = events.records(key()).limit(2).after(token).await.unwrap();
        token = page.next_token().cloned();
        paged.extend(page.into_records());
        if token.is_none() {
            break;
        }
    }
    assert_eq!(paged, all, "pages of two");
    let of_pages = events.pages(key()).await.unwrap().into_iter();
    assert_same(
        of_pages.flat_map(bucket_core::bucket::assemble_records),
        expected,
        "pages",
    );
    assert_eq!(
        events.count(key()).await.unwrap(),
        expected.len() as u64,
        "count"
    );
    let summary = events.keys().summaries().await.unwrap().pop();
    let times = expected.iter().map(Event::at);
    let times = times.clone().min().zip(times.max());
    let summary = summary.map(|of| (of.records, (of.first, of.last)));
    assert_eq!(
        summary,
        times.map(|times| (expected.len() as u64, times)),
        "summaries"
    );

    let latest = events.latest(key()).await.unwrap();
    let of_all = events.latest_per_key().await.unwrap().pop();
    if T::SPEC.form().has_span() {
        let newest = expected.iter().map(Event::at).max();
        assert_eq!(latest.as_ref().map(Event::at), newest, "latest");
        assert_eq!(of_all.as_ref().map(Event::at), newest, "latest_per_key");
    } else {
        assert_eq!(latest.as_ref(), all.last(), "latest");
        assert_eq!(of_all.as_ref(), all.last(), "latest_per_key");
    }
    let newest = events.latest_n(key(), 3).await.unwrap();
    assert_eq!(newest.len(), expected.len().min(3), "latest_n");

    check_ranges(events, expected, draw).await;
}

/// The same for reads of ranges of time.
async fn check_ranges<T: Event>(events: &Buckets<T>, expected: &[T], draw: &mut Draw) {
    let key = T::key_of;
    let (one, two) = draw.draw((-10..400_i64, -10..400_i64));
    let (from, to) = (date(one.min(two)), date(one.max(two)));
    for range in [TimeRange::ALL, (from..to).into_time_range()] {
        let inside: Vec<T> = expected
            .iter()
            .filter(|one| range.contains(one.at()))
            .cloned()
            .collect();
        let found = events.range(key(), range).await.unwrap();
        assert!(found.is_sorted_by_key(Event::at));
        assert_same(found, &inside, "range");
        let query = events.range(key(), range);
        let pipeline = query.pipeline().unwrap();
        let found = events
            .collection::<Document>()
            .aggregate(pipeline)
            .await
            .unwrap();
        let found: Vec<Document> = found.try_collect().await.unwrap();
        let items = found
            .iter()
            .map(|found| found.get_array("items").unwrap().len());
        assert_eq!(items.sum::<usize>(), inside.len(), "pipeline of a range");
        check_stats(events.stats(key(), range).await.unwrap(), &inside, "stats");
        let pipeline = events.stats(key(), range).pipeline().unwrap();
        let found = events
            .collection::<Document>()
            .aggregate(pipeline)
            .await
            .unwrap();
        let found: Vec<Document> = found.try_collect().await.unwrap();
        let counted = found.first().map_or(0, |found| {
            found
                .get_i32("count")
                .map_or_else(|_| found.get_i64("count").unwrap(), i64::from)
        });
        assert_eq!(counted as usize, inside.len(), "pipeline of stats");
        if range != TimeRange::ALL {
            let rows = events
                .rollup(key(), from..to, Interval::seconds(50))
                .await
                .unwrap();
            for row in rows.rows() {
                let inside: Vec<T> = inside
                    .iter()
                    .filter(|one| row.start() <= one.at() && one.at() < row.end())
                    .cloned()
                    .collect();
                let found = row.stats().map(T::stats_of);
                assert_eq!(row.count(), inside.len() as u64, "rollup");
                assert_eq!(
                    found,
                    (!inside.is_empty()).then(|| naive(&inside)),
                    "rollup"
                );
            }
        }
    }
}

/// What the stored buckets say by themselves: the count is the length of the array, and nothing is left of
/// removed records but the time and the id.
async fn check_stored<T: Event>(database: &TestDatabase, removed: &BTreeSet<i64>) {
    let (mut marks, mut all) = (0, 0);
    for bucket in documents(database, "events").await {
        let items = bucket.get_array("items").unwrap();
        let count = bucket.get_i32("count").unwrap();
        assert_eq!(count as usize, items.len());
        let mut own = 0;
        for item in items.iter().map(|item| item.as_document().unwrap()) {
            if matches!(item.get_bool("_removed"), Ok(true)) {
                let names: Vec<&String> = item.keys().collect();
                let expected: &[&str] = if T::HAS_IDS {
                    &["at", "id", "_removed"]
                } else {
                    &["at", "_removed"]
                };
                assert_eq!(names, expected);
                own += 1;
            }
        }
        let edits = bucket.get_document("_edits").ok();
        let counted = edits.map_or(0, |edits| edits.get_i64("removed").unwrap());
        assert_eq!(counted, own);
        marks += own;
        all += items.len() as u64;
    }
    assert_eq!(marks as usize, removed.len());
    let report = T::buckets(database).verify().await.unwrap();
    assert!(report.is_clean(), "{:?}", report.findings);
    assert_eq!(report.records, all - marks as u64);
}

async fn reference<T: Event>(events: &Buckets<T>, id: i64) -> Option<RecordRef> {
    let page: Vec<_> = events
        .records(T::key_of())
        .with_refs()
        .collect()
        .await
        .unwrap();
    page.into_iter()
        .find(|read| read.record.id() == id)
        .map(|read| read.reference)
}

async fn which<T: Event>(events: &Buckets<T>, id: i64) -> Which {
    if T::HAS_IDS {
        return Which::id(&id);
    }
    reference(events, id).await.unwrap().into()
}

async fn places<T: Event>(database: &TestDatabase) -> Vec<(String, usize)> {
    let stored = documents(database, "events").await.into_iter();
    let place = |bucket: Document| {
        (
            bucket.get("_id").unwrap().to_string(),
            bucket.get_array("items").unwrap().len(),
        )
    };
    let mut places: Vec<_> = stored.map(place).collect();
    places.sort();
    places
}

async fn is_as_in_the_model<T: Event>() {
    let database = database().await;
    let events = T::buckets(&database);
    events.ensure().await.unwrap();
    let mut draw = Draw::new(7);
    let (mut expected, mut removed) = (Vec::<T>::new(), BTreeSet::new());
    let mut next = 0;
    for step in 0..24 {
        let number = draw.draw(0..9_i64);
        for _ in 0..number {
            let (second, value) = draw.draw((0..400_i64, -9..9_i64));
            let record = T::of(next, date(second), value);
            next += 1;
            if events.insert(&record).await.is_ok() {
                expected.push(record);
            }
        }
        let before = places::<T>(&database).await;
        for _ in 0..draw.draw(0..4) {
            if expected.is_empty() {
                continue;
            }
            let (at, value) = draw.draw((0..expected.len(), -9..9_i64));
            let id = expected[at].id();
            let which = which(&events, id).await;
            if draw.draw(any::<bool>()) {
                let old = expected.remove(at);
                let dry = events.delete(T::key_of(), &which).dry_run().await.unwrap();
                assert_eq!(dry.as_ref(), Some(&old));
                let found = events.delete(T::key_of(), &which).await.unwrap();
                assert_eq!(found, Some(old.clone()));
                assert_eq!(events.delete(T::key_of(), &which).await.unwrap(), None);
                let again = events.update(T::key_of(), &which, |event| event.set(1));
                assert_eq!(again.await.unwrap(), None);
                removed.insert(id);
                if T::HAS_IDS {
                    let again = events.insert_many([&old]).await.unwrap();
                    assert_eq!(again.duplicates(), [0], "a removed record is a duplicate");
                }
            } else {
                let change = |event: &mut T| event.set(value);
                let mut new = expected[at].clone();
                new.set(value);
                let dry = events
                    .update(T::key_of(), &which, change)
                    .dry_run()
                    .await
                    .unwrap();
                assert_eq!(dry.as_ref(), Some(&new));
                let found = events.update(T::key_of(), &which, change).await.unwrap();
                assert_eq!(found.as_ref(), Some(&new));
                if !T::HAS_IDS && new != expected[at] {
                    let stale = events.delete(T::key_of(), &which).await.unwrap_err();
                    assert!(stale.is_changed(), "{stale}");
                }
                expected[at] = new;
            }
        }
        if draw.draw(0..4) == 0 {
            let from = draw.draw(0..400_i64);
            let range = date(from)..date(from + 30);
            let inside = |event: &T| date(from) <= event.at() && event.at() < date(from + 30);
            let gone = expected.iter().filter(|event| inside(event)).map(Event::id);
            let gone: Vec<i64> = gone.collect();
            let dry = events
                .delete_range(T::key_of(), range.clone())
                .dry_run()
                .await
                .unwrap();
            assert_eq!(dry.records, gone.len() as u64);
            let report = events.delete_range(T::key_of(), range).await.unwrap();
            assert_eq!(report, dry);
            removed.extend(gone);
            expected.retain(|event| !inside(event));
        }
        assert_eq!(
            places::<T>(&database).await,
            before,
            "no edit moves anything"
        );
        if step % 4 == 3 {
            check(&events, &expected, &mut draw).await;
            check_stored::<T>(&database, &removed).await;
        }
    }
    let all = events.delete_range(T::key_of(), ..).await.unwrap();
    assert_eq!(all.records, expected.len() as u64);
    check::<T>(&events, &[], &mut draw).await;
    let more = T::of(next, date(399), 5);
    events.insert(&more).await.unwrap();
    check(&events, std::slice::from_ref(&more), &mut draw).await;
    let dry = events.delete_key(T::key_of()).dry_run().await.unwrap();
    let gone = events.delete_key(T::key_of()).await.unwrap();
    assert_eq!((gone, gone.records), (dry, 1));
    assert_eq!(documents(&database, "events").await, Vec::<Document>::new());
    events.insert(&more).await.unwrap();
    check(&events, &[more], &mut draw).await;
}

/// Four tasks append, correct and remove records of one key at the same time.
async fn no_race_loses_anything<T: Event>() {
    let database = database().await;
    let events = T::buckets(&database);
    events.ensure().await.unwrap();
    let tasks = (0..4_i64).map(|task| {
        let database = database.clone();
        tokio::spawn(async move {
            let events = T::buckets(&database);
            let mut expected = BTreeMap::new();
            for number in 0..30 {
                let id = task * 1_000 + number;
                // In the order of time, so that no form refuses one.
                let record = T::of(id, date(number * 3), number - 9);
                events.insert(&record).await.unwrap();
                expected.insert(id, record);
                let of = task * 1_000 + number / 2;
                if number % 3 == 1 && expected.contains_key(&of) {
                    let which = which(&events, of).await;
                    let update = events.update(T::key_of(), which, |event| event.set(number));
                    let found = update.await.unwrap().unwrap();
                    expected.insert(of, found);
                } else if number % 3 == 2 && expected.contains_key(&of) {
                    let which = which(&events, of).await;
                    let found = events.delete(T::key_of(), which).await.unwrap();
                    assert_eq!(found, expected.remove(&of));
                }
            }
            expected
        })
    });
    let tasks: Vec<_> = tasks.collect();
    let mut expected: Vec<T> = Vec::new();
    for task in tasks {
        expected.extend(task.await.unwrap().into_values());
    }
    let mut draw = Draw::new(3);
    check(&events, &expected, &mut draw).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_that_changes_the_record_id_is_refused() {
    let database = database().await;
    let events = Windowed::buckets(&database);
    events.ensure().await.unwrap();
    events.insert(&Windowed::of(1, date(0), 1)).await.unwrap();
    let other = events.update("a", Which::id(&1_i64), |event| event.set_id(2));
    let error = other.await.unwrap_err();
    assert!(
        error.is_invalid_input() && error.to_string().contains("record id"),
        "{error}"
    );
    let moved = events.update("a", Which::id(&1_i64), |event| {
        event.set_id(2);
        event.set_at(date(3_600));
    });
    assert!(moved.await.unwrap_err().is_invalid_input());
    let found: Vec<Windowed> = events.records("a").collect().await.unwrap();
    assert_eq!(found, [Windowed::of(1, date(0), 1)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_is_no_reference_of_the_key_is_refused() {
    let database = database().await;
    let events = Plain::buckets(&database);
    events.ensure().await.unwrap();
    events.insert(&Plain::of(1, date(0), 1)).await.unwrap();
    let own = reference(&events, 1).await.unwrap();
    for text in ["", "AbC", &own.as_str()[1..], &format!("{own}A")] {
        let error = events.delete("a", RecordRef::from(text)).await.unwrap_err();
        assert!(error.is_invalid_input(), "{error}");
    }
    let error = events.delete("b", &own).await.unwrap_err();
    assert!(error.to_string().contains("another key"), "{error}");
    let error = events.delete("a", Which::id(&1)).await.unwrap_err();
    assert!(error.to_string().contains("no record ids"), "{error}");
    let by_text = RecordRef::from(own.as_str().to_owned());
    assert!(events.delete("a", by_text).await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_in_a_transaction_is_undone_with_it() {
    let database = database().await;
    let events = Counted::buckets(&database);
    events.ensure().await.unwrap();
    let records: Vec<Counted> = (0..5).map(|id| Counted::of(id, date(id), id)).collect();
    events
        .insert_many(&records)
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let mut session = database.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    let gone = events
        .delete("a", Which::id(&2_i64))
        .session(&mut session)
        .await
        .unwrap();
    assert_eq!(gone, Some(records[2].clone()));
    let new = events.update("a", Which::id(&3_i64), |event| event.set(8));
    assert_eq!(new.session(&mut session).await.unwrap().unwrap().value, 8);
    session.abort_transaction().await.unwrap();
    check(&events, &records, &mut Draw::new(1)).await;
    session.start_transaction().await.unwrap();
    let all = events
        .delete_range("a", ..)
        .session(&mut session)
        .await
        .unwrap();
    assert_eq!((all.records, all.buckets), (5, 2));
    session.commit_transaction().await.unwrap();
    check::<Counted>(&events, &[], &mut Draw::new(1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_statement_of_an_edit_examines_one_bucket() {
    let database = database().await;
    let events = Counted::buckets(&database);
    events.ensure().await.unwrap();
    let records: Vec<Counted> = (0..50).map(|id| Counted::of(id, date(id), id)).collect();
    events
        .insert_many(&records)
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let edit = async { events.delete("a", Which::id(&20_i64)).await.unwrap() };
    let (_, commands) = profiled(&database, "events", edit).await;
    for command in &commands {
        assert!(
            command.get_i32("docsExamined").unwrap_or(0) <= 1,
            "{command}"
        );
        assert!(
            command.get_i32("keysExamined").unwrap_or(0) <= 2,
            "{command}"
        );
    }
    assert!(commands.len() >= 2);
}

/// A record with attributes that its bucket holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "events", items = "items", capacity = 5)]
#[bucket(attributes(array = "origin", k = "what", v = "is", store = "bucket"))]
struct Held {
    #[bucket(key)]
    device: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(sum)]
    value: i64,
    #[bucket(attribute(array = "origin", k = "site"))]
    site: String,
}

impl Held {
    fn of(second: i64, site: &str) -> Self {
        let (device, site) = ("a".to_owned(), site.to_owned());
        let at = date(second);
        Self {
            device,
            at,
            value: second,
            site,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_a_removed_record_is_left_in_what_its_bucket_holds() {
    let database = database().await;
    let events = Held::buckets(&database);
    events.ensure().await.unwrap();
    let mut expected = vec![Held::of(1, "secret"), Held::of(2, "Bonn")];
    events
        .insert_many(&expected)
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let first = events.records("a").with_refs().limit(1).await.unwrap();
    let first = first.into_records().remove(0).reference;
    assert_eq!(
        events.delete("a", first).await.unwrap(),
        Some(expected.remove(0))
    );
    let stored = documents(&database, "events").await;
    assert!(!stored[0].to_string().contains("secret"), "{}", stored[0]);
    for record in [Held::of(3, "Ulm"), Held::of(4, "Bonn")] {
        events.insert(&record).await.unwrap();
        expected.push(record);
    }
    let all = events.records("a").with_refs().collect().await.unwrap();
    let moved = |event: &mut Held| event.site = "Rome".to_owned();
    let update = events.update("a", &all[1].reference, moved);
    expected[1] = update.await.unwrap().unwrap();
    let found: Vec<Held> = events.records("a").collect().await.unwrap();
    assert_eq!(found, expected);
    let report = events.verify().await.unwrap();
    assert!(report.is_clean(), "{:?}", report.findings);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_keeps_what_the_model_does_not_know_and_the_type_of_an_id() {
    let database = database().await;
    let events = Counted::buckets(&database);
    events.ensure().await.unwrap();
    events.insert(&Counted::of(1, date(0), 1)).await.unwrap();
    let collection = database.collection::<Document>("events");
    let newer = doc! { "$set": { "items.0.note": "precious", "items.0.id": 1_i32 } };
    collection.update_one(doc! {}, newer).await.unwrap();
    let update = events.update("a", Which::id(&1_i64), |event| event.set(5));
    assert_eq!(update.await.unwrap(), Some(Counted::of(1, date(0), 5)));
    let stored = documents(&database, "events").await;
    let item = stored[0].get_array("items").unwrap()[0]
        .as_document()
        .unwrap();
    assert_eq!(item.get_str("note").unwrap(), "precious");
    assert_eq!(item.get_i64("value").unwrap(), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_of_a_bucket_that_was_made_again_begins_again() {
    let database = database().await;
    let events = Numbered::buckets(&database);
    events.ensure().await.unwrap();
    for (id, value) in [(0, 1), (1, 100)] {
        events
            .insert(&Numbered::of(id, date(id), value))
            .await
            .unwrap();
    }
    let (mut calls, other) = (0, Numbered::buckets(&database));
    let update = events.update("a", Which::id(&0_i64), |event| {
        event.set(2);
        calls += 1;
        if calls == 1 {
            let again = async {
                other.delete_key("a").await.unwrap();
                for (id, value) in [(0, 1), (2, 5)] {
                    other
                        .insert(&Numbered::of(id, date(id), value))
                        .await
                        .unwrap();
                }
            };
            let runtime = tokio::runtime::Handle::current();
            tokio::task::block_in_place(|| runtime.block_on(again));
        }
    });
    assert!(update.await.unwrap().is_some());
    assert_eq!(calls, 2);
    let expected = [Numbered::of(0, date(0), 2), Numbered::of(2, date(2), 5)];
    check(&events, &expected, &mut Draw::new(1)).await;
    let report = events.verify().await.unwrap();
    assert!(report.is_clean(), "{:?}", report.findings);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "events", items = "items", window = "1m")]
struct Renamed {
    #[bucket(key)]
    device: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(unique)]
    id: i64,
    #[serde(alias = "name")]
    title: String,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_field_with_an_older_name_is_stored_once() {
    let database = database().await;
    let events = Renamed::buckets(&database);
    events.ensure().await.unwrap();
    let event = |title: &str, second| Renamed {
        device: "a".to_owned(),
        at: date(second),
        id: 1,
        title: title.to_owned(),
    };
    events.insert(&event("x", 0)).await.unwrap();
    let collection = database.collection::<Document>("events");
    let older = doc! { "$set": { "items.0": {
        "at": date(0), "id": 1_i64, "name": "x", "comment": "stays",
    } } };
    collection.update_one(doc! {}, older).await.unwrap();
    let which = || Which::id(&1_i64);
    let update = events.update("a", which(), |event| event.title = "y".to_owned());
    assert_eq!(update.await.unwrap(), Some(event("y", 0)));
    let found: Vec<Renamed> = events.records("a").collect().await.unwrap();
    assert_eq!(found, [event("y", 0)]);
    let stored = documents(&database, "events").await;
    let item = stored[0].get_array("items").unwrap()[0]
        .as_document()
        .unwrap();
    assert_eq!(
        (item.get_str("comment").ok(), item.get("name")),
        (Some("stays"), None)
    );
}

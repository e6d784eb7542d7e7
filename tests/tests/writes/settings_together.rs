//! Combined settings: every name changed, odd keys of two fields, an age limit, a limit of bytes,
//! limits by key and a session. Every read of every form returns the same records.

use std::{collections::BTreeSet, time::Duration};

use bucket_core::{Form, bucket::assemble_records};
use bucket_mongo::{
    BucketDocument, Bucketed, Buckets, FieldPath, Fill, Interval, IntoTimeRange, Limits,
    RangeStats, RollupRow, TimeRange,
    bson::{Bson, DateTime, Document, doc},
    mongodb::ClientSession,
};
use bucket_tests::database;
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

/// The limit of the models of `short`, in seconds.
const LIMIT: i64 = 3_600;

/// A record that is identified by its number.
trait Event: Bucketed + Clone + std::fmt::Debug {
    const NUMBER: FieldPath;
    fn of(key: (&str, &str), at: DateTime, number: i64) -> Self;
    fn number(&self) -> i64;
    fn at(&self) -> DateTime;
    fn key_of(key: (&str, &str)) -> Self::Key;
    fn sum(stats: &Self::Stats) -> Option<i64>;
}

macro_rules! models {
    ($($test:ident $name:ident: [$($attributes:tt)*];)*) => {
        #[allow(dead_code, reason = "only written")]
        mod long {
            use super::*;
            $(models! { @one $name: [$($attributes)*, expire_after = "3650d"] })*
        }
        #[allow(dead_code, reason = "only read")]
        mod short {
            use super::*;
            $(models! { @one $name: [$($attributes)*, expire_after = "1h"] })*
        }
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $test() {
                every_read_shows_the_same::<long::$name, short::$name>().await;
            }
        )*
    };
    (@one $name:ident: [$($attributes:tt)*]) => {
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "events", items = "the items", count = "how many", stats = "kept")]
        #[bucket(bytes = "so large", created_at = "opened at", $($attributes)*)]
        pub(super) struct $name {
            #[bucket(key)]
            #[serde(rename = "the tenant")]
            tenant: String,
            #[bucket(time)]
            #[serde(rename = "the$time")]
            at: DateTime,
            #[bucket(key)]
            #[serde(rename = "device$")]
            device: String,
            #[serde(rename = "the number")]
            #[bucket(sum = "the sum.of them", max = "the sum.max")]
            number: i64,
            text: String,
        }

        impl Event for $name {
            const NUMBER: FieldPath = FieldPath::new("the items.the number");

            fn of((tenant, device): (&str, &str), at: DateTime, number: i64) -> Self {
                let (tenant, device) = (tenant.to_owned(), device.to_owned());
                Self { tenant, device, at, number, text: "x".repeat(50) }
            }

            fn number(&self) -> i64 {
                self.number
            }

            fn at(&self) -> DateTime {
                self.at
            }

            fn key_of((tenant, device): (&str, &str)) -> Self::Key {
                (tenant.to_owned(), device.to_owned()).into()
            }

            fn sum(stats: &Self::Stats) -> Option<i64> {
                stats.number().sum()
            }
        }
    };
}

models! {
    of_counted_buckets Counted: [capacity = 3, max_bytes = "1KB", expire_from = "age from"];
    of_windows Windowed: [window = "10m", capacity = 3, max_bytes = "1KB", start = "from", end = "to"];
    of_windows_with_object_ids WindowedObjects: [window = "10m", object_ids, max_bytes = "1KB", start = "from", end = "to"];
    of_hybrid_buckets Hybrid: [capacity = 3, max_duration = "10m", max_bytes = "1KB", start = "from", end = "to", closed = "shut"];
    of_numbered_buckets Numbered: [capacity = 3, numbered = "no", max_bytes = "1KB", size = "room", full = "is full", expire_from = "age from"];
    of_numbered_buckets_with_object_ids NumberedObjects: [capacity = 3, numbered = "no", object_ids, max_bytes = "1KB", size = "room", full = "is full", expire_from = "age from"];
}

/// In an id, any two of them could be confused.
const KEYS: [(&str, &str); 12] = [
    ("a", "b"),
    ("a_b", ""),
    ("", "a_b"),
    ("a", "b_1"),
    ("$a", "^a.$"),
    ("$gt", "null"),
    (".", "_"),
    ("_", "."),
    ("%5F", "%"),
    ("\u{0}", "\u{1F600}"),
    ("a", "1700000000"),
    ("a", "-9999999999999999999"),
];

#[derive(Debug, Deserialize)]
struct Point {
    #[serde(rename = "the number")]
    number: i64,
}

/// Ages in seconds, the oldest first; none so near the limit that the clock could decide.
fn ages() -> Vec<i64> {
    let ages = (0..24).map(|n| 7_000 - n * 280);
    ages.filter(|age| (age - LIMIT).abs() > 150).collect()
}

async fn every_read_shows_the_same<L: Event, S: Event>() {
    let database = database().await;
    let long = L::buckets(&database);
    long.ensure().await.unwrap();
    let now = DateTime::now().timestamp_millis();
    let mut number = 0;
    let mut stored = Vec::new();
    for age in ages() {
        for key in KEYS {
            let at = DateTime::from_millis(now - age * 1_000);
            stored.push((key, age, L::of(key, at, number)));
            number += 1;
        }
    }
    for part in stored.chunks(50) {
        let records: Vec<L> = part.iter().map(|(.., record)| record.clone()).collect();
        let report = long.insert_many(records).await.unwrap();
        report.into_result().unwrap();
    }
    let events = S::buckets(&database);
    let shown: Vec<((&str, &str), S)> = stored
        .iter()
        .filter(|(_, age, _)| *age < LIMIT)
        .map(|(key, _, record)| (*key, S::of(*key, record.at(), record.number())))
        .collect();
    check_all_keys(&events, &shown).await;
    // A caller's setting of longer buckets or other limits does not change the results.
    let told = events
        .clone()
        .with_longest_span(Duration::from_secs(86_400));
    let endless = events.clone().with_longest_span(Duration::MAX);
    check_all_keys(&told, &shown).await;
    check_all_keys(&endless, &shown).await;
    let limited = match S::SPEC.form() {
        Form::Window { .. } => Some(
            events
                .clone()
                .with_limits(|_| Limits::new().window(bucket_mongo::Window::Day)),
        ),
        Form::Hybrid { .. } => Some(
            events
                .clone()
                .with_limits(|_| Limits::new().max_duration(7_200)),
        ),
        _ => None,
    };
    if let Some(limited) = &limited {
        check_all_keys(limited, &shown).await;
    }
    let mut session = database.client().start_session().await.unwrap();
    // Each key with one of the settings: no key is read in another way than the others.
    let set = [Some(told), Some(endless), limited];
    let mut set = set.iter().flatten().cycle();
    for key in KEYS {
        let own = shown.iter().filter(|(of, _)| *of == key);
        let own: Vec<S> = own.map(|(_, record)| record.clone()).collect();
        check(&events, key, &own).await;
        check_in_session(&events, key, &own, &mut session).await;
        check(set.next().unwrap(), key, &own).await;
    }
}

fn numbers<T: Event>(records: &[T]) -> Vec<i64> {
    records.iter().map(Event::number).collect()
}

fn sorted<T: Event>(records: &[T]) -> BTreeSet<i64> {
    records.iter().map(Event::number).collect()
}

async fn check_all_keys<T: Event>(events: &Buckets<T>, shown: &[((&str, &str), T)]) {
    let all: Vec<T> = shown.iter().map(|(_, record)| record.clone()).collect();
    let keys = || KEYS.map(T::key_of);
    let found = events.range_many(keys(), ..).await.unwrap();
    assert!(found.is_sorted_by_key(Event::at));
    assert_eq!((found.len(), sorted(&found)), (all.len(), sorted(&all)));
    let found = events.range_many(keys(), ..).newest_first().await.unwrap();
    assert!(found.iter().rev().is_sorted_by_key(Event::at));
    assert_eq!((found.len(), sorted(&found)), (all.len(), sorted(&all)));
    let found = events.range_many(keys(), ..).select::<Point>([T::NUMBER]);
    let found: BTreeSet<i64> = found
        .await
        .unwrap()
        .iter()
        .map(|point| point.number)
        .collect();
    assert_eq!(found, sorted(&all));

    let latest = events.latest_per_key().stream();
    let latest: Vec<T> = latest.try_collect().await.unwrap();
    assert_eq!(latest.len(), KEYS.len());
    let newest = all.iter().rev().take(KEYS.len()).map(Event::number);
    assert_eq!(sorted(&latest), newest.collect());
    if let Form::Window { .. } = T::SPEC.form() {
        let found = events.range_all_keys(..).stream();
        let found: Vec<T> = found.try_collect().await.unwrap();
        assert_eq!((found.len(), sorted(&found)), (all.len(), sorted(&all)));
    }
}

/// Some spans, with the records in them.
fn spans<T: Event>(own: &[T]) -> Vec<(TimeRange, Vec<i64>)> {
    let times: Vec<DateTime> = own.iter().map(Event::at).collect();
    let long_ago = DateTime::from_millis(times[0].timestamp_millis() - 86_400_000);
    let mut ranges = vec![
        TimeRange::ALL,
        (long_ago..).into_time_range(),
        (long_ago..times[3]).into_time_range(),
        (..times[5]).into_time_range(),
        (times[1]..times[4]).into_time_range(),
        (times[2]..=times[6]).into_time_range(),
        // All of it is hidden now.
        (long_ago..times[0]).into_time_range(),
    ];
    ranges.push((times[4]..).into_time_range());
    let inside = |range: &TimeRange| {
        let inside = own.iter().filter(|record| range.contains(record.at()));
        inside.map(Event::number).collect()
    };
    ranges.iter().map(|range| (*range, inside(range))).collect()
}

async fn check<T: Event>(events: &Buckets<T>, key: (&str, &str), own: &[T]) {
    let of_key = || T::key_of(key);
    let all = numbers(own);
    let reversed: Vec<i64> = all.iter().rev().copied().collect();
    let latest = events.latest(of_key()).await.unwrap();
    assert_eq!(
        latest.map(|record| record.number()),
        reversed.first().copied()
    );
    let newest = events.latest_n(of_key(), 4).await.unwrap();
    assert_eq!(numbers(&newest), reversed[..4]);
    assert_eq!(events.count(of_key()).await.unwrap(), all.len() as u64);

    // The manual's pages.
    let pages: Vec<T::Bucket> = events.pages(of_key()).stream().try_collect().await.unwrap();
    let page_count = events.page_count(of_key()).await.unwrap();
    assert_eq!(page_count, pages.len() as u64);
    let mut of_pages = Vec::new();
    for page in pages {
        assert_eq!(page.as_ref().count as usize, page.as_ref().items.len());
        of_pages.extend(numbers(&assemble_records(page)));
    }
    assert_eq!(of_pages, all);

    for (range, inside) in spans(own) {
        let backwards: Vec<i64> = inside.iter().rev().copied().collect();
        let between = || events.records(of_key()).between(range);
        assert_eq!(
            numbers(&between().collect().await.unwrap()),
            inside,
            "{range:?}"
        );
        let found = between().newest_first().select::<Point>([T::NUMBER]);
        let found = found.collect().await.unwrap().into_iter();
        assert_eq!(
            found.map(|point| point.number).collect::<Vec<_>>(),
            backwards
        );
        let (mut walked, mut next) = (Vec::new(), None);
        loop {
            let page = between().limit(2).after(next).select::<Point>([T::NUMBER]);
            let page = page.await.unwrap();
            walked.extend(page.records().iter().map(|point| point.number));
            next = page.next_token().cloned();
            if next.is_none() {
                break;
            }
        }
        assert_eq!(walked, inside, "{range:?}");
        let found = events.range(of_key(), range).await.unwrap();
        assert_eq!(numbers(&found), inside, "{range:?}");
        let found = events.range(of_key(), range).newest_first();
        let found = found.select::<Point>([T::NUMBER]).await.unwrap();
        let found: Vec<i64> = found.iter().map(|point| point.number).collect();
        assert_eq!(found, backwards, "{range:?}");

        let stats = events.stats(of_key(), range).await.unwrap();
        let count = stats.as_ref().map_or(0, RangeStats::count);
        assert_eq!(count, inside.len() as u64, "{range:?}");
        let sum = stats.and_then(|stats| T::sum(stats.stats()));
        assert_eq!(sum.unwrap_or(0), inside.iter().sum::<i64>(), "{range:?}");
        check_pipelines(events, key, range, &inside).await;
    }
    check_rollups(events, key, own).await;
}

async fn check_pipelines<T: Event>(
    events: &Buckets<T>,
    key: (&str, &str),
    range: TimeRange,
    inside: &[i64],
) {
    let collection = events.collection::<Document>();
    let pipeline = events.range(T::key_of(key), range).pipeline().unwrap();
    let found = collection.aggregate(pipeline).await.unwrap();
    let found: Vec<Document> = found.try_collect().await.unwrap();
    let items = found
        .iter()
        .flat_map(|bucket| bucket.get_array("the items").unwrap());
    let mut seen: Vec<i64> = items
        .map(|item| item.as_document().unwrap().get_i64("the number").unwrap())
        .collect();
    seen.sort_unstable();
    assert_eq!(seen, inside, "{range:?}");

    let pipeline = events.stats(T::key_of(key), range).pipeline().unwrap();
    let found = collection.aggregate(pipeline).await.unwrap();
    let found: Vec<Document> = found.try_collect().await.unwrap();
    let Some(found) = found.first() else {
        assert!(inside.is_empty(), "{range:?}");
        return;
    };
    let whole = |value: Option<&Bson>| match value {
        Some(Bson::Int32(value)) => i64::from(*value),
        Some(Bson::Int64(value)) => *value,
        other => panic!("{other:?} in {found}"),
    };
    assert_eq!(
        whole(found.get("count")),
        i64::try_from(inside.len()).unwrap()
    );
    let kept = found
        .get_document("kept")
        .unwrap()
        .get_document("the sum")
        .unwrap();
    assert_eq!(whole(kept.get("of them")), inside.iter().sum::<i64>());
    assert_eq!(whole(kept.get("max")), *inside.last().unwrap());
}

async fn check_rollups<T: Event>(events: &Buckets<T>, key: (&str, &str), own: &[T]) {
    let (first, last) = (own[0].at(), own[own.len() - 1].at());
    let from = DateTime::from_millis(first.timestamp_millis() - 7_200_000);
    for every in [
        Interval::minutes(5),
        Interval::minutes(30),
        Interval::hours(24),
    ] {
        for fill in [Fill::Skip, Fill::Null, Fill::Previous, Fill::Linear] {
            let rollup = events.rollup(T::key_of(key), from..=last, every.clone());
            let rollup = rollup.fill(fill).await.unwrap();
            let counted: u64 = rollup.rows().iter().map(RollupRow::count).sum();
            assert_eq!(counted, own.len() as u64, "{every} {fill:?}");
            for row in rollup.rows() {
                let inside = own.iter().filter(|record| {
                    let at = record.at();
                    row.start() <= at && at < row.end()
                });
                let inside: Vec<i64> = inside.map(Event::number).collect();
                assert_eq!(row.count(), inside.len() as u64);
                let sum = row.stats().and_then(T::sum).unwrap_or(0);
                assert_eq!(sum, inside.iter().sum::<i64>());
            }
        }
    }
}

async fn check_in_session<T: Event>(
    events: &Buckets<T>,
    key: (&str, &str),
    own: &[T],
    session: &mut ClientSession,
) {
    let of_key = || T::key_of(key);
    let all = numbers(own);
    let newest = all.last().copied();
    let (first, last) = (own[0].at(), own[own.len() - 1].at());
    let page = events
        .records(of_key())
        .limit(5)
        .session(session)
        .await
        .unwrap();
    assert_eq!(numbers(page.records()), all[..5]);
    let stream = events
        .records(of_key())
        .after(page.next_token())
        .session(session);
    let rest: Vec<T> = stream.stream().try_collect().await.unwrap();
    assert_eq!(numbers(&rest), all[5..]);
    let found = events.range(of_key(), ..).session(session).await.unwrap();
    assert_eq!(numbers(&found), all);
    let points = events
        .range_many([of_key()], ..)
        .session(session)
        .select::<Point>([T::NUMBER]);
    assert_eq!(points.await.unwrap().len(), all.len());
    let latest = events.latest(of_key()).session(session).await.unwrap();
    assert_eq!(latest.map(|record| record.number()), newest);
    let latest = events.latest_n(of_key(), 2).session(session).await.unwrap();
    assert_eq!(latest.len(), 2);
    let stats = events.stats(of_key(), ..).session(session).await.unwrap();
    assert_eq!(stats.unwrap().count(), all.len() as u64);
    let rollup = events.rollup(of_key(), first..=last, Interval::minutes(7));
    let rollup = rollup.fill(Fill::Previous).session(session).await.unwrap();
    let counted: u64 = rollup.rows().iter().map(RollupRow::count).sum();
    assert_eq!(counted, all.len() as u64);
    let count = events.count(of_key()).session(session).await.unwrap();
    assert_eq!(count, all.len() as u64);
    let pages = events.page_count(of_key()).session(session).await.unwrap();
    assert!(pages > 0);
    let page = events.page(of_key(), 1).session(session).await.unwrap();
    assert_eq!(page.number(), 1);
}

#[tokio::test]
async fn a_damaged_count_is_called_by_its_name() {
    let database = database().await;
    let events = short::Counted::buckets(&database);
    events.ensure().await.unwrap();
    let event = <short::Counted as Event>::of(KEYS[0], DateTime::now(), 1);
    events.insert(&event).await.unwrap();
    let collection = database.collection::<Document>("events");
    let set = doc! { "$set": { "how many": "many" } };
    collection.update_one(doc! {}, set).await.unwrap();
    let error = events.count(short::Counted::key_of(KEYS[0])).await;
    let error = error.unwrap_err().to_string();
    assert!(error.contains("`how many`"), "{error}");
}

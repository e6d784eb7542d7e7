//! Records and spans at the ends of the date range, before 1970 and on both sides of a bound: every
//! read of every form returns exactly the records of the span.

use std::collections::BTreeMap;

use bucket_core::Form;
use bucket_mongo::{
    Bucketed, Buckets, Interval, IntoTimeRange, RangeStats, TimeRange,
    bson::{Bson, DateTime, Document},
};
use bucket_tests::database;
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

/// A record that is identified by its time.
trait Event: Bucketed + Clone + std::fmt::Debug {
    fn of(device: i64, at: DateTime) -> Self;
    fn at(&self) -> i64;
    fn key_of(device: i64) -> Self::Key;
    fn smallest(stats: &Self::Stats) -> Option<i64>;
}

macro_rules! models {
    ($($test:ident $name:ident: [$($attributes:tt)*];)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "events", items = "items", $($attributes)*)]
        struct $name {
            #[bucket(key)]
            device: i64,
            #[bucket(time, first, last)]
            at: DateTime,
            #[bucket(min, max)]
            millis: i64,
        }

        impl Event for $name {
            fn of(device: i64, at: DateTime) -> Self {
                Self { device, at, millis: at.timestamp_millis() }
            }

            fn at(&self) -> i64 {
                assert_eq!(self.millis, self.at.timestamp_millis());
                self.millis
            }

            fn key_of(device: i64) -> Self::Key {
                device.into()
            }

            fn smallest(stats: &Self::Stats) -> Option<i64> {
                stats.millis().min()
            }
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn $test() {
            every_read_is_exact::<$name>().await;
        }
    )*};
}

models! {
    of_counted_buckets Counted: [capacity = 3];
    of_windows Windowed: [window = "1m", capacity = 3];
    of_windows_by_millis WindowsOfMillis: [window = "1m", capacity = 3, id = "{device}_{at:ms}"];
    of_months Monthly: [window = "month"];
    of_windows_with_object_ids WindowedObjects: [window = "1m", capacity = 3, object_ids];
    of_hybrid_buckets Hybrid: [capacity = 3, max_duration = "1m"];
    of_hybrid_buckets_by_seconds HybridSeconds: [capacity = 3, max_duration = "1m", id = "{device}_{at:s}"];
    of_numbered_buckets Numbered: [capacity = 3, numbered];
}

const MIN: i64 = i64::MIN;
const MAX: i64 = i64::MAX;

/// Moments around every bound, each with a record.
fn moments() -> Vec<i64> {
    let near = [0, 1, 999, 1_000, 30_000, 59_999, 60_000, 61_000];
    let after = near.iter().map(|n| MIN + n);
    let around = near.iter().flat_map(|n| [-n, *n]);
    let before = near.iter().map(|n| MAX - n);
    let mut moments: Vec<i64> = after.chain(around).chain(before).collect();
    moments.sort_unstable();
    moments.dedup();
    moments
}

fn ranges() -> Vec<TimeRange> {
    let date = DateTime::from_millis;
    let mut ranges = vec![TimeRange::ALL];
    for moment in moments() {
        ranges.push((date(moment)..).into_time_range());
        ranges.push((..date(moment)).into_time_range());
        ranges.push((..=date(moment)).into_time_range());
        ranges.push((date(moment)..=date(moment)).into_time_range());
        if let (Some(from), Some(to)) = (moment.checked_sub(1_500), moment.checked_add(1_500)) {
            ranges.push((date(from)..date(to)).into_time_range());
        }
    }
    ranges.push((date(MIN)..date(MAX)).into_time_range());
    ranges.push((date(MIN)..date(0)).into_time_range());
    ranges.push((date(0)..date(MAX)).into_time_range());
    ranges
}

async fn every_read_is_exact<T: Event>() {
    let database = database().await;
    let events = T::buckets(&database);
    events.ensure().await.unwrap();
    let moments = moments();
    for device in [1, 2] {
        let records: Vec<T> = moments
            .iter()
            .map(|at| T::of(device, DateTime::from_millis(*at)))
            .collect();
        for part in records.chunks(5) {
            let report = events.insert_many(part).await.unwrap();
            report.into_result().unwrap();
        }
    }
    let newest = events.latest(T::key_of(1)).await.unwrap().unwrap();
    assert_eq!(newest.at(), MAX);
    let newest: Vec<T> = events.latest_n(T::key_of(1), 3).await.unwrap();
    assert_eq!(times(&newest), [MAX, MAX - 1, MAX - 999]);
    let newest = events.latest_per_key().stream();
    let newest: Vec<T> = newest.try_collect().await.unwrap();
    assert_eq!(times(&newest), [MAX, MAX]);
    assert_eq!(
        events.count(T::key_of(1)).await.unwrap(),
        moments.len() as u64
    );
    for range in ranges() {
        let inside = moments.iter().copied();
        let inside: Vec<i64> = inside
            .filter(|at| range.contains(DateTime::from_millis(*at)))
            .collect();
        check(&events, range, &inside).await;
    }
}

fn times<T: Event>(records: &[T]) -> Vec<i64> {
    records.iter().map(Event::at).collect()
}

async fn check<T: Event>(events: &Buckets<T>, range: TimeRange, inside: &[i64]) {
    let key = || T::key_of(1);
    let reversed: Vec<i64> = inside.iter().rev().copied().collect();
    let twice: Vec<i64> = inside.iter().flat_map(|at| [*at, *at]).collect();
    assert_eq!(
        times(&events.range(key(), range).await.unwrap()),
        inside,
        "{range:?}"
    );
    let found = events.range(key(), range).newest_first().await.unwrap();
    assert_eq!(times(&found), reversed, "{range:?}");
    let found = events
        .range_many([key(), T::key_of(2)], range)
        .await
        .unwrap();
    assert_eq!(times(&found), twice, "{range:?}");
    let found = events
        .records(key())
        .between(range)
        .collect()
        .await
        .unwrap();
    assert_eq!(times(&found), inside, "{range:?}");
    let found = events.records(key()).between(range).newest_first();
    assert_eq!(
        times(&found.collect().await.unwrap()),
        reversed,
        "{range:?}"
    );

    // Page by page, to the end and back.
    let (mut paged, mut next) = (Vec::new(), None);
    loop {
        let page = events.records(key()).between(range).limit(4).after(next);
        let page = page.await.unwrap();
        paged.extend(times(page.records()));
        next = page.next_token().cloned();
        if next.is_none() {
            let Some(end) = page.end_token() else { break };
            let back = events
                .records(key())
                .between(range)
                .before(end)
                .await
                .unwrap();
            let before = inside.split_last().map_or(&[][..], |(_, before)| before);
            assert_eq!(times(back.records()), before, "{range:?}");
            break;
        }
    }
    assert_eq!(paged, inside, "{range:?}");

    let stats = events.stats(key(), range).await.unwrap();
    let count = stats.as_ref().map_or(0, RangeStats::count);
    assert_eq!(count, inside.len() as u64, "{range:?}");
    let smallest = stats.and_then(|stats| T::smallest(stats.stats()));
    assert_eq!(smallest, inside.first().copied(), "{range:?}");

    check_pipelines(events, range, inside).await;
    check_rollup(events, range, inside).await;
    if let Form::Window { .. } = T::SPEC.form() {
        let found = events.range_all_keys(range).stream();
        let found: Vec<T> = found.try_collect().await.unwrap();
        let mut found = times(&found);
        found.sort_unstable();
        assert_eq!(found, twice, "{range:?}");
    }
}

async fn check_pipelines<T: Event>(events: &Buckets<T>, range: TimeRange, inside: &[i64]) {
    let collection = events.collection::<Document>();
    let pipeline = events.range(T::key_of(1), range).pipeline().unwrap();
    let found = collection.aggregate(pipeline).await.unwrap();
    let found: Vec<Document> = found.try_collect().await.unwrap();
    let mut seen = Vec::new();
    for item in found
        .iter()
        .flat_map(|bucket| bucket.get_array("items").unwrap())
    {
        seen.push(item.as_document().unwrap().get_i64("millis").unwrap());
    }
    seen.sort_unstable();
    assert_eq!(seen, inside, "{range:?}");

    let pipeline = events.stats(T::key_of(1), range).pipeline().unwrap();
    let found = collection.aggregate(pipeline).await.unwrap();
    let found: Vec<Document> = found.try_collect().await.unwrap();
    let count = found.first().and_then(|found| found.get("count"));
    let count = count.map_or(0, |count| match count {
        Bson::Int32(count) => i64::from(*count),
        other => other.as_i64().unwrap(),
    });
    assert_eq!(count, i64::try_from(inside.len()).unwrap(), "{range:?}");
}

/// If the range is short enough for steps.
async fn check_rollup<T: Event>(events: &Buckets<T>, range: TimeRange, inside: &[i64]) {
    for every in [
        Interval::seconds(30),
        Interval::minutes(1),
        Interval::day(),
        Interval::month(),
    ] {
        if range.start().is_none() || range.end().is_none() || every.count_in(range) > 1_000 {
            continue;
        }
        let mut expected: BTreeMap<i64, u64> = BTreeMap::new();
        for at in inside {
            let (start, _) = every.span(DateTime::from_millis(*at));
            *expected.entry(start.timestamp_millis()).or_default() += 1;
        }
        let rollup = events
            .rollup(T::key_of(1), range, every.clone())
            .await
            .unwrap();
        let rows = rollup.rows().iter();
        let rows: BTreeMap<i64, u64> = rows
            .map(|row| (row.start().timestamp_millis(), row.count()))
            .collect();
        assert_eq!(rows, expected, "{range:?} every {every}");
    }
}

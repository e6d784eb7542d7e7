//! What is left of expired records becomes coarser (`keep_stats` with `merge`, `merge_stats`): the statistics of whole steps never
//! change.

use std::{collections::BTreeMap, time::Duration};

use bucket_mongo::{
    Bucketed, Buckets, ErrorKind, Interval,
    bson::{DateTime, Document, doc},
    testing::TestDatabase,
};
use bucket_tests::{Load, database, documents};
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use tokio::time::{sleep, timeout};

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
/// The number of hours of records that have expired.
const HOURS: i64 = 5;

macro_rules! models {
    ($($name:ident [$($attributes:tt)*];)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "events", items = "items", window = "10m", capacity = 4, seal_after = "1m", $($attributes)*)]
        struct $name {
            #[bucket(key)]
            device: String,
            #[bucket(time, first, last)]
            at: DateTime,
            #[bucket(sum = "total", min, max, avg)]
            number: i64,
        }
    )*};
}

models! {
    // What stores them.
    Young [merge = "1h", expire_after = "3650d"];
    Kept [merge = "1h", expire_after = "1h", keep_stats = "1y"];
    Raised [merge = "1h", expire_after = "1d", keep_stats = "1y"];
    Coarse [merge = "1h", merge_stats = "2h", expire_after = "1h", keep_stats = "1y"];
    RaisedCoarse [merge = "1h", merge_stats = "2h", expire_after = "1d", keep_stats = "1y"];
    Slow [merge = "366d", expire_after = "1h", keep_stats = "1y"];
}

fn date(millis: i64) -> DateTime {
    DateTime::from_millis(millis)
}

/// The first of the hours whose records have expired by the short limit; the last one ended an hour and more ago.
fn old() -> i64 {
    (DateTime::now().timestamp_millis() / HOUR - 2 - HOURS) * HOUR
}

fn event(device: &str, at: i64, number: i64) -> Young {
    let (device, at) = (device.to_owned(), date(at));
    Young { device, at, number }
}

/// A record a minute of two devices in the old hours, which take several buckets a window, and ten that are young.
async fn stored(database: &TestDatabase, old: i64) -> Buckets<Kept> {
    let young = Young::buckets(database);
    young.ensure().await.unwrap();
    let now = DateTime::now().timestamp_millis();
    for device in ["a", "b"] {
        let expired = (0..HOURS * 60).map(|minute| event(device, old + minute * MINUTE, minute));
        let new = (0..10).map(|number| event(device, now - number * 1_000, 10_000));
        young.load(expired.chain(new)).await;
    }
    let kept = Kept::buckets(database);
    kept.ensure().change_expiry().await.unwrap();
    kept
}

async fn merged(kept: &Buckets<Kept>) -> u64 {
    let report = kept.merge().settled(Duration::ZERO).await.unwrap();
    assert_eq!(
        (report.changed, report.dated, report.stay),
        (0, 0, 0),
        "{report}"
    );
    report.buckets
}

/// Number, sum, smallest and largest of each hour that has records.
type Hours = BTreeMap<i64, (u64, Option<i64>, Option<i64>, Option<i64>)>;

async fn hours(kept: &Buckets<Kept>, device: &str, old: i64) -> Hours {
    let range = date(old)..date(old + (HOURS + 1) * HOUR);
    let rollup = kept.rollup(device, range, Interval::hours(1)).await;
    let rollup = rollup.unwrap();
    let rows = rollup.iter().filter_map(|row| {
        let number = row.stats()?.number();
        let figures = (row.count(), number.sum(), number.min(), number.max());
        Some((row.start().timestamp_millis(), figures))
    });
    rows.collect()
}

fn expected(old: i64) -> Hours {
    let hour = |hour: i64| {
        let (first, last) = (hour * 60, hour * 60 + 59);
        let sum = (first..=last).sum();
        (old + hour * HOUR, (60, Some(sum), Some(first), Some(last)))
    };
    (0..HOURS).map(hour).collect()
}

/// The number of buckets of a device whose items are gone.
async fn headers(database: &TestDatabase, device: &str) -> usize {
    let all = documents(database, "events").await;
    let is_header = |bucket: &&Document| {
        let sealed = bucket.get_document("_sealed");
        bucket.get_str("device").is_ok_and(|of| of == device)
            && sealed.is_ok_and(|sealed| sealed.contains_key("expired"))
    };
    all.iter().filter(is_header).count()
}

async fn is_sound(kept: &Buckets<Kept>) {
    let report = kept.verify().await.unwrap();
    assert!(report.is_clean(), "{report}");
    let repaired = kept.repair(&report).dry_run().await.unwrap();
    assert_eq!(
        (repaired.mended, repaired.quarantined),
        (0, 0),
        "{repaired}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_of_an_hour_become_one_and_its_statistics_stay() {
    let database = database().await;
    let old = old();
    let kept = stored(&database, old).await;
    assert_eq!(hours(&kept, "a", old).await, expected(old));
    let mut events = kept.watch().await.unwrap();
    kept.expire_records().await.unwrap();
    let before = headers(&database, "a").await;
    assert!(before >= 30 * 2, "{before}");
    let foreseen = kept
        .merge()
        .settled(Duration::ZERO)
        .dry_run()
        .await
        .unwrap();
    assert_eq!(headers(&database, "a").await, before);
    assert_eq!(merged(&kept).await, foreseen.buckets);
    assert_eq!(foreseen.buckets, 2 * u64::try_from(before).unwrap());
    for device in ["a", "b"] {
        assert_eq!(
            headers(&database, device).await,
            usize::try_from(HOURS).unwrap()
        );
        assert_eq!(hours(&kept, device, old).await, expected(old));
    }
    // Nothing is left to merge.
    assert_eq!(merged(&kept).await, 0);
    // A header covers an hour now, and says so.
    let cut = kept
        .stats("a", date(old + 10 * MINUTE)..date(old + HOUR))
        .await;
    let error = cut.unwrap_err();
    let ErrorKind::Partial { span, .. } = error.kind() else {
        panic!("{error:?}");
    };
    let last = old + 59 * MINUTE;
    let (first, end) = span.unwrap();
    assert_eq!(first, date(old), "{error}");
    assert!(
        (last..old + HOUR).contains(&end.timestamp_millis()),
        "{error}"
    );
    let steps = date(old)..date(old + HOUR);
    let minutes = kept.rollup("a", steps, Interval::minutes(10)).await;
    assert!(minutes.unwrap_err().is_partial());
    // All of it.
    let stats = kept.stats("a", ..).await.unwrap().unwrap();
    assert_eq!(stats.count(), 310);
    assert_eq!(kept.records("a").collect().await.unwrap().len(), 10);
    assert_eq!(kept.count("a").await.unwrap(), 10);
    is_sound(&kept).await;
    // Nothing of it is an event.
    let new = Kept {
        device: "a".to_owned(),
        at: DateTime::now(),
        number: 7,
    };
    kept.insert(&new).await.unwrap();
    let next = timeout(Duration::from_secs(60), events.next()).await;
    let next = next.unwrap().unwrap().unwrap();
    let stored = format!("{:?}", next.change);
    assert!(stored.contains("number: 7"), "{stored}");
    let fill = kept.fill().await.unwrap();
    assert_eq!((fill.records, fill.damaged), (21, 0), "{fill}");
    // And nothing is left of a key that is deleted.
    kept.delete_key("a").await.unwrap();
    assert_eq!(headers(&database, "a").await, 0);
    assert_eq!(hours(&kept, "b", old).await, expected(old));
}

/// Sealed buckets that were merged while they had records, late ones, and rows expire into one header.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_merged_before_and_what_came_late_become_one_header() {
    let database = database().await;
    let old = old();
    let kept = stored(&database, old).await;
    let young = Young::buckets(&database);
    let first = date(old)..date(old + 3 * HOUR);
    young.seal().between(first).await.unwrap();
    let report = young.merge().settled(Duration::ZERO).await.unwrap();
    assert_eq!(report.merged, 2 * 3, "{report}");
    // One inside of a merged bucket, one in a window of rows.
    for minute in [65, 4 * 60 + 5] {
        let late = event("a", old + minute * MINUTE + 1, minute);
        young.insert(&late).await.unwrap();
    }
    let mut hours_of_a = expected(old);
    for (hour, number) in [(1, 65), (4, 245)] {
        let of_hour = hours_of_a.get_mut(&(old + hour * HOUR)).unwrap();
        of_hour.0 += 1;
        of_hour.1 = of_hour.1.map(|sum| sum + number);
    }
    assert_eq!(hours(&kept, "a", old).await, hours_of_a);
    // Some have expired, their neighbours are packed.
    let some = date(old + HOUR + 20 * MINUTE)..date(old + HOUR + 30 * MINUTE);
    kept.expire_records().between(some).await.unwrap();
    is_sound(&kept).await;
    merged(&kept).await;
    assert_eq!(hours(&kept, "a", old).await, hours_of_a);
    is_sound(&kept).await;
    kept.expire_records().await.unwrap();
    is_sound(&kept).await;
    merged(&kept).await;
    is_sound(&kept).await;
    let hours_left = usize::try_from(HOURS).unwrap();
    assert_eq!(headers(&database, "a").await, hours_left);
    assert_eq!(hours(&kept, "a", old).await, hours_of_a);
    assert_eq!(hours(&kept, "b", old).await, expected(old));
    assert_eq!(merged(&kept).await, 0);
}

/// As a dump that is restored over the collection inserts it.
#[tokio::test(flavor = "multi_thread")]
async fn a_header_that_comes_again_moves_into_the_quarantine() {
    let database = database().await;
    let old = old();
    let kept = stored(&database, old).await;
    kept.expire_records().await.unwrap();
    let events = database.collection::<Document>("events");
    let second = doc! { "device": "a", "bucket_start": date(old + 10 * MINUTE) };
    let header = events.find_one(second).await.unwrap().unwrap();
    merged(&kept).await;
    events.insert_one(&header).await.unwrap();
    let found = kept.verify().await.unwrap();
    let repaired = kept.repair(&found).await.unwrap();
    assert_eq!((repaired.quarantined, repaired.left), (1, 0), "{repaired}");
    assert_eq!(hours(&kept, "a", old).await, expected(old));
    is_sound(&kept).await;
}

/// Nobody can compute it any more.
#[tokio::test(flavor = "multi_thread")]
async fn headers_beside_one_that_lacks_an_aggregate_stay() {
    let database = database().await;
    let old = old();
    let kept = stored(&database, old).await;
    kept.expire_records().await.unwrap();
    let events = database.collection::<Document>("events");
    let second = doc! { "device": "a", "bucket_start": date(old + 10 * MINUTE) };
    let older = doc! { "$unset": { "stats.max": 1 } };
    let changed = events.update_one(second, older).await.unwrap();
    assert_eq!(changed.modified_count, 1);
    let before = headers(&database, "a").await;
    let report = kept.merge().settled(Duration::ZERO).await.unwrap();
    assert!(report.stay >= 12, "{report}");
    assert_eq!(
        headers(&database, "b").await,
        usize::try_from(HOURS).unwrap()
    );
    let stay = usize::try_from(report.stay).unwrap();
    let merged = usize::try_from(HOURS).unwrap() - 1;
    assert_eq!(headers(&database, "a").await, stay + merged);
    assert!(stay < before, "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sealer_merges_headers_too() {
    let database = database().await;
    let old = old();
    let kept = stored(&database, old).await;
    kept.expire_records().await.unwrap();
    // They have been headers for long enough.
    let headers_of_all = doc! { "_sealed.expired": { "$exists": true } };
    let since = doc! { "$set": { "_sealed.expired": date(old) } };
    let events = database.collection::<Document>("events");
    events.update_many(headers_of_all, since).await.unwrap();
    let sealer = kept.sealer().every(Duration::from_secs(1)).start().unwrap();
    for _ in 0..600 {
        if sealer.report().rounds > 0 {
            break;
        }
        sleep(Duration::from_millis(100)).await;
    }
    let report = sealer.stop().await;
    assert_eq!(
        report.merged.merged,
        2 * u64::try_from(HOURS).unwrap(),
        "{report}"
    );
    assert_eq!(hours(&kept, "a", old).await, expected(old));
}

/// First an hour, then two hours, which a late record has to find whatever window it comes to.
#[tokio::test(flavor = "multi_thread")]
async fn headers_of_hours_become_one_of_the_wider_span() {
    let database = database().await;
    let old = old();
    let kept = stored(&database, old).await;
    kept.expire_records().await.unwrap();
    merged(&kept).await;
    let coarse = Coarse::buckets(&database);
    let report = coarse.ensure().await.unwrap();
    assert!(report.drift.is_empty(), "{report}");
    let report = coarse.merge().settled(Duration::ZERO).await.unwrap();
    assert_eq!((report.buckets, report.stay), (2 * 4, 0), "{report}");
    // The first or the last of the five hours is in a span of its own.
    assert_eq!(headers(&database, "a").await, 3);
    let two = 2 * HOUR;
    let from = old / two * two;
    let range = date(from)..date(from + 3 * two);
    let rollup = coarse.rollup("a", range, Interval::hours(2)).await.unwrap();
    let mut sums = BTreeMap::<i64, (u64, i64)>::new();
    for (hour, (count, sum, ..)) in expected(old) {
        let of = sums.entry(hour / two * two).or_default();
        *of = (of.0 + count, of.1 + sum.unwrap());
    }
    let rows = rollup.iter().filter_map(|row| {
        let sum = row.stats()?.number().sum()?;
        Some((row.start().timestamp_millis(), (row.count(), sum)))
    });
    assert_eq!(rows.collect::<BTreeMap<_, _>>(), sums);
    // An hour of two is a part of its bucket now.
    let full = if from == old { old } else { old + HOUR };
    let hour = coarse.stats("a", date(full)..date(full + HOUR)).await;
    assert!(hour.unwrap_err().is_partial());
    let again = coarse.merge().settled(Duration::ZERO).await.unwrap();
    assert_eq!(again.buckets, 0, "{again}");
    let report = coarse.verify().await.unwrap();
    assert!(report.is_clean(), "{report}");
    // Who does not look that far back is warned.
    let narrow = kept.ensure().await.unwrap();
    assert!(!narrow.drift.is_empty(), "{narrow}");
    let raised = RaisedCoarse::buckets(&database);
    raised.ensure().change_expiry().await.unwrap();
    for minute in [5, 65] {
        let late = RaisedCoarse {
            device: "a".to_owned(),
            at: date(full + minute * MINUTE + 1),
            number: 1_000,
        };
        raised.insert(&late).await.unwrap();
    }
    let stats = raised.stats("a", date(full)..date(full + two)).await;
    assert_eq!(stats.unwrap().unwrap().count(), 122);
    let report = raised.verify().await.unwrap();
    assert!(report.is_clean(), "{report}");
}

/// Headers wait until the last window of their slot has expired.
#[tokio::test(flavor = "multi_thread")]
async fn headers_of_a_slot_that_has_not_expired_stay() {
    let database = database().await;
    let old = old();
    let kept = stored(&database, old).await;
    kept.expire_records().await.unwrap();
    let before = headers(&database, "a").await;
    let slow = Slow::buckets(&database);
    let report = slow.merge().settled(Duration::ZERO).await.unwrap();
    // One hour in each year is the first after that slot has expired.
    let end = (old / (366 * 24 * HOUR) + 1) * 366 * 24 * HOUR;
    if end > DateTime::now().timestamp_millis() - HOUR {
        assert_eq!((report.buckets, report.stay), (0, 0), "{report}");
        assert_eq!(headers(&database, "a").await, before);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_higher_limit_lets_records_come_into_hours_that_are_merged() {
    let database = database().await;
    let old = old();
    let kept = stored(&database, old).await;
    kept.expire_records().await.unwrap();
    merged(&kept).await;
    let raised = Raised::buckets(&database);
    raised.ensure().change_expiry().await.unwrap();
    for number in 0..6 {
        let late = Raised {
            device: "a".to_owned(),
            at: date(old + 15 * MINUTE + number),
            number: 1_000,
        };
        raised.insert(&late).await.unwrap();
    }
    let stats = raised
        .stats("a", date(old)..date(old + HOUR))
        .await
        .unwrap();
    assert_eq!(stats.unwrap().count(), 66);
    assert_eq!(raised.records("a").collect().await.unwrap().len(), 16);
    let report = raised.verify().await.unwrap();
    assert!(report.is_clean(), "{report}");
    // They expire again, into the same header.
    kept.ensure().change_expiry().await.unwrap();
    kept.expire_records().await.unwrap();
    assert_eq!(merged(&kept).await, 3);
    let mut hours_of_a = expected(old);
    let first = hours_of_a.get_mut(&old).unwrap();
    *first = (66, first.1.map(|sum| sum + 6_000), Some(0), Some(1_000));
    assert_eq!(hours(&kept, "a", old).await, hours_of_a);
    is_sound(&kept).await;
}

/// Two that expire and merge, and writers: statistics of whole hours are the same at every moment.
#[tokio::test(flavor = "multi_thread")]
async fn statistics_are_right_while_headers_are_merged() {
    let database = database().await;
    let old = old();
    let kept = stored(&database, old).await;
    let workers = (0..2).map(|_| {
        let kept = kept.clone();
        tokio::spawn(async move {
            for _ in 0..3 {
                kept.expire_records().await.unwrap();
                kept.merge().settled(Duration::ZERO).await.unwrap();
            }
        })
    });
    let workers: Vec<_> = workers.collect();
    let mut reads = 0;
    while reads < 3 || !workers.iter().all(tokio::task::JoinHandle::is_finished) {
        assert_eq!(hours(&kept, "a", old).await, expected(old));
        let new = Kept {
            device: "b".to_owned(),
            at: DateTime::now(),
            number: 0,
        };
        kept.insert(&new).await.unwrap();
        reads += 1;
    }
    for worker in workers {
        worker.await.unwrap();
    }
    merged(&kept).await;
    assert_eq!(
        headers(&database, "a").await,
        usize::try_from(HOURS).unwrap()
    );
    assert_eq!(hours(&kept, "b", old).await, expected(old));
    is_sound(&kept).await;
}

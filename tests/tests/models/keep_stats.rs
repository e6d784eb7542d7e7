//! Statistics that stay when records expire (`keep_stats`): the records are hidden at once and removed by a call, and the
//! statistics of whole buckets never change.

use std::{fmt::Debug, sync::LazyLock, time::Duration};

use bucket_core::Form;
use bucket_mongo::{
    Bucketed, Buckets, ErrorKind, Fill, Interval, RangeStats, RecordChange, RollupRow,
    bson::{Bson, DateTime, Document, doc},
    testing::TestDatabase,
};
use bucket_tests::{Load, database, documents};
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use tokio::time::{sleep, timeout};

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;

/// What statistics say: the number of records, the sum of their numbers, and the ends of these.
type Figures = (u64, Option<i64>, Option<i64>, Option<i64>);

trait Event: Bucketed + Clone + Debug + PartialEq + Send + Sync + Unpin {
    fn of(at: DateTime, number: i64) -> Self;
    fn number(&self) -> i64;
    fn key_of(device: &str) -> Self::Key;
    fn figures(stats: &RangeStats<Self>) -> Figures;
}

macro_rules! models {
    ($($module:ident [$($attributes:tt)*];)*) => {$(
        mod $module {
            use super::*;

            models! { @one Long ["3650d"] [$($attributes)*] }
            models! { @one Short ["1h", keep_stats = "1y"] [$($attributes)*] }
            models! { @one Raised ["1d", keep_stats = "1y"] [$($attributes)*] }

            #[tokio::test(flavor = "multi_thread")]
            async fn statistics_of_whole_buckets_are_the_same_before_and_after_the_records_go() {
                super::statistics_of_whole_buckets_are_the_same::<Long, Short>().await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn records_are_hidden_and_removed_once() {
                super::records_are_hidden_and_removed_once::<Long, Short>().await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn a_higher_limit_brings_no_records_back_and_hides_nothing_else() {
                super::a_higher_limit_brings_no_records_back::<Long, Short, Raised>().await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn a_bucket_without_records_is_in_nobodys_way() {
                super::a_bucket_without_records_is_in_nobodys_way::<Long, Short>().await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn writers_lose_and_double_nothing_while_records_expire() {
                super::writers_lose_and_double_nothing::<Long, Short>().await;
            }
        }
    )*};
    (@one $name:ident [$($limit:tt)*] [$($attributes:tt)*]) => {
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "events", items = "items", expire_after = $($limit)*, $($attributes)*)]
        pub(super) struct $name {
            #[bucket(key)]
            device: String,
            #[bucket(time, first, last)]
            at: DateTime,
            #[bucket(sum = "total", min, max)]
            number: i64,
        }

        impl Event for $name {
            fn of(at: DateTime, number: i64) -> Self {
                let device = "a".to_owned();
                Self { device, at, number }
            }

            fn number(&self) -> i64 {
                self.number
            }

            fn key_of(device: &str) -> Self::Key {
                device.to_owned().into()
            }

            fn figures(stats: &RangeStats<Self>) -> Figures {
                let number = stats.number();
                (stats.count(), number.sum(), number.min(), number.max())
            }
        }
    };
}

models! {
    counted [capacity = 4];
    counted_bytes [capacity = 4, max_bytes = "4KB"];
    windowed [window = "10m", capacity = 4];
    windowed_objects [window = "10m", object_ids];
    hybrid [capacity = 4, max_duration = "10m"];
    hybrid_side [capacity = 4, max_duration = "10m", late = "side"];
    numbered [capacity = 4, numbered];
    numbered_objects [capacity = 4, numbered, object_ids];
    sealed [window = "10m", seal_after = "1m"];
    counted_sealed [capacity = 4, seal_after = "1m"];
}

mod monthly {
    use super::*;

    models! { @one Long ["3650d"] [window = "month"] }
    models! { @one Short ["1h", keep_stats = "10y"] [window = "month"] }
}

mod raised_from {
    use super::*;

    models! { @one Short ["1h", keep_stats = "1y"] [capacity = 8, raised_from = 4] }
}

fn date(millis: i64) -> DateTime {
    DateTime::from_millis(millis)
}

/// The start of an hour that has ended two to three hours ago.
fn old_hour() -> i64 {
    /// The same one in the whole run.
    static OLD: LazyLock<i64> =
        LazyLock::new(|| (DateTime::now().timestamp_millis() / HOUR - 3) * HOUR);
    *OLD
}

/// An hour of records that have expired by the short limit, one a minute, and twenty that have not. Their numbers are those
/// of the minutes.
async fn stored<L: Event>(database: &TestDatabase) -> Buckets<L> {
    let events = L::buckets(database);
    events.ensure().await.unwrap();
    let old = (0..60).map(|minute| L::of(date(old_hour() + minute * MINUTE), minute));
    let now = DateTime::now().timestamp_millis();
    let new = (100..120).map(|minute| L::of(date(now - (130 - minute) * MINUTE), minute));
    let records: Vec<L> = old.chain(new).collect();
    for some in records.chunks(4) {
        let report = events.insert_many(some).await.unwrap();
        assert_eq!(report.stored(), some.len(), "{report:?}");
    }
    events
}

async fn figures<T: Event>(events: &Buckets<T>, from: i64, to: i64) -> Option<Figures> {
    let stats = events.stats(T::key_of("a"), date(from)..date(to));
    stats.await.unwrap().as_ref().map(T::figures)
}

async fn figures_of_all<T: Event>(events: &Buckets<T>) -> Option<Figures> {
    let stats = events.stats(T::key_of("a"), ..).await.unwrap();
    stats.as_ref().map(T::figures)
}

/// The number of buckets whose items are gone.
async fn headers(database: &TestDatabase) -> usize {
    let all = documents(database, "events").await;
    let is_header = |bucket: &&Document| {
        let gone =
            matches!(bucket.get("items"), Some(Bson::Binary(items)) if items.bytes == [0xa6]);
        let since = bucket.get_document("_sealed");
        let since = since.and_then(|sealed| sealed.get_datetime("expired"));
        assert_eq!(gone, since.is_ok(), "{bucket}");
        gone
    };
    all.iter().filter(is_header).count()
}

async fn statistics_of_whole_buckets_are_the_same<L: Event, S: Event>() {
    let database = database().await;
    let long = stored::<L>(&database).await;
    let short = S::buckets(&database);
    short.ensure().change_expiry().await.unwrap();
    if L::SPEC.seal_after().is_some() {
        long.seal().await.unwrap();
    }
    let old = old_hour();
    let expected = (80, Some(60 * 59 / 2 + 10 * 219), Some(0), Some(119));
    let of_hour = (60, Some(60 * 59 / 2), Some(0), Some(59));
    for removed in [false, true] {
        if removed {
            short.expire_records().await.unwrap();
            assert!(headers(&database).await >= 6);
        }
        assert_eq!(figures_of_all(&short).await, Some(expected));
        assert_eq!(figures(&short, old, old + HOUR).await, Some(of_hour));
        assert_eq!(figures(&short, old - HOUR, old + HOUR).await, Some(of_hour));
        assert_eq!(figures(&short, old - HOUR, old).await, None);
        // A bound cuts a bucket, whether its items are still there or not.
        let cut = short.stats(S::key_of("a"), date(old + 90_000)..date(old + HOUR));
        let error = cut.await.unwrap_err();
        assert!(error.is_partial() && !error.is_damaged(), "{error}");
        let ErrorKind::Partial {
            span: Some((first, last)),
            ..
        } = error.kind()
        else {
            panic!("{error:?}");
        };
        assert_eq!(*first, date(old), "{error}");
        assert!(*last < date(old + 10 * MINUTE), "{error}");
        // The same between two of its records.
        let between = date(old + 1)..date(old + 2);
        let error = short.stats(S::key_of("a"), between).await.unwrap_err();
        assert!(error.is_partial(), "{error}");
        // All of it is left out.
        let after = last.timestamp_millis() + 1;
        let rest = figures(&short, after, old + HOUR).await.unwrap();
        assert!((50..60).contains(&rest.0), "{rest:?}");

        let range = || date(old)..date(old + HOUR);
        let rollup = short.rollup(S::key_of("a"), range(), Interval::hours(1));
        let rollup = rollup.await.unwrap();
        let counts = rollup.rows().iter().map(RollupRow::count);
        let counts: Vec<u64> = counts.collect();
        assert_eq!(counts, [60]);
        assert_eq!(rollup.scanned_buckets(), 0);
        let minutes = short.rollup(S::key_of("a"), range(), Interval::minutes(1));
        let error = minutes.await.unwrap_err();
        assert!(error.is_partial(), "{error}");
        // The step before the range has expired.
        let filled = date(old + HOUR)..date(old + HOUR + 60_000);
        let filled = short.rollup(S::key_of("a"), filled, Interval::minutes(1));
        let filled = filled.fill(Fill::Previous).await;
        assert!(filled.is_err_and(|error| error.is_partial()));
        let filled = date(old + HOUR)..date(old + 2 * HOUR);
        let filled = short.rollup(S::key_of("a"), filled, Interval::hours(1));
        let filled = filled.fill(Fill::Previous).await.unwrap();
        let all = filled.series(|_| Some(1.0));
        assert!(all.iter().all(|point| point.value == Some(1.0)), "{all:?}");
        assert_eq!(all.len(), 1);
    }
    assert!(short.verify().await.unwrap().is_clean());
}

async fn records_are_hidden_and_removed_once<L: Event, S: Event>() {
    let database = database().await;
    stored::<L>(&database).await;
    let short = S::buckets(&database);
    short.ensure().change_expiry().await.unwrap();
    let key = || S::key_of("a");
    let before = documents(&database, "events").await;
    let foreseen = short.expire_records().dry_run().await.unwrap();
    assert_eq!(documents(&database, "events").await, before);
    let mut watch = short.watch().await.unwrap();
    for removed in [false, true] {
        if removed {
            let report = short.expire_records().await.unwrap();
            assert_eq!(report.to_string(), foreseen.to_string());
            assert_eq!(report.records, 60, "{report}");
            assert_eq!((report.stay, report.damaged), (0, 0), "{report}");
            assert_eq!(headers(&database).await as u64, report.buckets);
            let again = short.expire_records().await.unwrap();
            assert_eq!(again.buckets, 0, "{again}");
            assert_eq!(short.seal().await.is_err(), S::SPEC.seal_after().is_none());
            // Only those that a seal has just packed.
            short.unseal().await.unwrap();
            assert_eq!(headers(&database).await as u64, report.buckets);
        }
        let records = short.records(key()).collect().await.unwrap();
        let numbers: Vec<i64> = records.iter().map(Event::number).collect();
        assert_eq!(numbers, (100..120).collect::<Vec<_>>());
        let ranged = short.range(key(), ..).await.unwrap();
        assert_eq!(ranged.len(), 20);
        assert_eq!(short.count(key()).await.unwrap(), 20);
        let latest = short.latest(key()).await.unwrap().unwrap();
        assert_eq!(latest.number(), 119);
        let newest = short.latest_per_key().await.unwrap();
        let newest: Vec<i64> = newest.iter().map(Event::number).collect();
        assert_eq!(newest, [119]);
        if matches!(S::SPEC.form(), Form::Window { .. }) {
            assert_eq!(short.range_all_keys(..).await.unwrap().len(), 20);
        }
        let mut all = short.watch_from(DateTime::MIN).await.unwrap();
        for number in 100..120 {
            let event = timeout(Duration::from_secs(60), all.next()).await;
            let event = event.unwrap().unwrap().unwrap();
            assert_eq!(stored_number(&event.change), Some(number));
        }
        let fill = short.fill().await.unwrap();
        let expected = if removed { 20 } else { 80 };
        assert_eq!(fill.records, expected, "{fill}");
        assert_eq!(fill.damaged, 0, "{fill}");
        let removed = short.delete_range(key(), ..date(old_hour() + HOUR));
        assert_eq!(removed.dry_run().await.unwrap().records, 0);
        // What was stored is not taken for lost.
        assert!(short.verify().await.unwrap().is_clean());
        let found = short.verify().await.unwrap();
        let repaired = short.repair(&found);
        assert_eq!(repaired.await.unwrap().quarantined, 0);
    }
    // Nothing of it is an event.
    let new = S::of(DateTime::now(), 500);
    short.insert(&new).await.unwrap();
    let event = timeout(Duration::from_secs(60), watch.next()).await;
    let event = event.unwrap().unwrap().unwrap();
    assert_eq!(stored_number(&event.change), Some(500));
    short.delete_key(key()).await.unwrap();
    assert_eq!(documents(&database, "events").await, []);
}

fn stored_number<T: Event>(change: &RecordChange<T>) -> Option<i64> {
    match change {
        RecordChange::Stored { record, .. } => Some(record.number()),
        _ => None,
    }
}

async fn a_higher_limit_brings_no_records_back<L: Event, S: Event, R: Event>() {
    let database = database().await;
    stored::<L>(&database).await;
    let short = S::buckets(&database);
    short.ensure().change_expiry().await.unwrap();
    short.expire_records().await.unwrap();
    let raised = R::buckets(&database);
    raised.ensure().change_expiry().await.unwrap();
    let key = || R::key_of("a");
    assert_eq!(raised.records(key()).collect().await.unwrap().len(), 20);
    assert_eq!(raised.range(key(), ..).await.unwrap().len(), 20);
    assert_eq!(raised.latest_per_key().await.unwrap().len(), 1);
    if matches!(R::SPEC.form(), Form::Window { .. }) {
        assert_eq!(raised.range_all_keys(..).await.unwrap().len(), 20);
    }
    let mut all = raised.watch_from(DateTime::MIN).await.unwrap();
    let event = timeout(Duration::from_secs(60), all.next()).await;
    let event = event.unwrap().unwrap().unwrap();
    assert_eq!(stored_number(&event.change), Some(100));
    assert_eq!(raised.count(key()).await.unwrap(), 20);
    assert_eq!(figures_of_all(&raised).await.unwrap().0, 80);
    // A record of that time is new.
    let late = R::of(date(old_hour() + 5 * MINUTE), 700);
    if matches!(R::SPEC.form(), Form::Window { .. }) {
        raised.insert(&late).await.unwrap();
        assert_eq!(raised.count(key()).await.unwrap(), 21);
        assert_eq!(figures_of_all(&raised).await.unwrap().0, 81);
    }
    assert!(raised.verify().await.unwrap().is_clean());
    // A model that does not keep statistics has no records there either, and says so.
    let error = L::buckets(&database).range(L::key_of("a"), ..).await;
    let error = error.unwrap_err();
    assert!(error.is_partial() && !error.is_damaged(), "{error}");
}

/// All its records were removed before they expired, so it says nothing of their times.
async fn a_bucket_without_records_is_in_nobodys_way<L: Event, S: Event>() {
    let database = database().await;
    let long = stored::<L>(&database).await;
    let old = old_hour();
    let removed = long.delete_range(L::key_of("a"), date(old)..date(old + 20 * MINUTE));
    assert_eq!(removed.await.unwrap().records, 20);
    let short = S::buckets(&database);
    short.ensure().change_expiry().await.unwrap();
    for removed in [false, true] {
        if removed {
            assert_eq!(short.expire_records().await.unwrap().stay, 0);
        }
        assert_eq!(figures_of_all(&short).await.unwrap().0, 60);
        assert_eq!(figures(&short, old, old + HOUR).await.unwrap().0, 40);
        assert_eq!(
            figures(&short, old + 20 * MINUTE, old + HOUR)
                .await
                .unwrap()
                .0,
            40
        );
        assert_eq!(figures(&short, old - HOUR, old).await, None);
        let range = date(old)..date(old + HOUR);
        let rollup = short.rollup(S::key_of("a"), range, Interval::hours(1));
        assert_eq!(rollup.await.unwrap().rows()[0].count(), 40);
        assert_eq!(short.latest_per_key().await.unwrap().len(), 1);
        assert!(short.verify().await.unwrap().is_clean());
    }
}

async fn writers_lose_and_double_nothing<L: Event, S: Event>() {
    let database = database().await;
    stored::<L>(&database).await;
    let short = S::buckets(&database);
    short.ensure().change_expiry().await.unwrap();
    let expirers = (0..2).map(|_| {
        let short = short.clone();
        tokio::spawn(async move { short.expire_records().await.unwrap() })
    });
    let expirers: Vec<_> = expirers.collect();
    let writers = (0..4).map(|writer| {
        let short = short.clone();
        tokio::spawn(async move {
            for number in 0..20 {
                let record = S::of(DateTime::now(), 1_000 * (writer + 1) + number);
                short.insert(&record).await.unwrap();
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    let mut buckets = 0;
    for expirer in expirers {
        buckets += expirer.await.unwrap().buckets;
    }
    assert_eq!(headers(&database).await as u64, buckets);
    assert_eq!(short.count(S::key_of("a")).await.unwrap(), 100);
    assert_eq!(figures_of_all(&short).await.unwrap().0, 160);
    assert!(short.verify().await.unwrap().is_clean());
}

/// A writer without the limit does not move the date from which the age of a bucket counts.
#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_has_not_expired_stays_whatever_its_bucket_says() {
    let database = database().await;
    let events = counted::Short::buckets(&database);
    stored::<counted::Long>(&database).await;
    events.ensure().change_expiry().await.unwrap();
    let collection = database.collection::<Document>("events");
    let new = doc! { "last_timestamp": { "$gte": date(old_hour() + HOUR) } };
    let old = doc! { "$set": { "expire_from": date(old_hour()) } };
    let changed = collection.update_one(new, old).await.unwrap();
    assert_eq!(changed.modified_count, 1);
    let report = events.expire_records().await.unwrap();
    assert_eq!((report.records, report.stay), (60, 1), "{report}");
    events.ensure().change_expiry().await.unwrap();
    assert_eq!(events.records("a").collect().await.unwrap().len(), 20);
}

/// A step can be longer than a window, and no multiple of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_contains_a_bucket_needs_none_of_its_records() {
    let database = database().await;
    let events = monthly::Long::buckets(&database);
    events.ensure().await.unwrap();
    // 2025-02-01, and days after it.
    let february = 1_738_368_000_000;
    let records = (0..28).map(|day| monthly::Long::of(date(february + day * 24 * HOUR), day));
    events.load(records).await;
    let short = monthly::Short::buckets(&database);
    short.ensure().change_expiry().await.unwrap();
    for _ in 0..2 {
        let range = date(february)..date(february + 28 * 24 * HOUR);
        let rollup = short.rollup("a", range, Interval::hours(31 * 24)).await;
        let counts: Vec<u64> = rollup
            .unwrap()
            .rows()
            .iter()
            .map(RollupRow::count)
            .collect();
        assert_eq!(counts, [28]);
        short.expire_records().await.unwrap();
    }
}

/// The last bucket of a key may have fewer records than the capacity, if that was raised.
#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_of_a_smaller_capacity_expires_as_well() {
    let database = database().await;
    stored::<counted::Long>(&database).await;
    let short = raised_from::Short::buckets(&database);
    short
        .ensure()
        .replace_indexes()
        .change_expiry()
        .await
        .unwrap();
    // Those that have not expired go.
    let new = date(old_hour() + HOUR)..;
    short.delete_range("a", new).await.unwrap();
    let new = doc! { "last_timestamp": { "$exists": false } };
    database
        .collection::<Document>("events")
        .delete_many(new)
        .await
        .unwrap();
    assert_eq!(short.expire_records().await.unwrap().records, 60);
    assert_eq!(short.records("a").collect().await.unwrap().len(), 0);
    let record = raised_from::Short::of(DateTime::now(), 1);
    short.insert(&record).await.unwrap();
    assert_eq!(short.records("a").collect().await.unwrap().len(), 1);
    assert_eq!(figures_of_all(&short).await.unwrap().0, 61);
}

/// The index by which the server removes buckets has the longer limit.
#[tokio::test(flavor = "multi_thread")]
async fn the_server_removes_buckets_once_their_statistics_have_expired() {
    let database = database().await;
    let events = windowed::Short::buckets(&database);
    events.ensure().await.unwrap();
    let indexes = events.collection::<Document>().list_indexes().await;
    let mut indexes = indexes.unwrap();
    let mut limits = Vec::new();
    while let Some(index) = indexes.next().await {
        let options = index.unwrap().options.unwrap();
        limits.extend(options.expire_after);
    }
    assert_eq!(limits, [Duration::from_secs(365 * 86_400)]);
}

/// Its statistics would be wrong for ever.
#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_whose_statistics_are_not_those_of_its_records_keeps_them() {
    let database = database().await;
    stored::<windowed::Long>(&database).await;
    let short = windowed::Short::buckets(&database);
    short.ensure().change_expiry().await.unwrap();
    let collection = database.collection::<Document>("events");
    let old = date(old_hour());
    let tampered = [
        (old, doc! { "$unset": { "stats.total": 1 } }),
        (
            date(old_hour() + 10 * MINUTE),
            doc! { "$inc": { "stats.total": 1 } },
        ),
    ];
    for (start, damage) in tampered {
        let bucket = doc! { "bucket_start": start };
        let first = collection.find_one(bucket).await.unwrap().unwrap();
        let id = doc! { "_id": first.get("_id").unwrap() };
        let changed = collection.update_one(id, damage).await.unwrap();
        assert_eq!(changed.modified_count, 1, "{first}");
    }
    let report = short.expire_records().await.unwrap();
    assert_eq!(report.stay, 2, "{report}");
    let found = short.verify().await.unwrap();
    short.repair(&found).await.unwrap();
    let report = short.expire_records().await.unwrap();
    assert_eq!((report.buckets, report.stay), (2, 0), "{report}");
    assert_eq!(
        figures_of_all(&short).await.unwrap().1,
        Some(60 * 59 / 2 + 10 * 219)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sealer_removes_what_has_expired_if_it_is_asked_to() {
    let database = database().await;
    stored::<windowed::Long>(&database).await;
    let short = windowed::Short::buckets(&database);
    short.ensure().change_expiry().await.unwrap();
    // It has nothing to seal.
    assert!(short.sealer().start().is_err());
    assert!(
        windowed::Long::buckets(&database)
            .sealer()
            .expire_records()
            .start()
            .is_err()
    );
    let sealer = short.sealer().expire_records();
    let sealer = sealer.every(Duration::from_secs(1)).start().unwrap();
    for _ in 0..600 {
        if sealer.report().rounds > 1 {
            break;
        }
        sleep(Duration::from_millis(100)).await;
    }
    let report = sealer.stop().await;
    assert_eq!(report.expired.records, 60, "{report}");
    assert_eq!(headers(&database).await as u64, report.expired.buckets);
    assert_eq!(report.failed_rounds, 0, "{report}");
    assert!(
        report.to_string().contains("removed the records of"),
        "{report}"
    );
}

/// The archive has records only, so it has their limit.
#[tokio::test(flavor = "multi_thread")]
async fn archived_records_expire_in_the_archive() {
    let database = database().await;
    let cold = database.collection::<Document>("cold");
    let long = stored::<sealed::Long>(&database).await;
    long.seal().after(Duration::ZERO).await.unwrap();
    let short = sealed::Short::buckets(&database).with_archive(&cold);
    short.ensure().change_expiry().await.unwrap();
    short.archive_to(&cold).await.unwrap();
    let mut indexes = cold.list_indexes().await.unwrap();
    let mut limits = Vec::new();
    while let Some(index) = indexes.next().await {
        limits.extend(index.unwrap().options.unwrap().expire_after);
    }
    assert_eq!(limits, [Duration::from_secs(2 * 3_600)]);
    // As the server does.
    let old = doc! { "bucket_end": { "$lte": date(old_hour() + HOUR) } };
    cold.delete_many(old).await.unwrap();
    for removed in [false, true] {
        if removed {
            assert_eq!(short.expire_records().await.unwrap().records, 60);
            assert_eq!(headers(&database).await, 6);
        }
        assert_eq!(figures_of_all(&short).await.unwrap().0, 80);
        assert_eq!(
            figures(&short, old_hour(), old_hour() + HOUR)
                .await
                .unwrap()
                .0,
            60
        );
        let cut = short.stats("a", date(old_hour() + 1)..).await;
        assert!(cut.unwrap_err().is_partial());
        assert_eq!(short.records("a").collect().await.unwrap().len(), 20);
    }
    assert!(short.verify().await.unwrap().is_clean());
}

/// The archive has removed what has expired, and the buckets do not know it yet.
#[tokio::test(flavor = "multi_thread")]
async fn copies_that_have_expired_are_not_missed() {
    let database = database().await;
    let cold = database.collection::<Document>("cold");
    let long = stored::<sealed::Long>(&database).await;
    long.seal().after(Duration::ZERO).await.unwrap();
    let short = sealed::Short::buckets(&database).with_archive(&cold);
    short.ensure().change_expiry().await.unwrap();
    short.archive_to(&cold).await.unwrap();
    let old = doc! { "bucket_end": { "$lte": date(old_hour() + HOUR) } };
    cold.delete_many(old).await.unwrap();
    assert!(short.verify().await.unwrap().is_clean());
    let mut all = short.watch_from(DateTime::MIN).await.unwrap();
    let event = timeout(Duration::from_secs(60), all.next()).await;
    let event = event.unwrap().unwrap().unwrap();
    assert_eq!(stored_number(&event.change), Some(100));
    assert_eq!(short.latest_per_key().await.unwrap().len(), 1);
    let restored = short.restore_from(&cold).await.unwrap();
    assert_eq!(restored.damaged, 0, "{restored}");
    short.delete_key("a").await.unwrap();
    assert_eq!(documents(&database, "events").await, []);
    assert_eq!(documents(&database, "cold").await, []);
}

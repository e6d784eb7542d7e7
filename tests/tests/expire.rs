//! Retention (`expire_after`): what is past the limit is hidden at once and removed later, and nothing
//! else is.

#[path = "common/explained.rs"]
mod explained;

use std::{collections::BTreeSet, time::Duration};

use bucket_mongo::{
    BucketDocument, Bucketed, Buckets, ErrorKind,
    bson::{Bson, DateTime, Document, doc},
    core::{EncodeError, index::Drift, read, write::Batch},
    testing::{DevServer, TestDatabase},
};
use futures_util::{StreamExt, TryStreamExt};
use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;

use self::explained::explain;

const COLLECTION: &str = "events";
/// The limit of the models of `short`.
const LIMIT_S: i64 = 3_600;
/// Longer than any test needs.
const PATIENCE: Duration = Duration::from_secs(120);

/// A record that its number tells from others.
trait Event: Bucketed + Clone + PartialEq + std::fmt::Debug {
    fn of(device: i64, at: DateTime, number: i64) -> Self;
    fn number(&self) -> i64;
    fn key_of(device: i64) -> Self::Key;
}

macro_rules! models {
    ($($name:ident: [$($attributes:tt)*] [$($aggregates:tt)*])*) => {
        /// The same models with a long and with a short limit.
        #[allow(dead_code, reason = "their buckets are looked at as documents")]
        mod long {
            models! { @all "3650d" $($name: [$($attributes)*] [$($aggregates)*])* }
        }
        #[allow(dead_code, reason = "as above")]
        mod short {
            models! { @all "1h" $($name: [$($attributes)*] [$($aggregates)*])* }
        }
        /// And without one.
        #[allow(dead_code, reason = "as above")]
        mod without {
            use super::*;
            $(models! { @one $name: [$($attributes)*] [$($aggregates)*] })*
        }
    };
    (@all $limit:literal $($name:ident: [$($attributes:tt)*] [$($aggregates:tt)*])*) => {
        use super::*;
        $(models! { @one $name: [$($attributes)*, expire_after = $limit] [$($aggregates)*] })*
    };
    (@one $name:ident: [$($attributes:tt)*] [$($aggregates:tt)*]) => {
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "events", items = "items", $($attributes)*)]
        pub(super) struct $name {
            #[bucket(key)]
            device: i64,
            #[bucket(time)]
            at: DateTime,
            #[bucket(sum = "total", $($aggregates)*)]
            number: i64,
        }

        impl Event for $name {
            fn of(device: i64, at: DateTime, number: i64) -> Self {
                Self { device, at, number }
            }

            fn number(&self) -> i64 {
                self.number
            }

            fn key_of(device: i64) -> Self::Key {
                device.into()
            }
        }
    };
}

models! {
    Counted: [capacity = 4] [min]
    CountedBytes: [capacity = 100, max_bytes = "1KB"] [min]
    CountedAverage: [capacity = 4] [avg = "mean"]
    Windowed: [window = "10m", capacity = 4] [min]
    WindowedObjects: [window = "10m", object_ids] [min]
    Hybrid: [capacity = 4, max_duration = "10m"] [min]
    HybridSide: [capacity = 4, max_duration = "10m", late = "side"] [min]
    Numbered: [capacity = 4, numbered] [min]
    NumberedObjects: [capacity = 4, numbered, object_ids] [min]
    NumberedAverage: [capacity = 4, numbered] [avg = "mean"]
}

macro_rules! every_form {
    ($($test:ident)*) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $test() {
            check::$test::<long::Counted, short::Counted, without::Counted>().await;
            check::$test::<long::CountedBytes, short::CountedBytes, without::CountedBytes>().await;
            check::$test::<long::CountedAverage, short::CountedAverage, without::CountedAverage>().await;
            check::$test::<long::Windowed, short::Windowed, without::Windowed>().await;
            check::$test::<long::WindowedObjects, short::WindowedObjects, without::WindowedObjects>().await;
            check::$test::<long::Hybrid, short::Hybrid, without::Hybrid>().await;
            check::$test::<long::HybridSide, short::HybridSide, without::HybridSide>().await;
            check::$test::<long::Numbered, short::Numbered, without::Numbered>().await;
            check::$test::<long::NumberedObjects, short::NumberedObjects, without::NumberedObjects>().await;
            check::$test::<long::NumberedAverage, short::NumberedAverage, without::NumberedAverage>().await;
        }
    )*};
}

every_form! {
    every_bucket_has_the_date_that_the_index_is_on
    every_read_is_an_index_scan_over_the_buckets_of_the_key
    buckets_from_before_the_limit_are_dated_on_purpose
    reads_show_the_same_before_and_after_the_server_has_removed_buckets
    a_record_past_the_limit_is_refused_before_anything_is_sent
    a_late_delivery_brings_no_removed_bucket_back
    writers_lose_and_double_nothing_while_buckets_are_removed
    another_limit_is_drift_until_it_is_changed_on_purpose
}

/// A server that looks for buckets to remove each second.
async fn database() -> TestDatabase {
    static SERVER: OnceCell<DevServer> = OnceCell::const_new();
    let start = || async {
        let arguments = ["--setParameter", "ttlMonitorSleepSecs=1"];
        let server = DevServer::builder().own().arguments(arguments);
        server.await.unwrap()
    };
    let server = SERVER.get_or_init(start).await;
    server.database("expire").await.unwrap()
}

fn ago(now: DateTime, seconds: i64) -> DateTime {
    DateTime::from_millis(now.timestamp_millis() - seconds * 1_000)
}

async fn documents(database: &TestDatabase) -> Vec<Document> {
    bucket_tests::documents(database, COLLECTION).await
}

/// The index by which the server removes buckets.
async fn expire_index(database: &TestDatabase) -> Option<Document> {
    let command = doc! { "listIndexes": COLLECTION };
    let indexes = database.run_cursor_command(command).await.unwrap();
    let indexes: Vec<Document> = indexes.try_collect().await.unwrap();
    let mut indexes = indexes.into_iter();
    indexes.find(|index| index.get_str("name").unwrap() == "bucket_expire")
}

/// The stored records by number, each as often as it is there.
fn stored(documents: &[Document]) -> Vec<i64> {
    let items = documents
        .iter()
        .flat_map(|bucket| bucket.get_array("items").unwrap());
    let mut numbers: Vec<i64> = items
        .map(|item| item.as_document().unwrap().get_i64("number").unwrap())
        .collect();
    numbers.sort_unstable();
    numbers
}

/// Whether the bucket takes no more records, as far as it says so.
fn is_closed(bucket: &Document, spec: &bucket_mongo::BucketSpec) -> bool {
    let flag = |name: &str| bucket.get_bool(name).ok();
    flag("is_full").or(flag("is_closed")).unwrap_or_else(|| {
        let count = bucket.get_i32("count").unwrap();
        let by_count = spec
            .capacity()
            .is_some_and(|capacity| i64::from(count) >= i64::from(capacity));
        let bytes = bucket.get_i64("bytes").unwrap_or_default();
        let by_bytes = spec.max_bytes().is_some_and(|max| bytes >= i64::from(max));
        // A window takes no more once it is past the limit.
        by_count || by_bytes || bucket.contains_key("bucket_start")
    })
}

/// The date from which the age of a bucket counts.
fn dated(bucket: &Document) -> DateTime {
    let date = bucket.get("expire_from").or(bucket.get("bucket_end"));
    *date.and_then(Bson::as_datetime).unwrap()
}

/// Waits until the server has removed every bucket that is due.
async fn removed<T: Bucketed>(database: &TestDatabase) -> Vec<Document> {
    let wait = async {
        loop {
            let last = ago(DateTime::now(), LIMIT_S);
            let documents = documents(database).await;
            let is_due = |bucket: &Document| dated(bucket) <= last && is_closed(bucket, T::SPEC);
            if !documents.iter().any(is_due) {
                return documents;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(PATIENCE, wait)
        .await
        .expect("the server removes what is due")
}

/// Everything that reads show of a key.
#[derive(Debug, PartialEq)]
struct Shown {
    records: Vec<i64>,
    pages: Vec<Vec<i64>>,
    by_number: Vec<Vec<i64>>,
    count: u64,
    page_count: u64,
}

/// Whatever reads by time shows what the cursor does. A record may come to its limit between two
/// reads.
async fn check_spans<T: Event>(buckets: &Buckets<T>, device: i64, records: &[T]) {
    let sorted = |records: &[T]| -> BTreeSet<i64> { records.iter().map(Event::number).collect() };
    let shown = sorted(records);
    let ranged = sorted(&buckets.range(T::key_of(device), ..).await.unwrap());
    assert!(ranged.is_subset(&shown), "{ranged:?} of {shown:?}");
    let stats = buckets.stats(T::key_of(device), ..).await.unwrap();
    let counted = stats.map_or(0, |stats| stats.count());
    assert!(counted <= u64::try_from(ranged.len()).unwrap());
    let latest = buckets.latest(T::key_of(device)).await.unwrap();
    assert!(latest.is_none_or(|latest| shown.contains(&latest.number())));
    let again = sorted(&buckets.records(T::key_of(device)).collect().await.unwrap());
    // Nothing came to its limit meanwhile: then all of them are the same.
    if again == shown {
        assert_eq!(ranged, shown);
        assert_eq!(counted, u64::try_from(shown.len()).unwrap());
    }
}

async fn shown<T: Event>(buckets: &Buckets<T>, device: i64) -> Shown {
    let key = || T::key_of(device);
    let numbers = |records: Vec<T>| -> Vec<i64> { records.iter().map(Event::number).collect() };
    let records: Vec<T> = buckets.records(key()).collect().await.unwrap();
    check_spans(buckets, device, &records).await;
    let mut pages = Vec::new();
    let mut stream = buckets.pages(key()).await.unwrap();
    while let Some(page) = stream.next().await {
        let page = page.unwrap();
        let (count, items) = (page.as_ref().count, page.as_ref().items.len());
        assert_eq!(usize::try_from(count).unwrap(), items);
        let page = bucket_mongo::core::bucket::assemble_records(page);
        pages.push(numbers(page));
    }
    let mut by_number = Vec::new();
    for number in 1..=40 {
        by_number.push(numbers(
            buckets.page(key(), number).await.unwrap().into_records(),
        ));
    }
    Shown {
        records: numbers(records),
        pages,
        by_number,
        count: buckets.count(key()).await.unwrap(),
        page_count: buckets.page_count(key()).await.unwrap(),
    }
}

mod check {
    use super::*;

    pub(super) async fn every_bucket_has_the_date_that_the_index_is_on<
        L: Event,
        S: Event,
        W: Event,
    >() {
        let database = database().await;
        let events = S::buckets(&database);
        let report = events.ensure().await.unwrap();
        assert!(
            report.created_indexes.contains(&"bucket_expire".to_owned()),
            "{report}"
        );
        assert!(events.ensure().await.unwrap().drift.is_empty());
        let now = DateTime::now();
        // One by one, as batches and as whole buckets; in order and late.
        events.insert(&S::of(1, ago(now, 300), 0)).await.unwrap();
        let ages = [0, 2_400, 60, 1_800, 10];
        let batch: Vec<S> = (1..40)
            .map(|n| S::of(n % 3, ago(now, ages[usize::try_from(n % 5).unwrap()]), n))
            .collect();
        for part in batch.chunks(13) {
            events
                .insert_many(part)
                .await
                .unwrap()
                .into_result()
                .unwrap();
        }
        events.insert(&S::of(1, ago(now, 2_000), 40)).await.unwrap();

        let index = expire_index(&database).await.unwrap();
        assert_eq!(index.get_i32("expireAfterSeconds").unwrap(), 3_600);
        let (field, _) = index.get_document("key").unwrap().iter().next().unwrap();
        for bucket in documents(&database).await {
            let date = bucket
                .get_datetime(field)
                .unwrap_or_else(|_| panic!("{bucket}"));
            let items = bucket.get_array("items").unwrap().iter();
            let latest = items
                .map(|item| *item.as_document().unwrap().get_datetime("at").unwrap())
                .max();
            let latest = latest.unwrap();
            assert!(*date >= latest, "a record of {latest} in {bucket}");
            if field == "expire_from" {
                assert_eq!(*date, latest, "{bucket}");
            }
        }
    }

    /// Ages around the limit, but none so near that the clock could decide.
    fn ages() -> impl Iterator<Item = i64> {
        (0..60)
            .map(|n| 7_000 - n * 120)
            .filter(|age| (age - LIMIT_S).abs() > 300)
    }

    pub(super) async fn reads_show_the_same_before_and_after_the_server_has_removed_buckets<
        L: Event,
        S: Event,
        W: Event,
    >() {
        let database = database().await;
        let long = L::buckets(&database);
        long.ensure().await.unwrap();
        let now = DateTime::now();
        // Key 1 has a history, key 2 only an old open bucket, and key 3 a clock that is years ahead.
        let history: Vec<L> = ages()
            .enumerate()
            .map(|(n, age)| L::of(1, ago(now, age), i64::try_from(n).unwrap()))
            .collect();
        for part in history.chunks(7) {
            long.insert_many(part).await.unwrap().into_result().unwrap();
        }
        long.insert(&L::of(2, ago(now, 7_200), 1_000))
            .await
            .unwrap();
        let future = DateTime::from_millis(now.timestamp_millis() + 1_000 * 86_400_000);
        long.insert(&L::of(3, future, 2_000)).await.unwrap();
        // Enough to fill a bucket of each form by old ones alone.
        for n in 0..50 {
            let old = L::of(3, ago(now, 7_000 - n), 2_001 + n);
            long.insert(&old).await.unwrap();
        }
        for n in 0..9 {
            let new = L::of(3, ago(now, 100 - n), 2_100 + n);
            long.insert(&new).await.unwrap();
        }

        let short = S::buckets(&database);
        let before = [
            shown(&short, 1).await,
            shown(&short, 2).await,
            shown(&short, 3).await,
        ];
        let before_removal = documents(&database).await;
        assert_eq!(documents(&database).await.len(), before_removal.len());
        let visible: BTreeSet<i64> = history
            .iter()
            .zip(ages())
            .filter(|(_, age)| *age < LIMIT_S)
            .map(|(record, _)| record.number())
            .collect();
        assert_eq!(
            before[0].records.iter().copied().collect::<BTreeSet<_>>(),
            visible
        );
        assert_eq!(before[0].records.len(), visible.len());
        assert_eq!(before[1].records, []);
        let third: BTreeSet<i64> = before[2].records.iter().copied().collect();
        let expected: BTreeSet<i64> = [2_000].into_iter().chain(2_100..2_109).collect();
        assert_eq!(third, expected);
        for shown in &before {
            assert_eq!(shown.count, u64::try_from(shown.records.len()).unwrap());
            assert_eq!(shown.page_count, u64::try_from(shown.pages.len()).unwrap());
            assert_eq!(shown.pages.concat(), shown.records);
            let by_number: Vec<Vec<i64>> = shown
                .by_number
                .iter()
                .filter(|page| !page.is_empty())
                .cloned()
                .collect();
            let pages: Vec<Vec<i64>> = shown
                .pages
                .iter()
                .filter(|page| !page.is_empty())
                .cloned()
                .collect();
            assert_eq!(by_number, pages);
        }

        short.ensure().change_expiry().await.unwrap();
        let left = removed::<S>(&database).await;
        assert!(left.len() < before_removal.len());
        let after = [
            shown(&short, 1).await,
            shown(&short, 2).await,
            shown(&short, 3).await,
        ];
        assert_eq!(after, before);
        // What takes records stays: the open bucket of the idle key.
        let idle = left
            .iter()
            .filter(|bucket| bucket.get_i64("device").unwrap() == 2)
            .count();
        let has_open = S::SPEC.open_index_name().is_some();
        assert_eq!(idle, usize::from(has_open));
        // The old records of the key with the wrong clock were not pinned by it.
        let pinned: Vec<i64> = stored(&left)
            .into_iter()
            .filter(|n| (2_001..2_051).contains(n))
            .collect();
        assert!(pinned.len() < 30, "{pinned:?}");
    }

    pub(super) async fn a_record_past_the_limit_is_refused_before_anything_is_sent<
        L: Event,
        S: Event,
        W: Event,
    >() {
        let database = database().await;
        let events = S::buckets(&database);
        events.ensure().await.unwrap();
        let now = DateTime::now();
        let (old, new) = (
            S::of(1, ago(now, LIMIT_S + 1), 1),
            S::of(1, ago(now, LIMIT_S - 60), 2),
        );
        let is_expired = |error: &bucket_mongo::Error| {
            let found = matches!(
                error.kind(),
                ErrorKind::Encode(EncodeError::Expired { time, before })
                    if *time == ago(now, LIMIT_S + 1) && time < before
            );
            assert!(
                found && !error.is_retryable() && !error.is_outcome_unknown(),
                "{error}"
            );
        };
        is_expired(&events.insert(&old).await.unwrap_err());
        let report = events.insert_many([&new, &old]).await.unwrap();
        assert_eq!((report.stored(), report.failed()[0].index), (1, 1));
        is_expired(&report.failed()[0].error);
        let ingestor = events.ingestor().start().unwrap();
        is_expired(&ingestor.push(&old).await.unwrap_err());
        ingestor.shutdown().await;
        assert_eq!(stored(&documents(&database).await), [2]);
    }

    /// What a writer sends that has last seen the bucket, after the server has removed it.
    pub(super) async fn a_late_delivery_brings_no_removed_bucket_back<
        L: Event,
        S: Event,
        W: Event,
    >() {
        let database = database().await;
        let long = L::buckets(&database);
        long.ensure().await.unwrap();
        let now = DateTime::now();
        let records: Vec<L> = (0..3).map(|n| L::of(1, ago(now, 7_200 - n), n)).collect();
        long.insert_many(&records)
            .await
            .unwrap()
            .into_result()
            .unwrap();
        let seen = documents(&database).await;
        let Some(seen) = seen.first() else {
            panic!("nothing is stored")
        };
        let raw = bucket_mongo::bson::RawDocumentBuf::try_from(seen).unwrap();
        let late = L::of(1, ago(now, 7_190), 3);
        let id = seen.get_str("_id").unwrap_or_default().to_owned();
        let mut commands = Vec::new();
        for by_memory in [true, false] {
            let mut batch = Batch::<L>::default();
            batch.set_now(now);
            batch.push(0, &late).unwrap();
            if by_memory {
                batch.guess(|_| Some(id.clone()));
            } else {
                batch.chains_mut()[0].saw(&raw).unwrap();
            }
            commands.extend(
                batch
                    .rounds(None)
                    .into_iter()
                    .map(|round| Document::try_from(round.command().body().to_owned()).unwrap()),
            );
        }
        // As the server does it.
        database
            .collection::<Document>(COLLECTION)
            .delete_many(doc! {})
            .await
            .unwrap();
        let mut sent = 0;
        for command in commands {
            // An opening that is delivered again has its number, and was answered before.
            let is_fresh = command.to_string().contains("\"upsert\": true")
                && !command.to_string().contains("$and");
            if is_fresh {
                continue;
            }
            let _ = database.run_command(command).await;
            assert_eq!(documents(&database).await.len(), 0);
            sent += 1;
        }
        assert!(sent > 0, "nothing was delivered late");
    }

    pub(super) async fn writers_lose_and_double_nothing_while_buckets_are_removed<
        L: Event,
        S: Event,
        W: Event,
    >() {
        const WRITERS: i64 = 4;
        const ROUNDS: i64 = 30;
        let database = database().await;
        let events = S::buckets(&database);
        events.ensure().await.unwrap();
        let write = |writer: i64| {
            let database = &database;
            async move {
                let events = S::buckets(database);
                for round in 0..ROUNDS {
                    let now = DateTime::now();
                    let base = (writer * ROUNDS + round) * 10;
                    // Most are about to pass the limit, some stay; alone and together.
                    let old = |n: i64| S::of(n % 2, ago(now, LIMIT_S - 1), base + n);
                    let new = |n: i64| S::of(n % 2, ago(now, 5), base + n);
                    let batch: Vec<S> = (0..8)
                        .map(|n| if n < 6 { old(n) } else { new(n) })
                        .collect();
                    events
                        .insert_many(&batch)
                        .await
                        .unwrap()
                        .into_result()
                        .unwrap();
                    events.insert(&new(8)).await.unwrap();
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
        };
        futures_util::future::join_all((0..WRITERS).map(write)).await;
        let left = removed::<S>(&database).await;
        let kept: Vec<i64> = stored(&left).into_iter().filter(|n| n % 10 >= 6).collect();
        let expected: Vec<i64> = (0..WRITERS * ROUNDS * 10)
            .filter(|n| (6..=8).contains(&(n % 10)))
            .collect();
        assert_eq!(kept, expected);
        let mut all = stored(&left);
        all.dedup();
        assert_eq!(all.len(), stored(&left).len(), "doubled");
        for bucket in &left {
            let items = bucket.get_array("items").unwrap().len();
            assert_eq!(
                usize::try_from(bucket.get_i32("count").unwrap()).unwrap(),
                items
            );
        }
        // The last of the others have a moment left.
        let hidden = async {
            loop {
                let shown = events.count(S::key_of(0)).await.unwrap()
                    + events.count(S::key_of(1)).await.unwrap();
                match usize::try_from(shown).unwrap() {
                    shown if shown == expected.len() => return,
                    shown => assert!(shown > expected.len(), "{shown}"),
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let hidden = tokio::time::timeout(PATIENCE, hidden).await;
        hidden.expect("all are past the limit");
    }

    pub(super) async fn another_limit_is_drift_until_it_is_changed_on_purpose<
        L: Event,
        S: Event,
        W: Event,
    >() {
        const LONG_S: u32 = 3_650 * 86_400;
        let database = database().await;
        let (long, short, without) = (
            L::buckets(&database),
            S::buckets(&database),
            W::buckets(&database),
        );
        let seconds = || async {
            let index = expire_index(&database).await;
            index.map(|index| index.get_i32("expireAfterSeconds").unwrap())
        };
        let differences = |drift: &[Drift]| -> Vec<(Option<u32>, u32)> {
            let limits = drift.iter().map(|drift| match drift {
                Drift::Expiry {
                    expected,
                    found,
                    name,
                } if name.starts_with("bucket_expire") => (*expected, *found),
                other => panic!("{other}"),
            });
            limits.collect()
        };
        long.ensure().await.unwrap();
        let indexes = if S::SPEC.max_bytes().is_some() && S::SPEC.capacity().is_some() {
            2
        } else {
            1
        };
        let report = short.ensure().await.unwrap();
        assert_eq!(
            differences(&report.drift),
            vec![(Some(3_600), LONG_S); indexes]
        );
        assert!(report.to_string().contains("change_expiry()"), "{report}");
        assert_eq!(seconds().await, Some(i32::try_from(LONG_S).unwrap()));
        // Nor with the call for other indexes.
        assert_eq!(
            short.ensure().replace_indexes().await.unwrap().drift.len(),
            indexes
        );
        let report = without.ensure().await.unwrap();
        assert_eq!(differences(&report.drift), vec![(None, LONG_S); indexes]);

        let report = short.ensure().change_expiry().await.unwrap();
        assert_eq!(
            (report.changed_indexes.len(), report.drift.len()),
            (indexes, 0),
            "{report}"
        );
        assert_eq!(seconds().await, Some(3_600));
        let report = short.ensure().change_expiry().await.unwrap();
        assert_eq!(
            (report.changed_indexes.len(), report.drift.len()),
            (0, 0),
            "{report}"
        );
        assert!(report.found_indexes.contains(&"bucket_expire".to_owned()));

        let report = without.ensure().change_expiry().await.unwrap();
        assert_eq!(
            (report.dropped_indexes.len(), report.drift.len()),
            (indexes, 0),
            "{report}"
        );
        assert_eq!(seconds().await, None);
    }

    pub(super) async fn every_read_is_an_index_scan_over_the_buckets_of_the_key<
        L: Event,
        S: Event,
        W: Event,
    >() {
        let database = database().await;
        let events = S::buckets(&database);
        events.ensure().await.unwrap();
        let now = DateTime::now();
        let records = (0..120).map(|n| S::of(n % 3, ago(now, 3_000 - 20 * n), n));
        let report = events.insert_many(records).await.unwrap();
        report.into_result().unwrap();
        let buckets = database.collection::<Document>(COLLECTION);
        let buckets = buckets
            .count_documents(doc! { "device": 1_i64 })
            .await
            .unwrap();
        let live = read::live(S::SPEC, DateTime::now());
        let key = read::key_elements::<S>(&S::key_of(1));
        let filter = doc! { "device": 1_i64 };
        let find = |plan: read::FindPlan| {
            doc! {
                "find": COLLECTION, "filter": Document::try_from(plan.filter).unwrap(), "sort": plan.sort,
                "skip": i64::try_from(plan.skip).unwrap(), "limit": plan.limit, "hint": plan.hint,
            }
        };
        let aggregate = |plan: read::AggregatePlan| {
            doc! {
                "aggregate": COLLECTION, "pipeline": plan.pipeline, "cursor": {}, "hint": plan.hint,
            }
        };
        for command in [
            find(live.find(read::pages(S::SPEC, &key, None))),
            find(live.find(read::page(S::SPEC, &key, buckets))),
            aggregate(live.page_count(S::SPEC, &filter)),
            aggregate(live.record_count(S::SPEC, &filter)),
        ] {
            let explained = explain(&database, command.clone()).await;
            let plan = &explained.plan;
            assert!(
                plan.contains("IXSCAN") && !plan.contains("COLLSCAN"),
                "{command}: {plan}"
            );
            assert!(!plan.contains("\"SORT\""), "{command}: {plan}");
            let most = i64::try_from(buckets).unwrap() + 1;
            assert!(explained.keys <= most, "{command}: {} keys", explained.keys);
            assert!(
                explained.documents <= most,
                "{command}: {} documents",
                explained.documents
            );
        }
    }

    pub(super) async fn buckets_from_before_the_limit_are_dated_on_purpose<
        L: Event,
        S: Event,
        W: Event,
    >() {
        let database = database().await;
        let without = W::buckets(&database);
        without.ensure().await.unwrap();
        let now = DateTime::now();
        let old = (0..50).map(|n| W::of(1, ago(now, 7_200 - n), n));
        let new = (50..60).map(|n| W::of(1, ago(now, 100 - n), n));
        let report = without.insert_many(old.chain(new)).await.unwrap();
        report.into_result().unwrap();
        let before = documents(&database).await;

        let short = S::buckets(&database);
        let visible: Vec<i64> = (50..60).collect();
        let shows_what_is_left = async || {
            let shown = shown(&short, 1).await;
            assert_eq!(shown.records, visible);
            assert_eq!(shown.count, 10);
        };
        shows_what_is_left().await;
        let report = short.ensure().change_expiry().await.unwrap();
        let undated = before
            .iter()
            .filter(|bucket| !bucket.contains_key("bucket_end"));
        assert_eq!(
            report.dated_buckets,
            u64::try_from(undated.count()).unwrap()
        );
        let left = removed::<S>(&database).await;
        assert!(left.len() < before.len());
        let kept: Vec<i64> = stored(&left).into_iter().filter(|n| *n >= 50).collect();
        assert_eq!(kept, visible);
        shows_what_is_left().await;
        assert_eq!(
            short.ensure().change_expiry().await.unwrap().dated_buckets,
            0
        );
    }
}

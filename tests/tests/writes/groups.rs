//! Concurrent calls of `insert_many` share their statements: each gets the outcome of its own
//! records only, and nothing is lost or doubled.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use bucket_mongo::{
    Bucketed, Buckets,
    mongodb::bson::{Bson, DateTime, Document, doc},
    testing::{DevServer, TestDatabase},
};
use bucket_tests::{Load, database, documents, profiled};
use futures_util::{FutureExt as _, future::join_all};
use serde::{Deserialize, Serialize};
use tokio::{runtime::Runtime, time::timeout};

macro_rules! models {
    ($($name:ident: [$($attributes:tt)*])*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "readings", items = "items", $($attributes)*)]
        struct $name {
            #[bucket(key)]
            sensor: i64,
            #[bucket(time)]
            at: DateTime,
            task: i64,
            number: i64,
            #[bucket(sum = "total", tally = "kinds")]
            kind: i64,
        }

        impl Of for $name {
            fn of(task: i64, number: i64) -> Self {
                Self {
                    sensor: number % SENSORS,
                    at: DateTime::from_millis(1_700_000_000_000 + number * 10),
                    task,
                    number,
                    kind: task % 3,
                }
            }
        }
    )*};
}

/// A record, by the task that stores it and its number there.
trait Of: Bucketed {
    fn of(task: i64, number: i64) -> Self;
}

/// Enough that two batches never run concurrently.
const SENSORS: i64 = 80;

models! {
    Counted: [capacity = 10]
    Windowed: [window = "10s", capacity = 50]
    Hybrid: [capacity = 20, max_duration = "10s", late = "merge"]
    Numbered: [capacity = 10, numbered]
}

fn batch<T: Of>(task: i64, from: i64, records: i64) -> Vec<T> {
    let numbers = from..from + records;
    numbers.map(|number| T::of(task, number)).collect()
}

/// The stored numbers of each task and sensor, in their order in the buckets.
fn stored(buckets: &[Document]) -> BTreeMap<(i64, i64), Vec<i64>> {
    let mut stored: BTreeMap<_, Vec<i64>> = BTreeMap::new();
    for bucket in buckets {
        let items = bucket.get_array("items").unwrap();
        let (mut sum, mut kinds) = (0, BTreeMap::new());
        for item in items {
            let item = item.as_document().unwrap();
            let [task, number, kind] =
                ["task", "number", "kind"].map(|at| item.get_i64(at).unwrap());
            let sensor = bucket.get_i64("sensor").unwrap();
            stored.entry((task, sensor)).or_default().push(number);
            sum += kind;
            *kinds.entry(kind.to_string()).or_insert(0) += 1;
        }
        let count = usize::try_from(bucket.get_i32("count").unwrap());
        assert_eq!(count, Ok(items.len()), "{bucket}");
        let stats = bucket.get_document("stats").unwrap();
        assert_eq!(stats.get_i64("total").unwrap(), sum, "{bucket}");
        let tally = stats.get_document("kinds").unwrap();
        let tally = tally.iter().map(|(kind, count)| {
            let count = count.as_i64().or(count.as_i32().map(i64::from));
            (kind.clone(), count.unwrap())
        });
        assert_eq!(tally.collect::<BTreeMap<_, _>>(), kinds, "{bucket}");
    }
    stored
}

fn sorted(mut numbers: Vec<i64>) -> Vec<i64> {
    numbers.sort_unstable();
    numbers
}

async fn check<T: Of>(in_order: bool) {
    const TASKS: i64 = 6;
    const BATCHES: i64 = 8;
    const RECORDS: i64 = 240;
    let database = database().await;
    let buckets = T::buckets(&database);
    buckets.ensure().await.unwrap();
    let tasks = (0..TASKS).map(|task| {
        let buckets = buckets.clone();
        tokio::spawn(async move {
            let mut opened = 0;
            for number in 0..BATCHES {
                let records: Vec<T> = batch(task, number * RECORDS, RECORDS);
                let report = buckets.insert_many(&records).await.unwrap();
                assert!(report.failed().is_empty(), "{:?}", report.failed());
                assert_eq!(report.stored(), records.len());
                opened += report.opened_buckets();
            }
            opened
        })
    });
    let tasks = join_all(tasks).await.into_iter();
    let opened: usize = tasks.map(Result::unwrap).sum();
    let documents = documents(&database, "readings").await;
    assert_eq!(opened, documents.len());
    for ((task, sensor), numbers) in stored(&documents) {
        let expected: Vec<i64> = (0..BATCHES * RECORDS)
            .filter(|number| number % SENSORS == sensor)
            .collect();
        let numbers = if in_order { numbers } else { sorted(numbers) };
        assert_eq!(numbers, expected, "task {task}, sensor {sensor}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_store_the_records_of_many_calls_once_and_in_the_order_of_each() {
    check::<Counted>(true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn windows_store_the_records_of_many_calls_once_and_in_the_order_of_each() {
    check::<Windowed>(true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hybrid_buckets_store_the_records_of_many_calls_once() {
    check::<Hybrid>(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn numbered_buckets_store_the_records_of_many_calls_once_and_in_the_order_of_each() {
    check::<Numbered>(true).await;
}

/// Makes the calls of all tasks at once; returns their results.
async fn all_at_once<T: Of>(
    buckets: &Buckets<T>,
    batches: Vec<Vec<T>>,
) -> Vec<bucket_mongo::InsertReport> {
    let calls = batches.into_iter().map(|records| {
        let buckets = buckets.clone();
        tokio::spawn(async move { buckets.insert_many(&records).await.unwrap() })
    });
    let reports = join_all(calls).await.into_iter();
    reports.map(Result::unwrap).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_calls_share_statements() {
    let database = database().await;
    let buckets = Windowed::buckets(&database);
    buckets.ensure().await.unwrap();
    let batches = (0..8).map(|task| batch(task, 0, SENSORS)).collect();
    let calls = all_at_once(&buckets, batches);
    let (reports, profile) = profiled(&database, "readings", calls).await;
    for report in reports {
        assert_eq!(report.stored(), 80);
    }
    let writes = |done: &&Document| matches!(done.get_str("op"), Ok("update" | "insert"));
    let statements = profile.iter().filter(writes).count();
    // The first call is sent by itself, and so may be a late one.
    assert!(
        statements <= 80 * 4,
        "{statements} for 8 calls of 80 buckets"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_cannot_be_stored_fails_only_in_its_own_call() {
    let database = database().await;
    let buckets = Numbered::buckets(&database);
    buckets.ensure().await.unwrap();
    // A foreign document under the first id of a sensor.
    let foreign = doc! { "_id": "3_0000000001", "sensor": "another" };
    let foreign: Result<_, _> = database
        .collection::<Document>("readings")
        .insert_one(foreign)
        .await;
    foreign.unwrap();
    // Every other call has a record of that sensor, at another position.
    let batches = (0..8).map(|task| {
        let mut records: Vec<Numbered> = batch(task, 0, SENSORS);
        let bad = records.remove(3);
        if task % 2 == 0 {
            let place = usize::try_from(task).unwrap() * 9;
            records.insert(place, bad);
        }
        records
    });
    let reports = all_at_once(&buckets, batches.collect()).await;
    for (task, report) in reports.iter().enumerate() {
        let failed: Vec<usize> = report.failed().iter().map(|failed| failed.index).collect();
        let expected = if task % 2 == 0 {
            vec![task * 9]
        } else {
            vec![]
        };
        assert_eq!(failed, expected, "task {task}: {:?}", report.failed());
        assert_eq!(report.stored(), 79, "task {task}");
        assert!(report.stopped_by().is_none());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_waiting_call_is_not_stored_and_blocks_nobody() {
    let database = database().await;
    let buckets = Counted::buckets(&database);
    buckets.ensure().await.unwrap();
    let first: Vec<Counted> = batch(0, 0, SENSORS);
    let dropped: Vec<Counted> = batch(1, 0, SENSORS);
    let last: Vec<Counted> = batch(2, 0, SENSORS);
    let mut goes = buckets.insert_many(&first).into_future();
    // It is in flight and not polled any more.
    assert!((&mut goes).now_or_never().is_none());
    tokio::task::yield_now().await;
    let mut waits = buckets.insert_many(&dropped).into_future();
    assert!((&mut waits).now_or_never().is_none());
    assert!((&mut waits).now_or_never().is_none());
    drop(waits);
    let report = timeout(Duration::from_secs(60), buckets.insert_many(&last));
    assert_eq!(report.await.unwrap().unwrap().stored(), 80);
    assert_eq!(goes.await.unwrap().stored(), 80);
    let tasks: BTreeMap<i64, usize> = stored(&documents(&database, "readings").await)
        .into_iter()
        .fold(BTreeMap::new(), |mut tasks, ((task, _), numbers)| {
            *tasks.entry(task).or_default() += numbers.len();
            tasks
        });
    assert_eq!(tasks, BTreeMap::from([(0, 80), (2, 80)]));
}

/// A handle can be used by several runtimes; a runtime that is shut down ends its own calls.
#[tokio::test(flavor = "multi_thread")]
async fn a_runtime_that_is_shut_down_blocks_nobody_in_another_one() {
    let database: TestDatabase = database().await;
    let buckets = Windowed::buckets(&database);
    buckets.ensure().await.unwrap();
    let others = buckets.clone();
    let other = thread::spawn(move || {
        let runtime = Runtime::new().unwrap();
        for task in 10..16 {
            let buckets = others.clone();
            runtime.spawn(async move {
                for number in 0.. {
                    let records: Vec<Windowed> = batch(task, number * SENSORS, SENSORS);
                    let _ = buckets.insert_many(&records).await;
                }
            });
        }
        thread::sleep(Duration::from_millis(300));
        runtime.shutdown_background();
    });
    let calls = (0..4).map(|task| {
        let buckets = buckets.clone();
        tokio::spawn(async move {
            let mut sure = 0;
            for number in 0..30 {
                let records: Vec<Windowed> = batch(task, number * SENSORS, SENSORS);
                let report = buckets.insert_many(&records).await.unwrap();
                sure += report.stored();
                for failed in report.failed() {
                    assert!(failed.error.is_outcome_unknown(), "{}", failed.error);
                }
            }
            sure
        })
    });
    let calls = timeout(Duration::from_secs(120), join_all(calls))
        .await
        .unwrap();
    let sure: usize = calls.into_iter().map(Result::unwrap).sum();
    other.join().unwrap();
    let mut own = 0;
    for ((task, sensor), numbers) in stored(&documents(&database, "readings").await) {
        let number = numbers.len();
        let mut numbers = sorted(numbers);
        numbers.dedup();
        assert_eq!(
            numbers.len(),
            number,
            "task {task}, sensor {sensor}: stored twice"
        );
        own += if task < 10 { number } else { 0 };
    }
    assert!(own >= sure, "{own} stored, {sure} acknowledged");
}

/// A handle can be used by several runtimes, some of which are not driven for a while: they block
/// nobody in another one.
#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_runtime_blocks_nobody_in_another_one() {
    const STILL: Duration = Duration::from_secs(9);
    let database = database().await;
    let buckets = Windowed::buckets(&database).with_deadline(Duration::from_secs(1));
    buckets.ensure().await.unwrap();
    let still: Vec<_> = (0..12)
        .map(|task| {
            let buckets = buckets.clone();
            thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .unwrap();
                for number in 0..2 {
                    let records: Vec<Windowed> = batch(task, number * SENSORS, SENSORS);
                    runtime.block_on(async {
                        buckets.load(&records).await;
                        // It stops in the middle of its work for others.
                        let shortly = u64::try_from(2 + task * 4).unwrap();
                        tokio::time::sleep(Duration::from_millis(shortly)).await;
                    });
                    thread::sleep(STILL);
                }
            })
        })
        .collect();
    let stop = Arc::new(AtomicBool::new(false));
    let calls = (20..28).map(|task| {
        let (buckets, stop) = (buckets.clone(), Arc::clone(&stop));
        tokio::spawn(async move {
            let mut longest = Duration::ZERO;
            for number in 0.. {
                let records: Vec<Windowed> = batch(task, number % 20 * SENSORS, SENSORS);
                let begun = Instant::now();
                let report = buckets.insert_many(&records).await.unwrap();
                longest = longest.max(begun.elapsed());
                assert_eq!(report.tried(), records.len());
                if stop.load(Ordering::Relaxed) {
                    break;
                }
            }
            longest
        })
    });
    let calls: Vec<_> = calls.collect();
    for still in still {
        let joined = tokio::task::spawn_blocking(move || still.join().unwrap());
        joined.await.unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    let calls = join_all(calls).await.into_iter();
    let longest = calls.map(Result::unwrap).max().unwrap();
    assert!(longest < STILL / 2, "a call took {longest:?}");
}

/// A record with a document nested so deeply that the server refuses any command with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "nested", items = "items", capacity = 10)]
struct Nested {
    #[bucket(key)]
    sensor: i64,
    #[bucket(time)]
    at: DateTime,
    deep: Document,
}

impl Nested {
    fn of(sensor: i64, levels: usize) -> Self {
        let deep = (0..levels).fold(doc! {}, |inner, _| doc! { "d": inner });
        let at = DateTime::from_millis(1_700_000_000_000);
        Self { sensor, at, deep }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_record_for_which_the_server_refuses_a_shared_command_fails() {
    let database = database().await;
    let buckets = Nested::buckets(&database);
    buckets.ensure().await.unwrap();
    let batches: Vec<Vec<Nested>> = (0..40)
        .map(|call| {
            let levels = if call == 17 { 195 } else { 1 };
            (0..SENSORS)
                .map(|it| Nested::of(it, if it == 5 { levels } else { 1 }))
                .collect()
        })
        .collect();
    let calls = batches.into_iter().map(|records| {
        let buckets = buckets.clone();
        tokio::spawn(async move { buckets.insert_many(&records).await.unwrap() })
    });
    for (call, report) in join_all(calls).await.into_iter().enumerate() {
        let report = report.unwrap();
        let failed: Vec<usize> = report.failed().iter().map(|failed| failed.index).collect();
        let expected = if call == 17 { vec![5] } else { vec![] };
        assert_eq!(failed, expected, "call {call}: {:?}", report.failed());
        assert!(
            report
                .failed()
                .iter()
                .all(|it| !it.error.is_outcome_unknown())
        );
        assert!(report.stopped_by().is_none());
    }
}

/// It waited in its group, and nobody waits for it any more.
#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_call_takes_no_time_from_a_later_one() {
    const DEADLINE: Duration = Duration::from_secs(2);
    let database = database().await;
    let readings = Windowed::buckets(&database).with_deadline(DEADLINE);
    readings.ensure().await.unwrap();
    let of = |task: i64| -> Vec<Windowed> { (0..SENSORS).map(|n| Windowed::of(task, n)).collect() };
    let (first, dropped, last) = (of(0), of(1), of(2));
    let mut goes = readings.insert_many(&first).into_future();
    assert!((&mut goes).now_or_never().is_none());
    let mut waits = readings.insert_many(&dropped).into_future();
    assert!((&mut waits).now_or_never().is_none());
    assert!((&mut waits).now_or_never().is_none());
    drop(waits);
    let all = first.len();
    assert_eq!(goes.await.unwrap().stored(), all);
    tokio::time::sleep(DEADLINE + Duration::from_secs(1)).await;
    let report = readings.insert_many(&last).await.unwrap();
    assert_eq!(report.stored(), all, "{:?}", report.failed().first());
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "readings", items = "items", capacity = 10)]
struct Delivered {
    #[bucket(key)]
    sensor: i64,
    #[bucket(time)]
    at: DateTime,
    #[bucket(unique)]
    number: i64,
}

/// Two calls of a group deliver the same record, and the first of them is dropped while the group
/// reads.
#[tokio::test(flavor = "multi_thread")]
async fn a_record_is_stored_though_another_call_with_it_was_dropped() {
    let server = DevServer::builder().own();
    let server = server.arguments(["--setParameter", "enableTestCommands=1"]);
    let server = server.await.unwrap();
    let database = server.database("groups").await.unwrap();
    let buckets = Delivered::buckets(&database);
    buckets.ensure().await.unwrap();
    let of = |sensor: i64| Delivered {
        sensor,
        at: DateTime::from_millis(1_700_000_000_000),
        number: sensor,
    };
    // The handle has met more keys that another one had written to than new ones, so it looks.
    let known = |number: i64| {
        let known = (1_000..1_000 + 4 * SENSORS).map(of);
        known.map(move |of| Delivered { number, ..of })
    };
    let other = Delivered::buckets(&database);
    for (handle, number) in [(&other, -1), (&buckets, -2)] {
        let report = handle.insert_many(known(number)).await.unwrap();
        report.into_result().unwrap();
    }
    let first: Vec<Delivered> = (0..SENSORS).map(of).collect();
    let again = [of(SENSORS)];
    let mut goes = buckets.insert_many(&first).into_future();
    assert!((&mut goes).now_or_never().is_none());
    let mut dropped = buckets.insert_many(&again).into_future();
    assert!((&mut dropped).now_or_never().is_none());
    let mut last = buckets.insert_many(&again).into_future();
    assert!((&mut last).now_or_never().is_none());
    assert_eq!(goes.await.unwrap().stored(), first.len());

    let admin = server.client().await.unwrap().database("admin");
    let slow = doc! { "failCommands": ["find"], "blockConnection": true, "blockTimeMS": 1_500 };
    let fail =
        |mode: Bson| doc! { "configureFailPoint": "failCommand", "mode": mode, "data": &slow };
    let blocks = fail(Bson::String("alwaysOn".to_owned()));
    admin.run_command(blocks).await.unwrap();
    let leave = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        drop(dropped);
        let ends = fail(Bson::String("off".to_owned()));
        admin.run_command(ends).await.unwrap();
    };
    let (report, ()) = tokio::join!(last, leave);
    let report = report.unwrap();
    // By the other call, if that was quick.
    assert!(report.is_stored(0), "{report:?}");
}

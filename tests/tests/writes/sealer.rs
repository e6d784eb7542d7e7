//! A sealer seals what becomes due, disturbs nobody, and can be ended at any moment.

use std::{
    collections::BTreeSet,
    env,
    fmt::Debug,
    process::{Child, Command, Stdio},
    time::Duration,
};

use bucket_mongo::{
    Bucketed, Buckets, ErrorKind, Limits, Sealer,
    bson::{Bson, DateTime, Document},
    mongodb::{Client, options::WriteConcern},
    testing::TestDatabase,
};
use bucket_tests::{database, documents, profiled, server};
use futures_util::{FutureExt, TryStreamExt};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};

/// Longer than any test needs.
const PATIENCE: Duration = Duration::from_secs(120);

trait Event: Bucketed + Debug + Send + Sync + Unpin {
    fn of(device: &str, number: i64) -> Self;
    fn number(&self) -> i64;
    fn key_of(device: &str) -> Self::Key;
}

macro_rules! models {
    ($($module:ident [$($attributes:tt)*];)*) => {$(
        mod $module {
            use super::*;

            #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
            #[bucket(collection = "events", items = "items", seal_after = "1h", $($attributes)*)]
            pub(super) struct Record {
                #[bucket(key)]
                device: String,
                #[bucket(time)]
                at: DateTime,
                #[bucket(sum, min, max)]
                number: i64,
            }

            impl Event for Record {
                fn of(device: &str, number: i64) -> Self {
                    let device = device.to_owned();
                    Self { device, at: date(number), number }
                }

                fn number(&self) -> i64 {
                    self.number
                }

                fn key_of(device: &str) -> Self::Key {
                    device.to_owned().into()
                }
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn several_seal_each_bucket_once_and_go_on_with_what_becomes_due() {
                super::several_seal_each_bucket_once_and_go_on_with_what_becomes_due::<Record>().await;
            }

            /// The process that is killed; run as a test, it does nothing.
            #[tokio::test(flavor = "multi_thread")]
            async fn in_a_process_of_its_own() {
                super::in_a_process_of_its_own::<Record>().await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn killed_ones_leave_each_bucket_sealed_or_as_it_was() {
                super::killed_ones_leave_each_bucket_sealed_or_as_it_was::<Record>(
                    concat!(module_path!(), "::in_a_process_of_its_own"),
                )
                .await;
            }
        }
    )*};
}

models! {
    counted [capacity = 20];
    windows [window = "100s"];
    hybrid [capacity = 20, max_duration = "3m"];
    numbered [capacity = 20, numbered];
}

const START: i64 = 1_698_335_200_000;

fn date(number: i64) -> DateTime {
    DateTime::from_millis(START + number * 5_000)
}

fn is_packed(bucket: &Document) -> bool {
    matches!(bucket.get("items"), Some(Bson::Binary(_)))
}

/// The numbers of buckets that are sealed, and of those that are not.
async fn sealed(database: &TestDatabase) -> [usize; 2] {
    let all = documents(database, "events").await;
    let sealed = all.iter().filter(|bucket| is_packed(bucket)).count();
    [sealed, all.len() - sealed]
}

async fn until<F: Future<Output = bool>>(what: &str, is_met: impl Fn() -> F) {
    let begun = Instant::now();
    while !is_met().await {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        sleep(Duration::from_millis(20)).await;
    }
}

async fn numbers<T: Event>(events: &Buckets<T>, device: &str) -> Vec<i64> {
    let records = events.records(T::key_of(device)).stream();
    let mut numbers: Vec<i64> = records
        .map_ok(|it| it.number())
        .try_collect()
        .await
        .unwrap();
    numbers.sort_unstable();
    numbers
}

fn start<T: Event>(events: &Buckets<T>) -> Sealer {
    let sealer = events.sealer().every(Duration::from_secs(1));
    sealer.pause(Duration::ZERO).start().unwrap()
}

async fn several_seal_each_bucket_once_and_go_on_with_what_becomes_due<T: Event>() {
    let database = database().await;
    let events = T::buckets(&database);
    events.ensure().await.unwrap();
    let insert = async |from: i64, to: i64| {
        let records = (from..to).map(|number| T::of("a", number));
        let report = events.insert_many(records).await.unwrap();
        report.into_result().unwrap();
    };
    insert(0, 6_000).await;
    // What may be open does not count.
    let are_sealed = async || sealed(&database).await[1] <= 1;
    let sealers = [start(&events), start(&events), start(&events)];
    until("the buckets are sealed", are_sealed).await;
    insert(6_000, 6_400).await;
    insert(6_400, 6_401).await;
    // What comes late into an old window waits for a sealer that begins, or for the next day.
    let late = T::SPEC.span_index_name().map(|_| start(&events));
    until("later ones are sealed as well", are_sealed).await;
    let mut counted = 0;
    for sealer in sealers.into_iter().chain(late) {
        let report = sealer.stop().await;
        assert!(report.last_error.is_none(), "{report}");
        assert_eq!((report.failed_rounds, report.sealed.damaged), (0, 0));
        counted += usize::try_from(report.sealed.buckets).unwrap();
    }
    assert_eq!(counted, sealed(&database).await[0]);
    assert!(counted >= 6_400 / 20 - 1, "{counted}");
    assert!(numbers(&events, "a").await.into_iter().eq(0..6_401));
    let report = events.verify().await.unwrap();
    assert!(report.is_clean(), "{report}");
    // Nothing is sealed any more.
    insert(6_401, 7_000).await;
    sleep(Duration::from_millis(1_500)).await;
    assert_eq!(sealed(&database).await[0], counted);
}

const URI: &str = "BUCKET_TEST_SEALER_URI";
const DATABASE: &str = "BUCKET_TEST_SEALER_DATABASE";

async fn in_a_process_of_its_own<T: Event>() {
    let (Ok(uri), Ok(name)) = (env::var(URI), env::var(DATABASE)) else {
        return;
    };
    let client = Client::with_uri_str(uri).await.unwrap();
    let events = T::buckets(&client.database(&name));
    let _sealer = start(&events);
    loop {
        events.unseal().await.unwrap();
        events.seal().after(Duration::ZERO).await.unwrap();
    }
}

async fn killed_ones_leave_each_bucket_sealed_or_as_it_was<T: Event>(process: &str) {
    let database = database().await;
    let events = T::buckets(&database);
    events.ensure().await.unwrap();
    let run = || -> Child {
        let mut run = Command::new(env::current_exe().unwrap());
        // Without the name of the binary.
        run.args(["--exact", process.split_once("::").unwrap().1]);
        run.env(URI, server().now_or_never().unwrap().uri());
        run.env(DATABASE, database.name());
        run.stdout(Stdio::null()).stderr(Stdio::null());
        run.spawn().unwrap()
    };
    let mut expected = BTreeSet::new();
    let mut seen_sealed = 0;
    for round in 0..6 {
        let mut processes = [run(), run()];
        let begin = round * 500;
        for from in (begin..begin + 500).step_by(50) {
            let records = (from..from + 50).map(|number| T::of("a", number));
            let report = events.insert_many(records).await.unwrap();
            report.into_result().unwrap();
            expected.extend(from..from + 50);
            assert!(
                numbers(&events, "a")
                    .await
                    .into_iter()
                    .eq(expected.iter().copied())
            );
        }
        until("a bucket is sealed", async || {
            sealed(&database).await[0] > 0
        })
        .await;
        // `SIGKILL` on Unix.
        for process in &mut processes {
            assert!(process.try_wait().unwrap().is_none(), "it ended by itself");
            process.kill().unwrap();
            process.wait().unwrap();
        }
        seen_sealed += sealed(&database).await[0];
        assert!(
            numbers(&events, "a")
                .await
                .into_iter()
                .eq(expected.iter().copied())
        );
        let report = events.verify().await.unwrap();
        assert!(report.is_clean(), "{report}");
    }
    assert!(
        seen_sealed > 0,
        "every process was killed before it had sealed a bucket"
    );
}

use windows::Record as Reading;

async fn filled(database: &TestDatabase, devices: i64) -> Buckets<Reading> {
    let events = Reading::buckets(database);
    events.ensure().await.unwrap();
    for device in 0..devices {
        let records = (0..2_000).map(|number| Reading::of(&device.to_string(), number));
        let report = events.insert_many(records).await.unwrap();
        report.into_result().unwrap();
    }
    events
}

#[tokio::test(flavor = "multi_thread")]
async fn windows_that_end_while_it_runs_are_sealed() {
    #[derive(Debug, Serialize, Deserialize, Bucketed)]
    #[bucket(
        collection = "events",
        items = "items",
        window = "1s",
        seal_after = "2s"
    )]
    struct Beat {
        #[bucket(key)]
        device: String,
        #[bucket(time)]
        at: DateTime,
        number: i64,
    }
    let database = database().await;
    let events = Beat::buckets(&database);
    events.ensure().await.unwrap();
    let sealer = events
        .sealer()
        .every(Duration::from_secs(1))
        .start()
        .unwrap();
    until("a whole round has ended", async || {
        sealer.report().rounds > 0
    })
    .await;
    let mut number = 0;
    while sealed(&database).await[0] < 5 {
        let beats = (number..number + 20).map(|number| {
            let (device, at) = ("a".to_owned(), DateTime::now());
            Beat { device, at, number }
        });
        number += 20;
        let report = events.insert_many(beats).await.unwrap();
        report.into_result().unwrap();
        assert!(number < 100_000, "{sealer}");
    }
    sealer.stop().await;
    let records = events.records("a").stream();
    let found: Vec<i64> = records.map_ok(|it| it.number).try_collect().await.unwrap();
    assert!(found.into_iter().eq(0..number));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rounds_after_the_first_examine_nothing_of_old_windows() {
    let database = database().await;
    let events = filled(&database, 5).await;
    let rounds = async |sealer: &Sealer, number: u64| {
        until("rounds end", async || sealer.report().rounds >= number).await;
    };
    let ((), profile) = profiled(&database, "events", async {
        let sealer = start(&events);
        rounds(&sealer, 3).await;
        sealer.stop().await;
    })
    .await;
    let reads: Vec<&Document> = profile
        .iter()
        .filter(|it| it.get_str("op").is_ok_and(|op| op == "query"))
        .collect();
    assert!(reads.len() >= 3, "{reads:?}");
    let examined = |read: &Document| {
        let number = |name| read.get(name).and_then(Bson::as_i32).unwrap();
        (number("keysExamined"), number("docsExamined"))
    };
    for read in &reads[1..] {
        let (keys, documents) = examined(read);
        assert_eq!((keys, documents), (0, 0), "{read}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_round_that_fails_is_reported_and_the_next_one_takes_its_work() {
    let database = database().await;
    let events = filled(&database, 1).await;
    let elsewhere = events.clone().with_deadline(Duration::from_millis(300));
    let impossible = WriteConcern::builder().w(Some(7.into())).build();
    let sealer = elsewhere.sealer().every(Duration::from_secs(1));
    let sealer = sealer.write_concern(impossible).start().unwrap();
    until("a round has failed", async || {
        sealer.report().failed_rounds > 0
    })
    .await;
    let report = sealer.stop().await;
    let error = report.last_error.clone().unwrap();
    assert!(error.to_string().contains("events"), "{error}");
    assert!(report.to_string().contains("failed"), "{report}");
    let sealer = start(&events);
    until("all is sealed", async || sealed(&database).await[1] <= 1).await;
    assert!(sealer.stop().await.last_error.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn code_of_the_caller_that_panics_ends_a_round_and_not_the_sealer() {
    let database = database().await;
    let events = filled(&database, 1).await;
    let panics = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let limits = panics.clone();
    let limited = Reading::buckets(&database).with_limits(move |_| {
        assert!(
            !limits.load(std::sync::atomic::Ordering::SeqCst),
            "of the caller"
        );
        Limits::new()
    });
    let sealer = start(&limited);
    until("a round has failed", async || {
        sealer.report().failed_rounds > 0
    })
    .await;
    panics.store(false, std::sync::atomic::Ordering::SeqCst);
    until("all is sealed", async || sealed(&database).await[1] <= 1).await;
    assert!(sealer.stop().await.failed_rounds > 0);
    assert_eq!(numbers(&events, "0").await.len(), 2_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_dropped_stops() {
    let database = database().await;
    let events = filled(&database, 1).await;
    drop(start(&events));
    // Also if nobody waits for its end.
    drop(start(&events).stop().now_or_never());
    let count = sealed(&database).await;
    sleep(Duration::from_millis(1_500)).await;
    assert_eq!(sealed(&database).await, count);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_it_cannot_do_is_said_at_its_start() {
    #[derive(Debug, Serialize, Deserialize, Bucketed)]
    #[bucket(collection = "rows", items = "items", capacity = 10)]
    struct Row {
        #[bucket(key)]
        device: String,
        #[bucket(time)]
        at: DateTime,
    }
    let database = database().await;
    let refused = Row::buckets(&database).sealer().start();
    let ErrorKind::InvalidArgument { message, .. } = refused.unwrap_err().kind().clone() else {
        panic!("another kind")
    };
    assert!(message.contains("seal_after"), "{message}");
    let events = Reading::buckets(&database);
    let refused = events.sealer().every(Duration::from_millis(999)).start();
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .contains("`every` must be at least a second")
    );
    // Without a runtime.
    let refused = std::thread::spawn(move || events.sealer().start().map(drop));
    let refused = refused.join().unwrap().unwrap_err();
    assert!(
        matches!(refused.kind(), ErrorKind::InvalidArgument { .. }),
        "{refused}"
    );
    assert_eq!(database.list_collection_names().await.unwrap().len(), 0);
}

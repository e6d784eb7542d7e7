//! Appends, late records, corrections, moves, replacements and removals of several writers to the same buckets: calm,
//! through damaged messages, short deadlines and step-downs, and with members and clients that are killed. Every answer
//! is true, and `verify` finds nothing.

mod audit;
mod eraser;
mod models;
mod writer;

use std::{
    collections::BTreeMap,
    env,
    io::{BufRead, BufReader, Write},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use bucket_mongo::{
    Bucketed,
    mongodb::{Client, Database, options::ClientOptions},
    testing::DevServer,
};
use bucket_tests::{
    database,
    faults::{Seed, duration, plan::Plan, proxy::Proxy, random::Random, replica_set},
};
use futures_util::{TryStreamExt, future::join_all};
use tokio::{task::spawn_blocking, time};

use self::{
    audit::{Replayed, check, stored},
    models::{
        Counted, CountedWithAttributes, Held, Numbered, NumberedHeld, NumberedObjects, Payment,
        Possible, Side, State, Strict, Timed, TimedHeld, Versioned, VersionedNumbers,
        VersionedSide, VersionedWindow, Windowed, WindowedHeld, WindowedObjects,
    },
    writer::{PATIENT, Writer},
};

/// This percentage of the writes is damaged.
const PERCENT: u64 = 6;
const WRITERS: u64 = 8;
const STEP_DOWNS: u32 = 1;
/// Shorter than a retry takes: outcomes stay unknown, and tries arrive late.
const HASTY: Duration = Duration::from_millis(60);
/// An open outcome is settled by then.
const SETTLED: Duration = Duration::from_secs(1);
/// A transaction that nobody ends does not hold up the others for longer.
const TRANSACTIONS: [&str; 2] = ["--setParameter", "transactionLifetimeLimitSeconds=2"];
const LONGEST_TRANSACTION: Duration = Duration::from_secs(4);
/// What is far longer than anything takes is a hang.
const HANGS: Duration = Duration::from_secs(120);

type Book = BTreeMap<i64, Possible>;

/// Lets writers of one form loose; returns what the answers say.
async fn writers<T: Payment>(
    databases: Vec<(Database, Duration)>,
    seed: u64,
    stop: &Arc<AtomicBool>,
) -> Book {
    let mut writers = Vec::new();
    for (number, (database, patience)) in (0..).zip(databases) {
        let buckets = T::buckets(&database).with_deadline(patience);
        let writer = Writer::<T>::new(buckets, number, seed);
        writers.push(tokio::spawn(writer.run(Arc::clone(stop))));
    }
    let (mut book, mut open, mut done) = (Book::new(), 0, BTreeMap::new());
    for writer in join_all(writers).await {
        let writer = writer.unwrap();
        open += writer.open;
        for (what, number) in writer.done {
            *done.entry(what).or_insert(0) += number;
        }
        book.extend(writer.known);
        book.extend(writer.erased);
    }
    eprintln!("{:?}: {done:?}, {open} outcomes open", T::SPEC.form());
    book
}

/// Eight writers and one reader of the changes.
async fn calm<T: Payment>() {
    let seed = Seed::from_environment();
    let database = database().await;
    let buckets = T::buckets(&database);
    buckets.ensure().await.unwrap();
    let mut changes = buckets.watch().await.unwrap();
    let before = T::of(1, State::first(1));
    // Whatever comes before this one is in the watch.
    let after = State {
        // Nobody else's, so it is not late.
        account: 1_000,
        ..State::first(2)
    };
    let after = T::of(2, after);
    let watched = async {
        let mut replayed = Replayed::new();
        while !replayed.has(2) {
            replayed.add(changes.try_next().await.unwrap().unwrap());
        }
        replayed
    };
    let write = async {
        buckets.insert(&before).await.unwrap();
        let stop = Arc::new(AtomicBool::new(true));
        let databases = (0..WRITERS).map(|_| (Database::clone(&database), PATIENT));
        let mut book = writers::<T>(databases.collect(), seed.get(), &stop).await;
        buckets.insert(&after).await.unwrap();
        book.extend([(1, [Some(before.state())].into())]);
        book.extend([(2, [Some(after.state())].into())]);
        book
    };
    let both = async { tokio::join!(watched, write) };
    let (replayed, book) = time::timeout(HANGS, both)
        .await
        .expect("a watch that goes on");
    assert!(
        book.values().all(|possible| possible.len() == 1),
        "{book:?}"
    );
    check(&buckets, book).await;
    assert_eq!(
        replayed.records(),
        stored(&buckets).await,
        "the events of the watch"
    );
}

macro_rules! forms {
    ($($test:ident $name:ident,)*) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $test() {
            calm::<$name>().await;
        }
    )*};
}

forms! {
    eight_writers_of_counted_buckets Counted,
    eight_writers_of_buckets_with_attributes CountedWithAttributes,
    eight_writers_of_buckets_that_hold_attributes Held,
    eight_writers_of_windows Windowed,
    eight_writers_of_windows_with_attributes WindowedObjects,
    eight_writers_of_windows_that_hold_attributes WindowedHeld,
    eight_writers_of_hybrid_buckets Timed,
    eight_writers_of_hybrid_buckets_that_hold_attributes TimedHeld,
    eight_writers_of_hybrid_buckets_and_late_ones Side,
    eight_writers_of_hybrid_buckets_that_reject_late_records Strict,
    eight_writers_of_numbered_buckets Numbered,
    eight_writers_of_numbered_buckets_that_hold_attributes NumberedHeld,
    eight_writers_of_numbered_buckets_with_object_ids NumberedObjects,
    eight_writers_of_versions_in_counted_buckets Versioned,
    eight_writers_of_versions_in_windows VersionedWindow,
    eight_writers_of_versions_in_numbered_buckets VersionedNumbers,
    eight_writers_of_versions_in_hybrid_buckets VersionedSide,
}

/// Writers of one form through a proxy.
async fn storm<T: Payment>(server: &DevServer, proxy: &Proxy, seed: u64, stop: &Arc<AtomicBool>) {
    let calm = server.database("edits").await.unwrap();
    T::buckets(&calm).ensure().await.unwrap();
    let mut databases = Vec::new();
    for number in 0..WRITERS {
        let patience = if number % 3 == 0 { HASTY } else { PATIENT };
        databases.push((proxy.client().await.database(calm.name()), patience));
    }
    let book = writers::<T>(databases, seed, stop).await;
    time::sleep(SETTLED + LONGEST_TRANSACTION).await;
    let client = server.client().await.unwrap();
    check(&T::buckets(&client.database(calm.name())), book).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_and_appends_get_true_answers_under_damaged_messages_and_step_downs() {
    let seed = Seed::from_environment();
    let server = DevServer::builder().own().arguments(TRANSACTIONS);
    let server = server.await.unwrap();
    let proxy = Proxy::start(server.members()[0].address(), Plan::off()).await;
    let stop = Arc::new(AtomicBool::new(false));
    let disturbed = async {
        proxy.set_plan(Plan::drawn(seed.get(), PERCENT));
        for _ in 0..STEP_DOWNS {
            time::sleep(duration() / (STEP_DOWNS + 1)).await;
            server.step_down().await.unwrap();
        }
        time::sleep(duration() / (STEP_DOWNS + 1)).await;
        stop.store(true, Relaxed);
    };
    tokio::join!(
        disturbed,
        storm::<Counted>(&server, &proxy, seed.get(), &stop),
        storm::<Windowed>(&server, &proxy, seed.get(), &stop),
        storm::<Side>(&server, &proxy, seed.get(), &stop),
        storm::<Numbered>(&server, &proxy, seed.get(), &stop),
        storm::<VersionedWindow>(&server, &proxy, seed.get(), &stop),
    );
    assert!(!proxy.injected().is_empty(), "nothing was damaged");
    eprintln!("seed {}: {:?}", seed.get(), proxy.injected());
}

const URI: &str = "BUCKET_EDITS_URI";
const DATABASES: &str = "BUCKET_EDITS_DATABASES";
const NUMBER: &str = "BUCKET_EDITS_NUMBER";
/// The numbers of the writers in other processes begin here.
const OTHERS: u64 = 100;
/// The beginning of a line in which a process says what a record may be.
const LINE: &str = "book";

async fn client(uri: &str) -> Client {
    let mut options = ClientOptions::parse(uri).await.unwrap();
    options.connect_timeout = Some(Duration::from_secs(1));
    options.heartbeat_freq = Some(Duration::from_millis(500));
    Client::with_options(options).unwrap()
}

/// A writer that says what it is about to do before it does it.
async fn journalled<T: Payment>(client: &Client, name: &str, number: u64) {
    let form = name.to_owned();
    let journal = move |id: i64, possible: &Possible| {
        let states = possible.iter().map(|it| match it {
            Some(it) => format!("{},{},{}", it.account, it.slot, it.amount),
            None => "-".to_owned(),
        });
        let states: Vec<String> = states.collect();
        let line = format!("{LINE} {form} {id} {}\n", states.join(";"));
        // Not by `println`, which the test harness keeps back.
        std::io::stdout().write_all(line.as_bytes()).unwrap();
    };
    let buckets = T::buckets(&client.database(name)).with_deadline(PATIENT);
    let writer = Writer::<T>::new(buckets, number, number).with_journal(Box::new(journal));
    writer.run(Arc::new(AtomicBool::new(false))).await;
}

/// The process that is killed; run as a test, it does nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_service_in_a_process_of_its_own() {
    let Ok(uri) = env::var(URI) else {
        return;
    };
    let (names, number) = (env::var(DATABASES).unwrap(), env::var(NUMBER).unwrap());
    let (names, number) = (
        names.split(' ').collect::<Vec<_>>(),
        number.parse().unwrap(),
    );
    let client = client(&uri).await;
    tokio::join!(
        journalled::<Counted>(&client, names[0], number),
        journalled::<Windowed>(&client, names[1], number),
        journalled::<Side>(&client, names[2], number),
        journalled::<Numbered>(&client, names[3], number),
    );
}

fn start_service(set: &DevServer, names: &str, number: u64) -> Child {
    let mut service = Command::new(env::current_exe().unwrap());
    service.args(["--exact", "faults_edits::a_service_in_a_process_of_its_own"]);
    service.env(URI, set.uri()).env(DATABASES, names);
    service.env(NUMBER, number.to_string());
    let service = service.stdin(Stdio::null()).stderr(Stdio::null());
    service.stdout(Stdio::piped()).spawn().unwrap()
}

/// The form, the record, and what it may be; `None` for other lines, and for one that was broken off.
fn read_line(line: &str) -> Option<(String, i64, Possible)> {
    let mut words = line
        .strip_suffix('\n')?
        .split(' ')
        .skip_while(|it| *it != LINE);
    let (_, form, id, states) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let possible = states.split(';').map(|state| {
        let numbers: Vec<i64> = state.split(',').filter_map(|it| it.parse().ok()).collect();
        match numbers[..] {
            [account, slot, amount] => Some(State {
                account,
                slot,
                amount,
            }),
            _ => None,
        }
    });
    Some((form.to_owned(), id.parse().ok()?, possible.collect()))
}

/// Starts one process after the other and kills each; what the records of each form may be after that.
async fn killed(
    set: &DevServer,
    names: &str,
    seed: u64,
    stop: &AtomicBool,
) -> BTreeMap<String, Book> {
    let mut random = Random::new(seed, 99);
    let mut books: BTreeMap<String, Book> = BTreeMap::new();
    let mut number = OTHERS;
    while number < OTHERS + 2 || !stop.load(Relaxed) {
        let mut service = start_service(set, names, number);
        let mut lines = BufReader::new(service.stdout.take().unwrap());
        let (first, began) = tokio::sync::oneshot::channel();
        let reader = spawn_blocking(move || {
            let (mut read, mut first) = (Vec::new(), Some(first));
            loop {
                let mut line = String::new();
                if lines.read_line(&mut line).unwrap() == 0 {
                    return read;
                }
                if let Some(entry) = read_line(&line) {
                    read.push(entry);
                    if let Some(first) = first.take() {
                        first.send(()).unwrap();
                    }
                }
            }
        });
        time::timeout(HANGS, began).await.unwrap().unwrap();
        time::sleep(Duration::from_millis(200 + random.below(1_500))).await;
        // As `kill -9` does.
        service.kill().unwrap();
        service.wait().unwrap();
        for (form, id, possible) in reader.await.unwrap() {
            books.entry(form).or_default().insert(id, possible);
        }
        number += 1;
    }
    eprintln!("{} processes were killed", number - OTHERS);
    books
}

async fn own_writers<T: Payment>(
    set: &DevServer,
    name: &str,
    seed: u64,
    stop: &Arc<AtomicBool>,
) -> Book {
    let mut databases = Vec::new();
    for _ in 0..WRITERS / 2 {
        databases.push((client(set.uri()).await.database(name), PATIENT));
    }
    writers::<T>(databases, seed, stop).await
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_get_true_answers_while_members_and_clients_are_killed() {
    let seed = Seed::from_environment();
    let set = DevServer::builder()
        .own()
        .members(3)
        .arguments(TRANSACTIONS);
    let set = set.await.unwrap();
    let mut names = Vec::new();
    for _ in 0..4 {
        names.push(set.database("edits").await.unwrap().name().to_owned());
    }
    let calm = client(set.uri()).await;
    let of = |number: usize| calm.database(&names[number]);
    Counted::buckets(&of(0)).ensure().await.unwrap();
    Windowed::buckets(&of(1)).ensure().await.unwrap();
    Side::buckets(&of(2)).ensure().await.unwrap();
    Numbered::buckets(&of(3)).ensure().await.unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let disturbed = async {
        let disturbed = replica_set::disturb(&set, seed.get(), duration()).await;
        stop.store(true, Relaxed);
        disturbed
    };
    let joined = names.join(" ");
    let (disturbed, mut books, counted, windowed, side, numbered) = tokio::join!(
        disturbed,
        killed(&set, &joined, seed.get(), &stop),
        own_writers::<Counted>(&set, &names[0], seed.get(), &stop),
        own_writers::<Windowed>(&set, &names[1], seed.get(), &stop),
        own_writers::<Side>(&set, &names[2], seed.get(), &stop),
        own_writers::<Numbered>(&set, &names[3], seed.get(), &stop),
    );
    eprintln!("seed {}: {disturbed:?}", seed.get());
    time::sleep(SETTLED + LONGEST_TRANSACTION).await;
    let mut with = |number: usize, own: Book| {
        let killed = books.remove(&names[number]).unwrap_or_default();
        assert!(!killed.is_empty(), "no process has written");
        own.into_iter().chain(killed).collect::<Book>()
    };
    check(&Counted::buckets(&of(0)), with(0, counted)).await;
    check(&Windowed::buckets(&of(1)), with(1, windowed)).await;
    check(&Side::buckets(&of(2)), with(2, side)).await;
    check(&Numbered::buckets(&of(3)), with(3, numbered)).await;
}

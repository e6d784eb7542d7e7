//! Watches of four forms against ledgers of all that was done: through lost primaries, and by a reader in a process of
//! its own that is killed again and again and goes on from the place that it has written down last.

mod models;
mod seen;
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
    Bucketed, Buckets, WatchToken,
    action::WatchStream,
    mongodb::{Client, options::ClientOptions},
    testing::DevServer,
};
use bucket_tests::faults::random::Random;
use futures_util::{TryStreamExt, future::join_all};
use tokio::{
    sync::oneshot,
    task::spawn_blocking,
    time::{sleep, timeout},
};

use self::{
    models::{ACCOUNTS, Counted, Entry, Numbered, Side, WindowedObjects},
    seen::{Replayed, Seen},
    writer::Writer,
};

const WRITERS: i64 = 3;
const FORMS: [&str; 4] = ["counted", "windowed", "side", "numbered"];

/// How many changes all writers make together, at least; `WATCH_CHANGES` sets another number.
fn changes() -> u64 {
    let set = env::var("WATCH_CHANGES").ok();
    set.map_or(MOST_WITH_PAUSES, |number| number.parse().unwrap())
}

/// Up to this number of changes the writers pause, so that the disturbances come in between.
const MOST_WITH_PAUSES: u64 = 600;

/// What is far longer than anything takes is a hang.
const HANGS: Duration = Duration::from_secs(180);

async fn client(uri: &str) -> Client {
    let mut options = ClientOptions::parse(uri).await.unwrap();
    options.connect_timeout = Some(Duration::from_secs(1));
    options.heartbeat_freq = Some(Duration::from_millis(500));
    Client::with_options(options).unwrap()
}

fn buckets<T: Bucketed>(client: &Client, form: &str) -> Buckets<T> {
    // A busy machine takes long to choose a primary.
    T::buckets(&client.database(form)).with_deadline(Duration::from_secs(300))
}

const URI: &str = "BUCKET_WATCH_URI";
const TOKENS: &str = "BUCKET_WATCH_TOKENS";
/// The beginning of a line of the reader.
const LINE: &str = "seen";

/// Writes each event of a form down, with the place after it.
async fn write_down<T: Entry>(client: &Client, form: usize, token: &str) {
    let mut stream = buckets::<T>(client, FORMS[form])
        .watch()
        .after(token)
        .await
        .unwrap();
    while let Some(event) = stream.try_next().await.unwrap() {
        let (seen, token) = (Seen::of(&event), event.token().unwrap());
        let line = format!("{LINE} {form} {token} {seen}\n");
        // Not by `println`, which the test harness keeps back.
        std::io::stdout().write_all(line.as_bytes()).unwrap();
    }
}

/// The process that is killed; run as a test, it does nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_reader_in_a_process_of_its_own() {
    let (Ok(uri), Ok(tokens)) = (env::var(URI), env::var(TOKENS)) else {
        return;
    };
    let tokens: Vec<&str> = tokens.split(' ').collect();
    let client = client(&uri).await;
    tokio::join!(
        write_down::<Counted>(&client, 0, tokens[0]),
        write_down::<WindowedObjects>(&client, 1, tokens[1]),
        write_down::<Side>(&client, 2, tokens[2]),
        write_down::<Numbered>(&client, 3, tokens[3]),
    );
}

fn start_reader(uri: &str, tokens: &[WatchToken]) -> Child {
    let mut reader = Command::new(env::current_exe().unwrap());
    reader.args(["--exact", "watch_ledger::a_reader_in_a_process_of_its_own"]);
    let tokens: Vec<&str> = tokens.iter().map(WatchToken::as_str).collect();
    reader.env(URI, uri).env(TOKENS, tokens.join(" "));
    let reader = reader.stdin(Stdio::null()).stdout(Stdio::piped());
    reader.spawn().unwrap()
}

/// The form, the event, and the place after it; `None` for other lines, and for one that was broken off.
fn read_line(line: &str) -> Option<(usize, WatchToken, Seen)> {
    let mut words = line
        .strip_suffix('\n')?
        .split(' ')
        .skip_while(|word| *word != LINE);
    let (_, form, token) = (words.next()?, words.next()?, words.next()?);
    Some((form.parse().ok()?, token.into(), Seen::read(words)?))
}

/// Starts one reader after the other and kills each. What all of them have written down, by form.
async fn killed_readers(uri: &str, mut tokens: Vec<WatchToken>) -> Vec<Vec<Seen>> {
    let mut random = Random::new(3, 1);
    let mut all = vec![Vec::new(); FORMS.len()];
    let mut number = 0;
    let is_over = |all: &[Vec<Seen>]| {
        let ends = |of: &Vec<Seen>| of.iter().filter(|seen| seen.is_end()).count();
        all.iter().all(|of| i64::try_from(ends(of)) == Ok(WRITERS))
    };
    while !is_over(&all) {
        let mut reader = start_reader(uri, &tokens);
        let mut lines = BufReader::new(reader.stdout.take().unwrap());
        let (first, began) = oneshot::channel();
        let written = spawn_blocking(move || {
            let (mut written, mut first) = (Vec::new(), Some(first));
            let mut line = String::new();
            while lines.read_line(&mut line).unwrap() > 0 {
                if let Some(seen) = read_line(&line) {
                    written.push(seen);
                    if let Some(first) = first.take() {
                        first.send(()).unwrap();
                    }
                }
                line.clear();
            }
            written
        });
        timeout(HANGS, began)
            .await
            .expect("an event in time")
            .unwrap();
        sleep(Duration::from_millis(random.below(1_000))).await;
        // As `kill -9` does.
        reader.kill().unwrap();
        reader.wait().unwrap();
        let mut written = written.await.unwrap();
        // As if it had been killed a little earlier, in the middle of a bucket.
        let lost = random.below(written.len().min(40) as u64);
        written.truncate(written.len() - usize::try_from(lost).unwrap());
        for (form, token, seen) in written {
            tokens[form] = token;
            all[form].push(seen);
        }
        number += 1;
    }
    eprintln!("{number} readers were killed");
    all
}

/// One reader that goes on by itself.
async fn follow<T: Entry>(mut stream: WatchStream<T>) -> Vec<Seen> {
    let (mut all, mut ends) = (Vec::new(), 0);
    while ends < WRITERS {
        let next = timeout(HANGS, stream.try_next());
        let event = next.await.expect("an event in time").unwrap().unwrap();
        let seen = Seen::of(&event);
        ends += i64::from(seen.is_end());
        all.push(seen);
    }
    all
}

/// A form, with all that writes to it and follows it.
struct Run<T: Bucketed> {
    entries: Buckets<T>,
    stream: WatchStream<T>,
}

impl<T: Entry> Run<T> {
    async fn begin(client: &Client, form: usize) -> (Self, WatchToken) {
        let entries = buckets::<T>(client, FORMS[form]);
        entries.ensure().await.unwrap();
        let stream = entries.watch().await.unwrap();
        let token = stream.token().unwrap();
        (Self { entries, stream }, token)
    }

    /// Compares what a reader that goes on by itself has seen with the ledgers.
    async fn follow(self) -> Vec<Seen> {
        let pause = if changes() <= MOST_WITH_PAUSES { 60 } else { 0 };
        let each = changes().div_ceil(FORMS.len() as u64 * WRITERS.unsigned_abs());
        let writers = (0..WRITERS).map(|number| {
            let writer = Writer::new(self.entries.clone(), number + 1);
            tokio::spawn(writer.run(each, Duration::from_millis(pause)))
        });
        let writers = join_all(writers.collect::<Vec<_>>());
        let (all, writers) = tokio::join!(follow(self.stream), writers);
        let mut replayed = Replayed::new(&all);
        for (number, writer) in (1..).zip(writers) {
            replayed.check(number, writer.unwrap().done);
        }
        let mut stored = BTreeMap::new();
        for account in 0..ACCOUNTS {
            let records = self.entries.records(account).collect().await.unwrap();
            stored.extend(records.iter().map(|record| (record.id(), record.state())));
        }
        assert_eq!(replayed.left, stored);
        all
    }
}

/// Takes the primary away again and again.
async fn disturb(set: &DevServer, stop: &AtomicBool) {
    while !stop.load(Relaxed) {
        set.step_down().await.unwrap();
        sleep(Duration::from_secs(2)).await;
        let primary = set.primary().await.unwrap();
        primary.kill().await.unwrap();
        sleep(Duration::from_millis(500)).await;
        primary.restart().await.unwrap();
        for _ in 0..100 {
            if stop.load(Relaxed) {
                return;
            }
            sleep(Duration::from_millis(80)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_change_of_each_form_is_seen_once_through_lost_primaries_and_killed_readers() {
    let set = DevServer::builder().own().members(3).await.unwrap();
    let client = client(set.uri()).await;
    let (counted, a) = Run::<Counted>::begin(&client, 0).await;
    let (windowed, b) = Run::<WindowedObjects>::begin(&client, 1).await;
    let (side, c) = Run::<Side>::begin(&client, 2).await;
    let (numbered, d) = Run::<Numbered>::begin(&client, 3).await;
    let stop = Arc::new(AtomicBool::new(false));
    let follows = async {
        let follows = tokio::join!(
            counted.follow(),
            windowed.follow(),
            side.follow(),
            numbered.follow()
        );
        stop.store(true, Relaxed);
        [follows.0, follows.1, follows.2, follows.3]
    };
    let tokens = vec![a, b, c, d];
    let readers = killed_readers(set.uri(), tokens);
    let ((), follows, killed) = tokio::join!(disturb(&set, &stop), follows, readers);
    for (form, (follows, killed)) in FORMS.iter().zip(follows.iter().zip(&killed)) {
        let number = follows.len().min(killed.len());
        for at in 0..number {
            assert_eq!(follows[at], killed[at], "event {at} of {form}");
        }
        assert_eq!(follows.len(), killed.len(), "{form}");
        eprintln!("{form}: {number} events");
    }
}

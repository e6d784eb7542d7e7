//! Watches through lost primaries: each change once, in order, and from a saved place on.

use std::{
    collections::BTreeMap,
    mem,
    sync::{Arc, Mutex},
    time::Duration,
};

use bucket_mongo::{
    Bucketed, Buckets, ErrorKind, RecordChange, WatchEvent, WatchToken, Which,
    action::WatchStream,
    bson::{Bson, DateTime, doc},
    mongodb::{Client, options::ClientOptions},
    testing::DevServer,
};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

use crate::common::draw::Draw;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "events", items = "items", capacity = 50, stats = "stats")]
struct Event {
    #[bucket(key)]
    writer: i32,
    #[bucket(time)]
    at: DateTime,
    #[bucket(unique)]
    id: i32,
    #[bucket(sum, avg = "avg")]
    value: i32,
}

const WRITERS: i32 = 3;

/// How many changes all writers make together, at least; `WATCH_CHANGES` sets another number.
fn changes() -> i32 {
    let set = std::env::var("WATCH_CHANGES").ok();
    set.map_or(MOST_WITH_PAUSES, |number| number.parse().unwrap())
}

/// Up to this number of changes the writers pause, so that the disturbances come in between.
const MOST_WITH_PAUSES: i32 = 450;

async fn buckets(uri: &str, database: &str) -> Buckets<Event> {
    let mut options = ClientOptions::parse(uri).await.unwrap();
    options.connect_timeout = Some(Duration::from_secs(1));
    options.heartbeat_freq = Some(Duration::from_millis(500));
    let client = Client::with_options(options).unwrap();
    // A busy machine takes long to choose a primary.
    Event::buckets(&client.database(database)).with_deadline(Duration::from_secs(300))
}

/// Stores records in their order, by one and in batches, and corrects every tenth of them.
async fn write(events: Buckets<Event>, writer: i32) {
    let event = |id: i32| Event {
        writer,
        at: DateTime::from_millis(i64::from(id)),
        id,
        value: id,
    };
    let mut id = 0;
    while id < changes() / WRITERS {
        let number = (id % 4) + 1;
        let batch: Vec<Event> = (id..id + number).map(event).collect();
        let stored = events.insert_many(&batch).await.unwrap();
        stored.into_result().unwrap();
        if id % 10 == 0 {
            let edit = |event: &mut Event| event.value = -1;
            events.update(writer, Which::id(&id), edit).await.unwrap();
        }
        id += number;
        if changes() <= MOST_WITH_PAUSES {
            tokio::time::sleep(Duration::from_millis(40)).await;
        }
    }
    events.insert(&event(i32::MAX)).await.unwrap();
}

/// What a watch has seen: the records of each writer in their order, and how many of them were corrected.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    stored: BTreeMap<i32, Vec<i32>>,
    updated: BTreeMap<i32, Vec<i32>>,
    ends: i32,
}

impl Seen {
    /// Takes the next event; returns the place after it.
    async fn next(&mut self, stream: &mut WatchStream<Event>) -> WatchToken {
        let next = tokio::time::timeout(Duration::from_secs(90), stream.try_next());
        let event = next.await.expect("an event in time").unwrap().unwrap();
        self.take(&event)
    }

    fn take(&mut self, event: &WatchEvent<Event>) -> WatchToken {
        match &event.change {
            RecordChange::Stored { record, .. } if record.id == i32::MAX => self.ends += 1,
            RecordChange::Stored { record, .. } => {
                self.stored
                    .entry(record.writer)
                    .or_default()
                    .push(record.id);
            }
            RecordChange::Updated { record, .. } => {
                self.updated
                    .entry(record.writer)
                    .or_default()
                    .push(record.id);
            }
            other => panic!("{other:?}"),
        }
        event.token().expect("a token")
    }
}

const DATABASE: &str = "watched";

/// Reads some events with a client of its own, and saves each with the place after it.
async fn read_some(uri: String, saved: Arc<Mutex<(Seen, WatchToken)>>, length: usize) {
    let own = buckets(&uri, DATABASE).await;
    let token = saved.lock().unwrap().1.clone();
    let mut stream = own.watch().after(&token).await.unwrap();
    for _ in 0..length {
        let next = tokio::time::timeout(Duration::from_secs(90), stream.try_next());
        let event = next.await.expect("an event in time").unwrap().unwrap();
        let mut saved = saved.lock().unwrap();
        let (seen, token) = &mut *saved;
        *token = seen.take(&event);
        if seen.ends == WRITERS {
            break;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_change_is_given_once_through_lost_primaries_and_restarts_of_the_reader() {
    let set = DevServer::builder().own().members(3).await.unwrap();
    let events = buckets(set.uri(), DATABASE).await;
    events.ensure().await.unwrap();
    let mut stream = events.watch().await.unwrap();
    let token = stream.token().unwrap();
    let writers = (0..WRITERS).map(|writer| tokio::spawn(write(events.clone(), writer)));
    let writers: Vec<_> = writers.collect();
    let disturbed = async {
        loop {
            set.step_down().await.unwrap();
            tokio::time::sleep(Duration::from_millis(500)).await;
            let primary = set.primary().await.unwrap();
            primary.kill().await.unwrap();
            tokio::time::sleep(Duration::from_millis(500)).await;
            primary.restart().await.unwrap();
            if writers.iter().all(tokio::task::JoinHandle::is_finished) {
                break;
            }
            tokio::time::sleep(Duration::from_secs(10)).await;
        }
    };
    // One reader goes on by itself; the other one begins again and again with a client of its own, and every second
    // time it is killed.
    let follows = async {
        let mut seen = Seen::default();
        while seen.ends < WRITERS {
            seen.next(&mut stream).await;
        }
        seen
    };
    let restarts = async {
        let saved = Arc::new(Mutex::new((Seen::default(), token)));
        let (mut draw, mut restarts) = (Draw::new(7), 0);
        let longest = usize::try_from(changes() / 10).unwrap() + 50;
        while saved.lock().unwrap().0.ends < WRITERS {
            let length = draw.draw(1..longest);
            let reader = read_some(set.uri().to_owned(), Arc::clone(&saved), length);
            let reader = tokio::spawn(reader);
            if restarts % 2 == 1 {
                let time = draw.draw(50..3_000_u64);
                tokio::time::sleep(Duration::from_millis(time)).await;
                reader.abort();
            }
            match reader.await {
                Err(error) if !error.is_cancelled() => panic!("{error}"),
                _ => restarts += 1,
            }
        }
        assert!(restarts > 0);
        mem::take(&mut saved.lock().unwrap().0)
    };
    let ((), follows, restarts) = tokio::join!(disturbed, follows, restarts);
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(follows, restarts);
    for writer in 0..WRITERS {
        let stored = events.records(writer).collect().await.unwrap();
        let ids: Vec<i32> = stored
            .iter()
            .map(|event| event.id)
            .filter(|id| *id != i32::MAX)
            .collect();
        assert_eq!(follows.stored[&writer], ids);
        let corrected = stored.iter().filter(|event| event.value == -1);
        let corrected: Vec<i32> = corrected.map(|event| event.id).collect();
        assert_eq!(follows.updated[&writer], corrected);
    }
}

/// Lets these commands fail with a code.
async fn fail(server: &DevServer, command: &str, code: i32, mode: impl Into<Bson>) {
    let data = doc! { "failCommands": [command], "errorCode": code };
    let point = doc! { "configureFailPoint": "failCommand", "mode": mode.into(), "data": data };
    let client = server.client().await.unwrap();
    client.database("admin").run_command(point).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forgotten_place_is_a_typed_error_and_a_lost_cursor_none() {
    let arguments = ["--setParameter", "enableTestCommands=1"];
    let server = DevServer::builder()
        .own()
        .arguments(arguments)
        .await
        .unwrap();
    let events = buckets(server.uri(), "watched").await;
    events.ensure().await.unwrap();
    let event = |id: i32| Event {
        writer: 1,
        at: DateTime::from_millis(i64::from(id)),
        id,
        value: id,
    };
    let mut stream = events.watch().await.unwrap();
    events.insert(&event(1)).await.unwrap();
    let mut seen = Seen::default();
    let token = seen.next(&mut stream).await;

    // An interrupted node, and a cursor that is gone: the driver resumes once, the watch goes on after that.
    for code in [11_600, 43, 189] {
        fail(&server, "getMore", code, doc! { "times": 3 }).await;
        fail(&server, "aggregate", code, doc! { "times": 2 }).await;
        let id = 2 + code;
        events.insert(&event(id)).await.unwrap();
        seen.next(&mut stream).await;
        assert_eq!(seen.stored[&1].last(), Some(&id), "{code}");
    }
    assert_eq!(seen.stored[&1].len(), 4);

    for code in [286, 280] {
        fail(&server, "aggregate", code, doc! { "times": 1 }).await;
        let error = events.watch().after(&token).await.unwrap_err();
        let ErrorKind::HistoryLost { since, .. } = error.kind() else {
            panic!("{error:?}");
        };
        let now = DateTime::now().timestamp_millis();
        assert!(
            (0..120_000).contains(&(now - since.timestamp_millis())),
            "{error}"
        );
        assert!(
            !error.is_retryable() && error.code() == Some(code),
            "{error:?}"
        );
        assert!(
            error.to_string().contains("read what was stored since"),
            "{error}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tail_reads_the_newest_records_once_through_errors() {
    let arguments = ["--setParameter", "enableTestCommands=1"];
    let server = DevServer::builder()
        .own()
        .arguments(arguments)
        .await
        .unwrap();
    let events = buckets(server.uri(), "tailed").await;
    events.ensure().await.unwrap();
    let event = |writer: i32, id: i32| Event {
        writer,
        at: DateTime::from_millis(i64::from(id)),
        id,
        value: id,
    };
    for writer in 0..40 {
        events.insert(&event(writer, writer)).await.unwrap();
    }
    // Every command fails now and then, more often than the driver sends it again.
    fail(
        &server,
        "find",
        11_600,
        doc! { "activationProbability": 0.4 },
    )
    .await;
    let mut tail = events.tail().queue(3).await.unwrap();
    let mut seen = Vec::new();
    for _ in 0..40 {
        let next = tokio::time::timeout(Duration::from_secs(90), tail.try_next());
        let next = next.await.expect("an event in time").unwrap().unwrap();
        match next.into_change().unwrap().change {
            RecordChange::Stored { record, .. } => seen.push(record.id),
            other => panic!("{other:?}"),
        }
    }
    seen.sort_unstable();
    assert_eq!(seen, (0..40).collect::<Vec<i32>>());
    fail(&server, "find", 11_600, "off").await;
    events.insert(&event(1, 99)).await.unwrap();
    let next = tokio::time::timeout(Duration::from_secs(90), tail.try_next());
    let next = next.await.expect("an event in time").unwrap().unwrap();
    let RecordChange::Stored { record, .. } = next.into_change().unwrap().change else {
        panic!("a stored record");
    };
    assert_eq!(record.id, 99);

    // The server has forgotten the moment.
    let code = doc! { "times": 1 };
    fail(&server, "find", 239, code).await;
    let mut tail = events.tail_key(1).await.unwrap();
    let error = tail.try_next().await.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::HistoryLost { .. }),
        "{error:?}"
    );
}

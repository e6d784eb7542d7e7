//! Every command of a write says how much of the call's time is left, so that the server ends it by itself: it holds
//! no connection and no task beyond the deadline.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use bucket_mongo::{
    Attributed, Bucketed, Buckets, Documents, Which,
    bson::{DateTime, Document, doc},
    mongodb::{
        Client, Database,
        event::{EventHandler, cmap::CmapEvent, command::CommandEvent},
        options::{ClientOptions, WriteConcern},
    },
    testing::DevServer,
};
use bucket_tests::{database, server};
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use tokio::{
    runtime::Handle,
    time::{Instant, sleep},
};

/// Longer than any of these calls takes on a busy machine. The default is half a minute.
const DEADLINE: Duration = Duration::from_secs(900);
/// The server may work a little longer than the deadline.
const GRACE: i64 = 100;
/// How long something that comes true may take: only what never does takes that long.
const PATIENCE: Duration = Duration::from_secs(300);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "events", items = "items", capacity = 3)]
struct Event {
    #[bucket(key)]
    source: i32,
    #[bucket(time)]
    at: DateTime,
    #[bucket(unique)]
    number: i64,
    value: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Attributed)]
#[bucket(collection = "bottles")]
struct Bottle {
    #[serde(rename = "_id")]
    id: i64,
    #[bucket(attribute(array = "specs", k = "volume", u = "ml"))]
    volume_ml: Option<i32>,
}

fn event(source: i32, number: i64) -> Event {
    Event {
        source,
        at: DateTime::from_millis(1_700_000_000_000 + number),
        number,
        value: number,
    }
}

fn bottle(id: i64) -> Bottle {
    Bottle {
        id,
        volume_ml: Some(330),
    }
}

/// What a client does.
#[derive(Default)]
struct Seen {
    commands: Mutex<Vec<Document>>,
    /// The connections that something uses.
    used: AtomicI64,
}

impl Seen {
    fn take(&self) -> Vec<Document> {
        std::mem::take(&mut *self.commands.lock().unwrap())
    }
}

/// What the driver sends by itself, or with an answer to something else.
const OTHERS: [&str; 4] = ["hello", "killCursors", "endSessions", "ping"];

async fn watched(uri: &str) -> (Client, Arc<Seen>) {
    let seen: Arc<Seen> = Arc::default();
    let mut options = ClientOptions::parse(uri).await.unwrap();
    options.app_name = Some("watched".to_owned());
    options.command_event_handler = Some(EventHandler::callback({
        let seen = Arc::clone(&seen);
        move |event| {
            if let CommandEvent::Started(started) = event
                && !OTHERS.contains(&started.command_name.as_str())
            {
                seen.commands.lock().unwrap().push(started.command);
            }
        }
    }));
    options.cmap_event_handler = Some(EventHandler::callback({
        let seen = Arc::clone(&seen);
        move |event| match event {
            CmapEvent::ConnectionCheckedOut(_) => drop(seen.used.fetch_add(1, Ordering::SeqCst)),
            CmapEvent::ConnectionCheckedIn(_) => drop(seen.used.fetch_sub(1, Ordering::SeqCst)),
            _ => {}
        }
    }));
    (Client::with_options(options).unwrap(), seen)
}

fn name(command: &Document) -> &str {
    command.keys().next().unwrap()
}

fn number(of: &Document, name: &str) -> Option<i64> {
    let number = of.get(name)?;
    number.as_i64().or(number.as_i32().map(i64::from))
}

/// The time that the server may work on a command.
fn limit(command: &Document) -> i64 {
    number(command, "maxTimeMS").unwrap_or_else(|| panic!("no limit: {command}"))
}

/// The time that the server may wait for other members; `None` for commands that do not write.
fn patience(command: &Document) -> Option<i64> {
    let concern = command.get_document("writeConcern").ok()?;
    Some(number(concern, "wtimeout").unwrap_or_else(|| panic!("no limit: {command}")))
}

/// Every write with these settings, each by its name, and the commands of each.
macro_rules! every_write {
    ($seen:expr, $events:expr, $bottles:expr, $($settings:tt)*) => {{
        let (events, bottles): (&Buckets<Event>, &Documents<Bottle>) = (&$events, &$bottles);
        let many = |from: i64| (from..from + 8).map(|number| event(1, number));
        let mut all: Vec<(&str, Vec<Document>)> = Vec::new();
        $seen.take();
        events.insert(&event(1, 0)) $($settings)* .await.unwrap();
        all.push(("insert", $seen.take()));
        events.insert(&event(1, 1)).replace() $($settings)* .await.unwrap();
        all.push(("replace", $seen.take()));
        events.insert_many(many(10)) $($settings)* .await.unwrap().into_result().unwrap();
        all.push(("insert_many", $seen.take()));
        let records = events.insert_many(many(20)).from_source("s", 0);
        records $($settings)* .await.unwrap().into_result().unwrap();
        all.push(("from_source", $seen.take()));
        let update = events.update(1, Which::id(&0_i64), |event| event.value = 7);
        update $($settings)* .await.unwrap().unwrap();
        all.push(("update", $seen.take()));
        events.delete(1, Which::id(&0_i64)) $($settings)* .await.unwrap();
        all.push(("delete", $seen.take()));
        let span = event(1, 10).at..event(1, 12).at;
        events.delete_range(1, span) $($settings)* .await.unwrap();
        all.push(("delete_range", $seen.take()));
        events.delete_where(1, EventItem::FIELDS.value.gte(26)) $($settings)* .await.unwrap();
        all.push(("delete_where", $seen.take()));
        events.delete_key(1) $($settings)* .await.unwrap();
        all.push(("delete_key", $seen.take()));
        bottles.insert(&bottle(1)) $($settings)* .await.unwrap();
        all.push(("document", $seen.take()));
        let documents = bottles.insert_many([bottle(2), bottle(3)]);
        documents $($settings)* .await.unwrap().into_result().unwrap();
        all.push(("documents", $seen.take()));
        all
    }};
}

/// A database that is set up, and the same one for a client that is watched.
async fn set_up(plain: &Database, watched: &Client) -> Database {
    Event::buckets(plain).ensure().await.unwrap();
    Bottle::documents(plain).ensure().await.unwrap();
    watched.database(plain.name())
}

fn is_write(command: &Document) -> bool {
    ["insert", "update", "delete"].contains(&name(command))
}

#[tokio::test]
async fn every_command_of_a_write_says_how_much_time_is_left() {
    let plain = database().await;
    let (client, seen) = watched(server().await.uri()).await;
    let database = set_up(&plain, &client).await;
    let (events, bottles) = (Event::buckets(&database), Bottle::documents(&database));
    let most = i64::try_from(DEADLINE.as_millis()).unwrap();
    for (what, commands) in every_write!(seen, events, bottles, .deadline(DEADLINE)) {
        assert!(commands.iter().any(is_write), "{what}: {commands:?}");
        let looks = ["listCollections", "listIndexes"];
        for command in commands.iter().filter(|it| !looks.contains(&name(it))) {
            let limit = limit(command);
            assert!((1..=most + GRACE).contains(&limit), "{what}: {command}");
            // Of this call's deadline, not of the default one.
            assert!(limit > most / 2, "{what}: {command}");
            let patience = patience(command);
            assert_eq!(patience.is_some(), is_write(command), "{what}: {command}");
            let is_left = |left: i64| (most / 2..=most).contains(&left);
            assert!(patience.is_none_or(is_left), "{what}: {command}");
        }
    }
}

#[tokio::test]
async fn a_wait_for_members_that_the_caller_has_set_is_kept() {
    let plain = database().await;
    let (client, seen) = watched(server().await.uri()).await;
    let database = set_up(&plain, &client).await;
    let (events, bottles) = (Event::buckets(&database), Bottle::documents(&database));
    let own = || {
        let concern = WriteConcern::builder().w(Some(1.into()));
        concern.w_timeout(Duration::from_millis(87_654)).build()
    };
    let ended = every_write!(seen, events, bottles, .deadline(DEADLINE).write_concern(own()));
    for (what, commands) in ended {
        let concerns = commands.iter().filter(|it| is_write(it)).map(patience);
        let concerns: Vec<_> = concerns.collect();
        assert!(!concerns.is_empty(), "{what}");
        assert!(
            concerns.iter().all(|it| *it == Some(87_654)),
            "{what}: {commands:?}"
        );
    }
}

/// What comes later in a call has less time.
#[tokio::test]
async fn the_time_that_a_read_before_a_write_takes_is_taken_off_its_limits() {
    const HELD: i64 = 700;
    let arguments = ["--setParameter", "enableTestCommands=1"];
    let server = DevServer::builder().own().arguments(arguments);
    let server = server.await.unwrap();
    let plain = server.database("limits").await.unwrap();
    let (client, seen) = watched(server.uri()).await;
    let database = set_up(&plain, &client).await;
    let events = Event::buckets(&database);
    let fail = doc! {
        "configureFailPoint": "failCommand",
        "mode": { "times": 1 },
        "data": {
            "failCommands": ["find", "aggregate"], "appName": "watched",
            "blockConnection": true, "blockTimeMS": HELD,
        },
    };
    let admin = plain.client().database("admin");
    admin.run_command(fail).await.unwrap();
    let records = (0..8).map(|number| event(1, number));
    let stored = events.insert_many(records).deadline(DEADLINE).await;
    stored.unwrap().into_result().unwrap();
    let commands = seen.take();
    let most = i64::try_from(DEADLINE.as_millis()).unwrap();
    let is_read = |command: &Document| ["find", "aggregate"].contains(&name(command));
    let read = commands.iter().position(is_read).unwrap();
    let writes: Vec<&Document> = commands[read..].iter().filter(|it| is_write(it)).collect();
    assert!(!writes.is_empty(), "{commands:?}");
    for command in writes {
        assert!(limit(command) <= most + GRACE - HELD, "{command}");
        assert!(patience(command).unwrap() <= most - HELD, "{command}");
    }
}

/// Waits until this holds.
async fn comes_true(what: &str, mut holds: impl FnMut() -> bool) {
    let since = Instant::now();
    while !holds() {
        assert!(since.elapsed() < PATIENCE, "{what} never comes true");
        sleep(Duration::from_millis(20)).await;
    }
}

/// Each waits for a member that is away.
#[tokio::test(flavor = "multi_thread")]
async fn after_the_deadline_a_write_holds_no_task_no_connection_and_no_operation_of_the_server() {
    const SHORT: Duration = Duration::from_millis(800);
    let set = DevServer::builder().own().members(3).await.unwrap();
    let plain = set.client().await.unwrap();
    let (client, seen) = watched(set.uri()).await;
    let database = set_up(&plain.database("away"), &client).await;
    let primary = set.primary().await.unwrap().address();
    let secondary = set.members().iter().find(|it| it.address() != primary);
    let free = Event::buckets(&database)
        .with_write_concern(WriteConcern::builder().w(Some(1.into())).build());
    // The driver's own tasks are running.
    let calls = (0..12).map(|source| {
        let free = free.clone();
        async move { free.insert(&event(source, 0)).await.unwrap() }
    });
    join_all(calls).await;
    comes_true("a free connection", || {
        seen.used.load(Ordering::SeqCst) == 0
    })
    .await;
    secondary.unwrap().kill().await.unwrap();
    let tasks = || Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    seen.take();
    let all = WriteConcern::builder().w(Some(3.into())).build();
    let buckets = Event::buckets(&database).with_write_concern(all);
    let calls = (0..12).map(|source| {
        let buckets = &buckets;
        async move { buckets.insert(&event(source, 1)).deadline(SHORT).await }
    });
    for told in join_all(calls).await {
        let error = told.unwrap_err();
        assert!(error.is_outcome_unknown(), "{error}");
    }
    let most = i64::try_from(SHORT.as_millis()).unwrap();
    let commands = seen.take();
    let writes: Vec<&Document> = commands.iter().filter(|it| is_write(it)).collect();
    assert!(!writes.is_empty());
    for command in writes {
        assert!(limit(command) <= most + GRACE, "{command}");
        assert!(patience(command).unwrap() <= most, "{command}");
    }
    comes_true("a free connection", || {
        seen.used.load(Ordering::SeqCst) == 0
    })
    .await;
    // A monitor of the member that is away may have begun again.
    comes_true("the end of the tasks", || tasks() <= before + 4).await;
    let operations = doc! { "currentOp": 1, "active": true, "ns": "away.events" };
    let admin = plain.database("admin");
    let since = Instant::now();
    loop {
        let found = admin.run_command(operations.clone()).await.unwrap();
        let found = found.get_array("inprog").unwrap();
        if found.is_empty() {
            break;
        }
        assert!(since.elapsed() < PATIENCE, "{found:?}");
        sleep(Duration::from_millis(50)).await;
    }
    free.insert(&event(1, 2)).await.unwrap();
}

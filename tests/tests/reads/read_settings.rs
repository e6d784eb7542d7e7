//! What every read takes: a deadline, a time limit of the server's, a read concern, a read preference, a session.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use bucket_mongo::{
    Attributed, Bucketed, Buckets, Documents, Error, ErrorKind, Fill, Interval,
    bson::{DateTime, Document, doc},
    mongodb::{
        Client, Database,
        event::{EventHandler, command::CommandEvent},
        options::{ClientOptions, ReadConcern, ReadPreference},
    },
    testing::DevServer,
};
use bucket_tests::{database, server};
use futures_util::{StreamExt, TryStreamExt};
use serde::{Deserialize, Serialize};
use tokio::time::{sleep, timeout};

/// Longer than anything here takes on a busy machine: only what never ends takes that long.
const AMPLE: Duration = Duration::from_secs(300);
const SHORT: Duration = Duration::from_millis(300);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "cells", items = "items", window = "1h", capacity = 2)]
struct Cell {
    #[bucket(key)]
    row: i64,
    #[bucket(key)]
    column: i64,
    #[bucket(time)]
    at: DateTime,
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

fn cell(row: i64, column: i64, value: i64) -> Cell {
    Cell {
        row,
        column,
        at: DateTime::from_millis(1_700_000_000_000 + value),
        value,
    }
}

fn key() -> CellKey {
    CellKey { row: 1, column: 1 }
}

fn span() -> std::ops::Range<DateTime> {
    DateTime::from_millis(1_699_999_200_000)..DateTime::from_millis(1_700_010_000_000)
}

/// Runs every read with these settings: what each is called, and its error.
macro_rules! every_read {
    ($cells:expr, $bottles:expr, $($settings:tt)*) => {{
        let (cells, bottles): (&Buckets<Cell>, &Documents<Bottle>) = (&$cells, &$bottles);
        let every = || Interval::hours(1);
        let ended: Vec<(&str, Option<Error>)> = vec![
            ("page", cells.page(key(), 1) $($settings)* .await.err()),
            ("pages", cells.pages(key()) $($settings)* .await.err()),
            ("page_count", cells.page_count(key()) $($settings)* .await.err()),
            ("count", cells.count(key()) $($settings)* .await.err()),
            ("records", cells.records(key()) $($settings)* .await.err()),
            ("collected", cells.records(key()) $($settings)* .collect().await.err()),
            ("streamed", cells.records(key()) $($settings)* .stream().try_collect::<Vec<_>>().await.err()),
            ("range", cells.range(key(), span()) $($settings)* .await.err()),
            ("range_many", cells.range_many([key()], span()) $($settings)* .await.err()),
            ("range_all_keys", cells.range_all_keys(span()) $($settings)* .await.err()),
            ("latest", cells.latest(key()) $($settings)* .await.err()),
            ("latest_n", cells.latest_n(key(), 3) $($settings)* .await.err()),
            ("latest_per_key", cells.latest_per_key() $($settings)* .await.err()),
            ("keys", cells.keys() $($settings)* .await.err()),
            ("key_summaries", cells.keys().summaries() $($settings)* .await.err()),
            ("stats", cells.stats(key(), span()) $($settings)* .await.err()),
            (
                "rollup",
                cells.rollup(key(), span(), every()).fill(Fill::Previous) $($settings)* .await.err(),
            ),
            ("fill", cells.fill() $($settings)* .await.err()),
            ("fill_of_key", cells.fill().key(key()) $($settings)* .await.err()),
            ("find", bottles.find(doc! {}) $($settings)* .await.err()),
        ];
        ended
    }};
}

/// Records in several buckets of several keys, and a document.
async fn fill(database: &Database) -> (Buckets<Cell>, Documents<Bottle>) {
    let cells = Cell::buckets(database);
    cells.ensure().await.unwrap();
    let records = (0..5).flat_map(|value| (1..4).map(move |row| cell(row, 1, value)));
    let stored = cells.insert_many(records).await.unwrap();
    assert_eq!(stored.into_result().unwrap().stored(), 15);
    let bottles = Bottle::documents(database);
    bottles.ensure().await.unwrap();
    let bottle = Bottle {
        id: 1,
        volume_ml: Some(330),
    };
    bottles.insert(&bottle).await.unwrap();
    (cells, bottles)
}

/// A client, and the reads that it sends: all but what looks for a cursor's next batch or closes it.
async fn watched(uri: &str) -> (Client, Arc<Mutex<Vec<Document>>>) {
    let seen: Arc<Mutex<Vec<Document>>> = Arc::default();
    let mut options = ClientOptions::parse(uri).await.unwrap();
    options.command_event_handler = Some(EventHandler::callback({
        let seen = Arc::clone(&seen);
        move |event| {
            if let CommandEvent::Started(started) = event
                && ["find", "aggregate", "listCollections"].contains(&started.command_name.as_str())
            {
                seen.lock().unwrap().push(started.command);
            }
        }
    }));
    (Client::with_options(options).unwrap(), seen)
}

fn take(seen: &Mutex<Vec<Document>>) -> Vec<Document> {
    std::mem::take(&mut *seen.lock().unwrap())
}

fn assert_no_errors(ended: Vec<(&str, Option<Error>)>) {
    for (name, error) in ended {
        assert!(error.is_none(), "{name}: {error:?}");
    }
}

#[tokio::test]
async fn every_command_says_how_much_time_is_left_if_the_call_has_a_limit() {
    let database = database().await;
    fill(&database).await;
    let (client, seen) = watched(server().await.uri()).await;
    let database = client.database(database.name());
    let limits = |commands: &[Document]| -> Vec<i64> {
        let limit = |command: &Document| {
            let limit = command.get("maxTimeMS");
            limit.and_then(|limit| limit.as_i64().or(limit.as_i32().map(i64::from)))
        };
        commands.iter().filter_map(limit).collect()
    };
    let (cells, bottles) = (Cell::buckets(&database), Bottle::documents(&database));
    assert_no_errors(every_read!(cells, bottles,));
    let free = take(&seen);
    // With the look at the collection, and several commands of some reads.
    assert!(free.len() > 18, "{free:?}");
    assert_eq!(limits(&free), [0; 0]);

    // A handle that has not looked at its collection yet.
    let cells = Cell::buckets(&database);
    let ended = every_read!(cells, bottles, .max_time(Duration::from_secs(7)));
    assert_no_errors(ended);
    let limited = take(&seen);
    assert_eq!(limited.len(), free.len());
    assert_eq!(limits(&limited), vec![7_000; free.len()]);

    let cells = Cell::buckets(&database);
    assert_no_errors(every_read!(cells, bottles, .deadline(AMPLE)));
    let limited = limits(&take(&seen));
    assert_eq!(limited.len(), free.len());
    assert!(
        limited.iter().all(|limit| (1..=300_100).contains(limit)),
        "{limited:?}"
    );

    // The shorter one of both.
    let both = cells.count(key()).deadline(AMPLE).max_time(SHORT);
    both.await.unwrap();
    assert_eq!(limits(&take(&seen)), [300]);
    // More than any clock or the server takes.
    let far = cells.count(key()).deadline(Duration::MAX);
    far.await.unwrap();
    let long = cells.count(key()).max_time(Duration::MAX);
    long.await.unwrap();
    assert_eq!(limits(&take(&seen)), [i64::from(i32::MAX)]);
}

#[tokio::test]
async fn no_command_of_a_read_whose_deadline_has_passed_is_sent() {
    let database = database().await;
    fill(&database).await;
    let (client, seen) = watched(server().await.uri()).await;
    let database = client.database(database.name());
    let (cells, bottles) = (Cell::buckets(&database), Bottle::documents(&database));
    for (name, error) in every_read!(cells, bottles, .deadline(Duration::ZERO)) {
        let error = error.unwrap_or_else(|| panic!("{name} had no deadline"));
        assert!(
            matches!(error.kind(), ErrorKind::TimedOut { .. }),
            "{name}: {error}"
        );
    }
    assert_eq!(take(&seen), [] as [Document; 0]);
}

#[tokio::test]
async fn the_deadline_of_a_stream_counts_from_its_first_poll_and_nothing_is_sent_before() {
    let database = database().await;
    fill(&database).await;
    let (client, seen) = watched(server().await.uri()).await;
    let database = client.database(database.name());
    let (cells, bottles) = (Cell::buckets(&database), Bottle::documents(&database));
    let deadline = Duration::from_secs(4);
    let pages = cells.pages(key()).deadline(deadline).stream();
    let records = cells.records(key()).deadline(deadline).stream();
    let range = cells.range(key(), span()).deadline(deadline).stream();
    let all = cells.range_all_keys(span()).deadline(deadline).stream();
    let latest = cells.latest_per_key().deadline(deadline).stream();
    let found = bottles.find(doc! {}).deadline(deadline).stream();
    sleep(deadline + Duration::from_millis(500)).await;
    assert_eq!(take(&seen), [] as [Document; 0]);
    assert_eq!(pages.try_collect::<Vec<_>>().await.unwrap().len(), 3);
    assert_eq!(records.try_collect::<Vec<_>>().await.unwrap().len(), 5);
    assert_eq!(range.try_collect::<Vec<_>>().await.unwrap().len(), 5);
    assert_eq!(all.try_collect::<Vec<_>>().await.unwrap().len(), 15);
    assert_eq!(latest.try_collect::<Vec<_>>().await.unwrap().len(), 3);
    assert_eq!(found.try_collect::<Vec<_>>().await.unwrap().len(), 1);
}

/// A server of one's own that can be made to fail.
async fn failing() -> DevServer {
    let arguments = ["--setParameter", "enableTestCommands=1"];
    let server = DevServer::builder().own().arguments(arguments);
    server.await.unwrap()
}

async fn fail_point(server: &DevServer, command: Document) {
    let admin = server.client().await.unwrap().database("admin");
    admin.run_command(command).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_that_the_server_does_not_answer_ends_soon_after_its_deadline() {
    let server = failing().await;
    let client = server.client().await.unwrap();
    let (cells, bottles) = fill(&client.database("silent")).await;
    // It blocks whatever the limit of the command is.
    let silent = doc! {
        "configureFailPoint": "failCommand",
        "mode": "alwaysOn",
        "data": {
            "failCommands": ["find", "aggregate"], "blockConnection": true, "blockTimeMS": 20_000,
        },
    };
    fail_point(&server, silent).await;
    let reads = async { every_read!(cells, bottles, .deadline(SHORT)) };
    for (name, error) in timeout(AMPLE, reads).await.unwrap() {
        let error = error.unwrap_or_else(|| panic!("{name} was answered"));
        assert!(
            matches!(error.kind(), ErrorKind::TimedOut { .. }),
            "{name}: {error}"
        );
        assert!(
            error.is_retryable() && !error.is_outcome_unknown(),
            "{name}: {error}"
        );
    }
    let mut stream = cells.records(key()).deadline(SHORT).stream();
    let first = timeout(AMPLE, stream.next()).await.unwrap();
    assert!(first.unwrap().is_err());
    assert!(stream.next().await.is_none());
    let off = doc! { "configureFailPoint": "failCommand", "mode": "off" };
    fail_point(&server, off).await;
    let reads = async { every_read!(cells, bottles, .deadline(AMPLE)) };
    assert_no_errors(timeout(AMPLE, reads).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_deadline_counts_for_all_commands_of_a_call() {
    let server = failing().await;
    let client = server.client().await.unwrap();
    let (cells, _) = fill(&client.database("slow")).await;
    // Each command is in time by itself.
    let slow = doc! {
        "configureFailPoint": "failCommand",
        "mode": "alwaysOn",
        "data": {
            "failCommands": ["find", "aggregate"], "blockConnection": true, "blockTimeMS": 2_000,
        },
    };
    fail_point(&server, slow).await;
    let deadline = Duration::from_millis(3_500);
    cells.count(key()).deadline(deadline).await.unwrap();
    let before = cells
        .rollup(key(), span(), Interval::hours(1))
        .fill(Fill::Previous);
    let error = before.deadline(deadline).await.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::TimedOut { .. }),
        "{error}"
    );
    let error = cells.latest_per_key().deadline(deadline).await.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::TimedOut { .. }),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_that_the_server_breaks_off_is_timed_out_with_the_servers_code() {
    let server = failing().await;
    let client = server.client().await.unwrap();
    let (cells, bottles) = fill(&client.database("expired")).await;
    let command = doc! { "configureFailPoint": "maxTimeAlwaysTimeOut", "mode": "alwaysOn" };
    fail_point(&server, command).await;
    assert_no_errors(every_read!(cells, bottles,));
    for (name, error) in every_read!(cells, bottles, .max_time(AMPLE)) {
        let error = error.unwrap_or_else(|| panic!("{name} has no limit"));
        assert!(
            matches!(error.kind(), ErrorKind::TimedOut { .. }),
            "{name}: {error}"
        );
        assert!(
            error.driver().is_some() && error.is_retryable(),
            "{name}: {error}"
        );
    }
}

#[tokio::test]
async fn every_command_has_the_read_concern_and_the_read_preference_of_its_call() {
    let database = database().await;
    fill(&database).await;
    let (client, seen) = watched(server().await.uri()).await;
    let database = client.database(database.name());
    let (cells, bottles) = (Cell::buckets(&database), Bottle::documents(&database));
    let preferred = || ReadPreference::SecondaryPreferred {
        options: Option::default(),
    };
    let mode = |command: &Document| {
        let preference = command.get_document("$readPreference").ok()?;
        Some(preference.get_str("mode").ok()?.to_owned())
    };
    let level = |command: &Document| {
        let concern = command.get_document("readConcern").ok()?;
        Some(concern.get_str("level").ok()?.to_owned())
    };
    assert_no_errors(every_read!(cells, bottles,));
    for command in take(&seen) {
        assert_eq!(level(&command), None, "{command}");
        assert_ne!(
            mode(&command).as_deref(),
            Some("secondaryPreferred"),
            "{command}"
        );
    }
    let cells = Cell::buckets(&database);
    let ended = every_read!(
        cells, bottles,
        .read_concern(ReadConcern::majority()).read_preference(preferred())
    );
    assert_no_errors(ended);
    let commands = take(&seen);
    assert!(commands.len() > 18, "{commands:?}");
    for command in commands {
        assert_eq!(
            mode(&command).as_deref(),
            Some("secondaryPreferred"),
            "{command}"
        );
        if !command.contains_key("listCollections") {
            assert_eq!(level(&command).as_deref(), Some("majority"), "{command}");
        }
    }
}

#[tokio::test]
async fn in_a_transaction_a_read_has_no_read_concern_or_preference_of_its_own_and_sends_nothing() {
    let database = database().await;
    fill(&database).await;
    let (client, seen) = watched(server().await.uri()).await;
    let database = client.database(database.name());
    let (cells, bottles) = (Cell::buckets(&database), Bottle::documents(&database));
    let mut session = client.start_session().await.unwrap();
    // Outside of a transaction a session has none.
    assert_no_errors(every_read!(
        cells, bottles,
        .session(&mut session).read_concern(ReadConcern::majority()).read_preference(ReadPreference::Primary)
    ));
    session.start_transaction().await.unwrap();
    take(&seen);
    let mut ended = every_read!(
        cells, bottles, .session(&mut session).read_concern(ReadConcern::majority())
    );
    ended.extend(every_read!(
        cells, bottles, .session(&mut session).read_preference(ReadPreference::Primary)
    ));
    for (name, error) in ended {
        let error = error.unwrap_or_else(|| panic!("{name} is not refused"));
        assert!(
            matches!(error.kind(), ErrorKind::InvalidArgument { .. }),
            "{name}: {error}"
        );
    }
    assert_eq!(take(&seen), [] as [Document; 0]);
    assert_no_errors(every_read!(cells, bottles, .session(&mut session).deadline(AMPLE)));
    session.abort_transaction().await.unwrap();
}

#[tokio::test]
async fn a_transaction_sees_its_own_writes_in_pages_and_all_keys() {
    let database = database().await;
    let cells = Cell::buckets(&database);
    cells.ensure().await.unwrap();
    // More keys than are looked at together, with few and with other values of the second field.
    let keys = || (0..40).flat_map(|row| (0..3).map(move |column| (row, column)));
    let stored = keys().map(|(row, column)| cell(row, column, 0));
    let stored = cells.insert_many(stored).await.unwrap();
    stored.into_result().unwrap();
    let mut session = database.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    // A second bucket of each window, so that every key needs a further look; and other keys.
    let written =
        (1..4).flat_map(|value| keys().map(move |(row, column)| cell(row, column, value)));
    let written = written.chain((100..120).map(|row| cell(row, row, 3)));
    let written: Vec<Cell> = written.collect();
    let insert = cells.insert_many(&written).session(&mut session);
    insert.await.unwrap().into_result().unwrap();

    let pages = cells.pages(key()).session(&mut session).await.unwrap();
    assert_eq!(
        pages.iter().map(|page| page.count).collect::<Vec<_>>(),
        [2, 2]
    );
    let pages = cells.pages(key()).session(&mut session).stream();
    assert_eq!(pages.try_collect::<Vec<_>>().await.unwrap().len(), 2);
    let all = cells
        .range_all_keys(span())
        .session(&mut session)
        .await
        .unwrap();
    assert_eq!(all.len(), 4 * 120 + 20);
    let latest = cells.latest_per_key().session(&mut session);
    let mut latest = timeout(AMPLE, latest.into_future()).await.unwrap().unwrap();
    latest.sort_by_key(|cell| (cell.row, cell.column));
    let expected = keys().chain((100..120).map(|row| (row, row)));
    let expected: Vec<Cell> = expected.map(|(row, column)| cell(row, column, 3)).collect();
    assert_eq!(latest, expected);

    // Nobody else sees them yet.
    assert_eq!(cells.pages(key()).await.unwrap().len(), 1);
    assert_eq!(cells.range_all_keys(span()).await.unwrap().len(), 120);
    assert_eq!(cells.latest_per_key().await.unwrap().len(), 120);
    session.commit_transaction().await.unwrap();
    assert_eq!(cells.latest_per_key().await.unwrap().len(), 140);
}

#[tokio::test]
async fn a_session_that_reads_a_snapshot_sees_one_moment_in_every_read() {
    let database = database().await;
    let (cells, bottles) = fill(&database).await;
    let mut session = database
        .client()
        .start_session()
        .snapshot(true)
        .await
        .unwrap();
    let before = cells.count(key()).session(&mut session).await.unwrap();
    assert_eq!(before, 5);
    cells.insert(&cell(1, 1, 10)).await.unwrap();
    cells.insert(&cell(9, 9, 10)).await.unwrap();
    let records = cells.records(key()).session(&mut session).await.unwrap();
    assert_eq!(records.len(), 5);
    let pages = cells.pages(key()).session(&mut session).await.unwrap();
    assert_eq!(pages.iter().map(|page| page.count).sum::<u32>(), 5);
    let all = cells
        .range_all_keys(span())
        .session(&mut session)
        .await
        .unwrap();
    assert_eq!(all.len(), 15);
    let latest = cells.latest_per_key().session(&mut session).await.unwrap();
    assert_eq!(
        latest.iter().map(|cell| cell.value).collect::<Vec<_>>(),
        [4; 3]
    );
    assert_eq!(cells.range_all_keys(span()).await.unwrap().len(), 17);
    // It reads that moment, with no other concern.
    let ended = every_read!(
        cells, bottles, .session(&mut session).read_concern(ReadConcern::majority())
    );
    for (name, error) in ended {
        let error = error.unwrap_or_else(|| panic!("{name} is not refused"));
        assert!(
            matches!(error.kind(), ErrorKind::InvalidArgument { .. }),
            "{name}: {error}"
        );
    }
}

#[tokio::test]
async fn the_level_snapshot_reads_what_a_majority_has() {
    let database = database().await;
    let (cells, bottles) = fill(&database).await;
    let ended = every_read!(cells, bottles, .read_concern(ReadConcern::snapshot()));
    assert_no_errors(ended);
}

//! Unavailable members and servers: a call ends soon after its deadline and releases its resources,
//! and what a dropped call had not sent is never sent.

use std::time::Duration;

use bucket_mongo::{
    Bucketed, Buckets, ErrorKind,
    mongodb::{
        Client,
        bson::{DateTime, Document, doc},
        options::{ReadConcern, WriteConcern},
    },
    testing::DevServer,
};
use bucket_tests::{
    database,
    faults::{plan::Plan, proxy::Proxy},
    server,
};
use futures_util::{StreamExt, future::join_all, poll};
use serde::{Deserialize, Serialize};
use tokio::{
    runtime::Handle,
    time::{Instant, sleep, timeout},
};

/// Longer than anything here takes on a busy machine: only what never ends takes that long. That a command is limited
/// by its call's deadline is in `time_limits`.
const AMPLE: Duration = Duration::from_secs(300);
/// The longest deadline.
const LONGEST: Duration = Duration::from_secs(20 * 60);
/// How long a call retries.
const DEADLINE: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "events", items = "items", capacity = 10)]
struct Event {
    #[bucket(key)]
    source: i32,
    #[bucket(time)]
    at: DateTime,
    number: i32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "windows", items = "items", window = "1h")]
struct Window {
    #[bucket(key)]
    source: i32,
    #[bucket(time)]
    at: DateTime,
}

fn event(number: i32) -> Event {
    Event {
        source: number,
        at: DateTime::from_millis(1_700_000_000_000 + i64::from(number)),
        number,
    }
}

fn nodes(number: u32) -> WriteConcern {
    WriteConcern::builder().w(Some(number.into())).build()
}

/// Waits for the end, with any result.
async fn ends<F: IntoFuture>(what: &str, future: F) -> F::Output {
    let ended = timeout(AMPLE, future.into_future()).await;
    ended.unwrap_or_else(|_| panic!("{what} never ends"))
}

/// A replica set with one secondary down, and a handle whose writes wait for that secondary.
async fn maimed() -> (DevServer, Client, Buckets<Event>) {
    let set = DevServer::builder().own().members(3).await.unwrap();
    let client = set.client().await.unwrap();
    let buckets = Event::buckets(&client.database("away"));
    buckets.ensure().await.unwrap();
    let primary = set.primary().await.unwrap().address();
    let secondary = set.members().iter().find(|it| it.address() != primary);
    secondary.unwrap().kill().await.unwrap();
    let waiting = buckets.with_write_concern(nodes(3));
    (set, client, waiting)
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_that_no_member_acknowledges_end_and_leave_the_client_usable() {
    let (_set, client, buckets) = maimed().await;
    let free = buckets.clone().with_write_concern(nodes(1));
    // More than the connections in the pool.
    let calls = (0..12).map(|number| {
        let buckets = &buckets;
        async move { buckets.insert(&event(number)).deadline(DEADLINE).await }
    });
    for told in ends("an insert", join_all(calls)).await {
        let error = told.unwrap_err();
        assert!(error.is_outcome_unknown(), "{error}");
    }
    let many = [event(20), event(21)];
    let report = ends("a batch", buckets.insert_many(&many).deadline(DEADLINE));
    let report = report.await.unwrap();
    assert!(
        report
            .failed()
            .iter()
            .all(|it| it.error.is_outcome_unknown())
    );
    assert_eq!(report.failed().len(), 2);
    // They are stored on the available members.
    for number in (0..12).chain([20, 21]) {
        assert_eq!(ends("a count", free.count(number)).await.unwrap(), 1);
    }
    ends("a weaker write", free.insert(&event(40)))
        .await
        .unwrap();
    let plain = free.collection::<Document>();
    let found = ends("a read of the driver's", plain.find_one(doc! {}));
    assert!(found.await.unwrap().is_some());
    ends("the end", client.shutdown()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_holds_in_the_session_of_a_caller() {
    let (_set, client, buckets) = maimed().await;
    let mut session = client.start_session().await.unwrap();
    let record = event(1);
    let insert = buckets.insert(&record).session(&mut session);
    let insert = insert.write_concern(nodes(3)).deadline(DEADLINE);
    let error = ends("an insert", insert).await.unwrap_err();
    assert!(error.is_outcome_unknown(), "{error}");
    let many = [event(2), event(3)];
    let batch = buckets.insert_many(&many).session(&mut session);
    let batch = batch.write_concern(nodes(3)).deadline(DEADLINE);
    let report = ends("a batch", batch).await.unwrap();
    assert!(
        report
            .failed()
            .iter()
            .all(|it| it.error.is_outcome_unknown())
    );
    // The session still works.
    let record = event(4);
    let insert = buckets.insert(&record).session(&mut session);
    ends("a weaker write", insert.write_concern(nodes(1)))
        .await
        .unwrap();
    drop(session);
    ends("the end", client.shutdown()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_session_the_deadline_covers_the_time_until_a_server_is_found() {
    let server = server().await;
    let proxy = Proxy::start(server.members()[0].address(), Plan::off()).await;
    proxy.go_away();
    let client = proxy.client().await;
    let buckets = Event::buckets(&client.database("away"));
    let mut session = client.start_session().await.unwrap();
    let record = event(1);
    let insert = buckets.insert(&record).session(&mut session);
    let error = ends("an insert", insert.deadline(DEADLINE)).await;
    let error = error.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Unreachable { .. }),
        "{error}"
    );
    let many = [event(2), event(3)];
    let batch = buckets.insert_many(&many).session(&mut session);
    let report = ends("a batch", batch.deadline(DEADLINE)).await.unwrap();
    let is_not_sent =
        |error: &bucket_mongo::Error| matches!(error.kind(), ErrorKind::Unreachable { .. });
    assert!(report.failed().iter().all(|it| is_not_sent(&it.error)));
    assert_eq!(report.failed().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_server_holds_no_session_beyond_the_deadline() {
    let server = DevServer::builder().own().await.unwrap();
    let client = server.client().await.unwrap();
    let buckets = Event::buckets(&client.database("still"));
    buckets.ensure().await.unwrap();
    let mut session = client.start_session().await.unwrap();
    server.members()[0].pause().await.unwrap();
    let patient = buckets.clone();
    let patient = tokio::spawn(async move { patient.insert(&event(2)).deadline(LONGEST).await });
    // Both the read before the write and the write itself.
    let record = event(1);
    let insert = buckets.insert(&record).session(&mut session);
    let error = ends("an insert", insert.deadline(DEADLINE)).await;
    let error = error.unwrap_err();
    let unknown = error.is_outcome_unknown();
    let not_sent = matches!(error.kind(), ErrorKind::Unreachable { .. });
    assert!(unknown || not_sent, "{error}");
    let text = error.to_string();
    assert!(
        unknown || text.contains("the deadline of the write passed"),
        "{text}"
    );
    let insert = buckets.insert(&record).deadline(DEADLINE);
    ends("an insert", insert).await.unwrap_err();
    // Only their deadlines have ended these calls.
    assert!(!patient.is_finished());
    server.members()[0].resume().await.unwrap();
    ends("a patient insert", patient).await.unwrap().unwrap();
    let insert = buckets.insert(&record).session(&mut session);
    ends("the next insert", insert).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ingestor_leaves_no_task_when_its_write_is_never_acknowledged() {
    let (_set, client, buckets) = maimed().await;
    let tasks = || Handle::current().metrics().num_alive_tasks();
    // The driver's own tasks are already running.
    let free = buckets.clone().with_write_concern(nodes(1));
    free.insert(&event(100)).await.unwrap();
    let before = tasks();
    let ingestor = buckets.ingestor().in_flight(16).max_batch_records(1);
    let ingestor = ingestor.deadline(DEADLINE).start().unwrap();
    for number in 0..32 {
        drop(ingestor.push(&event(number)).await.unwrap());
    }
    let report = timeout(AMPLE, ingestor.shutdown()).await.unwrap();
    assert_eq!(report.stored(), 0);
    let since = Instant::now();
    while tasks() > before + 4 {
        assert!(since.elapsed() < AMPLE, "{before} tasks, now {}", tasks());
        sleep(Duration::from_millis(50)).await;
    }
    ends("a weaker write", free.insert(&event(101)))
        .await
        .unwrap();
    ends("the end", client.shutdown()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_dropped_call_has_not_sent_is_never_sent() {
    /// After this time nobody waits any longer.
    const SHORT: Duration = Duration::from_millis(700);
    let server = DevServer::builder().own().await.unwrap();
    let client = server.client().await.unwrap();
    let buckets = Event::buckets(&client.database("dropped"));
    buckets.ensure().await.unwrap();
    server.members()[0].kill().await.unwrap();
    // The driver has noticed that.
    let ping = client.database("admin");
    let ping = timeout(SHORT, ping.run_command(doc! { "ping": 1 }).into_future());
    assert!(!matches!(ping.await, Ok(Ok(_))));
    sleep(SHORT).await;
    let dropped = async |number: i32| {
        let record = event(number);
        timeout(SHORT, buckets.insert(&record).into_future())
            .await
            .unwrap_err();
    };
    let dropped_batch = async |from: i32| {
        // Enough calls to share their statements.
        let records: Vec<Event> = (from..from + 80).map(event).collect();
        timeout(SHORT, buckets.insert_many(&records).into_future())
            .await
            .unwrap_err();
    };
    tokio::join!(dropped(1), dropped(2), dropped(2), async {
        let calls = (1..8).map(|call| dropped_batch(call * 1_000));
        join_all(calls).await
    });
    let ingestor = buckets.ingestor().start().unwrap();
    let receipt = ingestor.push(&event(10)).await.unwrap();
    sleep(SHORT).await;
    let report = timeout(AMPLE, ingestor.abort()).await.unwrap();
    assert_eq!(report.stored(), 0);
    receipt.await.unwrap_err();
    server.members()[0].restart().await.unwrap();
    server.primary().await.unwrap();
    // The next call is stored, and no other one.
    let record = event(20_000);
    ends("an insert", buckets.insert(&record)).await.unwrap();
    sleep(Duration::from_secs(3)).await;
    let stored = buckets.collection::<Document>();
    let stored: Vec<i32> = stored
        .distinct("source", doc! {})
        .await
        .unwrap()
        .into_iter()
        .filter_map(|source| source.as_i32())
        .collect();
    assert_eq!(stored, [20_000]);
}

/// Calls of a group that are not dropped are stored. Calls that are dropped before anything was
/// sent are not.
#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_call_leaves_its_group_while_nothing_was_sent() {
    let server = DevServer::builder().own().await.unwrap();
    let client = server.client().await.unwrap();
    let buckets = Event::buckets(&client.database("group"));
    buckets.ensure().await.unwrap();
    server.members()[0].kill().await.unwrap();
    sleep(Duration::from_millis(500)).await;
    let calls: Vec<_> = (0..8)
        .map(|call| {
            let buckets = buckets.clone();
            tokio::spawn(async move {
                let records: Vec<Event> = (call * 80..call * 80 + 80).map(event).collect();
                buckets.insert_many(&records).await.unwrap()
            })
        })
        .collect();
    sleep(Duration::from_millis(1_200)).await;
    for call in calls.iter().skip(1).step_by(2) {
        call.abort();
    }
    sleep(Duration::from_millis(300)).await;
    server.members()[0].restart().await.unwrap();
    for call in calls.into_iter().step_by(2) {
        let report = timeout(AMPLE, call).await.unwrap().unwrap();
        assert_eq!(report.stored(), 80, "{:?}", report.failed().first());
    }
    let stored = buckets.collection::<Document>();
    let mut stored: Vec<i32> = stored
        .distinct("source", doc! {})
        .await
        .unwrap()
        .into_iter()
        .filter_map(|source| source.as_i32())
        .map(|source| source / 80)
        .collect();
    stored.dedup();
    assert_eq!(stored, [0, 2, 4, 6]);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "hours", items = "items", window = "1h")]
struct Hourly {
    #[bucket(key)]
    source: i32,
    #[bucket(time)]
    at: DateTime,
}

/// Polls a call until it has encoded its records and waits: it pauses a few times on the way.
async fn enter<F: Future + Unpin>(call: &mut F) {
    for _ in 0..1_000 {
        assert!(poll!(&mut *call).is_pending());
    }
}

/// When the call of a group of many commands is dropped, some were sent; the others are not sent.
#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_call_removes_the_unsent_commands_from_its_group() {
    let server = DevServer::builder().own().await.unwrap();
    let client = server.client().await.unwrap();
    let buckets = Hourly::buckets(&client.database("later"));
    buckets.ensure().await.unwrap();
    let call = |sources: std::ops::Range<i32>| {
        let records: Vec<Hourly> = sources
            .map(|source| Hourly {
                source,
                at: DateTime::from_millis(1_700_000_000_000),
            })
            .collect();
        let buckets = buckets.clone();
        Box::pin(async move { buckets.insert_many(&records).await.unwrap() })
    };
    // The checks of a handle before its first write.
    call(0..1).await.into_result().unwrap();
    server.members()[0].pause().await.unwrap();
    let mut first = call(0..100);
    enter(&mut first).await;
    // As many as are in flight at the same time: the others have not left.
    let mut stays = call(1_000..5_000);
    enter(&mut stays).await;
    let mut goes = call(5_000..8_000);
    enter(&mut goes).await;
    let stays = tokio::spawn(stays);
    // The call that stays has started the group.
    sleep(Duration::from_millis(1_500)).await;
    drop(goes);
    server.members()[0].resume().await.unwrap();
    let (first, stays) = ends("the others", async { tokio::join!(first, stays) }).await;
    for (report, records) in [(first, 100), (stays.unwrap(), 4_000)] {
        assert_eq!(report.stored(), records, "{:?}", report.failed().first());
    }
    let stored = buckets.collection::<Document>();
    let dropped = doc! { "source": { "$gte": 5_000 } };
    assert_eq!(stored.count_documents(dropped).await.unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn dropped_streams_and_reads_leave_no_cursor_open() {
    let database = database().await;
    let buckets = Event::buckets(&database);
    buckets.ensure().await.unwrap();
    let records: Vec<Event> = (0..20_000)
        .map(|number| Event {
            source: 1,
            ..event(number)
        })
        .collect();
    let stored = buckets.insert_many(&records).await.unwrap();
    assert_eq!(stored.stored(), 20_000);
    let windows = Window::buckets(&database);
    windows.ensure().await.unwrap();
    let records = (0..4_000).map(|source| Window {
        source,
        at: DateTime::from_millis(0),
    });
    assert_eq!(windows.insert_many(records).await.unwrap().stored(), 4_000);
    let admin = server().await.client().await.unwrap().database("admin");
    let own = async || {
        let pipeline = [
            doc! { "$currentOp": { "idleCursors": true, "allUsers": true } },
            doc! { "$match": { "ns": { "$regex": format!("^{}\\.", database.name()) } } },
        ];
        let found = admin.aggregate(pipeline).await.unwrap();
        found.collect::<Vec<_>>().await.len()
    };
    for round in 0..100 {
        // With settings and without.
        let mut query = buckets.records(1);
        if round % 2 == 0 {
            let majority = ReadConcern::majority();
            query = query.deadline(AMPLE).max_time(AMPLE).read_concern(majority);
        }
        let mut stream = query.stream();
        // At the opening, in the middle of a batch, and while more are asked for.
        let records = async {
            for _ in 0..round * 20 {
                stream.next().await.unwrap().unwrap();
            }
        };
        let _ = timeout(Duration::from_micros(round * 150), records).await;
        drop(stream);
        let read = buckets.records(1).limit(1_000).into_future();
        let _ = timeout(Duration::from_micros(round * 40), read).await;
        let pages = buckets.pages(1).into_future();
        let _ = timeout(Duration::from_micros(round * 40), pages).await;
        let all = windows.range_all_keys(..).into_future();
        let _ = timeout(Duration::from_micros(round * 40), all).await;
        // A deadline that passes at any moment.
        let late = Duration::from_micros(round * 200);
        let mut pages = buckets.pages(1).deadline(late).stream();
        while let Some(Ok(_)) = pages.next().await {}
        let mut latest = windows.latest_per_key().deadline(late).stream();
        let _ = latest.next().await;
    }
    let since = Instant::now();
    loop {
        let open = own().await;
        if open == 0 {
            break;
        }
        assert!(since.elapsed() < AMPLE, "{open} cursors are open");
        sleep(Duration::from_millis(200)).await;
    }
}

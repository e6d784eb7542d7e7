//! What `insert_many` reports about each document is true, whatever happens to its commands.

use std::{collections::BTreeSet, time::Duration};

use bucket_mongo::{
    Attributed, Documents, ErrorKind,
    bson::{Bson, Document, doc},
    documents::InsertDocumentsReport,
    mongodb::options::WriteConcern,
    testing::{DevServer, TestDatabase},
};
use bucket_tests::{
    database, documents,
    faults::{
        plan::{Fault, Plan},
        proxy::Proxy,
    },
};
use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;

/// As many as one command holds.
const COMMAND: usize = 5_000;
/// Longer than a short deadline, and shorter than the driver's server selection timeout.
const TOO_LONG: Duration = Duration::from_secs(20);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Attributed)]
#[bucket(collection = "things")]
struct Thing {
    #[serde(rename = "_id", skip_serializing_if = "Option::is_none")]
    id: Option<Bson>,
    number: i32,
    #[serde(default)]
    text: String,
    #[bucket(attribute(array = "specs", k = "volume", u = "ml"))]
    volume_ml: Option<Bson>,
}

fn thing(id: impl Into<Option<i32>>, number: usize) -> Thing {
    Thing {
        id: id.into().map(Bson::Int32),
        number: i32::try_from(number).unwrap(),
        text: String::new(),
        volume_ml: Some(Bson::Int32(1)),
    }
}

/// Without their own ids.
fn things(number: usize) -> Vec<Thing> {
    (0..number).map(|number| thing(None, number)).collect()
}

/// The stored numbers, each once.
async fn numbers(database: &TestDatabase) -> BTreeSet<usize> {
    let stored = documents(database, "things").await;
    let numbers = stored.iter().map(|d| d.get_i32("number").unwrap());
    let unique: BTreeSet<usize> = numbers.map(|n| usize::try_from(n).unwrap()).collect();
    assert_eq!(unique.len(), stored.len(), "a document is stored twice");
    unique
}

/// Everything that the report says is true.
async fn assert_true(database: &TestDatabase, report: &InsertDocumentsReport) {
    let stored = numbers(database).await;
    for index in 0..report.tried() {
        if report.is_stored(index) {
            assert!(stored.contains(&index), "{index} is not stored");
        }
    }
    for failed in report.failed() {
        if !failed.error.is_outcome_unknown() {
            assert!(!stored.contains(&failed.index), "{failed:?} is stored");
        }
    }
    assert!(stored.iter().all(|index| *index < report.tried()));
}

#[tokio::test]
async fn a_taken_id_in_the_middle_keeps_no_other_document_from_being_stored() {
    let database = database().await;
    let things = Thing::documents(&database);
    things.insert(&thing(3, 1_000)).await.unwrap();
    let all: Vec<Thing> = (0..6)
        .map(|n| thing(i32::try_from(n).unwrap(), n))
        .collect();
    let report = things.insert_many(&all).await.unwrap();
    assert_eq!((report.tried(), report.stored()), (6, 5));
    let [failed] = report.failed() else {
        panic!("{report:?}");
    };
    assert_eq!((failed.index, &failed.id), (3, &Some(Bson::Int32(3))));
    let ErrorKind::DuplicateKey { index, .. } = failed.error.kind() else {
        panic!("{failed:?}");
    };
    assert_eq!(index, "_id_");
    assert!(report.is_stored(2) && !report.is_stored(3) && !report.is_stored(6));
    assert_eq!(documents(&database, "things").await.len(), 6);
    assert!(report.stopped_by().is_none() && report.into_result().is_err());

    let error = things.insert(&thing(3, 7)).await.unwrap_err();
    let text = error.to_string();
    assert!(
        error.is_duplicate_key() && text.contains("`_id_`"),
        "{text}"
    );
}

#[tokio::test]
async fn one_document_that_cannot_be_stored_is_named_and_the_others_are_stored() {
    let database = database().await;
    let validator = doc! { "number": { "$ne": 1 } };
    let create = database.create_collection("things").validator(validator);
    create.await.unwrap();
    let documents = Thing::documents(&database);
    let mut all = things(6);
    // A type that attributes cannot have; an invalid `_id`; a document that is too large.
    all[2].volume_ml = Some(Bson::Array(vec![1.into()]));
    all[3].id = Some(Bson::Array(vec![1.into()]));
    all[4].text = "x".repeat(16 * 1024 * 1024);
    let report = documents.insert_many(&all).await.unwrap();
    assert_true(&database, &report).await;
    let failed: Vec<usize> = report.failed().iter().map(|failed| failed.index).collect();
    assert_eq!(failed, [1, 2, 3, 4]);
    let kinds = report.failed().iter().map(|failed| failed.error.kind());
    let is_right: Vec<bool> = kinds
        .zip([121, 0, 53, 0])
        .map(|(kind, expected)| match kind {
            ErrorKind::Server { code, .. } => *code == expected,
            ErrorKind::Document(_) => expected == 0,
            _ => false,
        })
        .collect();
    assert_eq!(is_right, [true; 4], "{report:?}");

    // The largest possible document.
    let mut large = thing(None, 0);
    large.text = "x".repeat(16 * 1024 * 1024 - 200);
    let report = documents.insert_many([large]).await.unwrap();
    assert_eq!(report.stored(), 1, "{report:?}");
}

#[tokio::test]
async fn an_iterator_is_read_to_its_end_and_no_further() {
    let database = database().await;
    let documents = Thing::documents(&database);
    let mut next = 0;
    // It continues after its end.
    let all = std::iter::from_fn(move || {
        next += 1;
        (next % 8 != 0).then(|| thing(None, next - 1))
    });
    let report = documents.insert_many(all).await.unwrap();
    assert_eq!((report.tried(), report.stored()), (7, 7));
    let none: [Thing; 0] = [];
    let report = documents.insert_many(none).await.unwrap();
    assert_eq!((report.tried(), report.stored()), (0, 0));
    let many = documents.insert_many((7..12_007).map(|n| thing(None, n)));
    let report = many.await.unwrap();
    assert_eq!((report.tried(), report.stored()), (12_000, 12_000));
    assert_eq!(numbers(&database).await, (0..12_007).collect());
}

/// A server that fails commands on request.
async fn failing() -> &'static DevServer {
    static SERVER: OnceCell<DevServer> = OnceCell::const_new();
    let start = || async {
        let arguments = ["--setParameter", "enableTestCommands=1"];
        let server = DevServer::builder().own().arguments(arguments);
        server.await.unwrap()
    };
    SERVER.get_or_init(start).await
}

async fn fail(server: &DevServer, mode: impl Into<Bson>, data: Document) {
    let mut all = doc! { "failCommands": ["insert"] };
    all.extend(data);
    let command = doc! { "configureFailPoint": "failCommand", "mode": mode, "data": all };
    let database = server.client().await.unwrap().database("admin");
    database.run_command(command).await.unwrap();
}

/// The result of three commands when the server fails the second one.
async fn failed_second(code: i32, goes_on: bool) -> (TestDatabase, InsertDocumentsReport) {
    let server = failing().await;
    let database = server.database("failing").await.unwrap();
    let all = things(2 * COMMAND + 10);
    let documents = Thing::documents(&database);
    fail(server, doc! { "skip": 1 }, doc! { "errorCode": code }).await;
    let stored = documents.insert_many(&all).deadline(Duration::from_secs(3));
    let calm = async {
        if goes_on {
            tokio::time::sleep(Duration::from_secs(1)).await;
            fail(server, "off", doc! {}).await;
        }
    };
    let (report, ()) = tokio::join!(stored.into_future(), calm);
    fail(server, "off", doc! {}).await;
    (database, report.unwrap())
}

// One after the other: they share the server.
#[tokio::test]
async fn what_the_first_commands_stored_is_reported_as_stored_when_a_later_one_fails() {
    for code in [11_602, 189, 262, 50] {
        let (database, report) = failed_second(code, false).await;
        assert_true(&database, &report).await;
        assert_eq!(report.stored(), COMMAND, "{code}");
        let stopped_by = report.stopped_by().unwrap();
        assert!(stopped_by.is_outcome_unknown(), "{code}: {stopped_by}");
        for failed in report.failed() {
            let is_of_second = failed.index < 2 * COMMAND;
            assert_eq!(
                failed.error.is_outcome_unknown(),
                is_of_second,
                "{failed:?}"
            );
            assert!(
                failed
                    .id
                    .as_ref()
                    .is_some_and(|id| id.as_object_id().is_some())
            );
        }
        assert_eq!(numbers(&database).await, (0..COMMAND).collect());
    }
    for code in [11_602, 189, 262] {
        let (database, report) = failed_second(code, true).await;
        assert_eq!(
            (report.stored(), report.failed().len()),
            (2 * COMMAND + 10, 0),
            "{code}"
        );
        assert_eq!(numbers(&database).await.len(), 2 * COMMAND + 10);
    }
    // If the server refuses the entire command, it stored nothing, and nothing after it is sent.
    let (database, report) = failed_second(13, false).await;
    assert_true(&database, &report).await;
    assert_eq!(report.stored(), COMMAND);
    assert!(
        report
            .failed()
            .iter()
            .all(|failed| !failed.error.is_outcome_unknown())
    );

    // One document of a command is at fault: it is found, and the others are stored.
    let server = failing().await;
    let database = server.database("failing").await.unwrap();
    let documents = Thing::documents(&database);
    let data = doc! { "errorCode": 15 };
    fail(server, doc! { "times": 3 }, data).await;
    let report = documents.insert_many(things(100)).await.unwrap();
    fail(server, "off", doc! {}).await;
    assert_eq!(report.failed().len(), 0, "{report:?}");
    assert_eq!(numbers(&database).await.len(), 100);

    // The write concern of the second command is not met.
    let database = server.database("failing").await.unwrap();
    let documents = Thing::documents(&database);
    let concern = doc! { "code": 100, "errmsg": "no such nodes" };
    fail(
        server,
        doc! { "skip": 1 },
        doc! { "writeConcernError": concern },
    )
    .await;
    let report = documents
        .insert_many(things(2 * COMMAND + 10))
        .await
        .unwrap();
    fail(server, "off", doc! {}).await;
    assert_true(&database, &report).await;
    assert_eq!(report.stored(), COMMAND);
    assert_eq!(numbers(&database).await.len(), 2 * COMMAND);
}

#[tokio::test]
async fn the_deadline_covers_the_call_and_not_each_command() {
    const COMMANDS: usize = 8;
    let server = DevServer::builder().own();
    let server = server.arguments(["--setParameter", "enableTestCommands=1"]);
    let server = server.await.unwrap();
    let database = server.database("slow").await.unwrap();
    let slow = doc! { "blockConnection": true, "blockTimeMS": 1_000 };
    fail(&server, "alwaysOn", slow).await;
    let documents = Thing::documents(&database);
    // Each command has enough time, all of them together do not.
    let stored = documents.insert_many(things(COMMANDS * COMMAND));
    let report = stored.deadline(Duration::from_secs(4)).await.unwrap();
    fail(&server, "off", doc! {}).await;
    assert_true(&database, &report).await;
    assert!(report.stored() < COMMANDS * COMMAND, "{}", report.stored());
    assert!(report.stopped_by().is_some());
    let not_sent = report.failed().iter().map(|failed| &failed.error);
    assert!(
        not_sent.clone().any(bucket_mongo::Error::is_retryable),
        "{:?}",
        report.stopped_by()
    );
}

/// Stores through a proxy in many calls, each with a fault or two; the reports are true.
async fn store_through(proxy: &Proxy, server: &DevServer, name: &str, may_be_unknown: bool) {
    let database = server.database(name).await.unwrap();
    let client = proxy.client().await;
    let behind = Thing::documents(&client.database(database.name()));
    let calm = Thing::documents(&database);
    // One is already stored, and is refused every time.
    calm.insert(&thing(7, 1_000_000)).await.unwrap();
    let mut unknown = BTreeSet::new();
    let mut expected = BTreeSet::from([1_000_000]);
    for call in 0..2 * Fault::ALL.len() {
        let fault = Fault::ALL[call % Fault::ALL.len()];
        let number = if call < Fault::ALL.len() { 1 } else { 2 };
        proxy.set_plan(Plan::next(fault, number));
        let range = call * 20..call * 20 + 20;
        let mut all: Vec<Thing> = range.clone().map(|number| thing(None, number)).collect();
        all[10].id = Some(Bson::Int32(7));
        let report = behind.insert_many(&all).await.unwrap();
        assert!(proxy.injected().contains_key(&fault), "{fault:?}");
        for (index, number) in range.enumerate() {
            if report.is_stored(index) {
                expected.insert(number);
            }
        }
        for failed in report.failed() {
            if failed.error.is_outcome_unknown() {
                unknown.insert(call * 20 + failed.index);
            } else {
                assert_eq!(failed.index, 10, "{failed:?}");
                assert!(failed.error.is_duplicate_key(), "{failed:?}");
            }
        }
    }
    proxy.calm_down().await;
    let stored = numbers(&database).await;
    assert!(
        stored.is_superset(&expected),
        "a document reported as stored is not"
    );
    let more: BTreeSet<usize> = stored.difference(&expected).copied().collect();
    assert!(
        more.is_subset(&unknown),
        "{more:?} are stored but not reported as stored"
    );
    // Except for the taken `_id`, no outcome is unknown.
    assert!(
        unknown.iter().all(|number| number % 20 == 10),
        "{unknown:?}"
    );
    assert!(may_be_unknown || unknown.is_empty(), "{unknown:?}");
}

#[tokio::test]
async fn lost_replies_store_nothing_twice_and_make_no_report_false() {
    let server = bucket_tests::server().await;
    let proxy = Proxy::start(server.members()[0].address(), Plan::off()).await;
    store_through(&proxy, server, "lost", false).await;
}

#[tokio::test]
async fn caller_ids_make_retries_exact_where_the_server_takes_no_numbers() {
    let server = DevServer::builder().own().standalone().await.unwrap();
    let proxy = Proxy::start(server.members()[0].address(), Plan::off()).await;
    store_through(&proxy, &server, "standalone", true).await;
}

async fn in_transaction(documents: &Documents<Thing>, all: &[Thing]) -> InsertDocumentsReport {
    let client = documents.database().client();
    let mut session = client.start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    let stored = documents.insert_many(all).session(&mut session);
    let report = stored.await.unwrap();
    let committed = session.commit_transaction().await;
    assert_eq!(
        committed.is_ok(),
        report.failed().is_empty(),
        "{committed:?}"
    );
    report
}

#[tokio::test]
async fn a_transaction_stores_all_documents_or_none() {
    let database = database().await;
    let documents = Thing::documents(&database);
    documents.insert(&thing(7, 1_000_000)).await.unwrap();
    let mut all = things(COMMAND + 10);
    all[COMMAND + 2].id = Some(Bson::Int32(7));
    let report = in_transaction(&documents, &all).await;
    assert_eq!((report.stored(), report.failed().len()), (0, COMMAND + 10));
    let taken: Vec<usize> = report
        .failed()
        .iter()
        .filter(|failed| failed.error.is_duplicate_key())
        .map(|failed| failed.index)
        .collect();
    assert_eq!(taken, [COMMAND + 2]);
    assert!(
        report
            .failed()
            .iter()
            .all(|failed| !failed.error.is_outcome_unknown())
    );
    assert_eq!(numbers(&database).await.len(), 1);
    let report = in_transaction(&documents, &things(10)).await;
    assert_eq!(report.stored(), 10);
    assert_eq!(numbers(&database).await.len(), 11);

    // Without a transaction, a session changes nothing.
    let mut session = database.client().start_session().await.unwrap();
    let all = [thing(8, 20), thing(7, 21), thing(9, 22)];
    let report = documents.insert_many(&all).session(&mut session).await;
    let report = report.unwrap();
    assert_eq!((report.stored(), report.failed().len()), (2, 1));
    documents
        .insert(&thing(10, 23))
        .session(&mut session)
        .await
        .unwrap();
    assert_eq!(numbers(&database).await.len(), 14);
}

#[tokio::test]
async fn an_unacknowledged_write_concern_is_refused_and_a_weak_one_is_accepted() {
    let database = database().await;
    let documents = Thing::documents(&database);
    let none = WriteConcern::builder().w(Some(0.into())).build();
    let refused = documents.insert_many(things(2)).write_concern(none.clone());
    let error = refused.await.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::InvalidArgument { .. }),
        "{error}"
    );
    assert!(
        documents
            .insert(&thing(1, 1))
            .write_concern(none)
            .await
            .is_err()
    );
    assert!(numbers(&database).await.is_empty());
    let one = WriteConcern::builder().w(Some(1.into())).build();
    let stored = documents.insert_many(things(2)).write_concern(one);
    assert_eq!(stored.await.unwrap().stored(), 2);
}

#[tokio::test]
async fn in_a_session_the_deadline_covers_the_time_until_a_server_is_found() {
    let server = bucket_tests::server().await;
    let proxy = Proxy::start(server.members()[0].address(), Plan::off()).await;
    proxy.go_away();
    let client = proxy.client().await;
    let documents = Thing::documents(&client.database("away"));
    let short = Duration::from_millis(300);
    let mut session = client.start_session().await.unwrap();
    let insert = documents
        .insert(&thing(1, 1))
        .session(&mut session)
        .deadline(short);
    let ended = tokio::time::timeout(TOO_LONG, insert.into_future()).await;
    let error = ended.expect("the deadline passed").unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Unreachable { .. }),
        "{error}"
    );
    let load = documents.insert_many(things(3)).session(&mut session);
    let ended = tokio::time::timeout(TOO_LONG, load.deadline(short).into_future()).await;
    let report = ended.expect("the deadline passed").unwrap();
    assert_eq!((report.tried(), report.failed().len()), (3, 3));
    assert!(
        report
            .stopped_by()
            .is_some_and(bucket_mongo::Error::is_retryable)
    );
}

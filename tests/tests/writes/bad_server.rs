//! A server that cannot be reached, refuses, dies or pauses: each is a typed error, and a stored
//! record is never reported as refused.

use std::time::Duration;

use crate::common::event::{Event, assert_not_stored, event};
use bucket_mongo::{
    Bucketed, Error, ErrorKind,
    mongodb::{Client, options::ClientOptions},
    testing::DevServer,
};
use bucket_tests::server;

/// Writes give up soon: nobody brings these servers back.
const DEADLINE: Duration = Duration::from_secs(2);

async fn client(uri: &str) -> Client {
    let mut options = ClientOptions::parse(uri).await.unwrap();
    options.server_selection_timeout = Some(Duration::from_millis(500));
    Client::with_options(options).unwrap()
}

#[tokio::test]
async fn an_unreachable_server_is_a_retryable_error_that_stored_nothing() {
    let client = client("mongodb://127.0.0.1:1/?directConnection=true").await;
    let events = Event::buckets(&client.database("none")).with_deadline(DEADLINE);
    let error = events.insert(&event(1, "a")).await.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Unreachable { .. }),
        "{error:?}"
    );
    assert!(error.is_retryable());
    assert_not_stored(&error);
    let error = events.ensure().await.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Unreachable { .. }),
        "{error:?}"
    );
    let error = events.page(1, 1).await.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Unreachable { .. }),
        "{error:?}"
    );
    let report = events
        .insert_many([event(1, "a"), event(2, "b")])
        .await
        .unwrap();
    assert_eq!((report.stored(), report.failed().len()), (0, 2));
    assert!(
        report
            .failed()
            .iter()
            .all(|failed| failed.error.is_retryable())
    );
    assert!(report.stopped_by().is_some_and(Error::is_retryable));
}

#[tokio::test]
async fn wrong_credentials_are_an_error_of_their_own() {
    let address = server()
        .await
        .uri()
        .trim_start_matches("mongodb://")
        .to_owned();
    let address = address.split('/').next().unwrap();
    let client = client(&format!(
        "mongodb://nobody:wrong@{address}/?directConnection=true"
    ))
    .await;
    let events = Event::buckets(&client.database("none"));
    for error in [
        events.insert(&event(1, "a")).await.unwrap_err(),
        events.page(1, 1).await.unwrap_err(),
        events.ensure().await.unwrap_err(),
    ] {
        assert!(
            matches!(error.kind(), ErrorKind::Unauthorized { .. }),
            "{error:?}"
        );
        assert!(!error.is_retryable());
        assert_not_stored(&error);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_dies_during_a_write_loses_no_acknowledged_record_silently() {
    let server = DevServer::builder().own().await.unwrap();
    let database = server.database("killed").await.unwrap();
    Event::buckets(&database).ensure().await.unwrap();
    let client = client(server.uri()).await;
    let events = Event::buckets(&client.database(database.name())).with_deadline(DEADLINE);
    let writers: Vec<_> = (0..4)
        .map(|source| {
            let events = events.clone();
            tokio::spawn(async move {
                for number in 0.. {
                    if let Err(error) = events.insert(&event(source, &number.to_string())).await {
                        return error;
                    }
                }
                unreachable!()
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(300)).await;
    server.kill().await.unwrap();
    for writer in writers {
        let error = writer.await.unwrap();
        let known = matches!(error.kind(), ErrorKind::Unreachable { .. });
        assert!(known || error.is_outcome_unknown(), "{error:?}");
        assert_eq!(error.is_retryable(), known, "{error:?}");
    }
    let records: Vec<Event> = (0..50).map(|n| event(n, "after")).collect();
    let report = events.insert_many(&records).await.unwrap();
    assert_eq!((report.stored(), report.failed().len()), (0, 50));
}

/// A server that is stopped and continues executes what it received, whatever the client reported.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_pauses_never_makes_a_stored_record_look_refused() {
    let server = DevServer::builder().own().await.unwrap();
    let database = server.database("paused").await.unwrap();
    Event::buckets(&database).ensure().await.unwrap();
    let uri = format!(
        "{}&connectTimeoutMS=1000&heartbeatFrequencyMS=500&serverSelectionTimeoutMS=4000",
        server.uri()
    );
    let client = Client::with_uri_str(uri).await.unwrap();
    let events = Event::buckets(&client.database(database.name())).with_deadline(DEADLINE);
    events.insert(&event(1, "before")).await.unwrap();
    let signal = |name: &str| {
        let id = server.process_id().unwrap().to_string();
        let sent = std::process::Command::new("kill")
            .args([name, &id])
            .status()
            .unwrap();
        assert!(sent.success());
    };
    signal("-STOP");
    let (single, many) = (event(1, "single"), [event(1, "many")]);
    let (inserted, report) = tokio::join!(events.insert(&single), events.insert_many(&many));
    signal("-CONT");
    let mut errors = vec![inserted.unwrap_err()];
    errors.extend(
        report
            .unwrap()
            .failed()
            .iter()
            .map(|failed| failed.error.clone()),
    );
    let mut stored = 0;
    for _ in 0..100 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        stored = Event::buckets(&database).count(1).await.unwrap() - 1;
    }
    let unknown = errors
        .iter()
        .filter(|error| error.is_outcome_unknown())
        .count();
    assert!(
        errors
            .iter()
            .all(|error| error.is_outcome_unknown() != error.is_retryable()),
        "{errors:?}"
    );
    assert!(stored <= unknown as u64, "{stored} stored: {errors:?}");
}

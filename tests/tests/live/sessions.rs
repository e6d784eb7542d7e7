//! Sessions and transactions.

use bucket_mongo::{
    Bucketed, ErrorKind,
    bson::{DateTime, doc},
    mongodb::options::{Acknowledgment, WriteConcern},
};
use bucket_tests::database;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "events", items = "events", capacity = 3)]
struct Event {
    #[bucket(key)]
    source: i32,
    #[bucket(time)]
    at: DateTime,
    number: i32,
}

fn event(number: i32) -> Event {
    Event {
        source: 1,
        at: DateTime::from_millis(1_698_335_223_000),
        number,
    }
}

#[tokio::test]
async fn a_committed_transaction_stores_all_and_an_aborted_one_nothing() {
    let database = database().await;
    let events = Event::buckets(&database);
    events.ensure().await.unwrap();
    for number in 0..2 {
        events.insert(&event(number)).await.unwrap();
    }
    let mut session = database.client().start_session().await.unwrap();
    for commit in [false, true] {
        session.start_transaction().await.unwrap();
        events
            .insert(&event(2))
            .session(&mut session)
            .await
            .unwrap();
        // The bucket is full now; the next ones open others, late by their date.
        let rest: Vec<Event> = (3..12).map(event).collect();
        let report = events
            .insert_many(&rest)
            .session(&mut session)
            .await
            .unwrap();
        assert_eq!(report.into_result().unwrap().stored(), 9);
        assert_eq!(events.count(1).session(&mut session).await.unwrap(), 12);
        assert_eq!(events.page_count(1).session(&mut session).await.unwrap(), 4);
        let page = events.page(1, 4).session(&mut session).await.unwrap();
        assert_eq!(page.records()[2], event(11));
        assert_eq!(events.count(1).await.unwrap(), 2, "seen before the commit");
        if commit {
            session.commit_transaction().await.unwrap();
        } else {
            session.abort_transaction().await.unwrap();
            assert_eq!(events.count(1).await.unwrap(), 2);
        }
    }
    assert_eq!(events.count(1).await.unwrap(), 12);
}

#[tokio::test]
async fn a_lost_race_in_a_transaction_is_a_transient_error_and_stores_nothing() {
    let database = database().await;
    let events = Event::buckets(&database);
    events.ensure().await.unwrap();
    events.insert(&event(0)).await.unwrap();
    let mut session = database.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    assert_eq!(events.count(1).session(&mut session).await.unwrap(), 1);
    events.insert(&event(1)).await.unwrap();
    let error = events
        .insert(&event(2))
        .session(&mut session)
        .await
        .unwrap_err();
    assert!(
        error.contains_label("TransientTransactionError"),
        "{error:?}"
    );
    drop(session);
    assert_eq!(events.count(1).await.unwrap(), 2);
}

#[tokio::test]
async fn a_session_without_a_transaction_and_a_write_concern_of_ones_own_work() {
    let database = database().await;
    let events = Event::buckets(&database);
    events.ensure().await.unwrap();
    let mut session = database.client().start_session().await.unwrap();
    let one = WriteConcern::builder().w(Acknowledgment::Nodes(1)).build();
    for number in 0..7 {
        let event = event(number);
        let insert = events.insert(&event).session(&mut session);
        insert.write_concern(one.clone()).await.unwrap();
    }
    assert_eq!(events.count(1).session(&mut session).await.unwrap(), 7);
    let weaker = events.clone().with_write_concern(one);
    weaker.insert(&event(7)).await.unwrap();
    assert_eq!(events.count(1).await.unwrap(), 8);
    let none = WriteConcern::builder().w(Acknowledgment::Nodes(0)).build();
    let error = events
        .insert(&event(8))
        .write_concern(none)
        .await
        .unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::InvalidArgument { .. }),
        "{error:?}"
    );
    // One node cannot do as two would: it is stored here, and not known to stay.
    let two = WriteConcern::builder().w(Acknowledgment::Nodes(2)).build();
    let error = events
        .insert(&event(8))
        .write_concern(two)
        .await
        .unwrap_err();
    assert!(
        error.is_outcome_unknown() && !error.is_retryable(),
        "{error:?}"
    );
    assert_eq!(events.count(1).await.unwrap(), 9);
}

#[tokio::test]
async fn a_refusal_in_a_transaction_ends_it_and_nothing_behind_it_counts_as_stored() {
    let database = database().await;
    let events = Event::buckets(&database);
    events.ensure().await.unwrap();
    let index = doc! { "name": "number", "key": { "events.number": 1 }, "unique": true };
    let command = doc! { "createIndexes": "events", "indexes": [index] };
    database.run_command(command).await.unwrap();
    let records: Vec<Event> = [(1, 1), (2, 2), (3, 1), (4, 4)]
        .map(|(source, number)| Event {
            source,
            ..event(number)
        })
        .to_vec();
    let mut session = database.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    let report = events
        .insert_many(&records)
        .session(&mut session)
        .await
        .unwrap();
    assert!(!report.is_stored(2) && !report.is_stored(3), "{report:?}");
    assert!(report.failed()[0].error.is_duplicate_key(), "{report:?}");
    assert!(report.stopped_by().is_some());
    assert!(session.commit_transaction().await.is_err());
    assert_eq!(events.count(1).await.unwrap(), 0);
}

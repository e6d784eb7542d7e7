//! Sessions and transactions.

use bucket_mongo::{
    Attributed, Bucketed, Error, ErrorKind,
    bson::{DateTime, doc},
    mongodb::options::{Acknowledgment, ReadPreference, SelectionCriteria, WriteConcern},
};
use bucket_tests::{database, profiled};
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
        // The bucket is now full; the next ones open others, late by their date.
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
async fn a_session_without_a_transaction_and_a_custom_write_concern_work() {
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
    // One node cannot act as two: the record is stored here, but may not survive.
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
async fn a_refusal_in_a_transaction_ends_it_and_nothing_after_it_counts_as_stored() {
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

#[tokio::test]
async fn a_refused_statement_of_many_records_ends_a_transaction_with_the_reason() {
    let database = database().await;
    let events = Event::buckets(&database);
    events.ensure().await.unwrap();
    let validator = doc! { "events.number": { "$ne": 10 } };
    let command = doc! { "collMod": "events", "validator": validator };
    database.run_command(command).await.unwrap();
    let records: Vec<Event> = (0..30).map(event).collect();
    let mut session = database.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    let insert = events.insert_many(&records).session(&mut session);
    let report = insert.await.unwrap();
    // A transaction that is run again for its label would meet the same refusal for ever.
    let labelled = report.failed().iter().map(|failed| &failed.error);
    let mut labelled = labelled.filter(|error| error.contains_label("TransientTransactionError"));
    assert!(labelled.next().is_none(), "{report:?}");
    // It was sent with those of its bucket.
    let codes = report.failed().iter().map(|failed| failed.error.code());
    let of_statement = codes.filter(|code| *code == Some(121)).count();
    assert!((2..=3).contains(&of_statement), "{report:?}");
    assert_eq!(report.error(10).unwrap().code(), Some(121), "{report:?}");
    assert_eq!(report.error(29).unwrap().code(), Some(251), "{report:?}");
    assert_eq!(report.stopped_by().unwrap().code(), Some(251));
    assert_eq!(report.into_result().unwrap_err().code(), Some(121));
    assert!(session.commit_transaction().await.is_err());
    assert_eq!(events.count(1).await.unwrap(), 0);
}

macro_rules! forms {
    ($($name:ident: [$($attributes:tt)*] [$($id:tt)*])*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "readings", items = "items", $($attributes)*)]
        struct $name {
            #[bucket(key)]
            sensor: i32,
            #[bucket(time)]
            at: DateTime,
            $($id)*
            number: i32,
        }

        impl $name {
            fn of(number: i32) -> Self {
                let at = DateTime::from_millis(1_698_335_223_000);
                Self { sensor: 1, at, number }
            }
        }
    )*};
}

forms! {
    Counted: [capacity = 3] []
    Windowed: [window = "1h"] []
    Parts: [window = "1h", capacity = 3] []
    Objects: [window = "1h", capacity = 3, object_ids] []
    Hybrid: [capacity = 3, max_duration = "1h"] []
    Numbered: [capacity = 3, numbered] []
    Unique: [capacity = 3] [#[bucket(unique)]]
}

#[derive(Debug, Clone, Serialize, Deserialize, Attributed)]
#[bucket(collection = "readings")]
struct Bottle {
    #[serde(rename = "_id")]
    id: i32,
    #[bucket(attribute(array = "specs", k = "volume", u = "ml"))]
    volume_ml: Option<i32>,
}

fn assert_snapshot(error: &Error) {
    let is_argument = matches!(error.kind(), ErrorKind::InvalidArgument { .. });
    assert!(is_argument && !error.is_outcome_unknown(), "{error:?}");
    assert!(error.to_string().contains("snapshot"), "{error}");
}

async fn check_snapshot<T: Bucketed>(of: fn(i32) -> T, key: T::Key) {
    let database = database().await;
    let buckets = T::buckets(&database);
    buckets.ensure().await.unwrap();
    buckets.insert(&of(0)).await.unwrap();
    let client = database.client();
    let mut session = client.start_session().snapshot(true).await.unwrap();
    let writes = async {
        let record = of(1);
        // A handle that knows the bucket, and one that knows nothing.
        for buckets in [&buckets, &T::buckets(&database)] {
            let refused = buckets.insert(&record).session(&mut session).await;
            assert_snapshot(&refused.unwrap_err());
            let records = (1..20).map(of);
            let report = buckets.insert_many(records).session(&mut session).await;
            let report = report.unwrap();
            assert_eq!((report.stored(), report.failed().len()), (0, 19));
            assert_snapshot(&report.failed()[18].error);
        }
    };
    let ((), sent) = profiled(&database, "readings", writes).await;
    assert!(sent.is_empty(), "{sent:?}");
    let records = buckets.records(key).session(&mut session).await.unwrap();
    assert_eq!(records.into_records().len(), 1);
}

#[tokio::test]
async fn a_snapshot_session_is_refused_in_every_form_before_anything_is_sent() {
    check_snapshot(Counted::of, 1.into()).await;
    check_snapshot(Windowed::of, 1.into()).await;
    check_snapshot(Parts::of, 1.into()).await;
    check_snapshot(Objects::of, 1.into()).await;
    check_snapshot(Hybrid::of, 1.into()).await;
    check_snapshot(Numbered::of, 1.into()).await;
    check_snapshot(Unique::of, 1.into()).await;
}

#[tokio::test]
async fn documents_are_not_sent_in_a_snapshot_session() {
    let database = database().await;
    let bottles = Bottle::documents(&database);
    let bottle = |id| Bottle {
        id,
        volume_ml: Some(500),
    };
    bottles.insert(&bottle(0)).await.unwrap();
    let client = database.client();
    let mut session = client.start_session().snapshot(true).await.unwrap();
    let writes = async {
        let refused = bottles.insert(&bottle(1)).session(&mut session).await;
        assert_snapshot(&refused.unwrap_err());
        let all = (1..20).map(bottle);
        let report = bottles.insert_many(all).session(&mut session).await;
        let report = report.unwrap();
        assert_eq!((report.stored(), report.failed().len()), (0, 19));
        assert_snapshot(&report.failed()[18].error);
    };
    let ((), sent) = profiled(&database, "readings", writes).await;
    assert!(sent.is_empty(), "{sent:?}");
}

/// A transaction that reads from secondaries: the driver refuses each of its commands.
#[tokio::test]
async fn a_write_that_the_driver_does_not_send_is_known_to_be_not_stored() {
    let database = database().await;
    let readings = Windowed::buckets(&database);
    readings.ensure().await.unwrap();
    readings.insert(&Windowed::of(0)).await.unwrap();
    let bottles = Bottle::documents(&database);
    let bottle = |id| Bottle {
        id,
        volume_ml: Some(500),
    };
    bottles.insert(&bottle(0)).await.unwrap();
    let mut session = database.client().start_session().await.unwrap();
    let secondary = ReadPreference::SecondaryPreferred { options: None };
    let begin = session.start_transaction();
    begin
        .selection_criteria(SelectionCriteria::ReadPreference(secondary))
        .await
        .unwrap();
    let insert = bottles.insert(&bottle(1)).session(&mut session).await;
    let error = insert.unwrap_err();
    assert!(!error.is_outcome_unknown(), "{error}");
    let report = bottles
        .insert_many((1..5).map(bottle))
        .session(&mut session);
    let report = report.await.unwrap();
    let unknown = |error: &Error| error.is_outcome_unknown();
    assert!(!report.failed().iter().any(|it| unknown(&it.error)));
    assert_eq!(report.failed().len(), 4);
    let record = Windowed::of(1);
    let insert = readings.insert(&record).session(&mut session).await;
    let error = insert.unwrap_err();
    assert!(!error.is_outcome_unknown(), "{error}");
}

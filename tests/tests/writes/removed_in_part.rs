//! Removals of many records that fail after some of them are gone: the error says so, and a second call removes the rest.

use bucket_mongo::{
    Bucketed, Buckets, Error, ErrorKind, FieldPath,
    action::Removed,
    bson::{DateTime, Document, doc},
    testing::TestDatabase,
};
use bucket_tests::{database, documents};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "visits", items = "visits", capacity = 4)]
struct Visit {
    #[bucket(key)]
    device: String,
    #[bucket(time)]
    at: DateTime,
    number: i32,
}

const REFUSED: i32 = 121;

/// Three buckets, the second of which cannot be edited.
async fn set_up() -> (TestDatabase, Buckets<Visit>) {
    let database = database().await;
    let visits = Visit::buckets(&database);
    visits.ensure().await.unwrap();
    let records = (0..12).map(|number| Visit {
        device: "a".to_owned(),
        at: DateTime::from_millis(i64::from(number) * 1_000),
        number,
    });
    let report = visits.insert_many(records.collect::<Vec<_>>()).await;
    report.unwrap().into_result().unwrap();
    let stored: Vec<Document> = documents(&database, "visits").await;
    let second = stored[1].get_str("_id").unwrap();
    let refused = doc! { "$nor": [{ "_id": second, "_edits": { "$exists": true } }] };
    validate(&database, refused).await;
    (database, visits)
}

async fn validate(database: &TestDatabase, validator: Document) {
    let change = doc! { "collMod": "visits", "validator": validator };
    database.run_command(change).await.unwrap();
}

async fn left(visits: &Buckets<Visit>) -> usize {
    visits.records("a").collect().await.unwrap().len()
}

fn is_in_part(error: &Error, code: i32) {
    let ErrorKind::RemovedInPart { cause, .. } = error.kind() else {
        panic!("{error}");
    };
    assert!(matches!(**cause, ErrorKind::Server { .. }), "{error}");
    assert_eq!(error.code(), Some(code));
    assert!(!error.is_outcome_unknown());
    assert!(error.to_string().contains("some of the records"), "{error}");
}

#[tokio::test]
async fn a_removal_that_a_later_bucket_refuses_says_that_some_records_are_gone() {
    let all = || FieldPath::new("visits.number").gte(0);
    for by_filter in [false, true] {
        let (database, visits) = set_up().await;
        let remove = async || -> bucket_mongo::Result<Removed> {
            if by_filter {
                visits.delete_where("a", all()).await
            } else {
                visits.delete_range("a", ..).await
            }
        };
        let error = remove().await.unwrap_err();
        is_in_part(&error, REFUSED);
        assert_eq!(left(&visits).await, 8);
        // Nothing is gone by the second one.
        let error = remove().await.unwrap_err();
        let is_refusal = matches!(error.kind(), ErrorKind::Server { code: REFUSED, .. });
        assert!(is_refusal, "{error}");

        validate(&database, doc! {}).await;
        assert_eq!(remove().await.unwrap().records, 8);
        assert_eq!(left(&visits).await, 0);
        assert!(visits.verify().await.unwrap().is_clean());
    }
}

#[tokio::test]
async fn what_a_transaction_undoes_is_not_called_removed() {
    let (database, visits) = set_up().await;
    let mut session = database.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    let removal = visits.delete_range("a", ..).session(&mut session);
    let error = removal.await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Server { .. }), "{error}");
    drop(session.abort_transaction().await);
    assert_eq!(left(&visits).await, 12);
}

#[tokio::test]
async fn an_erasure_that_cannot_read_the_quarantine_says_that_the_collection_was_erased() {
    let (_database, visits) = set_up().await;
    let erasure = visits.delete_key("a").quarantine("no\0name");
    let error = erasure.await.unwrap_err();
    let is_part = matches!(error.kind(), ErrorKind::RemovedInPart { .. });
    assert!(is_part, "{error}");
    assert_eq!(left(&visits).await, 0);
    assert_eq!(visits.delete_key("a").await.unwrap().records, 0);
}

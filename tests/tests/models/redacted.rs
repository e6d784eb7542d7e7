//! What `Error::redacted` leaves of errors that a real server brought about: nothing of what users store.

use std::error::Error as _;

use bucket_mongo::{
    Attributed, Bucketed, Error, ErrorKind,
    bson::{DateTime, doc},
};
use bucket_tests::database;
use serde::{Deserialize, Serialize};

/// No part of a name, a message or a number.
const SECRET: &str = "zqxjsecretkv";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "visits", items = "visits", capacity = 3)]
struct Visit {
    #[bucket(key)]
    user: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(unique)]
    id: String,
    page: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Attributed)]
#[bucket(collection = "people")]
struct Person {
    #[serde(rename = "_id")]
    id: String,
    name: String,
    #[bucket(attribute(array = "specs", k = "height", u = "cm"))]
    height_cm: Option<i32>,
}

fn visit(id: &str, page: &str) -> Visit {
    Visit {
        user: format!("{SECRET}-user"),
        at: DateTime::from_millis(1_698_335_223_000),
        id: format!("{SECRET}-{id}"),
        page: format!("{SECRET}-{page}"),
    }
}

fn person(id: &str) -> Person {
    Person {
        id: format!("{SECRET}-{id}"),
        name: SECRET.to_owned(),
        height_cm: Some(1),
    }
}

/// Everything that a log can show of an error, and of what it gives to a program.
fn shown(error: &Error) -> String {
    let kind = error.kind();
    let mut shown = format!("{error} {error:?} {error:#?} {kind} {kind:?}");
    let mut source = error.source();
    while let Some(error) = source {
        shown = format!("{shown} {error} {error:?}");
        source = error.source();
    }
    shown + &format!(" {:?} {:?}", error.key(), error.driver())
}

/// The error quotes what users store, and its redacted form does not.
fn assert_hidden(error: &Error, is_expected: impl Fn(&Error) -> bool, code: Option<i32>) {
    let redacted = error.redacted();
    assert!(shown(error).contains(SECRET), "{error:?}");
    assert!(!shown(&redacted).contains(SECRET), "{redacted:?}");
    for error in [error, &redacted] {
        assert!(is_expected(error), "{error:?}");
        assert_eq!(error.code(), code, "{error:?}");
    }
    assert_eq!(
        (redacted.operation(), redacted.collection()),
        (error.operation(), error.collection())
    );
}

#[tokio::test]
async fn a_redacted_error_of_buckets_shows_nothing_that_users_store() {
    let database = database().await;
    let visits = Visit::buckets(&database);
    visits.ensure().await.unwrap();
    visits.insert(&visit("1", "a")).await.unwrap();

    let conflict = visits.insert(&visit("1", "b")).await.unwrap_err();
    assert_hidden(&conflict, Error::is_conflict, None);
    let report = visits.insert_many([visit("1", "c")]).await.unwrap();
    assert_hidden(report.error(0).unwrap(), Error::is_conflict, None);

    let stored = database.collection::<bucket_mongo::bson::Document>("visits");
    let index = doc! {
        "createIndexes": "visits",
        "indexes": [{ "key": { "visits.page": 1 }, "name": "own", "unique": true }],
    };
    database.run_command(index).await.unwrap();
    let mut other = visit("2", "a");
    other.user += "-other";
    let duplicate = visits.insert(&other).await.unwrap_err();
    assert_hidden(&duplicate, Error::is_duplicate_key, Some(11_000));

    let validate = doc! {
        "collMod": "visits",
        "validator": { "visits.page": { "$ne": format!("{SECRET}-refused") } },
    };
    database.run_command(validate).await.unwrap();
    let refused = visits.insert(&visit("3", "refused")).await.unwrap_err();
    let is_refused = |error: &Error| matches!(error.kind(), ErrorKind::Server { code: 121, .. });
    assert_hidden(&refused, is_refused, Some(121));
    // Each way to write a record names its key.
    let key = format!("{{ user: \"{SECRET}-user\" }}");
    assert_eq!(refused.key(), Some(key.as_str()));
    let records = [visit("4", "b"), visit("3", "refused")];
    let report = visits.insert_many(&records).await.unwrap();
    let [failed] = report.failed() else {
        panic!("{report:?}");
    };
    assert_hidden(&failed.error, is_refused, Some(121));
    assert_eq!(failed.error.key(), Some(key.as_str()));
    let ingestor = visits.ingestor().start().unwrap();
    let receipt = ingestor.push(&records[1]).await.unwrap();
    let refused = receipt.await.unwrap_err();
    assert_hidden(&refused, is_refused, Some(121));
    assert_eq!(refused.key(), Some(key.as_str()));
    let report = ingestor.shutdown().await;
    assert_eq!(report.failed()[0].error.key(), Some(key.as_str()));

    let none = visits.page(format!("{SECRET}-user"), 0).await.unwrap_err();
    assert_hidden(&none, Error::is_invalid_input, None);

    let damage = doc! { "$set": { "count": SECRET } };
    stored.update_many(doc! {}, damage).await.unwrap();
    let damaged = visits.page(format!("{SECRET}-user"), 1).await.unwrap_err();
    assert_hidden(&damaged, Error::is_damaged, None);
    let damaged = visits.records(format!("{SECRET}-user")).await.unwrap_err();
    assert_hidden(&damaged, Error::is_damaged, None);
}

#[tokio::test]
async fn a_redacted_error_of_documents_shows_nothing_that_users_store() {
    let database = database().await;
    let people = Person::documents(&database);
    people.insert(&person("1")).await.unwrap();
    let taken = people.insert(&person("1")).await.unwrap_err();
    assert_hidden(&taken, Error::is_duplicate_key, Some(11_000));
    assert_eq!(taken.key(), Some(format!("\"{SECRET}-1\"").as_str()));
    let report = people
        .insert_many([person("1"), person("2")])
        .await
        .unwrap();
    assert_hidden(
        report.error(0).unwrap(),
        Error::is_duplicate_key,
        Some(11_000),
    );
    assert!(report.error(1).is_none());

    let stored = database.collection::<bucket_mongo::bson::Document>("people");
    let damage = doc! { "$set": { "name": { SECRET: SECRET } } };
    stored.update_many(doc! {}, damage).await.unwrap();
    let damaged = people.find(doc! {}).await.unwrap_err();
    assert_hidden(&damaged, Error::is_damaged, None);
}

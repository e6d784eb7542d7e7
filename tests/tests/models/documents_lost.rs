//! Documents whose replies never arrive: replies that are too large for the server, and those of a
//! server that dies half-way.

use std::{collections::BTreeSet, time::Duration};

use bucket_mongo::{
    Attributed, ErrorKind,
    bson::{Bson, doc},
    documents::InsertDocumentsReport,
    testing::{DevServer, TestDatabase},
};
use bucket_tests::{
    database, documents,
    faults::{plan::Plan, proxy::Proxy},
};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Serialize, Deserialize, Attributed)]
#[bucket(collection = "things")]
struct Thing {
    #[serde(rename = "_id", skip_serializing_if = "Option::is_none")]
    id: Option<Bson>,
    number: i32,
    text: String,
    #[bucket(attribute(array = "specs", k = "volume", u = "ml"))]
    volume_ml: Option<i32>,
}

/// Every third one passes [the validator](validated), every second one has its own `_id`.
fn things(number: i32, bytes: usize) -> Vec<Thing> {
    let thing = |number: i32| Thing {
        id: (number % 2 == 0).then(|| Bson::String(format!("own {number}"))),
        number,
        text: if number % 3 == 0 { "y" } else { "x" }.repeat(bytes),
        volume_ml: Some(1),
    };
    (0..number).map(thing).collect()
}

/// A validator with three rules: an error repeats the refused document three times.
async fn validated(database: &TestDatabase) {
    let rules = ["^x", "x$", "xx"].map(|rule| doc! { "text": { "$regex": rule } });
    let create = database.create_collection("things");
    create
        .validator(doc! { "$nor": rules.to_vec() })
        .await
        .unwrap();
}

async fn numbers(database: &TestDatabase) -> BTreeSet<i32> {
    let stored = documents(database, "things").await;
    let numbers = stored.iter().map(|d| d.get_i32("number").unwrap());
    let unique: BTreeSet<i32> = numbers.collect();
    assert_eq!(unique.len(), stored.len(), "a document is stored twice");
    unique
}

/// Documents that pass are stored and reported as stored. Returns how many of the others have an
/// unknown outcome.
async fn assert_told(
    database: &TestDatabase,
    report: &InsertDocumentsReport,
    number: i32,
) -> usize {
    let expected: BTreeSet<i32> = (0..number).filter(|number| number % 3 == 0).collect();
    assert_eq!(numbers(database).await, expected);
    let told = (0..number).filter(|at| report.is_stored(usize::try_from(*at).unwrap()));
    assert_eq!(told.collect::<BTreeSet<i32>>(), expected);
    assert!(report.stopped_by().is_none(), "{:?}", report.stopped_by());
    let errors = report.failed().iter().map(|failed| &failed.error);
    let unknown = errors.clone().filter(|error| error.is_outcome_unknown());
    let refused =
        errors.filter(|error| matches!(error.kind(), ErrorKind::Server { code: 121, .. }));
    let unknown = unknown.count();
    assert_eq!(refused.count() + unknown, report.failed().len());
    unknown
}

#[tokio::test]
async fn refusals_too_large_for_a_reply_are_still_reported() {
    for (number, bytes) in [(50, 200_000), (5_000, 2_200)] {
        let database = database().await;
        validated(&database).await;
        let load = Thing::documents(&database);
        let report = load.insert_many(things(number, bytes)).await.unwrap();
        assert_eq!(assert_told(&database, &report, number).await, 0);
    }
    let database = database().await;
    validated(&database).await;
    let mut session = database.client().start_session().await.unwrap();
    let load = Thing::documents(&database);
    let load = load.insert_many(things(50, 200_000)).session(&mut session);
    let report = load.await.unwrap();
    assert_eq!(assert_told(&database, &report, 50).await, 0);
}

#[tokio::test]
async fn without_transaction_numbers_such_refusals_are_unknown_and_the_others_are_reported() {
    let server = DevServer::builder().own().standalone().await.unwrap();
    let database = server.database("standalone").await.unwrap();
    validated(&database).await;
    let mut all = things(50, 200_000);
    // An `_id` from the caller may have been stored before.
    for thing in &mut all {
        thing.id = None;
    }
    let load = Thing::documents(&database);
    let report = load.insert_many(all).await.unwrap();
    let unknown = assert_told(&database, &report, 50).await;
    assert_eq!(unknown, report.failed().len());
}

#[tokio::test]
async fn ids_of_every_type_are_stored_or_refused_one_by_one() {
    use bucket_mongo::bson::{
        Binary, DateTime, JavaScriptCodeWithScope, Regex, Timestamp, oid::ObjectId,
        spec::BinarySubtype,
    };
    let database = database().await;
    let regex = Bson::RegularExpression(Regex {
        pattern: "a".try_into().unwrap(),
        options: "".try_into().unwrap(),
    });
    let binary = Binary {
        subtype: BinarySubtype::Generic,
        bytes: vec![0; 4],
    };
    let code = JavaScriptCodeWithScope {
        code: "1".to_owned(),
        scope: doc! { "a": 1 },
    };
    let ids: Vec<(Bson, bool)> = vec![
        (Bson::Array(vec![1.into()]), false),
        (regex, false),
        (Bson::Undefined, false),
        (Bson::Document(doc! { "$a": 1 }), false),
        (Bson::Null, true),
        (Bson::Double(f64::NAN), true),
        (Bson::Int32(1), true),
        // The same number, and the same text once more.
        (Bson::Double(1.0), false),
        (Bson::String("a".to_owned()), true),
        (Bson::String("a".to_owned()), false),
        (Bson::Symbol("b".to_owned()), true),
        (Bson::Document(doc! { "a": 1, "b": { "c": [1] } }), true),
        (Bson::Document(doc! {}), true),
        (Bson::Binary(binary), true),
        (Bson::ObjectId(ObjectId::new()), true),
        (Bson::Boolean(false), true),
        (Bson::DateTime(DateTime::MAX), true),
        (Bson::Int64(i64::MIN), true),
        (Bson::Decimal128("1.50".parse().unwrap()), true),
        (Bson::Decimal128("1.5".parse().unwrap()), false),
        (
            Bson::Timestamp(Timestamp {
                time: 1,
                increment: 0,
            }),
            true,
        ),
        (Bson::JavaScriptCode("1".to_owned()), true),
        (Bson::JavaScriptCodeWithScope(code), true),
        (Bson::MinKey, true),
        (Bson::MaxKey, true),
    ];
    let thing = |(number, (id, _)): (usize, &(Bson, bool))| Thing {
        id: Some(id.clone()),
        number: i32::try_from(number).unwrap(),
        text: String::new(),
        volume_ml: None,
    };
    let all: Vec<Thing> = ids.iter().enumerate().map(thing).collect();
    let report = Thing::documents(&database).insert_many(&all).await.unwrap();
    for (index, (id, is_stored)) in ids.iter().enumerate() {
        assert_eq!(report.is_stored(index), *is_stored, "{id}: {report:?}");
    }
    let expected = ids.iter().zip(0..).filter(|((_, is_stored), _)| *is_stored);
    let expected: BTreeSet<i32> = expected.map(|(_, number)| number).collect();
    assert_eq!(numbers(&database).await, expected);
}

#[tokio::test]
async fn a_load_survives_a_step_down_and_a_killed_server_and_stores_each_document_once() {
    let server = DevServer::builder().own().members(3).await.unwrap();
    let database = server.database("load").await.unwrap();
    let load = Thing::documents(&database);
    let mut all = things(60_001, 10);
    for thing in &mut all {
        thing.text.clear();
    }
    let load = load.insert_many(&all).deadline(Duration::from_secs(120));
    let disturb = async {
        while numbers(&database).await.is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        server.step_down().await.unwrap();
        let primary = server.primary().await.unwrap();
        primary.kill().await.unwrap();
    };
    let (report, ()) = tokio::join!(load.into_future(), disturb);
    let report = report.unwrap();
    assert_eq!((report.stored(), report.failed().len()), (60_001, 0));
    assert_eq!(numbers(&database).await.len(), 60_001);
}

#[tokio::test]
async fn many_commands_with_a_taken_id_in_each_are_reported_whatever_replies_are_lost() {
    let server = bucket_tests::server().await;
    let proxy = Proxy::start(server.members()[0].address(), Plan::drawn(7, 40)).await;
    let database = server.database("drawn").await.unwrap();
    let client = proxy.client().await;
    let load = Thing::documents(&client.database(database.name()));
    let mut all = things(30_001, 10);
    for at in (0..all.len()).step_by(1_000).skip(1) {
        // The `_id` of another document of this call.
        let id = all[at - 998].id.clone();
        all[at].id = id;
    }
    let report = load.insert_many(&all).deadline(Duration::from_secs(100));
    let report = report.await.unwrap();
    proxy.calm_down().await;
    let refused = report.failed().iter().map(|failed| failed.index);
    let refused: Vec<usize> = refused.collect();
    let expected: Vec<usize> = (0..all.len()).step_by(1_000).skip(1).collect();
    assert_eq!(refused, expected);
    let errors = report.failed().iter().map(|failed| &failed.error);
    assert!(errors.clone().all(bucket_mongo::Error::is_duplicate_key));
    assert_eq!(numbers(&database).await.len(), all.len() - refused.len());
}

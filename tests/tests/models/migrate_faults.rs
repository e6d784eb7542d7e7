//! Collections migrated through faults: damaged messages, a server that disconnects, and one that
//! refuses.

use bucket_mongo::{
    Attributed, Documents, ErrorKind,
    bson::{Bson, Document, doc},
    documents::MigrationReport,
    mongodb::Database,
    testing::DevServer,
};
use bucket_tests::faults::{
    plan::{Fault, Plan},
    server,
};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Attributed)]
#[bucket(collection = "things")]
struct Thing {
    #[serde(rename = "_id")]
    id: i32,
    #[bucket(attribute(array = "specs", k = "weight", u = "g"))]
    weight: Option<i32>,
}

const NUMBER: i32 = 60;

async fn store(database: &Database) {
    let things = database.collection::<Document>("things");
    let all = (1..=NUMBER).map(|id| doc! { "_id": id, "weight": id });
    things.insert_many(all).await.unwrap();
}

async fn assert_moved(database: &Database) {
    let things = database.collection::<Document>("things");
    let cursor = things.find(doc! {}).sort(doc! { "_id": 1 }).await.unwrap();
    let all: Vec<Document> = cursor.try_collect().await.unwrap();
    let entry = |id: i32| doc! { "k": "weight", "v": id, "u": "g" };
    let expected: Vec<Document> = (1..=NUMBER)
        .map(|id| doc! { "_id": id, "specs": [entry(id)] })
        .collect();
    assert_eq!(all, expected);
}

fn counts(report: &MigrationReport) -> [u64; 4] {
    [
        report.looked_at,
        report.changed,
        report.already,
        report.left,
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_messages_lose_no_change_and_count_none_twice() {
    for fault in Fault::ALL {
        let proxy = server::proxy().await;
        let calm = server::start().await.database("moves").await.unwrap();
        store(&calm).await;
        let client = proxy.client().await;
        let things: Documents<Thing> = Thing::documents(&client.database(calm.name()));
        proxy.set_plan(Plan::next(fault, 2));
        let report = things.migrate_to_attributes().batch_size(25).await.unwrap();
        assert_eq!(proxy.injected().get(&fault), Some(&2));
        assert_eq!(counts(&report), [60, 60, 0, 0], "{fault:?}");
        assert!(
            report.differing.is_empty() && report.compared > 0,
            "{report}"
        );
        proxy.calm_down().await;
        assert_moved(&calm).await;
    }
}

static SERVER: OnceCell<DevServer> = OnceCell::const_new();

/// A server whose commands can be made to fail, for one test at a time.
async fn server_that_fails() -> &'static DevServer {
    let start = || async {
        let arguments = ["--setParameter", "enableTestCommands=1"];
        let server = DevServer::builder().own().arguments(arguments);
        server.await.unwrap()
    };
    SERVER.get_or_init(start).await
}

async fn fail(mode: impl Into<Bson>, what: Document) {
    let admin = server_that_fails()
        .await
        .client()
        .await
        .unwrap()
        .database("admin");
    let mut data = doc! { "failCommands": ["update"] };
    data.extend(what);
    let command = doc! { "configureFailPoint": "failCommand", "mode": mode, "data": data };
    admin.run_command(command).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_run_reports_where_to_continue() {
    let database = server_that_fails().await.database("moves").await.unwrap();
    store(&database).await;
    let things = Thing::documents(&database);
    let run = || things.migrate_to_attributes().batch_size(20);

    // The server disconnects, and is back soon; no majority confirms, and then it does.
    fail(doc! { "times": 2 }, doc! { "errorCode": 11_602 }).await;
    assert_eq!(counts(&run().await.unwrap()), [60, 60, 0, 0]);
    assert_moved(&database).await;
    things.migrate_to_fields().await.unwrap();
    let concern = doc! { "code": 64, "errmsg": "waiting for replication timed out" };
    fail(doc! { "times": 2 }, doc! { "writeConcernError": concern }).await;
    assert_eq!(counts(&run().await.unwrap()), [60, 60, 0, 0]);
    assert_moved(&database).await;
    things.migrate_to_fields().await.unwrap();

    let refused = || doc! { "errorCode": 13 };
    fail("alwaysOn", refused()).await;
    let text = run().await.unwrap_err().to_string();
    assert!(
        text.ends_with("; finished batches stay migrated: start the migration again"),
        "{text}"
    );
    fail(doc! { "skip": 2 }, refused()).await;
    let error = run().await.unwrap_err();
    fail("off", doc! {}).await;
    let text = error.to_string();
    assert!(
        text.starts_with("migrate_to_attributes on `things`: not authorised: "),
        "{text}"
    );
    assert!(
        text.ends_with("; documents up to 40 are migrated: start the migration again"),
        "{text}"
    );
    assert!(!error.is_retryable());
    let ErrorKind::Interrupted { after, cause, .. } = error.kind() else {
        panic!("{error:?}");
    };
    let after = after.as_deref().unwrap();
    assert_eq!(*after, Bson::Int32(40));
    assert!(
        matches!(**cause, ErrorKind::Unauthorized { .. }),
        "{cause:?}"
    );
    let rest = run().after(after.clone()).await.unwrap();
    assert_eq!(counts(&rest), [20, 20, 0, 0]);
    assert_moved(&database).await;
}

//! An index that is still being built does not count: nothing is stored that depends on it, and
//! `ensure()` waits for it.

use bucket_core::index;
use bucket_mongo::{
    Attributed, Bucketed, Error, ErrorKind,
    mongodb::{
        Database,
        bson::{DateTime, Document, doc},
    },
    testing::DevServer,
};
use bucket_tests::documents;
use serde::{Deserialize, Serialize};
use tokio::{
    task::{JoinHandle, yield_now},
    time::{Duration, timeout},
};

/// Far longer than anything takes, so that a hang becomes a failure.
const HANGS: Duration = Duration::from_secs(60);

macro_rules! models {
    ($($name:ident: [$($attributes:tt)*] [$($id:tt)*])*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "readings", items = "items", $($attributes)*)]
        struct $name {
            #[bucket(key)]
            sensor: i64,
            #[bucket(time)]
            at: DateTime,
            $($id)*
            number: i64,
        }

        impl $name {
            fn of(number: i64) -> Self {
                let at = DateTime::from_millis(1_700_000_000_000 + number);
                Self { sensor: 1, at, number }
            }
        }
    )*};
}

models! {
    Counted: [capacity = 4] []
    Parts: [window = "1h", capacity = 4] []
    Objects: [window = "1h", capacity = 4, object_ids] []
    Hybrid: [capacity = 4, max_duration = "1h"] []
    Numbered: [capacity = 4, numbered] []
    Unique: [window = "1h", capacity = 4] [#[bucket(unique)]]
}

/// A build that does not end as long as this value lives.
struct Build {
    admin: Database,
    build: JoinHandle<()>,
}

impl Build {
    const FAIL_POINT: &str = "hangAfterStartingIndexBuild";

    async fn start(database: &Database, definition: Document) -> Self {
        let admin = database.client().database("admin");
        let hang = doc! { "configureFailPoint": Self::FAIL_POINT, "mode": "alwaysOn" };
        admin.run_command(hang).await.unwrap();
        let create = doc! { "createIndexes": "readings", "indexes": [definition] };
        let runs = database.clone();
        let build = tokio::spawn(async move {
            runs.run_command(create).await.unwrap();
        });
        let list = doc! { "listIndexes": "readings", "includeBuildUUIDs": true };
        loop {
            let listed = database.run_command(list.clone()).await.unwrap();
            let listed = listed.get_document("cursor").unwrap();
            let mut listed = listed.get_array("firstBatch").unwrap().iter();
            if listed.any(|index| index.as_document().unwrap().contains_key("buildUUID")) {
                return Self { admin, build };
            }
            yield_now().await;
        }
    }

    /// The number of clients whose commands build it or wait for it. The server's own thread also
    /// shows the command.
    async fn waiting(&self) -> usize {
        let of_clients = doc! { "$regex": "^conn" };
        let command =
            doc! { "currentOp": 1, "command.createIndexes": "readings", "desc": of_clients };
        let waiting = self.admin.run_command(command).await.unwrap();
        waiting.get_array("inprog").unwrap().len()
    }

    async fn end(self) {
        let go_on = doc! { "configureFailPoint": Self::FAIL_POINT, "mode": "off" };
        self.admin.run_command(go_on).await.unwrap();
        self.build.await.unwrap();
    }
}

fn assert_unfinished(error: &Error, name: &str) {
    let is_unfinished =
        matches!(error.kind(), ErrorKind::UnfinishedIndex { name: n, .. } if n == name);
    assert!(is_unfinished, "{name}: {error:?}");
    assert!(error.is_retryable() && !error.is_outcome_unknown());
    assert!(error.to_string().contains("still being built"), "{error}");
}

async fn check<T: Bucketed>(server: &DevServer, of: fn(i64) -> T, name: &str) {
    let database = server.database("unfinished").await.unwrap();
    let batch = |from: i64| (from..from + 9).map(of);
    // The server takes its time only if there is something to index.
    T::buckets(&database).ensure().await.unwrap();
    let report = T::buckets(&database).insert_many(batch(0)).await.unwrap();
    report.into_result().unwrap();
    let stored = documents(&database, "readings").await;
    let drop = doc! { "dropIndexes": "readings", "index": name };
    database.run_command(drop).await.unwrap();
    let plan = index::plan(T::SPEC).into_iter().find(|it| it.name == name);
    let build = Build::start(&database, plan.unwrap().definition()).await;

    let buckets = T::buckets(&database);
    assert_unfinished(&buckets.insert(&of(9)).await.unwrap_err(), name);
    let report = buckets.insert_many(batch(9)).await.unwrap();
    assert_eq!((report.stored(), report.failed().len()), (0, 9));
    assert_unfinished(&report.failed()[8].error, name);
    assert_eq!(documents(&database, "readings").await, stored);

    let ensuring = buckets.clone();
    let ensuring = tokio::spawn(async move { ensuring.ensure().await.unwrap() });
    while build.waiting().await < 2 {
        assert!(!ensuring.is_finished(), "it does not wait for {name}");
        yield_now().await;
    }
    build.end().await;
    let report = ensuring.await.unwrap();
    assert_eq!(report.created_indexes, [name], "{report}");
    assert!(report.drift.is_empty(), "{report}");
    let report = buckets.insert_many(batch(9)).await.unwrap();
    assert_eq!(report.stored(), 9, "{:?}", report.failed());
}

#[derive(Debug, Serialize, Deserialize, Attributed)]
#[bucket(collection = "readings")]
struct Bottle {
    #[serde(rename = "_id")]
    id: i32,
    #[bucket(attribute(array = "specs", k = "volume", u = "ml"))]
    volume_ml: Option<i32>,
}

/// Filters are right without it, so documents are stored in the meantime.
async fn check_documents(server: &DevServer) {
    let database = server.database("unfinished").await.unwrap();
    let bottles = Bottle::documents(&database);
    let bottle = |id| Bottle {
        id,
        volume_ml: Some(500),
    };
    bottles.insert(&bottle(1)).await.unwrap();
    let keys = doc! { "specs.k": 1, "specs.u": 1, "specs.v": 1 };
    let definition = doc! { "name": "attributes_specs", "key": keys };
    let build = Build::start(&database, definition).await;
    bottles.insert(&bottle(2)).await.unwrap();
    let ensuring = tokio::spawn(async move { bottles.ensure().await.unwrap() });
    while build.waiting().await < 2 {
        assert!(!ensuring.is_finished(), "it does not wait");
        yield_now().await;
    }
    build.end().await;
    let report = ensuring.await.unwrap();
    assert_eq!(report.created_indexes, ["attributes_specs"], "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_stored_before_an_index_is_built_and_ensure_waits_for_it() {
    let server = DevServer::builder().own();
    let server = server.arguments(["--setParameter", "enableTestCommands=1"]);
    let server = server.await.unwrap();
    let checks = async {
        check_documents(&server).await;
        check(&server, Counted::of, "bucket_open_4").await;
        check(&server, Counted::of, "bucket_pages").await;
        check(&server, Parts::of, "bucket_pages").await;
        check(&server, Objects::of, "sensor_time_idx").await;
        check(&server, Hybrid::of, "sensor_open_idx").await;
        check(&server, Numbered::of, "sensor_order_idx").await;
        check(&server, Unique::of, "bucket_unique").await;
    };
    timeout(HANGS, checks).await.expect("no hang");
}

//! What the live tests share: one development server for all of them, and one database for each
//! test. A test that disturbs its server has its own server.

use std::time::Duration;

use bucket_mongo::{
    mongodb::{
        bson::{DateTime, Document, doc},
        options::CreateCollectionOptions,
    },
    testing::{DevServer, TestDatabase},
};
use futures_util::TryStreamExt;
use tokio::sync::OnceCell;

pub use self::load::Load;

pub mod faults;
mod load;

static SERVER: OnceCell<DevServer> = OnceCell::const_new();

/// A write of the largest documents changes 64 MB: the document, two keys of nearly its size, and the entry in the
/// oplog. In a smaller cache the server breaks such a write off, or stalls for a minute, with all tests that it serves.
const CACHE_MIB: u32 = 1024;

/// How long a call may take whose deadline is not what a test is about: on a machine that has much else to do, the default
/// is short for a test with many writers.
pub const PATIENCE: Duration = Duration::from_secs(600);

/// The server of all tests that only need one. It stops when the process ends.
///
/// # Panics
///
/// If no server can be started.
pub async fn server() -> &'static DevServer {
    SERVER.get_or_init(start).await
}

async fn start() -> DevServer {
    let server = DevServer::builder().cache_mib(CACHE_MIB);
    let server = server.await.expect("a development server");
    if server.is_started() {
        // Once a minute it would remove old buckets, whichever test they belong to.
        let off = doc! { "setParameter": 1, "ttlMonitorEnabled": false };
        let client = server.client().await.expect("a client");
        let admin = client.database("admin");
        admin.run_command(off).await.expect("no TTL monitor");
    }
    server
}

/// Whether the server of all tests has this release or a later one: `MONGOD` may be an older one.
///
/// # Panics
///
/// If no server can be started.
pub async fn is_from(major: u32) -> bool {
    let version = server().await.version();
    let (release, _) = version.split_once('.').expect("a version");
    release.parse::<u32>().expect("a number") >= major
}

/// A new, empty database.
///
/// # Panics
///
/// If no server can be started.
pub async fn database() -> TestDatabase {
    server().await.database("test").await.expect("a database")
}

/// Every document of a collection, by `_id`.
///
/// # Panics
///
/// If the server cannot be read.
pub async fn documents(database: &TestDatabase, collection: &str) -> Vec<Document> {
    let collection = database.collection::<Document>(collection);
    let cursor = collection
        .find(doc! {})
        .sort(doc! { "_id": 1 })
        .await
        .expect("a cursor");
    cursor.try_collect().await.expect("documents")
}

/// What the server did with a collection while something ran, according to its profiler: one
/// document for each read, and for each statement of a write.
///
/// # Panics
///
/// If the profiler cannot be used.
pub async fn profiled<T>(
    database: &TestDatabase,
    collection: &str,
    work: impl Future<Output = T>,
) -> (T, Vec<Document>) {
    let options = CreateCollectionOptions::builder()
        .capped(true)
        .size(64 * 1024 * 1024)
        .build();
    // A document from an earlier run.
    let profile = database.collection::<Document>("system.profile");
    profile.drop().await.expect("no profile");
    let profile = database.create_collection("system.profile");
    profile.with_options(options).await.expect("a profile");
    let level = |level: i32| {
        database
            .run_command(doc! { "profile": level })
            .into_future()
    };
    level(2).await.expect("a profiler");
    let result = work.await;
    level(0).await.expect("a profiler");
    let profile = database.collection::<Document>("system.profile");
    let ours = format!("{}.{collection}", database.name());
    let cursor = profile.find(doc! { "ns": ours }).await.expect("a cursor");
    (result, cursor.try_collect().await.expect("documents"))
}

/// The date of an RFC 3339 text.
///
/// # Panics
///
/// If the text is not such a date.
#[must_use]
pub fn date(text: &str) -> DateTime {
    DateTime::parse_rfc3339_str(text).expect("an RFC 3339 text")
}

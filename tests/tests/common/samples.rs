//! The model of the tests for the ingestor, and a server that can be paused.
#![allow(unreachable_pub, missing_docs, dead_code)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    process::Command,
};

use bucket_mongo::{
    Bucketed,
    bson::{DateTime, doc},
    mongodb::Database,
    testing::{DevServer, TestDatabase},
};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "samples",
    items = "samples",
    capacity = 50,
    stats = "stats"
)]
pub struct Sample {
    #[bucket(key)]
    pub device: i64,
    #[bucket(time)]
    pub at: DateTime,
    pub task: i64,
    /// A panic in the model's own code, in the middle of an encoding.
    #[bucket(sum, count_if("sevens", |number| { assert_ne!(*number, PANICS); number % 7 == 0 }))]
    pub number: i64,
    pub text: String,
}

/// The number whose encoding panics.
pub const PANICS: i64 = -1;

pub fn sample(device: i64, task: i64, number: i64) -> Sample {
    Sample {
        device,
        at: DateTime::from_millis(1_698_335_223_000),
        task,
        number,
        text: String::new(),
    }
}

/// A record that no bucket can hold.
pub fn too_large(device: i64) -> Sample {
    Sample {
        text: "x".repeat(1024 * 1024),
        ..sample(device, 0, 0)
    }
}

/// The stored numbers of each device and task, in page order. Also checks the counts and the sums.
pub async fn stored(database: &Database) -> BTreeMap<(i64, i64), Vec<i64>> {
    let find = Sample::buckets(database).collection::<SampleBucket>();
    let cursor = find.find(doc! {}).await.unwrap();
    let mut buckets: Vec<SampleBucket> = cursor.try_collect().await.unwrap();
    buckets.sort_by(|a, b| a.id.cmp(&b.id));
    let mut stored: BTreeMap<(i64, i64), Vec<i64>> = BTreeMap::new();
    for bucket in buckets {
        let numbers = bucket.samples.iter().map(|item| item.number);
        let number = bucket.stats().number();
        assert_eq!(number.sum(), Some(numbers.clone().sum()));
        let sevens = numbers.filter(|number| number % 7 == 0).count();
        assert_eq!(number.sevens(), u64::try_from(sevens).unwrap());
        for item in bucket.samples {
            let of_task = stored.entry((bucket.device, item.task)).or_default();
            of_task.push(item.number);
        }
    }
    stored
}

/// All stored numbers; none may be stored twice.
pub async fn stored_numbers(database: &Database) -> BTreeSet<i64> {
    let mut numbers = BTreeSet::new();
    for number in stored(database).await.into_values().flatten() {
        assert!(numbers.insert(number), "stored twice: {number}");
    }
    numbers
}

/// A server that answers nothing as long as this value lives.
pub struct Held<'a>(&'a DevServer);

impl<'a> Held<'a> {
    pub fn new(server: &'a DevServer) -> Self {
        signal(server, "-STOP");
        // The signal takes a moment to reach each of the server's threads.
        while !stands_still(server.process_id().unwrap()) {}
        Self(server)
    }
}

/// Whether every thread of a process is stopped, according to `/proc`, if it exists.
fn stands_still(process: u32) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else {
        return true;
    };
    threads.flatten().all(|thread| {
        let state = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        let state = state.rsplit(") ").next().unwrap_or_default();
        state.is_empty() || state.starts_with('T')
    })
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        signal(self.0, "-CONT");
    }
}

fn signal(server: &DevServer, name: &str) {
    let id = server.process_id().unwrap().to_string();
    let sent = Command::new("kill").args([name, &id]).status().unwrap();
    assert!(sent.success());
}

/// A server that opens no bucket; see [`server_that_can_be_held`].
pub struct HeldOpenings(Database);

impl HeldOpenings {
    const FAIL_POINT: &str = "hangBeforeUpsertPerformsInsert";

    pub async fn new(server: &DevServer) -> Self {
        let held = Self(server.client().await.unwrap().database("admin"));
        held.set("alwaysOn").await;
        held
    }

    async fn set(&self, mode: &str) {
        let command = doc! { "configureFailPoint": Self::FAIL_POINT, "mode": mode };
        self.0.run_command(command).await.unwrap();
    }

    /// The number of commands that are held.
    pub async fn held(&self) -> usize {
        let command = doc! { "currentOp": 1, "failpointMsg": Self::FAIL_POINT };
        let held = self.0.run_command(command).await.unwrap();
        held.get_array("inprog").unwrap().len()
    }

    /// Releases all commands, and waits until none is in flight any more.
    pub async fn release(self) {
        self.set("off").await;
        let writing = doc! { "currentOp": 1, "op": { "$in": ["update", "command"] }, "ns": { "$regex": "samples" } };
        loop {
            let writing = self.0.run_command(writing.clone()).await.unwrap();
            if writing.get_array("inprog").unwrap().is_empty() {
                return;
            }
        }
    }
}

/// A server for this test only, with the model's indexes in a new database.
pub async fn own_server() -> (DevServer, TestDatabase) {
    with_indexes(DevServer::builder().own().await.unwrap()).await
}

/// The same, for [`HeldOpenings`].
pub async fn server_that_can_be_held() -> (DevServer, TestDatabase) {
    let server = DevServer::builder().own();
    let arguments = ["--setParameter", "enableTestCommands=1"];
    with_indexes(server.arguments(arguments).await.unwrap()).await
}

async fn with_indexes(server: DevServer) -> (DevServer, TestDatabase) {
    let database = server.database("held").await.unwrap();
    Sample::buckets(&database).ensure().await.unwrap();
    (server, database)
}

/// Lets other tasks run until this holds.
pub async fn until(mut holds: impl FnMut() -> bool) {
    while !holds() {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
}

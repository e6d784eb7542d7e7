//! Runs an app's binary on a real server and returns what it did.
//!
//! Every test has its own database, which the path of `MONGODB_URI` names. All tests of a binary
//! share one server.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "a test that cannot go on fails"
)]

mod readme;

use std::{
    fs,
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
    time::Duration,
};

use bucket_mongo::{
    bson::{Document, doc},
    mongodb::Database,
    testing::{DevServer, TestDatabase},
};
use futures_util::TryStreamExt as _;
use serde_json::Value;
use tokio::sync::OnceCell;

pub use self::readme::Readme;

static SERVER: OnceCell<DevServer> = OnceCell::const_new();

/// The binary of an app.
#[derive(Debug)]
pub struct Program {
    /// `env!("CARGO_BIN_EXE_..")`
    pub binary: &'static str,
    /// `env!("CARGO_TARGET_TMPDIR")`
    pub folder: &'static str,
}

/// An app with a database of its own.
#[derive(Debug)]
pub struct App {
    program: &'static Program,
    database: TestDatabase,
}

/// A running app.
#[derive(Debug)]
pub struct Running(pub Child);

/// The result of a run of an app.
#[derive(Debug)]
pub struct Ran {
    /// The exit code.
    pub code: Option<i32>,
    /// The standard output.
    pub stdout: String,
    /// The standard error.
    pub stderr: String,
}

impl Program {
    /// The app with a new database.
    pub async fn app(&'static self, test: &str) -> App {
        App {
            program: self,
            database: server().await.database(test).await.unwrap(),
        }
    }

    /// Runs the app with this `MONGODB_URI`, or without any.
    #[must_use]
    pub fn run(&self, arguments: &[&str], uri: Option<&str>) -> Ran {
        let mut command = self.command(uri);
        command.args(arguments).output().unwrap().into()
    }

    /// Starts the app with this `MONGODB_URI` and a pipe as its standard input.
    #[must_use]
    pub fn start(&self, arguments: &[&str], uri: &str) -> Running {
        let mut command = self.command(Some(uri));
        command.args(arguments).stdin(Stdio::piped());
        Running::start(command)
    }

    /// The app in a folder other than that of its sources: it must not need them.
    #[must_use]
    pub fn command(&self, uri: Option<&str>) -> Command {
        let mut command = Command::new(self.binary);
        command.stdin(Stdio::null()).current_dir(self.folder);
        command
            .env_remove("MONGODB_URI")
            .env_remove("RUST_BACKTRACE");
        if let Some(uri) = uri {
            command.env("MONGODB_URI", uri);
        }
        command
    }

    /// A new file with this content.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = PathBuf::from(self.folder).join(name);
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

impl App {
    /// The database.
    #[must_use]
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Runs the app on this database.
    #[must_use]
    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.program
            .run(arguments, Some(&uri(self.database.name())))
    }
}

impl Running {
    /// Starts a command.
    #[must_use]
    pub fn start(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(command.spawn().unwrap())
    }

    /// Sends a signal, such as `TERM`.
    pub fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.0.id());
        let sent = Command::new("sh").args(["-c", &kill]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits until this holds, while the app runs.
    pub async fn until(&mut self, mut holds: impl AsyncFnMut() -> bool) {
        while !holds().await {
            assert_eq!(self.0.try_wait().unwrap(), None, "it ended too early");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// The database that a main job created for itself, once it has begun to fill it.
    pub async fn own_database(&mut self, app: &str) -> Database {
        let client = server().await.client().await.unwrap();
        let own = format!("{app}_{}_", self.0.id());
        let mut found = None;
        self.until(async || {
            let names = client.list_database_names().await.unwrap();
            found = names.into_iter().find(|name| name.starts_with(&own));
            found.is_some()
        })
        .await;
        client.database(&found.unwrap())
    }

    /// Waits for the end.
    #[must_use]
    pub fn end(self) -> Ran {
        self.0.wait_with_output().unwrap().into()
    }
}

/// The signals that end an app, with its exit codes. A shell script lets what it runs in the background ignore `INT`, and the apps
/// go on ignoring what they were started to ignore: such a signal is left out.
pub fn ending_signals() -> impl Iterator<Item = (&'static str, i32)> {
    // Linux tells it in hexadecimal, the first signal in the lowest bit.
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or_default();
    [("INT", 2), ("TERM", 15), ("HUP", 1)]
        .into_iter()
        .filter(move |(_, number)| (ignored >> (number - 1)) & 1 == 0)
        .map(|(name, number)| (name, 128 + number))
}

/// Whether a database is on the server.
pub async fn exists(database: &Database) -> bool {
    let client = server().await.client().await.unwrap();
    let names = client.list_database_names().await.unwrap();
    names.iter().any(|name| name == database.name())
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Self {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

impl Ran {
    /// The only JSON value of the standard output.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The only JSON value of the standard error.
    #[must_use]
    pub fn error(&self) -> Value {
        serde_json::from_str(&self.stderr).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// The server for all tests: never the user's.
pub async fn server() -> &'static DevServer {
    let start = || async { DevServer::builder().own().await.unwrap() };
    SERVER.get_or_init(start).await
}

/// The connection string with this path.
#[must_use]
pub fn uri(path: &str) -> String {
    let base = SERVER.get().unwrap().uri();
    let (hosts, options) = base
        .split_once("/?")
        .unwrap_or((base.trim_end_matches('/'), ""));
    format!("{hosts}/{path}?{options}")
}

/// The documents of a collection, in the order of their ids.
pub async fn documents(database: &Database, collection: &str) -> Vec<Document> {
    let collection = database.collection::<Document>(collection);
    collection
        .find(doc! {})
        .sort(doc! { "_id": 1 })
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap()
}

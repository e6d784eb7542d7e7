//! Runs the binary and says what it did.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use bucket_mongo::{
    bson::{Document, doc},
    mongodb::Database,
    testing::{DevServer, TestDatabase},
};
use futures_util::TryStreamExt as _;
use serde_json::Value;
use tokio::sync::OnceCell;

static SERVER: OnceCell<DevServer> = OnceCell::const_new();

/// The app with a database of its own.
pub(crate) struct App {
    database: TestDatabase,
}

/// What a run of the app gave.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl App {
    pub(crate) async fn new(test: &str) -> Self {
        let server = server().await;
        Self {
            database: server.database(test).await.unwrap(),
        }
    }

    /// The app with the trades of the real file.
    pub(crate) async fn loaded(test: &str) -> Self {
        let app = Self::new(test).await;
        assert_eq!(app.run(&["load", &real_file()]).code, Some(0));
        app
    }

    pub(crate) fn database(&self) -> &Database {
        &self.database
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        run(arguments, Some(&uri(self.database.name())))
    }

    /// The stored documents, in the order of their ids.
    pub(crate) async fn documents(&self) -> Vec<Document> {
        documents(&self.database).await
    }
}

impl Ran {
    /// The only JSON value of the standard output.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The only JSON value of the standard error.
    pub(crate) fn error(&self) -> Value {
        serde_json::from_str(&self.stderr).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// The server of all tests: never the user's.
pub(crate) async fn server() -> &'static DevServer {
    let start = || async { DevServer::builder().own().await.unwrap() };
    SERVER.get_or_init(start).await
}

/// The connection string with this path.
pub(crate) fn uri(path: &str) -> String {
    let base = SERVER.get().unwrap().uri();
    let (hosts, options) = base
        .split_once("/?")
        .unwrap_or((base.trim_end_matches('/'), ""));
    format!("{hosts}/{path}?{options}")
}

/// Runs the app with this `MONGODB_URI`, or without any.
pub(crate) fn run(arguments: &[&str], uri: Option<&str>) -> Ran {
    let mut command = command(uri);
    let output = command.args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran {
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// The app in another folder than its sources: it must not need them.
pub(crate) fn command(uri: Option<&str>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trades"));
    command
        .stdin(Stdio::null())
        .current_dir(env!("CARGO_TARGET_TMPDIR"));
    command
        .env_remove("MONGODB_URI")
        .env_remove("RUST_BACKTRACE");
    if let Some(uri) = uri {
        command.env("MONGODB_URI", uri);
    }
    command
}

/// The documents of a database, in the order of their ids.
pub(crate) async fn documents(database: &Database) -> Vec<Document> {
    let trades = database.collection::<Document>("trades");
    trades
        .find(doc! {})
        .sort(doc! { "_id": 1 })
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap()
}

/// The path of the real file.
pub(crate) fn real_file() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/trades.csv");
    path.to_str().unwrap().to_owned()
}

/// A new file with this content.
pub(crate) fn file(name: &str, content: impl AsRef<[u8]>) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

//! The app, its real file and its stored documents.

use std::{path::Path, process::Command};

use bucket_mongo::{bson::Document, mongodb::Database};
use example_kit::testing::{self, Program, Running};
pub(crate) use example_kit::testing::{Ran, server, uri};

pub(crate) static TRADES: Program = Program {
    binary: env!("CARGO_BIN_EXE_trades"),
    folder: env!("CARGO_TARGET_TMPDIR"),
};

/// The app with a database of its own.
pub(crate) struct App(testing::App);

impl App {
    pub(crate) async fn new(test: &str) -> Self {
        Self(TRADES.app(test).await)
    }

    /// The app with the trades of the real file.
    pub(crate) async fn loaded(test: &str) -> Self {
        let app = Self::new(test).await;
        assert_eq!(app.run(&["load", &real_file()]).code, Some(0));
        app
    }

    pub(crate) fn database(&self) -> &Database {
        self.0.database()
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.0.run(arguments)
    }

    /// The stored documents, in the order of their ids.
    pub(crate) async fn documents(&self) -> Vec<Document> {
        documents(self.database()).await
    }
}

/// Runs the app with this `MONGODB_URI`, or without any.
pub(crate) fn run(arguments: &[&str], uri: Option<&str>) -> Ran {
    TRADES.run(arguments, uri)
}

/// Starts the app on a database.
pub(crate) fn start(arguments: &[&str], database: &str) -> Running {
    TRADES.start(arguments, &uri(database))
}

/// The app, ready to be started.
pub(crate) fn command(uri: Option<&str>) -> Command {
    TRADES.command(uri)
}

/// The documents of a database, in the order of their ids.
pub(crate) async fn documents(database: &Database) -> Vec<Document> {
    testing::documents(database, "trades").await
}

/// The path of the real file.
pub(crate) fn real_file() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/trades.csv");
    path.to_str().unwrap().to_owned()
}

/// A new file with this content.
pub(crate) fn file(name: &str, content: impl AsRef<[u8]>) -> String {
    TRADES.file(name, content)
}

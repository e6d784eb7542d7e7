//! The app as its user sees it: the real binary on a real server, one module a command.
//!
//! Every test has a database of its own, which the path of `MONGODB_URI` names.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod app;
mod compare;
mod demo;
mod find;
mod load;
mod migrate;
mod readme;
mod server;
mod usage;

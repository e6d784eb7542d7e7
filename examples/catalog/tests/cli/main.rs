//! The app as its user sees it: the real binary on a real server, one module per command.
//!
//! Every test has its own database, which the path of `MONGODB_URI` names.
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

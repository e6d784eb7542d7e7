//! The app as its user sees it: the real binary on a real server.
//!
//! Every test has its own database, which the path of `MONGODB_URI` names.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod app;
mod archive;
mod demo;
mod devices;
mod edit;
mod latest;
mod limits;
mod load;
mod readings;
mod readme;
mod rollup;
mod seal;
mod server;
mod sizes;
mod stats;
mod usage;

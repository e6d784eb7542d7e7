//! The app as its user sees it: the real binary on a real server, one module per command.
//!
//! Every test has its own database, which the path of `MONGODB_URI` names.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod app;
mod demo;
mod edit;
mod feed;
mod interrupted;
mod load;
mod lost;
mod page;
mod readme;
mod server;
mod show;
mod usage;
mod watch;

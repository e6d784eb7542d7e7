//! The command line as a user runs it, on a real server.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod faults;
mod late;
mod looking;
mod models;
mod moving;
mod outputs;
mod plans;
mod program;
mod setup;
mod without_server;

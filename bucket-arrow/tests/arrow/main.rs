//! Records as batches and files: from memory, from a real server, and as pandas and Polars read them.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    missing_docs,
    unreachable_pub,
    reason = "a test that cannot go on fails"
)]

mod attributes;
mod cell;
mod everything;
mod exports;
mod faults;
mod inside;
mod killed;
mod layouts;
mod paths;
mod program;
mod python;
mod read_back;
mod server;
mod streams;
mod whose;

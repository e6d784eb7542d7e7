//! What the example apps share, so that each app contains only its model.
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`app`] | start and end of `main`: log lines, exit codes |
//! | [`cli`] | `--json`, and the message for wrong usage |
//! | [`csv_input`] | records from CSV, each wrong row with its line, column and reason |
//! | [`demo`] | the main job: a demonstration in a database of its own |
//! | [`dice`] | made-up data, the same in every run |
//! | [`error`] | what ends a command early |
//! | [`json`] | the one-line objects of `--json` |
//! | [`keys`] | the keys that have buckets |
//! | [`load`] | the command `load FILE.csv` |
//! | [`mod@print`] | documents as the shell prints them |
//! | [`progress`] | the progress bar |
//! | [`server`] | the user's server, or a development server |
//! | [`signal`] | Ctrl-C and similar signals |
//! | [`table`] | tables |
//! | [`text`] | short texts, and lines on the standard error |
//! | [`terminal`] | how wide the terminal is |
//! | `testing` | runs an app's binary; a feature, for tests |
#![allow(
    clippy::missing_errors_doc,
    reason = "there is one error type, and each of its variants says what caused it"
)]

pub mod app;
pub mod cli;
pub mod csv_input;
pub mod demo;
pub mod dice;
pub mod error;
pub mod json;
pub mod keys;
pub mod load;
pub mod print;
pub mod progress;
pub mod server;
pub mod signal;
pub mod table;
pub mod terminal;
#[cfg(feature = "testing")]
pub mod testing;
pub mod text;

pub use self::{error::Error, server::Server};

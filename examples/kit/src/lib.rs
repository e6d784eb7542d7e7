//! What the example apps share, so that each of them is about its model alone.
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`app`] | the way in and out of `main`: log lines, exit codes |
//! | [`cli`] | `--json`, and what is said of a wrong command line |
//! | [`csv_input`] | records from CSV, each wrong row with its line, column and reason |
//! | [`demo`] | the main job: a story told in a database of its own |
//! | [`dice`] | made-up data, the same in every run |
//! | [`error`] | what ends a command early |
//! | [`json`] | the one-line objects of `--json` |
//! | [`keys`] | the keys of which there are buckets |
//! | [`load`] | the command `load FILE.csv` |
//! | [`mod@print`] | documents as the shell prints them |
//! | [`progress`] | the progress bar |
//! | [`server`] | the user's server, or a development server |
//! | [`signal`] | Ctrl-C and its kind |
//! | [`table`] | tables |
//! | [`text`] | small texts, and the way to the standard error |
//! | [`terminal`] | how wide the terminal is |
//! | `testing` | runs an app's binary; a feature, for tests |
#![allow(
    clippy::missing_errors_doc,
    reason = "there is one error type, and each of its variants says where it comes from"
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

//! An operations command line that a service embeds for its own models.
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! use bucket_mongo::{Bucketed, bson::DateTime};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize, Bucketed)]
//! #[bucket(collection = "trades", items = "history", capacity = 10)]
//! struct Trade {
//!     #[bucket(key)]
//!     customer_id: i64,
//!     #[bucket(time)]
//!     date: DateTime,
//!     qty: i32,
//! }
//!
//! fn main() -> ExitCode {
//!     bucket_cli::run::<(Trade,)>()
//! }
//! ```
//!
//! The program then has the commands `status`, `ensure`, `expire`, `keys`, `show`, `page`, `records`, `stats`, `rollup`,
//! `verify`, `repair`, `seal`, `merge`, `archive`, `watch`, `size`, `completions` and `man`; `--help` describes each. It reads
//! the connection string from `MONGODB_URI` or `--uri`. The chapter "Command line" of the
//! [book](https://docs.rs/bucket-mongo) has the shapes of `--json`.
//!
//! # Exit codes
//!
//! | code | meaning |
//! | ---: | --- |
//! | 0 | all is done; also if the reader of the output has closed it |
//! | 1 | an error: what happened is on the standard error |
//! | 2 | the command line is wrong |
//! | 3 | something is wrong with the data or the indexes, or is left to be done |
//! | 4 | a plan was shown and not carried out, because `--yes` is missing |
//! | 129, 130, 143 | SIGHUP, SIGINT or SIGTERM ended it |
//!
//! # Features
//!
//! | name | description | default |
//! | --- | --- | --- |
//! | `seal` | the commands `seal`, `merge` and `archive` | yes |

mod app;
mod at;
mod chart;
mod command;
mod connect;
mod error;
mod exit;
mod figures;
mod flat;
mod form;
mod json;
mod key;
mod model;
mod models;
mod out;
#[cfg(feature = "seal")]
mod pieces;
#[cfg(feature = "seal")]
mod planned;
mod progress;
mod rows;
mod secret;
mod shell;
mod signal;
mod span;
mod table;
mod text;
mod words;

pub use self::{
    app::{App, run},
    models::Models,
};

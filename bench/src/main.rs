//! Compares this library with other ways to store measurements in MongoDB: a flat collection, a
//! time series collection, the manual's upsert, and complete buckets as the server's limit.
//!
//! `cargo run --release -p bench` runs everything on one server and prints tables; `bench --help`
//! lists the options. This file only starts and ends the program.
//!
//! | module | what it is for |
//! | --- | --- |
//! | `workload` | what is compared: a file for each workload |
//! | `contestant` | the contestants: a small type for each way to store records |
//! | `plan`, `goal` | the contestants of a workload, their comparisons, and the goals |
//! | `contest` | the rounds |
//! | `own_server` | the server that a run starts for itself |
//! | `arena` | the place of a round: the database, the clock, the check of what is stored |
//! | `reading`, `model`, `sites`, `sensors` | the records: generated ones, the library's models of them, real ones |
//! | `data`, `span` | what is stored before the rounds of a workload that reads, and the part that is read |
//! | `own_process` | a process of its own, for a figure of memory |
//! | `hold_up`, `key_load` | what such a process does |
//! | `report`, `spread` | the results |
//! | `output` | the report on a terminal, as JSON, as a page with charts |

mod arena;
mod cli;
mod contest;
mod contestant;
mod data;
mod error;
mod goal;
mod hold_up;
mod in_flight;
mod key_load;
mod model;
mod output;
mod own_process;
mod own_server;
mod plan;
mod reading;
mod report;
mod run;
mod scale;
mod sensors;
mod sites;
mod span;
mod spread;
mod workload;

use std::process::ExitCode;

use clap::Parser as _;
use example_kit::{app, cli::refuse, text};

use crate::cli::Arguments;

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return refuse(&error),
    };
    app::log();
    match run::run(&arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is_closed_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            text::complain(&format!("error: {error}"));
            error.exit_code().into()
        }
    }
}

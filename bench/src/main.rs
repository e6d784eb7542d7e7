//! Compares this library with what else stores measurements in MongoDB: a flat collection, a time
//! series collection, the manual's upsert, and whole buckets as the server's limit.
//!
//! `cargo run --release -p bench` runs everything on one server and prints tables; `bench --help`
//! lists the options. Here is only the way in and out.
//!
//! | module | what it is for |
//! | --- | --- |
//! | `workload` | what is compared: a file for each workload |
//! | `contestant` | who is compared: a small type for each way to store records |
//! | `plan`, `goal` | the contestants of a workload, who is measured against whom, and the goals |
//! | `contest` | the rounds |
//! | `own_server` | the server that a run starts for itself |
//! | `arena` | where a round takes place: the database, the clock, the check of what is stored |
//! | `reading`, `model`, `sites`, `sensors` | the records: generated ones, the library's models of them, real ones |
//! | `data`, `span` | what is stored before the rounds of a workload that reads, and what is read of it |
//! | `hold_up` | a process of its own, for a figure of memory |
//! | `report`, `spread` | what came out |
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
mod model;
mod output;
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

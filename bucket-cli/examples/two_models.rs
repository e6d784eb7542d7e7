//! The command line of a service with two models: trades in the manual's form, readings in windows.
//!
//! `cargo run -p bucket-cli --example two_models -- --help`

use std::process::ExitCode;

use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

/// A trade of a customer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[serde(rename_all = "camelCase")]
#[bucket(collection = "trades", items = "history", capacity = 10)]
struct Trade {
    #[bucket(key)]
    customer_id: i64,
    #[bucket(time)]
    date: DateTime,
    ticker: String,
    qty: i32,
}

/// A reading of a sensor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "readings",
    items = "readings",
    window = "1h",
    capacity = 100,
    merge = "day",
    seal_after = "7d",
    expire_after = "50y"
)]
struct Reading {
    #[bucket(key)]
    device: String,
    #[bucket(key)]
    channel: i32,
    #[bucket(time)]
    at: DateTime,
    #[bucket(min, max, sum)]
    value: f64,
}

fn main() -> ExitCode {
    bucket_cli::run::<(Trade, Reading)>()
}

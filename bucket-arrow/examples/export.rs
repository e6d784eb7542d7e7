//! Exports the readings of a database into a folder of Parquet files, and goes on where it was stopped.
//!
//! `MONGODB_URI=mongodb://localhost:27017 DATABASE=plant cargo run -p bucket-arrow --example export -- FOLDER`

use std::{env, error::Error};

use bucket_arrow::ToArrow;
use bucket_mongo::{Bucketed, bson::DateTime, mongodb::Client};
use serde::{Deserialize, Serialize};

/// A reading of a sensor.
#[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "readings",
    items = "readings",
    window = "1h",
    capacity = 200
)]
struct Reading {
    #[bucket(key)]
    sensor_id: i64,
    #[bucket(time)]
    at: DateTime,
    celsius: f64,
    battery: Option<f64>,
}

#[tokio::main]
#[allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for a terminal"
)]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::args().nth(1).ok_or("pass a folder")?;
    let client = Client::with_uri_str(env::var("MONGODB_URI")?).await?;
    let database = client.database(&env::var("DATABASE")?);
    let readings = Reading::buckets(&database);
    let export = readings.to_arrow().to_folder(folder);
    let report = export
        .progress(|now| eprint!("\r{} records", now.records))
        .await?;
    println!(
        "\n{} records of {} keys in {} parts ({} bytes), {} parts left as they were",
        report.records, report.keys, report.parts, report.bytes, report.skipped
    );
    Ok(())
}

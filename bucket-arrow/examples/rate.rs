//! How many records a second become Arrow batches on one core, and how large files are next to what is stored.
//!
//! `cargo run --release -p bucket-arrow --example rate -- [RECORDS]` starts a server of its own.

use std::{env, error::Error, hint::black_box, time::Instant};

use bucket_arrow::{Compression, Format, Layout, Parquet, ToArrow, arrow_array::RecordBatch};
use bucket_core::bucket;
use bucket_mongo::{
    Bucketed, Buckets,
    bson::{DateTime, RawDocumentBuf, doc},
    testing::DevServer,
};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

/// A reading of a sensor.
#[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "readings",
    items = "readings",
    window = "1h",
    capacity = 1_000,
    seal_after = "1d",
    merge = "day"
)]
struct Reading {
    #[bucket(key)]
    sensor_id: i64,
    #[bucket(time)]
    at: DateTime,
    celsius: f64,
    humidity: f64,
    battery: Option<i32>,
}

const SENSORS: i64 = 20;

/// A reading each 5 seconds.
#[allow(clippy::cast_precision_loss, reason = "small numbers")]
fn reading(sensor_id: i64, number: i64) -> Reading {
    // A walk that a sensor could take, in its own steps.
    let noise = (number.wrapping_mul(2_654_435_761) >> 7) % 16;
    Reading {
        sensor_id,
        at: DateTime::from_millis(1_704_067_200_000 + number * 5_000),
        celsius: (180 + number / 300 % 60 + noise) as f64 / 10.0,
        humidity: (4_000 + number / 100 % 500 + noise) as f64 / 100.0,
        battery: (number % 60 == 0).then_some(90),
    }
}

/// Decodes buckets in memory, and makes batches of their records.
fn rate(what: &str, stored: &[RawDocumentBuf]) -> Result<Vec<RecordBatch>, Box<dyn Error>> {
    let layout = Layout::<Reading>::new()?;
    let (mut best, mut decoding) = (f64::MAX, f64::MAX);
    let mut batches = Vec::new();
    let mut records = 0;
    for _ in 0..5 {
        let began = Instant::now();
        for document in stored {
            black_box(bucket::decode::<Reading>(document)?.into_records());
        }
        decoding = decoding.min(began.elapsed().as_secs_f64());

        batches.clear();
        records = 0;
        let began = Instant::now();
        let mut batch = layout.batch();
        for document in stored {
            for record in bucket::decode::<Reading>(document)?.into_records() {
                batch.push(&record)?;
                if batch.is_full(65_536) {
                    batches.push(batch.finish()?);
                }
                records += 1;
            }
        }
        batches.push(batch.finish()?);
        best = best.min(began.elapsed().as_secs_f64());
    }
    let per_second = |seconds: f64| f64::from(records) / seconds / 1e6;
    print(&format!(
        "{what}: {:.2} M records/s to Arrow ({:.2} M records/s are decoded)",
        per_second(best),
        per_second(decoding)
    ));
    Ok(batches)
}

async fn in_memory(readings: &Buckets<Reading>) -> Result<Vec<RawDocumentBuf>, Box<dyn Error>> {
    let collection = readings.collection::<RawDocumentBuf>();
    Ok(collection.find(doc! {}).await?.try_collect().await?)
}

#[allow(clippy::print_stdout, reason = "a program for a terminal")]
fn print(line: &str) {
    println!("{line}");
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let records: i64 = env::args()
        .nth(1)
        .map_or(Ok(2_000_000), |text| text.parse())?;
    let server = DevServer::builder().own().await?;
    let database = server.database("rate").await?;
    let readings = Reading::buckets(&database);
    readings.ensure().await?;
    let each = records / SENSORS;
    for sensor in 0..SENSORS {
        let all: Vec<Reading> = (0..each).map(|number| reading(sensor, number)).collect();
        readings.insert_many(all).await?.into_result()?;
    }
    let plain = in_memory(&readings).await?;
    let of =
        |stored: &[RawDocumentBuf]| stored.iter().map(|one| one.as_bytes().len()).sum::<usize>();
    let plain_bytes = of(&plain);
    let batches = rate("plain buckets", &plain)?;
    drop(plain);

    // What appending costs without decoding.
    let layout = Layout::<Reading>::new()?;
    let all: Vec<Reading> = (0..1_000_000).map(|number| reading(1, number)).collect();
    let began = Instant::now();
    let mut batch = layout.batch();
    for record in &all {
        batch.push(record)?;
        if batch.is_full(65_536) {
            black_box(batch.finish()?);
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    print(&format!(
        "records in memory: {:.2} M records/s to Arrow",
        1.0 / seconds
    ));

    readings.seal().await?;
    let sealed = in_memory(&readings).await?;
    let sealed_bytes = of(&sealed);
    rate("sealed buckets", &sealed)?;
    readings.merge().await?;
    let merged = in_memory(&readings).await?;
    let merged_bytes = of(&merged);
    rate("merged buckets", &merged)?;
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    print(&format!(
        "{rows} records: BSON of plain buckets {plain_bytes} bytes, sealed {sealed_bytes}, merged {merged_bytes}"
    ));

    for (name, format) in [
        (
            "Parquet, not compressed",
            Format::from(Parquet::new().compression(Compression::None)),
        ),
        #[cfg(feature = "snappy")]
        (
            "Parquet, Snappy",
            Format::from(Parquet::new().compression(Compression::Snappy)),
        ),
        #[cfg(feature = "lz4")]
        (
            "Parquet, LZ4",
            Format::from(Parquet::new().compression(Compression::Lz4)),
        ),
        #[cfg(feature = "zstd")]
        (
            "Parquet, Zstandard",
            Format::from(Parquet::new().compression(Compression::Zstd)),
        ),
        ("Arrow IPC", Format::Ipc),
        ("CSV", Format::Csv),
        ("JSON lines", Format::JsonLines),
    ] {
        let began = Instant::now();
        let written = readings
            .to_arrow()
            .write_to(tokio::io::sink())
            .format(format)
            .await?;
        let seconds = began.elapsed().as_secs_f64();
        #[allow(clippy::cast_precision_loss, reason = "a figure for people")]
        let per_second = written.records as f64 / seconds / 1e6;
        print(&format!(
            "{name}: {} bytes, {per_second:.2} M records/s from the server",
            written.bytes
        ));
    }
    Ok(())
}

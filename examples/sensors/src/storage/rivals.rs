//! The same readings without this library's buckets, for comparison.

use bucket_mongo::{
    bson::{Document, doc},
    mongodb::{
        Database, IndexModel,
        options::{IndexOptionDefaults, TimeseriesGranularity, TimeseriesOptions},
    },
};
use example_kit::{Error, csv_input::Row};

use crate::model::Reading;

/// One document for each reading.
pub(super) const FLAT: &str = "flat_readings";
/// The server's own buckets.
pub(super) const TIME_SERIES: &str = "time_series_readings";

pub(super) async fn store_flat(
    database: &Database,
    readings: &[Row<Reading>],
) -> Result<(), Error> {
    let zstd = doc! { "wiredTiger": { "configString": "block_compressor=zstd" } };
    // Its indexes too, like those of the buckets.
    let indexes = IndexOptionDefaults::builder().storage_engine(zstd.clone());
    database
        .create_collection(FLAT)
        .storage_engine(zstd)
        .index_option_defaults(indexes.build())
        .await?;
    let index = doc! { "device_id": 1, "sensor_type": 1, "ts": 1 };
    let documents = readings.iter().map(|row| {
        let mut document = sensor(&row.record);
        document.extend(measured(&row.record));
        document
    });
    store(database, FLAT, index, documents).await
}

pub(super) async fn store_time_series(
    database: &Database,
    readings: &[Row<Reading>],
) -> Result<(), Error> {
    // Most readings are five minutes apart.
    let options = TimeseriesOptions::builder()
        .time_field("ts")
        .meta_field("sensor".to_owned())
        .granularity(TimeseriesGranularity::Minutes)
        .build();
    database
        .create_collection(TIME_SERIES)
        .timeseries(options)
        .await?;
    let index = doc! { "sensor.device_id": 1, "sensor.sensor_type": 1, "ts": 1 };
    let documents = readings.iter().map(|row| {
        let mut document = doc! { "sensor": sensor(&row.record) };
        document.extend(measured(&row.record));
        document
    });
    store(database, TIME_SERIES, index, documents).await
}

fn sensor(reading: &Reading) -> Document {
    doc! { "device_id": &reading.device_id, "sensor_type": &reading.sensor_type }
}

fn measured(reading: &Reading) -> Document {
    doc! { "ts": reading.timestamp, "v": reading.value, "q": reading.quality }
}

async fn store(
    database: &Database,
    collection: &str,
    index: Document,
    documents: impl Iterator<Item = Document>,
) -> Result<(), Error> {
    let collection = database.collection::<Document>(collection);
    collection
        .create_index(IndexModel::builder().keys(index).build())
        .await?;
    let documents: Vec<Document> = documents.collect();
    collection.insert_many(documents).await?;
    Ok(())
}

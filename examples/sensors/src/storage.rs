//! The space that readings take: in buckets, in a flat collection and in a time series collection.
//!
//! All three are compressed with zstd. All three have an index that finds the readings of a sensor
//! by time.

mod rivals;

use bucket_mongo::{
    Buckets,
    bson::{Bson, Document, doc},
    mongodb::Database,
};
use example_kit::{Error, csv_input::Row};

use crate::model::Reading;

/// The space that one collection takes.
#[derive(Debug)]
pub(crate) struct Storage {
    pub(crate) name: &'static str,
    pub(crate) documents: u64,
    /// The bytes of its file of documents.
    pub(crate) data: u64,
    /// The bytes of the files of its indexes.
    pub(crate) indexes: u64,
}

impl Storage {
    /// The bytes of one reading, indexes included.
    #[allow(clippy::cast_precision_loss, reason = "far less than 2^53 bytes")]
    pub(crate) fn per_reading(&self, readings: usize) -> f64 {
        (self.data + self.indexes) as f64 / readings.max(1) as f64
    }
}

/// Stores the readings two more times and measures all three collections: buckets, flat, time
/// series.
pub(crate) async fn compare(
    buckets: &Buckets<Reading>,
    readings: &[Row<Reading>],
) -> Result<[Storage; 3], Error> {
    let database = buckets.database();
    rivals::store_flat(database, readings).await?;
    rivals::store_time_series(database, readings).await?;
    // File sizes are those of the last checkpoint, which this command takes.
    let admin = database.client().database("admin");
    admin.run_command(doc! { "fsync": 1 }).await?;
    Ok([
        measure(database, "buckets", buckets.spec().collection()).await?,
        measure(database, "a flat collection", rivals::FLAT).await?,
        measure(database, "a time series collection", rivals::TIME_SERIES).await?,
    ])
}

async fn measure(
    database: &Database,
    name: &'static str,
    collection: &str,
) -> Result<Storage, Error> {
    let stats = database
        .run_command(doc! { "collStats": collection })
        .await?;
    // A time series collection counts its buckets.
    let buckets = stats.get_document("timeseries").ok();
    Ok(Storage {
        name,
        documents: buckets.map_or_else(
            || number(&stats, "count"),
            |buckets| number(buckets, "bucketCount"),
        ),
        data: number(&stats, "storageSize"),
        indexes: number(&stats, "totalIndexSize"),
    })
}

/// A number, whatever type the server gives it.
fn number(stats: &Document, name: &str) -> u64 {
    let number = match stats.get(name) {
        Some(Bson::Int32(number)) => i64::from(*number),
        Some(Bson::Int64(number)) => *number,
        // Sizes are whole numbers.
        #[allow(clippy::cast_possible_truncation)]
        Some(Bson::Double(number)) => *number as i64,
        _ => 0,
    };
    u64::try_from(number).unwrap_or_default()
}

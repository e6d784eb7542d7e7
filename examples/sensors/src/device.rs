//! The figures of each device: the sums of its buckets' aggregates, and percentiles.

use bucket_mongo::{Buckets, Sketch};
use example_kit::{Error, keys};
use futures_util::TryStreamExt as _;
use serde::Serialize;

use crate::model::{Reading, ReadingKey};

/// The relative error of percentiles: 1 %.
const ERROR: f64 = 0.01;

/// The figures of one sensor of a device.
#[derive(Debug, Serialize)]
pub(crate) struct Figures {
    pub(crate) device_id: String,
    pub(crate) sensor_type: String,
    pub(crate) buckets: u64,
    pub(crate) readings: u64,
    pub(crate) min: Option<f64>,
    pub(crate) max: Option<f64>,
    pub(crate) average: Option<f64>,
    pub(crate) p50: Option<f64>,
    pub(crate) p95: Option<f64>,
    pub(crate) p99: Option<f64>,
}

/// The figures of all stored readings, by device and type.
pub(crate) async fn all(buckets: &Buckets<Reading>) -> Result<Vec<Figures>, Error> {
    let mut devices = Vec::new();
    for key in keys::all(buckets).await? {
        devices.push(read(buckets, key).await?);
    }
    Ok(devices)
}

/// Reads the buckets of a device one by one. Minimum, maximum and average come from the aggregates
/// of each bucket, percentiles from the readings.
async fn read(buckets: &Buckets<Reading>, key: ReadingKey) -> Result<Figures, Error> {
    let mut device = Figures::new(&key);
    let mut values = Sketch::with_error(ERROR);
    let mut sum = 0.0;
    let mut pages = buckets.pages(key).stream();
    while let Some(bucket) = pages.try_next().await? {
        let stats = bucket.stats();
        device.buckets += 1;
        device.readings += u64::from(bucket.count);
        device.min = device.min.into_iter().chain(stats.min()).reduce(f64::min);
        device.max = device.max.into_iter().chain(stats.max()).reduce(f64::max);
        sum += stats.sum().unwrap_or_default();
        bucket
            .readings
            .iter()
            .for_each(|item| values.add(item.value));
    }
    device.average = ratio(sum, device.readings);
    device.p50 = values.quantile(0.50);
    device.p95 = values.quantile(0.95);
    device.p99 = values.quantile(0.99);
    Ok(device)
}

/// None for a division by zero.
#[allow(clippy::cast_precision_loss, reason = "far fewer than 2^53 readings")]
fn ratio(sum: f64, number: u64) -> Option<f64> {
    (number > 0).then(|| sum / number as f64)
}

impl Figures {
    #[allow(clippy::cast_precision_loss, reason = "far fewer than 2^53 readings")]
    pub(crate) fn readings_per_bucket(&self) -> f64 {
        ratio(self.readings as f64, self.buckets).unwrap_or_default()
    }

    fn new(key: &ReadingKey) -> Self {
        Self {
            device_id: key.device_id.clone(),
            sensor_type: key.sensor_type.clone(),
            buckets: 0,
            readings: 0,
            min: None,
            max: None,
            average: None,
            p50: None,
            p95: None,
            p99: None,
        }
    }
}

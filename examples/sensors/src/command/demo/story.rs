//! What the main job shows, in the order in which it shows it.

use std::{collections::BTreeMap, fmt::Write as _, io::Write, time::Instant};

use bucket_mongo::Buckets;
use example_kit::{Error, csv_input::Row, progress, text};

use crate::{
    csv_input,
    device::{self, Figures},
    model::Reading,
    pipeline::{self, QUEUE, WORKERS},
    storage::{self, Storage},
    table,
};

pub(super) async fn tell(buckets: &Buckets<Reading>, out: &mut impl Write) -> Result<(), Error> {
    writeln!(out, "{}\n", buckets.ensure().await?)?;
    let readings = csv_input::built_in()?;
    fill(buckets, &readings, out).await?;

    let devices = device::all(buckets).await?;
    writeln!(
        out,
        "min, max and average from the aggregates of the buckets, percentiles within 1 %:\n\n{}",
        table::devices(&devices)
    )?;

    let collections = storage::compare(buckets, &readings).await?;
    write!(
        out,
        "{}\n{}",
        table::storage(&collections, readings.len()),
        verdict(&collections, &devices, readings.len()),
    )?;
    Ok(())
}

/// Sends all readings through the pipeline.
async fn fill(
    buckets: &Buckets<Reading>,
    readings: &[Row<Reading>],
    out: &mut impl Write,
) -> Result<(), Error> {
    let series = series(readings);
    let sensors = series.len();
    let read = readings.len() as u64;
    writeln!(
        out,
        "{sensors} readers -> queue of {QUEUE} -> {WORKERS} workers -> `{}`",
        buckets.spec().collection()
    )?;
    let bar = progress::records(read);
    let start = Instant::now();
    let outcome = pipeline::run(buckets, series, &bar).await;
    bar.finish_and_clear();
    let outcome = outcome?;
    for failed in &outcome.failed {
        text::complain(&failed.to_string());
    }
    writeln!(
        out,
        "{} of {} -> {} in {:.1} s\n",
        text::counted(outcome.stored, "reading"),
        text::counted(sensors as u64, "sensor"),
        text::counted(outcome.buckets, "bucket"),
        start.elapsed().as_secs_f64(),
    )?;
    match outcome.failed.len() as u64 {
        0 => Ok(()),
        failed => Err(Error::Incomplete { failed, read }),
    }
}

/// The readings of each sensor, in their order of arrival.
fn series(readings: &[Row<Reading>]) -> Vec<Vec<Row<Reading>>> {
    let mut series = BTreeMap::<_, Vec<_>>::new();
    for row in readings {
        let Reading {
            device_id,
            sensor_type,
            ..
        } = &row.record;
        series
            .entry((device_id, sensor_type))
            .or_default()
            .push(row.clone());
    }
    series.into_values().collect()
}

/// Which collection is smaller, and why.
fn verdict(collections: &[Storage; 3], devices: &[Figures], readings: usize) -> String {
    let [buckets, flat, time_series] = collections.each_ref().map(|c| c.per_reading(readings));
    let mut text = format!(
        "All three are compressed with zstd and have an index on sensor and time. Beside the buckets,\n\
         the flat collection takes {:.0} % of the room, the time series collection {:.0} %.\n",
        100.0 * flat / buckets,
        100.0 * time_series / buckets,
    );
    if time_series < buckets {
        text += "Where readings are only appended and read by time, a time series collection is the smaller one.\n";
    }
    let sparsest = devices
        .iter()
        .min_by(|a, b| a.readings_per_bucket().total_cmp(&b.readings_per_bucket()));
    if let Some(device) = sparsest {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "A bucket has a price of its own: those of `{}` hold {:.1} readings each.",
            device.device_id,
            device.readings_per_bucket()
        );
    }
    text
}

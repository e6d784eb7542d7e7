//! The output of the main job, in its order.

use std::{collections::BTreeMap, fmt::Write as _, io::Write, time::Instant};

use bucket_mongo::{Buckets, Fill, Interval, TimeRange, bson::DateTime};
use example_kit::{Error, csv_input::Row, progress, text};

use crate::{
    chart::terminal,
    csv_input,
    device::{self, Figures},
    model::Reading,
    pipeline::{self, QUEUE, WORKERS},
    rollup,
    sensor::{self, Sensor},
    storage::{self, Storage},
    table,
};

/// Half past midnight of 2014-01-01 and of 2014-02-01.
const JANUARY: DateTime = DateTime::from_millis(1_388_536_200_000);
const FEBRUARY: DateTime = DateTime::from_millis(1_391_214_600_000);
/// A chart that fits any terminal.
const WIDTH: usize = 80;

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
    read_side(buckets, out).await
}

/// Shows the reading commands for one sensor.
async fn read_side(buckets: &Buckets<Reading>, out: &mut impl Write) -> Result<(), Error> {
    let sensor = Sensor {
        device_id: "machine_1".to_owned(),
        sensor_type: "temperature".to_owned(),
    };
    // Half an hour is half a bucket: the span cuts one bucket at each end.
    let month = TimeRange::new(Some(JANUARY), Some(FEBRUARY));
    if let Some(stats) = buckets.stats(sensor.key(), month).await? {
        writeln!(
            out,
            "\n{sensor}{}:\n{} of {}, average {}; {} of them opened\n",
            sensor::span(month),
            text::counted(stats.count(), "reading"),
            text::counted(stats.buckets(), "bucket"),
            table::rounded(stats.avg()),
            stats.scanned_buckets(),
        )?;
    }
    let every = Interval::day();
    if let Some(range) = rollup::bounded(buckets, &sensor, TimeRange::ALL).await? {
        let steps = rollup::read(buckets, &sensor, range, &every, Fill::Skip).await?;
        let chart = terminal::draw(&steps.series(&sensor, &every), WIDTH);
        writeln!(
            out,
            "{chart}\nthe reading commands: readings, stats, rollup, latest"
        )?;
    }
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
        "All three are compressed with zstd and have an index on sensor and time. Compared to the buckets,\n\
         the flat collection takes {:.0} % of the space, the time series collection {:.0} %.\n",
        100.0 * flat / buckets,
        100.0 * time_series / buckets,
    );
    if time_series < buckets {
        text += "Where readings are only appended and read by time, a time series collection is smaller.\n";
    }
    let sparsest = devices
        .iter()
        .min_by(|a, b| a.readings_per_bucket().total_cmp(&b.readings_per_bucket()));
    if let Some(device) = sparsest {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "Each bucket has its own cost: those of `{}` hold {:.1} readings each.",
            device.device_id,
            device.readings_per_bucket()
        );
    }
    text
}
